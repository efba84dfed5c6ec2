package main

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/goodput-exporter/goodput-exporter/alerts"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/sim"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// weekStart is when the simulated week begins, unix seconds: a midnight, and the edge of a block of Prometheus.
const weekStart = 1_699_920_000

const (
	weekPoll   = 10 * time.Second // a lighter poll than usual, so that a week takes minutes
	weekScrape = 15               // seconds
	weekSLO    = "chat"
	weekModel  = "m"
)

// incident is something that is done to the simulated engine.
type incident struct {
	what  string
	at    float64 // seconds since the start of the week
	lasts float64
	alert string // which page it must bring, exactly once; "" for none
}

func (i incident) end() float64 { return i.at + i.lasts }

const (
	hour = 3600.0
	day  = 24 * hour
)

// weekIncidents are all of a week. The first day holds one of each kind, so that a test of one day sees them; the other days
// are quiet up to the fourth and the sixth.
func weekIncidents() []incident {
	return []incident{
		{"four times the load", 5 * hour, 900, "GoodputCollapse"},
		{"a third of the traffic leaves for an hour", 8 * hour, hour, ""},
		{"very long prompts", 11 * hour, 1200, "GoodputCollapse"},
		{"a burst that the engine bears", 14 * hour, 600, ""},
		{"the engine dies and is away for ten minutes", 17 * hour, 600, "GoodputEngineDown"},
		{"four times the load", 3*day + 2*hour, 1800, "GoodputCollapse"},
		{"nine tenths of the traffic leave for two hours", 3*day + 9*hour, 2 * hour, ""},
		{"very long prompts", 3*day + 20*hour, 900, "GoodputCollapse"},
		{"the engine dies and is away for ten minutes", 5*day + 4*hour, 600, "GoodputEngineDown"},
		{"four times the load", 5*day + 13*hour, 900, "GoodputCollapse"},
		{"very long prompts", 6*day + 6*hour, 1800, "GoodputCollapse"},
	}
}

// weekWorld is one small engine, near 0.8 requests per second by day and less by night, and what is done to it.
func weekWorld(length float64) (sim.Config, []incident) {
	engine := sim.Engine{ID: "a", Model: weekModel, Step: sim.StepCost{Base: 0.04, Prefill: 4e-5, Sequence: 1e-3, Noise: 0.1}, MaxSeqs: 4}
	short := sim.Mix{{Name: "short", Weight: 1, Prompt: 300, PromptCV: 0.8, Output: 20, OutputCV: 0.5, Stop: 0.9}}
	long := sim.Mix{{Name: "long", Weight: 1, Prompt: 24000, PromptCV: 0.2, Output: 20, OutputCV: 0.5, Stop: 0.9}}
	habits := sim.Habits{Cancel: 0.03, CancelAfter: 1, Patience: 15, Bad: 0.005}
	c := sim.Config{Seed: 11, Start: weekStart, Engines: []sim.Engine{engine}}
	var in []incident
	c.GPUExporter.Counters = sim.AllCounters
	for _, g := range weekTroubles(length) {
		c.GPUEvents = append(c.GPUEvents, g.event)
	}
	base := []sim.Point{}
	level := func(t float64) float64 { return 0.8 * (1 - 0.5*math.Cos(2*math.Pi*t/day)) }
	factor := func(t float64) float64 {
		for _, i := range in {
			if strings.Contains(i.what, "traffic") && t >= i.at && t < i.end() {
				return map[bool]float64{true: 0.1, false: 0.67}[strings.HasPrefix(i.what, "nine")]
			}
		}
		return 1
	}
	for _, i := range weekIncidents() {
		if i.end()+hour > length {
			continue
		}
		in = append(in, i)
		pulse := func(rate float64) sim.Rate {
			return sim.Rate{Points: []sim.Point{{At: i.at, PerSecond: 0}, {At: i.at, PerSecond: rate}, {At: i.end(), PerSecond: rate}, {At: i.end(), PerSecond: 0}}}
		}
		load := sim.Load{Name: fmt.Sprintf("%s %.0f", i.what, i.at), Engines: []string{"a"}, Mix: short, Habits: habits}
		switch {
		case strings.HasPrefix(i.what, "four"):
			load.Rate = pulse(6)
		case strings.HasPrefix(i.what, "very long"):
			load.Rate, load.Mix = pulse(0.9), long
		case strings.HasPrefix(i.what, "a burst"):
			load.Rate = pulse(0.9)
		case strings.HasPrefix(i.what, "the engine dies"):
			c.Outages = append(c.Outages, sim.Outage{Engine: "a", After: i.at, Down: i.lasts})
			continue
		default:
			continue
		}
		c.Loads = append(c.Loads, load)
	}
	for t := 0.0; t <= length; t += 300 {
		base = append(base, sim.Point{At: t, PerSecond: level(t) * factor(t)})
	}
	c.Loads = append(c.Loads, sim.Load{Name: "people", Engines: []string{"a"}, Rate: sim.Rate{Points: base}, Mix: short, Habits: habits})
	return c, in
}

func weekConfig() *config.Config {
	cfg := config.Default()
	cfg.Poll.Interval = weekPoll
	cfg.SLOs = []config.SLO{{
		Name: weekSLO, Objective: 0.95, Window: 30 * 24 * time.Hour, Policy: slo.DefaultPolicy(),
		Clauses: map[fact.Family]time.Duration{fact.TTFT: time.Second, fact.TPOT: 100 * time.Millisecond},
	}}
	return &cfg
}

// weekTruth counts, for every ten seconds, what ended and what of it met the objective.
type weekTruth struct {
	objective slo.Objective
	all, good []float64
}

const truthBin = 10.0

func (w *weekTruth) take(q sim.Sequence) {
	if !w.objective.Policy.Succeeds(q.Reason) {
		return
	}
	i := int((q.Values.End - weekStart) / truthBin)
	if i < 0 || i >= len(w.all) {
		return
	}
	w.all[i]++
	if ok, _ := w.objective.Meets(q.Values); ok {
		w.good[i]++
	}
}

// share is the true share in the 5 minutes before a time, and of how many.
func (w *weekTruth) share(t float64) (share, n float64) {
	end := int(t / truthBin)
	good := 0.0
	for i := max(0, end-30); i < end && i < len(w.all); i++ {
		n, good = n+w.all[i], good+w.good[i]
	}
	return good / n, n
}

// collapsed is when the true share of the last 5 minutes first fell below half of the best of the hour before it, from a
// time on: what the alert looks for, seen by somebody who knows everything. False when it did not within a quarter of an hour.
func (w *weekTruth) collapsed(from float64) (float64, bool) {
	for t := from; t < from+900; t += truthBin {
		best := 0.0
		for u := t - hour; u <= t; u += 60 {
			if s, n := w.share(u); n >= 50 {
				best = max(best, s)
			}
		}
		if s, n := w.share(t); n >= 50 && s < best/2 {
			return t, true
		}
	}
	return 0, false
}

// thinGatherer leaves of a page what the alerts read, with the labels that a scrape would add.
type thinGatherer struct {
	prometheus.Gatherer
	alerts string // all expressions
}

func (g thinGatherer) Gather() ([]*dto.MetricFamily, error) {
	all, err := g.Gatherer.Gather()
	job, jobName, instance, instanceName := "job", alerts.DefaultJob, "instance", "node-a:9810"
	all = slices.DeleteFunc(all, func(f *dto.MetricFamily) bool {
		return f.GetType() == dto.MetricType_HISTOGRAM || strings.HasPrefix(f.GetName(), "goodput_latency") || strings.Contains(f.GetName(), "_tokens") ||
			strings.HasPrefix(f.GetName(), "goodput_gpu") && !strings.Contains(g.alerts, f.GetName())
	})
	for _, f := range all {
		for _, m := range f.Metric {
			m.Label = append(m.Label, &dto.LabelPair{Name: &job, Value: &jobName}, &dto.LabelPair{Name: &instance, Value: &instanceName})
		}
	}
	return all, err
}

// alertExpressions are those of all alerts, one after another.
func alertExpressions(t *testing.T, cfg *config.Config) string {
	t.Helper()
	groups, err := alerts.Build(alerts.Options{Objectives: cfg.Objectives()})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, g := range groups {
		for _, r := range g.Rules {
			if r.Alert != "" {
				b.WriteString(r.Expr + "\n")
			}
		}
	}
	return b.String()
}

// writeWeek simulates, lets the exporter read it, and writes what Prometheus would have scraped.
func writeWeek(t *testing.T, c sim.Config, cfg *config.Config, length float64, path string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewWriter(file)
	// A scrape also leaves up.
	fmt.Fprintln(out, "# TYPE up gauge")
	for s := weekStart + weekScrape; float64(s) < weekStart+length; s += weekScrape {
		fmt.Fprintf(out, "up{job=%q,instance=\"node-a:9810\"} 1 %d\n", alerts.DefaultJob, s)
	}
	world, err := sim.New(c)
	if err != nil {
		t.Fatal(err)
	}
	sink, err := newOpenMetricsSink(cfg, weekScrape*time.Second, out)
	if err != nil {
		t.Fatal(err)
	}
	sink.gatherer = thinGatherer{sink.gatherer, alertExpressions(t, cfg)}
	source := newSimulated(world, weekStart, cfg.Poll.Interval, func(at float64) bool { return at < weekStart+length })
	if err := errors.Join(replayWithGPUs(t.Context(), cfg, source, sink), sink.Close(), out.Flush(), file.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestWeek simulates quiet days and incidents, evaluates every alert on a real Prometheus at every interval, and wants no
// page in the quiet and exactly one for each incident, and of alerts on GPUs only those that their troubles must bring. GOODPUT_WEEK is the number of days: make rules runs one, make week
// seven.
func TestWeek(t *testing.T) {
	if os.Getenv("GOODPUT_WEEK") == "" {
		t.Skip("GOODPUT_WEEK is not set: make rules and make week run this, without the race detector, which slows the simulation")
	}
	tools := prometheusTools(t)
	var days float64
	if _, err := fmt.Sscan(os.Getenv("GOODPUT_WEEK"), &days); err != nil {
		t.Fatal(err)
	}
	length := days * day
	began := time.Now()
	c, incidents := weekWorld(length)
	cfg := weekConfig()
	truth := &weekTruth{objective: cfg.Objectives()[0], all: make([]float64, int(length/truthBin)), good: make([]float64, int(length/truthBin))}
	c.Truth = sim.Truth{Sequence: truth.take}
	dir := t.TempDir()
	page := filepath.Join(dir, "week.om")
	writeWeek(t, c, cfg, length, page)
	t.Logf("simulated %.0f days with %d incidents in %s", days, len(incidents), time.Since(began).Round(time.Second))

	groups, err := alerts.Build(alerts.Options{Objectives: cfg.Objectives()})
	if err != nil {
		t.Fatal(err)
	}
	history := tools.evaluate(t, groups, page, filepath.Join(dir, "data"), length)
	t.Logf("evaluated after %s", time.Since(began).Round(time.Second))
	reportWeek(t, inhibit(t, history), incidents, truth)
	reportGPUs(t, history, length)
}

// inhibit leaves out the pages that docs/alerts.md has Alertmanager inhibit: what begins and ends while something more telling
// fires.
func inhibit(t *testing.T, all []firing) (rest []firing) {
	t.Helper()
	for _, f := range all {
		if slices.ContainsFunc(all, func(by firing) bool {
			covers := by.from <= f.from && f.to <= by.to
			return covers && by.alert == "GoodputCollapse" && f.alert == "GoodputErrorBudgetBurn"
		}) {
			t.Logf("inhibited: %s from %.2f h to %.2f h", f.alert, f.from/hour, f.to/hour)
			continue
		}
		rest = append(rest, f)
	}
	return rest
}

// reportWeek compares what fired with what was done.
func reportWeek(t *testing.T, history []firing, incidents []incident, truth *weekTruth) {
	t.Helper()
	// What an incident leaves behind: queues drain, and five minutes have to pass.
	const after = 1200
	claimed := map[int]bool{}
	for _, in := range incidents {
		var pages []firing
		for i, f := range history {
			if f.severity == "page" && f.from >= in.at && f.from <= in.end()+after {
				claimed[i] = true
				pages = append(pages, f)
			}
		}
		at, is := truth.collapsed(in.at)
		lag := "the truth does not collapse"
		if is {
			lag = fmt.Sprintf("in truth collapsed after %.0f s", at-in.at)
			if len(pages) > 0 {
				lag += fmt.Sprintf(", paged %.0f s after that", pages[0].from-at)
			}
		}
		t.Logf("%-48s at %6.2f h: %v; %s", in.what, in.at/hour, names(pages), lag)
		switch {
		case in.alert == "" && len(pages) > 0:
			t.Errorf("%s paged: %v", in.what, names(pages))
		case in.alert != "" && (len(pages) != 1 || pages[0].alert != in.alert):
			t.Errorf("%s: pages %v, want exactly one %s", in.what, names(pages), in.alert)
		case in.alert == "GoodputCollapse" && (!is || pages[0].from-at > 180):
			t.Errorf("%s: paged %.0f s after the truth collapsed, want at most 180", in.what, pages[0].from-at)
		}
	}
	for i, f := range history {
		if f.severity == "page" && !claimed[i] {
			t.Errorf("%s paged in the quiet, at %.2f h", f.alert, f.from/hour)
		}
		if f.severity != "page" {
			t.Logf("%s (%s) from %.2f h to %.2f h", f.alert, f.severity, f.from/hour, f.to/hour)
		}
	}
}

func names(all []firing) (n []string) {
	for _, f := range all {
		n = append(n, fmt.Sprintf("%s +%.0f min", f.alert, (f.to-f.from)/60))
	}
	return n
}
