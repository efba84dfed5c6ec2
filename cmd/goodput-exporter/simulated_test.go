package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
	"github.com/goodput-exporter/goodput-exporter/exporter/sim"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// simStart is when simulated worlds of tests begin, unix seconds.
const simStart = 1.8e9

// judgedWorld is a world that an exporter has watched to its end, with the truth.
type judgedWorld struct {
	world     *sim.World
	said      told
	sequences map[string][]sim.Sequence // by engine, in the order of their ends
	firsts    map[string][]sim.FirstToken
	requests  []sim.Request
	pages     map[string][]renderedPage // by engine
	messages  []sim.Message
}

type renderedPage struct {
	sent, at float64 // when it was asked for, and of which moment it is
	process  int
}

func (j *judgedWorld) Take(s *fold.Snapshot) error {
	j.said.snapshots = append(j.said.snapshots[:0], s)
	j.said.windows = append(j.said.windows, s.Windows...)
	j.said.quantiles = append(j.said.quantiles, s.Quantiles...)
	return nil
}

func (j *judgedWorld) Close() error { return nil }

// computes marks a test that computes for long in one goroutine after another. The race detector would find nothing in it
// and make it ten times as long: `make test` runs it without.
func computes(t testing.TB) {
	t.Helper()
	if raced {
		t.Skip("a long computation, which make test runs without the race detector")
	}
}

// watch polls a scenario's world for a while. Clients stop two minutes before the end, and then a few single requests come, so that
// all accounts can be settled: what is in flight is counted in sequences, and a request that was taken for two is made up
// for by the next.
func watch(t testing.TB, s sim.Scenario, seed uint64, length time.Duration, objectives []config.SLO) *judgedWorld {
	t.Helper()
	return watchWith(t, s, seed, length, objectives, nil)
}

// watchWith is watch with the spans that engines send, unless spans is nil.
func watchWith(t testing.TB, s sim.Scenario, seed uint64, length time.Duration, objectives []config.SLO, spans *mail) *judgedWorld {
	t.Helper()
	j := &judgedWorld{sequences: map[string][]sim.Sequence{}, firsts: map[string][]sim.FirstToken{}, pages: map[string][]renderedPage{}}
	c := s.Config(seed, simStart)
	c.Stop = (length - 2*time.Minute).Seconds()
	for _, e := range c.Engines {
		coda := sim.Load{Name: "coda", Engines: []string{e.ID}}
		for i := range 15 {
			coda.Trace = append(coda.Trace, sim.Sent{At: length.Seconds() - 60 + 3*float64(i), Prompt: 50, Output: 10})
		}
		c.Loads = append(slices.Clip(c.Loads), coda)
	}
	c.Truth = sim.Truth{
		Request:    func(r sim.Request) { j.requests = append(j.requests, r) },
		Sequence:   func(q sim.Sequence) { j.sequences[q.Engine] = append(j.sequences[q.Engine], q) },
		FirstToken: func(f sim.FirstToken) { j.firsts[f.Engine] = append(j.firsts[f.Engine], f) },
	}
	cfg := config.Default()
	cfg.SLOs = objectives
	if spans != nil {
		cfg.Spans.Listen = "127.0.0.1:4318" // nothing is opened
		c.Spans = func(m sim.Message) {
			j.messages = append(j.messages, m)
			spans.put(m)
		}
	}
	world, err := sim.New(c)
	if err != nil {
		t.Fatal(err)
	}
	j.world = world
	source := newSimulated(world, simStart, cfg.Poll.Interval, func(at float64) bool { return at < simStart+length.Seconds() })
	source.mail = spans
	source.rendered = func(engine string, sent, at float64) {
		j.pages[engine] = append(j.pages[engine], renderedPage{sent: sent, at: at, process: world.Process(engine)})
	}
	if err := replay(context.Background(), &cfg, source, refusals{}, j); err != nil {
		t.Fatal(err)
	}
	return j
}

var watchedOnce sync.Map // scenario -> func() *judgedWorld

// watched is a scenario that was watched for a quarter of an hour, once for all tests.
func watched(t *testing.T, s sim.Scenario) *judgedWorld {
	t.Helper()
	run, _ := watchedOnce.LoadOrStore(s.Name, sync.OnceValue(func() *judgedWorld { return watch(t, s, 7, 15*time.Minute, simObjectives()) }))
	return run.(func() *judgedWorld)()
}

// within lists the sequences that ended between two pages, on the pages' process.
func (j *judgedWorld) within(engine string, start, end float64) (in []sim.Sequence) {
	from, to, process := 0.0, 0.0, 0
	for _, p := range j.pages[engine] {
		if p.sent == end {
			to, process = p.at, p.process
		}
	}
	for _, p := range j.pages[engine] {
		if p.sent == start && p.process == process {
			from = p.at
		}
	}
	for _, q := range j.sequences[engine] {
		if q.Process == process && q.Values.End > from && q.Values.End <= to {
			in = append(in, q)
		}
	}
	return in
}

// simObjectives are promises that the default edges can answer: near the knee, far below it, far above it, and about one
// and three clauses.
func simObjectives() []config.SLO {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	of := func(name string, clauses map[fact.Family]time.Duration) config.SLO {
		return config.SLO{Name: name, Clauses: clauses, Objective: 0.95, Window: 720 * time.Hour, Policy: slo.DefaultPolicy()}
	}
	return []config.SLO{
		of("500/25", map[fact.Family]time.Duration{fact.TTFT: ms(500), fact.TPOT: ms(25)}),
		of("100/10", map[fact.Family]time.Duration{fact.TTFT: ms(100), fact.TPOT: ms(10)}),
		of("2500/50", map[fact.Family]time.Duration{fact.TTFT: ms(2500), fact.TPOT: ms(50)}),
		of("first", map[fact.Family]time.Duration{fact.TTFT: ms(1000)}),
		of("all", map[fact.Family]time.Duration{fact.TTFT: ms(1000), fact.TPOT: ms(25), fact.E2E: ms(5000)}),
	}
}

// qualified counts the sequences that met a promise.
func qualified(name string, in []sim.Sequence) (good uint64) {
	objectives := simObjectives()
	i := slices.IndexFunc(objectives, func(o config.SLO) bool { return o.Name == name })
	for _, q := range in {
		if meets(objectives[i], q) {
			good++
		}
	}
	return good
}

func meets(o config.SLO, q sim.Sequence) bool {
	objective := slo.Objective{Name: o.Name, Policy: o.Policy}
	for f, d := range o.Clauses {
		objective.Clauses = append(objective.Clauses, slo.Clause{Metric: f, Threshold: d.Seconds()})
	}
	met, _ := objective.Meets(q.Values)
	return met && o.Policy.Succeeds(q.Reason)
}

// TestTruthOfEveryScenarioLiesInEveryWindow: whatever the world does, the published interval holds the number of
// sequences that met the promise, in every window.
func TestTruthOfEveryScenarioLiesInEveryWindow(t *testing.T) {
	computes(t)
	for _, s := range sim.Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			j := watched(t, s)
			if want := 12 * len(s.Engines) * len(simObjectives()); len(j.said.windows) < want {
				t.Errorf("%d windows, at least %d are due", len(j.said.windows), want)
			}
			width, total := 0, 0
			for _, w := range j.said.windows {
				in := j.within(w.Engine, w.Start, w.End)
				good := qualified(w.SLO, in)
				what := fmt.Sprintf("%s %s (%.0f, %.0f] %s %s", w.Engine, w.SLO, w.Start-simStart, w.End-simStart, w.Method, w.Note)
				switch {
				case w.Evidence != "histogram":
					t.Errorf("%s: no interval: %s", what, w.Reason)
				case uint64(len(in)) != w.Sequences:
					t.Errorf("%s: %d sequences, %d are true", what, w.Sequences, len(in))
				case good < w.Lower || good > w.Upper:
					t.Errorf("%s: truth %d outside [%d, %d]", what, good, w.Lower, w.Upper)
				}
				width += int(w.Upper - w.Lower)
				total += int(w.Requests)
			}
			if total > 0 {
				t.Logf("%d windows, %d sequences judged, mean width %.2f points", len(j.said.windows), total, 100*float64(width)/float64(total))
			}
		})
	}
}

// TestTheOracleNotices is the control: the same intervals held against the truth of windows that begin and end one poll
// later must be found wrong, else the test above could not fail.
func TestTheOracleNotices(t *testing.T) {
	computes(t)
	s, _ := sim.ScenarioNamed("ramp")
	j := watched(t, s)
	wrong := 0
	for _, w := range j.said.windows {
		good := qualified(w.SLO, j.within(w.Engine, w.Start+2, w.End+2))
		if good < w.Lower || good > w.Upper {
			wrong++
		}
	}
	if wrong < len(j.said.windows)/4 {
		t.Errorf("%d of %d windows are wrong against the truth of other moments; the oracle does not tell them apart", wrong, len(j.said.windows))
	}
}

// TestLedgerOfEveryScenarioIsTheTruth: at the end of a world, when nothing is in flight any more, every request is where it
// belongs, to the request.
func TestLedgerOfEveryScenarioIsTheTruth(t *testing.T) {
	computes(t)
	for _, s := range sim.Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			j := watched(t, s)
			last := j.said.snapshots[len(j.said.snapshots)-1]
			for _, e := range last.Engines {
				want, unsure := j.books(e.ID)
				l := e.Ledger
				for _, row := range []struct {
					name string
					got  fold.Span
					want uint64
				}{
					{"arrived", l.Arrived, want.arrived}, {"finished", l.Finished, want.finished}, {"failed", l.Failed, want.failed},
					{"cancelled", l.Cancelled, want.cancelled}, {"rejected by admission", l.RejectedAdmission, want.refused},
					{"rejected as bad", l.RejectedClient, want.bad}, {"lost", l.Lost, want.lost}, {"unexplained", l.Unexplained, 0},
				} {
					slack := uint64(0)
					if row.name == "lost" || row.name == "arrived" {
						slack = unsure
					}
					if !row.got.Known || row.got.Lower > row.want+slack || row.got.Upper+slack < row.want {
						t.Errorf("%s: %s %+v, %d are true (give or take %d)", e.ID, row.name, row.got, row.want, slack)
					}
				}
				if sum := l.Finished.Lower + l.Failed.Lower + l.Cancelled.Lower + l.RejectedAdmission.Lower + l.RejectedClient.Lower + l.Lost.Lower; l.Failed.Exact() && sum != l.Arrived.Lower {
					t.Errorf("%s: the parts add up to %d, %d arrived", e.ID, sum, l.Arrived.Lower)
				}
			}
		})
	}
}

// books are a ledger as somebody knows who sees everything.
type books struct{ arrived, finished, failed, cancelled, refused, bad, lost uint64 }

// longestStep is the longest step of the scenarios' engines, seconds: a whole budget of prompt tokens. Gauges lag by as much.
const longestStep = 0.5

// books keeps the account of what the pages of an engine could show: of a process that died, what had happened by its
// last page. unsure is how many requests were on their way in or out at such a page, or counted there as two.
func (j *judgedWorld) books(engine string) (b books, unsure uint64) {
	lastPage, alive := map[int]float64{}, j.world.Process(engine)
	for _, p := range j.pages[engine] {
		lastPage[p.process] = p.at
	}
	for _, r := range j.requests {
		last := lastPage[r.Process]
		if r.Engine != engine || r.Outcome == sim.Refused || r.Arrived > last {
			continue
		}
		b.arrived++
		if r.Process != alive && r.Ended > last-engineStep {
			// It was in flight at the last page, which lags by a step of the engine and counts sequences.
			unsure += uint64(r.Sequences - 1)
			if r.Arrived > last-longestStep || r.Ended < last+engineStep {
				unsure++
			}
		}
		if r.Ended > last {
			b.lost++
			continue
		}
		b.add(r)
	}
	return b, unsure
}

func (b *books) add(r sim.Request) {
	switch r.Outcome {
	case sim.Finished:
		b.finished++
	case sim.Failed:
		b.failed++
	case sim.Cancelled:
		b.cancelled++
	case sim.RejectedAdmission:
		b.refused++
	case sim.RejectedClient:
		b.bad++
	case sim.Lost:
		b.lost++
	}
}

// inTransit is how many requests a window's end may put on the wrong side: those whose work has been counted and whose
// response has not. What one window has too few, the next has too many.
const inTransit = 3

// TestLedgerOfEveryWindowIsTheTruth: cancelled and rejected requests are told in the minute in which they happened, not
// only in the sum.
func TestLedgerOfEveryWindowIsTheTruth(t *testing.T) {
	computes(t)
	for _, s := range sim.Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			j := watched(t, s)
			for _, w := range j.said.windows {
				if w.SLO != "first" || w.Partial {
					continue
				}
				from, to := w.Start+simPageTook/2, w.End+simPageTook/2
				var want books
				for _, r := range j.requests {
					if r.Engine == w.Engine && r.Ended > from && r.Ended <= to {
						want.add(r)
					}
				}
				for _, row := range []struct {
					name string
					got  fold.Span
					want uint64
				}{{"cancelled", w.Cancelled, want.cancelled}, {"rejected", w.Rejected, want.refused + want.bad}, {"finished", w.Finished, want.finished}, {"failed", w.Failed, want.failed}} {
					if !row.got.Known || row.got.Lower > row.want+inTransit || row.got.Upper+inTransit < row.want {
						t.Errorf("%s (%.0f, %.0f]: %s %+v, %d are true", w.Engine, w.Start-simStart, w.End-simStart, row.name, row.got, row.want)
					}
				}
			}
		})
	}
}

// observed is one observation of the truth.
type observed struct{ at, value float64 }

// observations are all of them by rank and family, in the order of their times.
func (j *judgedWorld) observations(s sim.Scenario) map[string]*[fact.NumFamilies][]observed {
	out := map[string]*[fact.NumFamilies][]observed{}
	for _, e := range s.Engines {
		of := func(rank int) *[fact.NumFamilies][]observed {
			id := e.ID
			if e.Ranks > 1 {
				id = fmt.Sprintf("%s/%d", e.ID, rank)
			}
			if out[id] == nil {
				out[id] = new([fact.NumFamilies][]observed)
			}
			return out[id]
		}
		for _, f := range j.firsts[e.ID] {
			r := of(f.Rank)
			r[fact.TTFT] = append(r[fact.TTFT], observed{f.At, f.TTFT})
		}
		for _, q := range j.sequences[e.ID] {
			r, v := of(q.Rank), q.Values
			for f, value := range map[fact.Family]float64{fact.E2E: v.E2E, fact.Queue: v.Queue, fact.Prefill: v.Prefill, fact.Decode: v.Decode} {
				r[f] = append(r[f], observed{v.End, value})
			}
			if tpot, has := v.TPOT(); has {
				r[fact.TPOT] = append(r[fact.TPOT], observed{v.End, tpot})
			}
		}
	}
	return out
}

// TestPercentilesOfEveryScenarioAreTheTruth: the interval is the bucket that holds the order statistic, found by sorting.
func TestPercentilesOfEveryScenarioAreTheTruth(t *testing.T) {
	computes(t)
	for _, s := range sim.Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			j, checked := watched(t, s), 0
			all := j.observations(s)
			for i, q := range j.said.quantiles {
				if i%3 != 0 || all[q.Engine] == nil {
					continue // a third of them are enough
				}
				after := func(at float64) int {
					of := all[q.Engine][q.Metric]
					return sort.Search(len(of), func(i int) bool { return of[i].at > at+simPageTook/2 })
				}
				var values []float64
				for _, o := range all[q.Engine][q.Metric][after(q.Start):after(q.End)] {
					values = append(values, o.value)
				}
				if len(values) == 0 || (len(s.Outages) > 0 && uint64(len(values)) != q.Count) {
					continue // token gaps, and what a process did after its last page
				}
				checked++
				slices.Sort(values)
				v := values[hist.Rank(q.Q, uint64(len(values)))-1]
				switch {
				case uint64(len(values)) != q.Count:
					t.Fatalf("%s %s over %gs: %d observations, %d are true", q.Engine, q.Metric, q.Window, q.Count, len(values))
				case v > q.Upper || (v <= q.Lower && q.Lower > 0):
					t.Fatalf("%s %s p%g over %gs: true %v outside (%v, %v]", q.Engine, q.Metric, 100*q.Q, q.Window, v, q.Lower, q.Upper)
				}
			}
			if checked < 100 {
				t.Errorf("%d percentiles could be checked", checked)
			}
		})
	}
}

// TestOneSeedOneExposition: the same scenario and seed give the same series, byte for byte, and another seed others.
func TestOneSeedOneExposition(t *testing.T) {
	computes(t)
	exposition := func(seed uint64) string {
		s, _ := sim.ScenarioNamed("fleet")
		spans := &mail{}
		c := s.Config(seed, simStart)
		c.Spans = spans.put
		world, err := sim.New(c)
		if err != nil {
			t.Fatal(err)
		}
		cfg := config.Default()
		cfg.SLOs, cfg.Spans.Listen = simObjectives(), "127.0.0.1:4318"
		source := newSimulated(world, simStart, cfg.Poll.Interval, func(at float64) bool { return at < simStart+300 })
		source.mail = spans
		var out bytes.Buffer
		buffered := bufio.NewWriter(&out)
		sink, err := newOpenMetricsSink(&cfg, 15*time.Second, buffered)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(replay(context.Background(), &cfg, source, refusals{}, sink), sink.Close(), buffered.Flush()); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	first := exposition(1)
	if len(first) < 1e5 || first != exposition(1) {
		t.Errorf("two runs with one seed differ, or say nothing (%d bytes)", len(first))
	}
	if first == exposition(2) {
		t.Error("another seed gives the same world")
	}
}
