package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/goodput-exporter/goodput-exporter/test/live/load"
	"github.com/goodput-exporter/goodput-exporter/test/live/otlp"
)

// The shapes of requests that are mixed: most are chats, some have a long prompt, a few want a single token.
var shapes = []load.Shape{
	{Share: 0.75, Prompt: 150, Output: 40},
	{Share: 0.2, Prompt: 500, Output: 20},
	{Share: 0.05, Prompt: 100, Output: 1},
}

// The load up to the kill and after the restart. How much an engine can take depends on the machine: on two
// cores of 2025, which had other work too, this one was near its knee at sixteen requests a second.
var (
	first = []load.Step{
		{Name: "light", Length: 60 * time.Second, Rate: 4, Early: 0.04, Late: 0.04, Bad: 0.03, Pairs: 0.04},
		{Name: "near the knee", Length: 75 * time.Second, Rate: 16, Early: 0.03, Late: 0.03, Bad: 0.02, Pairs: 0.03},
		{Name: "beyond capacity", Length: 45 * time.Second, Rate: 60, Early: 0.02, Late: 0.02, Bad: 0.02},
		{Name: "before the kill", Length: 30 * time.Second, Rate: 8, Late: 0.03, Bad: 0.02, Pairs: 0.02},
		{Name: "through the kill", Length: 15 * time.Second, Rate: 20},
	}
	second = []load.Step{
		{Name: "light", Length: 60 * time.Second, Rate: 5, Early: 0.04, Late: 0.04, Bad: 0.02, Pairs: 0.04},
		{Name: "near the knee", Length: 75 * time.Second, Rate: 18, Early: 0.03, Late: 0.03, Bad: 0.02, Pairs: 0.03},
	}
)

// killIn is the step during which the engine is killed, and killAfter how long after its beginning.
const (
	killIn    = 4
	killAfter = 3 * time.Second
)

// settle is how long to wait at the end, so that the last judgement window is committed: it waits for its spans.
const settle = 85 * time.Second

// play is one run: what is started, and what it yields.
type play struct {
	engine   vllm
	exporter string // binary
	config   string // path of the configuration with the engine's address
	asked    string // path of another for engine-flags, which differs in where spans go
	say      func(format string, args ...any)
	base     string // URL of the exporter

	tee otlp.Tee // between the engine and the exporter
	record
}

// run is the whole course: an engine with its default buckets, under load until it is killed; then one with the flags
// that engine-flags prints.
func (p *play) run(ctx context.Context) error {
	var err error
	p.Flags, err = p.command(ctx, "engine-flags", "--config.file="+p.asked, "--vllm-version=0.32")
	if err != nil {
		return fmt.Errorf("engine-flags: %w", err)
	}
	engine, err := p.launch(ctx, "engine-1", p.engine.plain())
	if err != nil {
		return err
	}
	defer engine.stop(syscall.SIGKILL)
	if err := p.warmUp(ctx); err != nil {
		return err
	}
	p.check(ctx)
	stop, err := p.watch(ctx)
	if err != nil {
		return err
	}
	defer stop() //nolint:errcheck // its error was returned, or another is
	if err := p.loadAndKill(ctx, engine); err != nil {
		return err
	}
	engine, err = p.launch(ctx, "engine-2", p.Flags)
	if err != nil {
		return err
	}
	defer engine.stop(syscall.SIGKILL)
	p.check(ctx)
	if err := p.load(ctx, "b", second, func(int) {}); err != nil {
		return err
	}
	if err := p.close(ctx); err != nil {
		return err
	}
	return stop()
}

// loadAndKill kills the engine in the middle of its work, while the clients go on.
func (p *play) loadAndKill(ctx context.Context, engine *process) error {
	var kill sync.WaitGroup
	defer kill.Wait()
	return p.load(ctx, "a", first, func(step int) {
		if step == killIn {
			kill.Go(func() {
				if sleep(ctx, killAfter) == nil {
					p.say("  kill -9")
				}
				p.Lives[0].Killed = unix(time.Now())
				engine.stop(syscall.SIGKILL)
			})
		}
	})
}

// close waits for what comes late, and takes what was said to the end.
func (p *play) close(ctx context.Context) error {
	p.say("wait for the last judgement window")
	if err := sleep(ctx, settle); err != nil {
		return err
	}
	body, err := get(ctx, p.base+"/metrics")
	if err != nil {
		return err
	}
	p.Samples = page(string(body))
	var errs []error
	if p.Spans, errs = p.tee.Spans(); len(errs) > 0 {
		return fmt.Errorf("%d messages with spans could not be read: %w", len(errs), errs[0])
	}
	p.Taken = p.tee.Took()
	return nil
}

// launch starts an engine and notes its life.
func (p *play) launch(ctx context.Context, name, command string) (*process, error) {
	p.say("start %s; it takes a minute or two", name)
	began := time.Now()
	e, err := p.engine.start(ctx, name, command)
	if err != nil {
		return nil, err
	}
	p.Took = append(p.Took, time.Since(began).Round(time.Second))
	p.Lives = append(p.Lives, life{Started: unix(e.began)})
	return e, nil
}

// warmUp sends a few requests before the exporter comes: the first ones of a process are slow, and an engine that has
// served before is what an exporter finds as a rule.
func (p *play) warmUp(ctx context.Context) error {
	_, err := load.Crowd{URL: p.engine.url(), Model: model, Prefix: "warm", Seed: 3, Steps: []load.Step{{Name: "warm up", Length: 5 * time.Second, Rate: 2, Shapes: shapes}}}.Run(ctx)
	return err
}

// load runs steps to their end, and keeps what the clients saw.
func (p *play) load(ctx context.Context, prefix string, steps []load.Step, on func(step int)) error {
	for i := range steps {
		steps[i].Shapes = shapes
	}
	requests, err := load.Crowd{URL: p.engine.url(), Model: model, Prefix: prefix, Seed: 11, Steps: steps, OnStep: func(i int, s load.Step) {
		p.say("  %s: %.0f requests/s for %v", s.Name, s.Rate, s.Length)
		on(i)
	}}.Run(ctx)
	p.Requests = append(p.Requests, requests...)
	return err
}

// watch starts the exporter and reads what it says until the returned function is called, which may be done twice.
func (p *play) watch(ctx context.Context) (stop func() error, err error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	p.base = fmt.Sprintf("http://127.0.0.1:%d", port)
	e, err := launch("exporter", filepath.Join(p.engine.logs, "exporter.log"), nil,
		p.exporter, "serve", "--config.file="+p.config, "--web.listen-address="+strings.TrimPrefix(p.base, "http://"))
	if err != nil {
		return nil, err
	}
	if err := e.answers(ctx, p.base+"/-/ready", 20*time.Second); err != nil {
		e.stop(syscall.SIGKILL)
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		said, err := watch(ctx, p.base)
		p.Published = said
		done <- err
	}()
	return sync.OnceValue(func() error {
		cancel()
		err := <-done
		e.stop(syscall.SIGTERM)
		return err
	}), nil
}

// check asks the exporter whether the engine can answer the objectives.
func (p *play) check(ctx context.Context) {
	out, err := p.command(ctx, "check", "--config.file="+p.config, p.engine.url()+"/metrics")
	if err != nil {
		out += err.Error() + "\n"
	}
	p.Checks = append(p.Checks, out)
}

// command runs the exporter's binary and returns what it prints; the error has what it complains about.
func (p *play) command(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, p.exporter, args...)
	cmd.Env = append(os.Environ(), "NO_COLOR=1")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	return string(out), err
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func unix(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }
