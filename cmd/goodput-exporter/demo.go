package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/sim"
)

//go:embed demo.yaml
var demoConfig string

// demoOptions is what the demo command was told.
type demoOptions struct {
	Scenario  string
	List      bool
	Hours     float64 // simulated before the present
	Seed      uint64
	Listen    string // of the exporter; another port is taken when it is in use
	Recording string // file to write the simulated hours to, instead of serving; "" for none
	Truth     string // file to write every request's fate to, beside it
	Notes     io.Writer
	Log       *slog.Logger
	// Ready, when not nil, is told where the exporter serves once it does.
	Ready func(url string)
}

// maxHours bounds what is simulated at once: each hour takes a few seconds.
const maxHours = 72

// runDemo simulates a node with engines up to the present, lets the exporter read all of it, and serves both in real
// time until the context is done.
func runDemo(ctx context.Context, o demoOptions, out io.Writer) error {
	if o.List {
		return listScenarios(out)
	}
	scenario, ok := sim.ScenarioNamed(o.Scenario)
	switch {
	case !ok:
		return fmt.Errorf("--scenario=%s does not exist; there are %s (--list-scenarios says more)", o.Scenario, strings.Join(scenarioNames(), ", "))
	case !(o.Hours >= 0 && o.Hours <= maxHours):
		return fmt.Errorf("--hours=%v: it must be between 0 and %d", o.Hours, maxHours)
	case o.Truth != "" && o.Recording == "":
		return errors.New("--write-truth is the truth of what --write-recording writes: give both")
	}
	begun := time.Now()
	start := begun.Add(-time.Duration(o.Hours * float64(time.Hour)))
	if o.Recording != "" {
		return writeRecording(ctx, o, scenario.Config(o.Seed, unix(start)), unix(begun), out)
	}

	spans := &mail{}
	c := scenario.Config(o.Seed, unix(start))
	c.Spans, c.GPUExporter.Counters = spans.put, sim.AllCounters
	world, err := sim.New(c)
	if err != nil {
		return err
	}
	fleet, err := newFleet(world)
	if err != nil {
		return err
	}
	defer fleet.close()
	fleet.mail = spans
	cfg, err := demoConfiguration(fleet)
	if err != nil {
		return err
	}
	state, pages, err := catchUp(ctx, cfg, fleet, start, o.Notes)
	if err != nil {
		return err
	}
	if o.Hours > 0 {
		fmt.Fprintf(out, "Simulated %s of %s in %.1f s: %d pages, as %q with seed %d.\n", hours(o.Hours), count(len(fleet.engines), "engine"), time.Since(begun).Seconds(), pages, o.Scenario, o.Seed)
	}
	return serveDemo(ctx, o, cfg, fleet, state, start, out)
}

// catchUp replays everything from the world's start to the present, and returns the state that live rounds go on with.
func catchUp(ctx context.Context, cfg *config.Config, f *fleet, start time.Time, notes io.Writer) (*fold.State, int, error) {
	total := time.Since(start).Seconds()
	bar := newProgress(notes, "simulating "+hours(total/3600))
	defer bar.done()
	pages := 0
	source := newSimulated(f.world, unix(start), cfg.Poll.Interval, func(at float64) bool {
		bar.at(min(1, (at-unix(start))/total))
		return at+cfg.Poll.Interval.Seconds() < unix(time.Now())
	})
	source.mail = f.mail
	r := newReplayer(cfg)
	err := r.run(ctx, source, sinkFunc(func(*fold.Snapshot) error { pages++; return nil }))
	if r.state == nil {
		r.state = fold.New(foldOptions(cfg, unix(start)))
		return r.state, pages, err
	}
	for spans := range r.spans.rest() { // what came behind the last page
		r.last = max(r.last, spans[0].Received)
		r.apply(fold.Round{Spans: spans})
	}
	return r.state, pages, err
}

// sinkFunc is a sink that looks at each snapshot.
type sinkFunc func(*fold.Snapshot) error

func (f sinkFunc) Take(s *fold.Snapshot) error { return f(s) }
func (f sinkFunc) Close() error                { return nil }

// demoConfiguration is the demo's configuration with the fleet's engines.
func demoConfiguration(f *fleet) (*config.Config, error) {
	text := demoConfig + "engines:\n  targets:\n"
	for _, e := range f.engines {
		text += fmt.Sprintf("    - {id: %q, url: %q}\n", e.id, e.url())
	}
	text += f.gpus.config()
	return config.Parse([]byte(text), "demo.yaml")
}

func scenarioNames() (names []string) {
	for _, s := range sim.Scenarios() {
		names = append(names, s.Name)
	}
	return names
}

func listScenarios(out io.Writer) error {
	for _, s := range sim.Scenarios() {
		if _, err := fmt.Fprintf(out, "%-14s %s\n", s.Name, s.About); err != nil {
			return err
		}
	}
	return nil
}

// hours writes a number of hours for a person.
func hours(h float64) string {
	d := time.Duration(h * float64(time.Hour)).Round(time.Minute)
	if d < time.Hour || d%time.Hour != 0 {
		return fmt.Sprintf("%.0f minutes", d.Minutes())
	}
	if d == time.Hour {
		return "1 hour"
	}
	return fmt.Sprintf("%.0f hours", d.Hours())
}

func unix(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }
