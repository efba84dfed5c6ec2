// Command live runs the exporter on a real vLLM under load, and prints what it publishes beside what is true: what the
// clients saw, and what the engine's own spans say of every sequence. It is for machines without a GPU; test/live/install
// makes what it needs. Its exit status is 1 when something published contradicts the truth.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

//go:embed live.yaml
var configuration string

func main() {
	env := flag.String("env", "", "directory made by test/live/install")
	exporter := flag.String("exporter", "bin/goodput-exporter", "the exporter's binary")
	keep := flag.String("keep", "", "directory for logs and for seen.json, all that was seen; empty: one that is removed when nothing contradicts")
	seen := flag.String("seen", "", "run nothing, and report on the seen.json of an earlier run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	wrong, err := 0, error(nil)
	if *seen != "" {
		wrong, err = again(*seen)
	} else {
		wrong, err = run(ctx, *env, *exporter, *keep)
	}
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "live:", err)
		os.Exit(1)
	case wrong > 0:
		fmt.Fprintf(os.Stderr, "live: %d published numbers contradict the truth\n", wrong)
		os.Exit(1)
	}
}

// again reports on an earlier run.
func again(path string) (wrong int, err error) {
	r, err := read(path)
	if err != nil {
		return 0, err
	}
	return report(os.Stdout, r), nil
}

// run does a run and reports on it.
func run(ctx context.Context, env, exporter, keep string) (wrong int, err error) {
	if env == "" {
		return 0, errors.New("-env is not given: it is the directory that test/live/install made")
	}
	temporary := keep == ""
	if temporary {
		if keep, err = os.MkdirTemp("", "goodput-live-"); err != nil {
			return 0, err
		}
	} else if err := os.MkdirAll(keep, 0o755); err != nil {
		return 0, err
	}
	began := time.Now()
	p, err := perform(ctx, env, exporter, keep)
	if err != nil {
		return 0, fmt.Errorf("%w (logs are in %s)", err, keep)
	}
	p.About = about(p.engine, exporter, began, p.Took)
	if err := p.save(filepath.Join(keep, "seen.json")); err != nil {
		return 0, err
	}
	if wrong = report(os.Stdout, &p.record); wrong == 0 && temporary {
		return 0, os.RemoveAll(keep)
	}
	fmt.Fprintln(os.Stderr, "live: what was seen is in", keep)
	return wrong, nil
}

// perform starts what a run needs and goes through its course.
func perform(ctx context.Context, env, exporter, logs string) (*play, error) {
	l, otlpPort, err := listen()
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	p := &play{
		engine:   vllm{env: env, logs: logs, port: port, spans: fmt.Sprintf("127.0.0.1:%d", otlpPort), niceness: 10},
		exporter: exporter, config: filepath.Join(logs, "goodput.yaml"), asked: filepath.Join(logs, "asked.yaml"),
		say: func(format string, args ...any) {
			fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", args...)
		},
	}
	if p.tee.HTTP, err = freeAddress(); err != nil {
		return nil, err
	}
	if p.tee.GRPC, err = freeAddress(); err != nil {
		return nil, err
	}
	server := serveHTTP(l, &p.tee)
	defer server.Close()
	if err := p.configure(); err != nil {
		return nil, err
	}
	return p, p.run(ctx)
}

// configure writes the exporter's configuration, and for engine-flags another in which spans go by way of the tee.
func (p *play) configure() error {
	text := configuration + fmt.Sprintf("engines:\n  targets:\n    - {id: live, url: %q}\n", p.engine.url()+"/metrics")
	if err := os.WriteFile(p.config, fmt.Appendf(nil, "%sspans: {listen: %q, grpc_listen: %q}\n", text, p.tee.HTTP, p.tee.GRPC), 0o600); err != nil {
		return err
	}
	return os.WriteFile(p.asked, fmt.Appendf(nil, "%sspans: {listen: %q}\n", text, p.engine.spans), 0o600)
}
