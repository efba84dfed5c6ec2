package fold

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"sync"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
)

// TestPastAddsUpToTheCounters: nothing that was counted is missing from what is remembered, and nothing is in it twice.
func TestPastAddsUpToTheCounters(t *testing.T) {
	compared := 0
	for seed := range uint64(200) {
		r := watchWorld(seed)
		s := r.snapshots[len(r.snapshots)-1]
		for i := range s.Engines {
			e := &s.Engines[i]
			var sum Ledger
			for k := range e.Past.Windows {
				w := &e.Past.Windows[k]
				if k > 0 && w.Start < e.Past.Windows[k-1].End {
					t.Fatalf("seed %d: window %d begins before the one before it ends", seed, k)
				}
				addSpans([][2]*Span{
					{&sum.Arrived, &w.Ledger.Arrived}, {&sum.Finished, &w.Ledger.Finished}, {&sum.Failed, &w.Ledger.Failed},
					{&sum.Cancelled, &w.Ledger.Cancelled}, {&sum.RejectedAdmission, &w.Ledger.RejectedAdmission},
					{&sum.RejectedClient, &w.Ledger.RejectedClient}, {&sum.Lost, &w.Ledger.Lost}, {&sum.Unexplained, &w.Ledger.Unexplained},
				}, k > 0)
			}
			sum.Committed, sum.Absent = e.Ledger.Committed, e.Ledger.Absent
			if !reflect.DeepEqual(sum, e.Ledger) {
				t.Fatalf("seed %d: windows add up to %+v, the ledger is %+v", seed, sum, e.Ledger)
			}
			checkVerdicts(t, seed, e)
			checkSpent(t, seed, e)
			compared += len(e.Past.Windows)
		}
	}
	if compared < 300 {
		t.Fatalf("only %d windows were compared", compared)
	}
}

func checkVerdicts(t *testing.T, seed uint64, e *Engine) {
	t.Helper()
	for i := range e.SLOs {
		o := &e.SLOs[i]
		got := SLO{Objective: o.Objective, Judged: o.Judged, Absent: o.Absent}
		for k := range e.Past.Windows {
			for _, v := range e.Past.Windows[k].Verdicts {
				if v.Objective != o.Objective {
					continue
				}
				got.Requests, got.Lower, got.Upper = got.Requests+v.Requests.N, got.Lower+v.Lower, got.Upper+v.Upper
				if got.Violations == nil {
					got.Violations = make([]Violation, len(v.Violations))
				}
				for c, m := range v.Violations {
					got.Violations[c].Metric = m.Metric
					got.Violations[c].Lower += m.Lower
					got.Violations[c].Upper += m.Upper
				}
			}
		}
		if !reflect.DeepEqual(got, *o) {
			t.Fatalf("seed %d: %s: windows add up to %+v, the counters say %+v", seed, o.Objective.Name, got, *o)
		}
	}
}

func checkSpent(t *testing.T, seed uint64, e *Engine) {
	t.Helper()
	for stage, f := range stageFamilies {
		var got, want Spent
		for k := range e.Past.Windows {
			got.Seconds += e.Past.Windows[k].Spent[stage].Seconds
			got.Count += e.Past.Windows[k].Spent[stage].Count
		}
		for i := range e.Ranks {
			if p := e.Ranks[i].Histograms[f]; p != nil {
				want.Seconds += p.Sum
				want.Count += hist.Histogram{Edges: p.Grid, Counts: p.Floor}.Count()
			}
		}
		if got.Count != want.Count || got.Seconds < want.Seconds-1e-6*want.Seconds || got.Seconds > want.Seconds*(1+1e-6) {
			t.Fatalf("seed %d: %v: windows add up to %+v, the histograms say %+v", seed, f, got, want)
		}
	}
}

// TestPastBalances is the ledger's identity, window by window, with what is in flight as its last part. Two counters
// that are read an instant apart differ by a request now and then, which the next window takes back.
func TestPastBalances(t *testing.T) {
	for seed := range uint64(200) {
		r := watchWorld(seed)
		s := r.snapshots[len(r.snapshots)-1]
		for i := range s.Engines {
			off := int64(0)
			for k := range s.Engines[i].Past.Windows {
				w := &s.Engines[i].Past.Windows[k]
				l := &w.Ledger
				rest := int64(l.Arrived.Lower) - int64(l.Finished.Lower) - int64(l.RejectedAdmission.Lower) - int64(l.RejectedClient.Lower) - int64(l.Lost.Lower) - w.InFlight
				if !l.Failed.Exact() || !l.Cancelled.Exact() {
					continue
				}
				off += rest - int64(l.Failed.Lower) - int64(l.Cancelled.Lower)
				if off < -6 || off > 6 {
					t.Errorf("seed %d: after window %d the parts and the arrivals are %d apart: %+v, in flight %+d", seed, k, off, *l, w.InFlight)
				}
			}
		}
	}
}

// TestModelPercentilesAreThoseOfTheAddedCounts: one engine behind a model says what the engine says, and of two the
// counts are added before a percentile is taken.
func TestModelPercentilesAreThoseOfTheAddedCounts(t *testing.T) {
	fast := &sliding{length: 300, entries: make([]entry, 1)}
	slow := &sliding{length: 300, entries: make([]entry, 1)}
	fast.total[fact.TTFT] = hist.Histogram{Edges: []float64{.1, .2, .4, .8}, Counts: []uint64{0, 90, 8, 2, 0}}
	slow.total[fact.TTFT] = hist.Histogram{Edges: []float64{.1, .2, .4, .8}, Counts: []uint64{0, 95, 3, 1, 1}}
	other := &sliding{length: 300, entries: make([]entry, 1)}
	other.total[fact.TTFT] = hist.Histogram{Edges: []float64{.15, .4}, Counts: []uint64{300, 0, 0}}
	s := New(testOptions(0))
	for name, c := range map[string]struct {
		of        []*sliding
		count     uint64
		p50, last Bound
	}{
		"one engine":             {[]*sliding{fast}, 100, Bound{.1, .2}, Bound{.4, .8}},
		"two of one layout":      {[]*sliding{fast, slow}, 200, Bound{.1, .2}, Bound{.4, .8}},
		"three, one of another":  {[]*sliding{fast, slow, other}, 500, Bound{0, .15}, Bound{.2, .4}},
		"one without the family": {[]*sliding{fast, {length: 300, entries: make([]entry, 1)}}, 100, Bound{.1, .2}, Bound{.4, .8}},
	} {
		t.Run(name, func(t *testing.T) {
			p, ok := s.latencyPoint(c.of, nil)
			if !ok || p.Count(fact.TTFT) != c.count {
				t.Fatalf("%v, %d observations, want %d", ok, p.Count(fact.TTFT), c.count)
			}
			if got := p.Intervals(fact.TTFT); len(got) != 3 || got[0] != c.p50 || got[2] != c.last {
				t.Errorf("%v, want p50 %v and p99 %v", got, c.p50, c.last)
			}
			if got := p.Intervals(fact.E2E); got != nil {
				t.Errorf("percentiles of nothing: %v", got)
			}
		})
	}
}

// TestPastSurvivesARestartAndGoesWithTheTarget also holds that each model has points of all its ranks.
func TestPastSurvivesARestartAndGoesWithTheTarget(t *testing.T) {
	w := newWorld(5, 200)
	w.ranks, w.restarts, w.down = 1, []float64{100}, 6
	for i := range w.requests {
		for k := range w.requests[i].sequences {
			w.requests[i].sequences[k].rank = 0
		}
	}
	r := watch(w, rand.New(rand.NewPCG(1, 1)), 0, 200)
	last := r.snapshots[len(r.snapshots)-1]
	if past := last.Engines[0].Past; last.Engines[0].Resets != 1 || len(past.Windows) < 3 || past.Windows[0].End > epoch+100 || len(past.Latency) < 3 {
		t.Fatalf("after %d restarts %d windows and %d points are remembered", last.Engines[0].Resets, len(past.Windows), len(past.Latency))
	}
	if len(last.Models) != 1 || last.Models[0].Name != "m" || len(last.Models[0].Past) < 2 {
		t.Fatalf("models %+v", last.Models)
	}
	for _, p := range last.Models[0].Past {
		if p.Ranks != 1 || p.Of != 1 || p.Count(fact.TTFT) == 0 {
			t.Errorf("a point of the model has %d of %d ranks and %d first tokens", p.Ranks, p.Of, p.Count(fact.TTFT))
		}
	}
	r.state.Apply(Round{At: epoch + 300})
	if s := r.state.Apply(Round{At: epoch + 400}); len(s.Engines) != 0 || len(s.Models) != 0 {
		t.Errorf("of a vanished target %d engines and %d models are remembered", len(s.Engines), len(s.Models))
	}
}

// TestSnapshotsKeepTheirPast reads old snapshots while the reducer goes on, under the race detector, and compares them
// with what they were.
func TestSnapshotsKeepTheirPast(t *testing.T) {
	const length = 1500
	w := newWorld(11, length)
	opts := testOptions(epoch)
	opts.History = 200
	state := New(opts)
	type copied struct {
		past   Past
		models []Model
		was    string
	}
	var taken []copied
	var readers sync.WaitGroup
	for at := 0.0; at < length; at += 5 {
		s := state.Apply(Round{At: epoch + at, Targets: []fact.Target{{ID: "a"}}, Polls: []fact.Poll{{Target: "a", Sent: epoch + at, Received: epoch + at, Sample: w.page(at)}}})
		past := s.Engines[0].Past
		if n := len(past.Windows); n > 5 || cap(state.engines["a"].past.windows) > 40 {
			t.Fatalf("%d windows are kept in room for %d, of a history of 200 s", n, cap(state.engines["a"].past.windows))
		}
		taken = append(taken, copied{past, s.Models, fmt.Sprintf("%+v %+v", past, s.Models)})
		readers.Go(func() { _ = fmt.Sprintf("%+v %+v", past, s.Models) })
	}
	readers.Wait()
	for i, c := range taken {
		if now := fmt.Sprintf("%+v %+v", c.past, c.models); now != c.was {
			t.Fatalf("snapshot %d was\n%s\nand is\n%s", i, c.was, now)
		}
	}
	if last := taken[len(taken)-1]; len(last.past.Windows) < 3 || len(last.past.Latency) < 3 || len(last.models) != 1 || len(last.models[0].Past) < 3 {
		t.Errorf("little is remembered: %d windows, %d points, %+v", len(last.past.Windows), len(last.past.Latency), last.models)
	}
}

func TestNoHistoryIsKeptUnlessAskedFor(t *testing.T) {
	w := newWorld(3, 200)
	opts := testOptions(epoch)
	opts.History = 0
	state := New(opts)
	for at := 0.0; at < 200; at += 5 {
		s := state.Apply(Round{At: epoch + at, Targets: []fact.Target{{ID: "a"}}, Polls: []fact.Poll{{Target: "a", Sent: epoch + at, Received: epoch + at, Sample: w.page(at)}}})
		if past := s.Engines[0].Past; len(past.Windows)+len(past.Latency)+len(s.Models) > 0 {
			t.Fatalf("at %v: %+v, %+v", at, past, s.Models)
		}
	}
}

// BenchmarkHistoryBytes measures what an hour of history costs, for an engine with one rank.
func BenchmarkHistoryBytes(b *testing.B) {
	base := newWorld(7, 60)
	base.ranks, base.restarts = 1, nil
	for i := range base.requests {
		for k := range base.requests[i].sequences {
			base.requests[i].sequences[k].rank = 0
		}
	}
	page := base.page(59)
	for _, objectives := range []int{1, 3} {
		b.Run(fmt.Sprintf("objectives=%d", objectives), func(b *testing.B) {
			for b.Loop() {
				with := hour(page, objectives, 3600)
				without := hour(page, objectives, 0)
				b.ReportMetric(with-without, "bytes/engine-hour")
			}
		})
	}
}

// hour is how many bytes an engine takes after an hour, on average over twenty, so that what the runtime does beside
// is small.
func hour(page *fact.EngineSample, objectives int, history float64) float64 {
	const engines = 20
	opts := testOptions(epoch)
	opts.Objectives, opts.History = opts.Objectives[:objectives], history
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	state := New(opts)
	round := Round{Targets: make([]fact.Target, engines), Polls: make([]fact.Poll, engines)}
	var last *Snapshot
	for minute := uint64(0); minute <= 61; minute++ {
		at := epoch + 60*float64(minute)
		for i := range round.Targets {
			id := fmt.Sprint(i)
			round.Targets[i].ID = id
			round.Polls[i] = fact.Poll{Target: id, Sent: at, Received: at, Sample: times(page, minute)}
		}
		round.At = at
		last = state.Apply(round)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(state)
	runtime.KeepAlive(last)
	return float64(after.HeapAlloc-before.HeapAlloc) / engines
}

// times is a page on which everything has happened n times.
func times(p *fact.EngineSample, n uint64) *fact.EngineSample {
	out := *p
	out.Ranks = make([]fact.Rank, len(p.Ranks))
	for i, r := range p.Ranks {
		scale := func(x *fact.Number) { x.V *= float64(n) }
		scale(&r.Requests)
		scale(&r.PromptTokens)
		scale(&r.OutputTokens)
		for f, h := range r.Histograms {
			h = h.Clone()
			for k := range h.Counts {
				h.Counts[k] *= n
			}
			h.Sum *= float64(n)
			r.Histograms[f] = h
		}
		r.Finished = append([]fact.ReasonCount(nil), r.Finished...)
		for k := range r.Finished {
			r.Finished[k].Count *= n
		}
		out.Ranks[i] = r
	}
	out.HTTP = append([]fact.HTTPCount(nil), p.HTTP...)
	for k := range out.HTTP {
		out.HTTP[k].Count *= n
	}
	return &out
}
