package main

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/goodput-exporter/goodput-exporter/exporter"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// node is the exporter of a node, round by round on a clock of the test: the pods come from an API server over HTTP, and pages
// from the pods' addresses.
type node struct {
	t       *testing.T
	cluster *cluster
	running sync.WaitGroup
	log     *slog.Logger

	generation *generation
	state      *fold.State
	now        float64 // unix seconds
	interval   float64
	snapshot   *fold.Snapshot
	windows    []fold.Window

	page   func(t fact.Target) fact.Poll     // instead of asking, when not nil; its times are set by step
	polled func(t fact.Target, sent float64) // is told of each page that came, when not nil
}

func watchNode(t *testing.T, c *cluster, text string) *node {
	t.Helper()
	n := &node{t: t, cluster: c, log: slog.New(slog.DiscardHandler), now: simStart}
	n.configure(text)
	n.state = fold.New(n.generation.options(n.now))
	t.Cleanup(func() {
		n.generation.retire()
		n.running.Wait()
	})
	return n
}

// configure is a start, or a reload.
func (n *node) configure(text string) {
	n.t.Helper()
	cfg, err := loadServed(writeFile(n.t, "goodput.yaml", text))
	if err != nil {
		n.t.Fatal(err)
	}
	around := surroundings{running: &n.running, log: n.log}
	if n.generation != nil {
		around.pods = n.generation.pods
	}
	next, err := around.build(cfg)
	if err != nil {
		n.t.Fatal(err)
	}
	if n.generation != nil {
		n.state.Reconfigure(next.options(0))
		n.generation.retire()
	}
	n.generation, n.interval = next, cfg.Poll.Interval.Seconds()
}

// ids are the engines of this moment.
func (n *node) ids() []string {
	var ids []string
	for _, t := range n.generation.targets.Targets() {
		ids = append(ids, t.ID)
	}
	slices.Sort(ids)
	return ids
}

// until waits until the engines are these: what happens to pods takes a moment to be known.
func (n *node) until(ids ...string) {
	n.t.Helper()
	slices.Sort(ids)
	n.wait("the engines "+strings.Join(ids, " "), func() bool { return slices.Equal(n.ids(), ids) })
}

func (n *node) wait(what string, happened func() bool) {
	n.t.Helper()
	for begun := time.Now(); !happened(); <-time.After(time.Millisecond) {
		if time.Since(begun) > 20*time.Second {
			n.t.Fatalf("%s: waited in vain; engines are %v, %+v", what, n.ids(), n.generation.pods.status())
		}
	}
}

// rounds lets some time pass, with a round at each interval.
func (n *node) rounds(seconds float64) {
	n.t.Helper()
	for end := n.now + seconds; n.now < end; {
		n.now += n.interval
		n.round()
	}
}

// round polls all engines once.
func (n *node) round() {
	targets := n.generation.targets.Targets()
	r := fold.Round{Targets: targets}
	for i, t := range targets {
		sent := n.now + simStagger*float64(i)
		p := n.poll(t)
		p.Target, p.Sent, p.Received = t.ID, sent, sent+simPageTook
		if p.Sample != nil && n.polled != nil {
			n.polled(t, sent)
		}
		r.Polls = append(r.Polls, p)
	}
	r.At = n.now + simStagger*float64(len(targets)) + simPageTook
	n.snapshot = n.state.Apply(r)
	n.windows = append(n.windows, n.snapshot.Windows...)
}

func (n *node) poll(t fact.Target) fact.Poll {
	if n.page != nil {
		return n.page(t)
	}
	return n.ask(t)
}

// ask polls an engine over HTTP.
func (n *node) ask(t fact.Target) fact.Poll {
	ctx, done := context.WithTimeout(context.Background(), 5*time.Second)
	defer done()
	return n.generation.fetcher.Poll(ctx, t)
}

// engine is what was said of an engine in the last round; nil for nothing.
func (n *node) engine(id string) *fold.Engine {
	for i := range n.snapshot.Engines {
		if e := &n.snapshot.Engines[i]; e.ID == id {
			return e
		}
	}
	return nil
}

// finished adds up what all engines have finished, in sequences.
func (n *node) finished() (all uint64) {
	for _, w := range n.windows {
		all += w.Sequences
	}
	return all
}

// metrics is the exporter's page about the last round.
func (n *node) metrics() string {
	n.t.Helper()
	r := prometheus.NewRegistry()
	r.MustRegister(exporter.NewSnapshotCollector(exporter.SnapshotConfig{Started: simStart, Published: func() exporter.Published {
		return exporter.Published{Snapshot: n.snapshot, Objectives: n.generation.cfg.Objectives()}
	}}))
	families, err := r.Gather()
	if err != nil {
		n.t.Fatal(err)
	}
	var text strings.Builder
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&text, f); err != nil {
			n.t.Fatal(err)
		}
	}
	return text.String()
}

// lines are the samples of a page that are about an engine or its ranks.
func linesOf(page, engine string) (lines []string) {
	for line := range strings.Lines(page) {
		if strings.Contains(line, `engine="`+engine+`"`) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}
