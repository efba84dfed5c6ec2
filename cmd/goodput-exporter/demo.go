package main

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/recording"
	"github.com/goodput-exporter/goodput-exporter/exporter"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
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

	world, err := sim.New(scenario.Config(o.Seed, unix(start)))
	if err != nil {
		return err
	}
	fleet, err := newFleet(world)
	if err != nil {
		return err
	}
	defer fleet.close()
	cfg, err := demoConfiguration(fleet)
	if err != nil {
		return err
	}
	state, pages, err := catchUp(ctx, cfg, world, start, o.Notes)
	if err != nil {
		return err
	}
	if o.Hours > 0 {
		fmt.Fprintf(out, "Simulated %s of %s in %.1f s: %d pages, as %q with seed %d.\n", hours(o.Hours), count(len(fleet.engines), "engine"), time.Since(begun).Seconds(), pages, o.Scenario, o.Seed)
	}
	return serveDemo(ctx, o, cfg, fleet, state, start, out)
}

// serveDemo serves the engines and the exporter on top of them.
func serveDemo(ctx context.Context, o demoOptions, cfg *config.Config, fleet *fleet, state *fold.State, start time.Time, out io.Writer) error {
	listener, err := listenNear(o.Listen)
	if err != nil {
		return fmt.Errorf("--web.listen-address: %w", err)
	}
	defer listener.Close() // the server closes it too; this is for the ways out before that
	e, err := newExporter(cfg, state, start, o.Log)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := newServer(e.Handler(), o.Log)
	ended := make(chan error, 3)
	go func() { ended <- e.Run(ctx) }()
	go func() { ended <- fleet.run(ctx) }()
	go func() { ended <- server.Serve(listener) }()

	awaitFirstRound(ctx, e)
	url := "http://" + listener.Addr().String()
	if _, port, err := net.SplitHostPort(o.Listen); err == nil && port != "0" && !strings.HasSuffix(url, ":"+port) {
		fmt.Fprintf(out, "%s is in use, so the exporter is at another port.\n", o.Listen)
	}
	fmt.Fprintf(out, "\n  Open this      %s/\n  Prometheus     %s/metrics\n", url, url)
	for _, e := range fleet.engines {
		fmt.Fprintf(out, "  %-14s %s\n", "engine "+e.id, e.url())
	}
	fmt.Fprint(out, "\nCtrl-C stops everything.\n")
	if o.Ready != nil {
		o.Ready(url)
	}

	var errs []error
	running := 3
	select {
	case err := <-ended: // one of them cannot go on
		errs, running = append(errs, err), 2
	case <-ctx.Done():
	}
	cancel()
	grace, release := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
	defer release()
	errs = append(errs, server.Shutdown(grace))
	for range running {
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// awaitFirstRound waits until there is something to see.
func awaitFirstRound(ctx context.Context, e *exporter.Exporter) {
	for e.Snapshot() == nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// catchUp replays everything from the world's start to the present, and returns the state that live rounds go on with.
func catchUp(ctx context.Context, cfg *config.Config, world *sim.World, start time.Time, notes io.Writer) (*fold.State, int, error) {
	total := time.Since(start).Seconds()
	bar := newProgress(notes, "simulating "+hours(total/3600))
	defer bar.done()
	pages := 0
	source := newSimulated(world, unix(start), cfg.Poll.Interval, func(at float64) bool {
		bar.at(min(1, (at-unix(start))/total))
		return at+cfg.Poll.Interval.Seconds() < unix(time.Now())
	})
	r := newReplayer(cfg)
	err := r.run(ctx, source, sinkFunc(func(*fold.Snapshot) error { pages++; return nil }))
	if r.state == nil {
		r.state = fold.New(foldOptions(cfg, unix(start)))
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

// listenNear takes an address, or a free port of its host when it is in use.
func listenNear(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		host, _, splitErr := net.SplitHostPort(address)
		if splitErr != nil {
			return nil, splitErr
		}
		return net.Listen("tcp", net.JoinHostPort(host, "0"))
	}
	return l, err
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

// writeRecording writes the pages of a world up to a time, and beside them the truth if that is wanted.
func writeRecording(ctx context.Context, o demoOptions, c sim.Config, until float64, out io.Writer) (err error) {
	file, err := os.Create(o.Recording)
	if err != nil {
		return fmt.Errorf("--write-recording: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w, err := recording.NewWriter(file)
	if err != nil {
		return fmt.Errorf("%s: %w", o.Recording, err)
	}
	finishTruth := func() error { return nil }
	if o.Truth != "" {
		if c.Truth, finishTruth, err = openTruth(o.Truth); err != nil {
			return err
		}
	}
	world, err := sim.New(c)
	if err != nil {
		return err
	}
	bar := newProgress(o.Notes, "writing "+o.Recording)
	defer bar.done()
	source := newSimulated(world, c.Start, config.Default().Poll.Interval, func(at float64) bool {
		bar.at((at - c.Start) / (until - c.Start))
		return at < until && ctx.Err() == nil
	})
	pages := 0
	for {
		e, err := source.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err := w.WriteEntry(e); err != nil {
			return fmt.Errorf("%s: %w", o.Recording, err)
		}
		pages++
	}
	if err := errors.Join(w.Close(), finishTruth(), ctx.Err()); err != nil {
		return fmt.Errorf("%s: %w", o.Recording, err)
	}
	fmt.Fprintf(out, "%s: %d pages of %s\n", o.Recording, pages, count(len(c.Engines), "engine"))
	return nil
}

// truthLine is one line of a truth file: a request at its end, or a finished sequence with all its values.
type truthLine struct {
	Kind     string       `json:"kind"`
	Request  *sim.Request `json:"request,omitempty"`
	Sequence *truthOfOne  `json:"sequence,omitempty"`
}

// truthOfOne is a finished sequence. Seconds and tokens.
type truthOfOne struct {
	Request uint64       `json:"request"`
	Engine  string       `json:"engine"`
	Rank    int          `json:"rank"`
	Reason  string       `json:"reason"`
	Values  fact.Request `json:"values"`
}

// openTruth writes what a world tells as JSON lines.
func openTruth(path string) (sim.Truth, func() error, error) {
	file, err := os.Create(path)
	if err != nil {
		return sim.Truth{}, nil, fmt.Errorf("--write-truth: %w", err)
	}
	buffered := bufio.NewWriter(file)
	lines := json.NewEncoder(buffered)
	var failed error
	write := func(l truthLine) {
		if failed == nil {
			failed = lines.Encode(l)
		}
	}
	truth := sim.Truth{
		Request: func(r sim.Request) { write(truthLine{Kind: "request", Request: &r}) },
		Sequence: func(q sim.Sequence) {
			write(truthLine{Kind: "sequence", Sequence: &truthOfOne{Request: q.Request, Engine: q.Engine, Rank: q.Rank, Reason: q.Reason, Values: q.Values}})
		},
	}
	return truth, func() error { return errors.Join(failed, buffered.Flush(), file.Close()) }, nil
}
