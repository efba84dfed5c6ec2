package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const (
	firstCard  = "GPU-11111111-2222-3333-4444-555555555555" // of the sample page
	secondCard = "GPU-66666666-7777-8888-9999-aaaaaaaaaaaa"
)

// servedPage serves an engine's page and a dcgm-exporter's, as long as it is up.
func servedPage(t *testing.T, path string, up *atomic.Bool) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !up.Load() {
			http.Error(w, "down", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		w.Write(text)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestGPUsComeAndGoBesideAnEngine: what a dcgm-exporter shows is joined to the only engine; when it dies, the series of GPUs go
// and those of the engine stay.
func TestGPUsComeAndGoBesideAnEngine(t *testing.T) {
	var engineUp, pageUp atomic.Bool
	engineUp.Store(true)
	pageUp.Store(true)
	engine := servedPage(t, "../../testdata/samples/vllm-v1-0.11.prom", &engineUp)
	page := servedPage(t, "../../collectors/gpu/testdata/samples/dcgm-exporter-4.8.prom", &pageUp)
	config := func(more string) string {
		return fast + fmt.Sprintf("slos: [{name: chat, clauses: {ttft: 250ms}, objective: 0.95}]\nengines: {targets: [{id: a, url: %q}]}\ngpu: {source: dcgm-exporter, interval: 1s, url: %q%s}\n", engine, page, more)
	}
	p := serveProgram(t, config(""))
	p.shows(`goodput_engine_gpus{engine="a",join="only"`)
	body := p.shows(`goodput_gpu_busy_ratio{gpu="` + firstCard + `"}`)
	for _, want := range []string{
		`goodput_gpu_up{gpu="` + secondCard + `"} 1`, `goodput_gpu_source_up{source="dcgm-exporter"} 1`,
		`goodput_gpu_sm_clock_hertz{gpu="` + firstCard + `"} 1.755e+09`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("%s is not on the page", want)
		}
	}

	// By a reload the configuration says whose they are.
	p.write("goodput.yaml", config(fmt.Sprintf(", engines: {a: [%s]}", secondCard)))
	p.signalUntil(`goodput_engine_gpus{engine="a",join="uuid"`)

	pageUp.Store(false)
	body = p.shows(`goodput_gpu_source_up{source="dcgm-exporter"} 0`)
	for name, there := range map[string]bool{"goodput_gpu_up{": false, "goodput_gpu_busy_ratio{": false, "goodput_engine_gpus{": false, `goodput_engine_up{engine="a"} 1`: true} {
		if strings.Contains(body, name) != there {
			t.Errorf("with a dead source %s is there: %v", name, !there)
		}
	}
	pageUp.Store(true)
	p.shows(`goodput_gpu_source_up{source="dcgm-exporter"} 1`)
}

// TestANodeWithoutGPUsIsQuiet: the default finds nothing, and nothing on the page or in the log looks like a fault.
func TestANodeWithoutGPUsIsQuiet(t *testing.T) {
	var up atomic.Bool
	up.Store(true)
	engine := servedPage(t, "../../testdata/samples/vllm-v1-0.11.prom", &up)
	// The page's address is given, so that whatever runs on this machine is not found.
	p := serveProgram(t, fast+fmt.Sprintf("slos: [{name: chat, clauses: {ttft: 250ms}, objective: 0.95}]\nengines: {targets: [{id: a, url: %q}]}\ngpu: {interval: 1s, url: \"http://%s/metrics\", dcgm: {command: /nowhere/goodput-dcgm}}\n", engine, freeAddress(t)))
	for deadline := time.Now().Add(10 * time.Second); !strings.Contains(p.logs.String(), "source of GPU telemetry"); <-time.After(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("auto has not said what it chose: %s", p.logs)
		}
	}
	body := p.shows(`goodput_engine_up{engine="a"} 1`)
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "goodput_gpu") || strings.HasPrefix(line, "goodput_engine_gpus") {
			t.Errorf("there is %s", line)
		}
	}
	for line := range strings.Lines(p.logs.String()) {
		if strings.Contains(strings.ToLower(line), "gpu") && !strings.Contains(line, "level=INFO") {
			t.Errorf("the log has %s", line)
		}
	}
}

// TestABrokenFileOfThePagesAccessIsCounted: as one of an engine's access is.
func TestABrokenFileOfThePagesAccessIsCounted(t *testing.T) {
	var up atomic.Bool
	up.Store(true)
	engine := servedPage(t, "../../testdata/samples/vllm-v1-0.11.prom", &up)
	page := servedPage(t, "../../collectors/gpu/testdata/samples/dcgm-exporter-4.8.prom", &up)
	token := writeFile(t, "token", "s3cret\n")
	p := serveProgram(t, fast+fmt.Sprintf("slos: [{name: chat, clauses: {ttft: 250ms}, objective: 0.95}]\nengines: {targets: [{id: a, url: %q}]}\ngpu: {source: dcgm-exporter, interval: 1s, url: %q, access: {bearer_token_file: %q}}\n", engine, page, token))
	p.shows(`goodput_gpu_source_up{source="dcgm-exporter"} 1`)
	if err := os.WriteFile(token, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	body := p.shows("goodput_access_files_broken 1")
	if !strings.Contains(body, `goodput_gpu_source_up{source="dcgm-exporter"} 1`) {
		t.Error("what the file held before does not hold")
	}
	if err := os.WriteFile(token, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.shows("goodput_access_files_broken 0")
	for _, says := range []string{"certificate or key cannot be used", "can be used again"} {
		if n := strings.Count(p.logs.String(), says); n != 1 {
			t.Errorf("%q is logged %d times", says, n)
		}
	}
	if strings.Contains(p.logs.String(), "s3cret") {
		t.Error("the log has the secret")
	}
}
