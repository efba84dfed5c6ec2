package fold

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

const epoch = 1000.0 // of the worlds' clocks, unix seconds

func objective_(name string, ttft, tpot float64) slo.Objective {
	o := slo.Objective{Name: name, Objective: 0.95, Window: 30 * 24 * time.Hour, Policy: slo.DefaultPolicy()}
	if ttft > 0 {
		o.Clauses = append(o.Clauses, slo.Clause{Metric: fact.TTFT, Threshold: ttft})
	}
	if tpot > 0 {
		o.Clauses = append(o.Clauses, slo.Clause{Metric: fact.TPOT, Threshold: tpot})
	}
	return o
}

func testOptions(started float64) Options {
	o := Options{
		Objectives: []slo.Objective{objective_("tight", 0.25, 0.025), objective_("loose", 1, 0.05), objective_("tpot", 0, 0.025)},
		Started:    started, JudgementWindow: 60, Quantiles: []float64{0.5, 0.9, 0.99}, QuantileWindows: []float64{300, 3600},
		Stale: 10, Stall: 60, History: 3600, OnePrompt: []string{"/v1/completions"}, ManyPrompts: []string{"/v1/embeddings"},
	}
	for f, e := range defaultEdges() {
		o.Grids[f] = e
	}
	return o
}

// run is one exporter watching a world.
type run struct {
	w         *world
	state     *State
	at        map[float64]float64 // instant of the page, by the time it was asked for
	baseline  uint64              // in flight at a first page that was a baseline
	snapshots []*Snapshot
	windows   []Window
	quantiles []RankQuantile
}

func watch(w *world, rng *rand.Rand, from, to float64) *run {
	r := &run{w: w, state: New(testOptions(epoch + from)), at: map[float64]float64{}}
	targets := []fact.Target{{ID: "a"}}
	r.polls(rng, from, to, func(poll fact.Poll) {
		if poll.Sample != nil && from > 0 && !r.seen() {
			r.baseline = inFlight(poll.Sample)
		}
		r.take(r.state.Apply(Round{At: poll.Received, Targets: targets, Polls: []fact.Poll{poll}}))
	})
	r.take(r.state.Flush(epoch + to))
	return r
}

// polls makes the polls of an exporter, some of which bring nothing.
func (r *run) polls(rng *rand.Rand, from, to float64, each func(fact.Poll)) {
	interval := []float64{1, 2, 5}[rng.IntN(3)]
	for t := from; t < to; t += interval * (0.9 + 0.2*rng.Float64()) {
		if rng.IntN(12) == 0 {
			continue // a missed round
		}
		took := 0.05 * rng.Float64()
		instant := t + took*rng.Float64()
		poll := fact.Poll{Target: "a", Sent: epoch + t, Received: epoch + t + took, Sample: r.w.page(instant)}
		if poll.Sample == nil {
			poll.Reason = fact.ReasonRefused
		} else if rng.IntN(25) == 0 {
			poll.Sample, poll.Reason = nil, fact.ReasonTimeout
		}
		r.at[poll.Sent] = instant
		each(poll)
	}
}

func (r *run) seen() bool {
	e := r.state.engines["a"]
	return e != nil && e.last != nil
}

func (r *run) take(s *Snapshot) {
	r.snapshots = append(r.snapshots, s)
	r.windows = append(r.windows, s.Windows...)
	r.quantiles = append(r.quantiles, s.Quantiles...)
}

// instant is when the page that opens or closes a window was a picture of the world.
func (r *run) instant(unix float64) float64 {
	if t, ok := r.at[unix]; ok {
		return t
	}
	return unix - epoch // a birth
}

// good counts the sequences that finished in (from, to], succeeded and met the objective, and all that finished.
func (w *world) good(o *slo.Objective, from, to float64) (good, finished uint64) {
	for _, q := range w.requests {
		_, died := w.process(q.arrival)
		for _, s := range q.sequences {
			if !(s.end > from && s.end <= to) || s.end >= died || (q.outcome == cancelled && !s.aborted) {
				continue
			}
			finished++
			ok, _ := o.Meets(fact.Request{TTFT: s.ttft, E2E: s.e2e, Queue: s.queue, Prefill: s.prefill, Decode: s.decode, OutputTokens: s.output})
			if ok && o.Policy.Succeeds(s.reason) {
				good++
			}
		}
	}
	return good, finished
}

const (
	worlds = 1000
	shards = 4
)

// TestTruthLiesInEveryInterval is the claim of the whole package, over random populations with cancels, several
// sequences a request, one-token requests, bursts, refusals, restarts, missed polls, and first sights in the middle.
func TestTruthLiesInEveryInterval(t *testing.T) {
	for shard := range uint64(shards) {
		t.Run(fmt.Sprintf("shard %d", shard), func(t *testing.T) {
			t.Parallel()
			judged, width, finished := 0, 0.0, 0.0
			for seed := shard; seed < worlds; seed += shards {
				r := watchWorld(seed)
				for _, win := range r.windows {
					r.checkWindow(t, seed, win)
					judged++
					width += float64(win.Upper - win.Lower)
					finished += float64(win.Sequences)
				}
				r.checkQuantiles(t, seed)
				r.checkMonotone(t, seed)
				r.checkConserved(t, seed)
			}
			if judged < 3*worlds/shards {
				t.Fatalf("only %d windows were judged in %d worlds", judged, worlds/shards)
			}
			t.Logf("%d windows judged, mean width %.1f points of the finished", judged, 100*width/finished)
		})
	}
}

// watchWorld makes the world of a seed and watches it, from its beginning or from somewhere in the middle.
func watchWorld(seed uint64) *run {
	rng := rand.New(rand.NewPCG(seed, 99))
	length := 70 + 110*rng.Float64()
	w := newWorld(seed, length)
	from := 0.0
	if rng.IntN(2) == 0 {
		from = length * 0.4 * rng.Float64()
	}
	return watch(w, rng, from, length+70)
}

func (r *run) checkWindow(t *testing.T, seed uint64, win Window) {
	t.Helper()
	o := objectiveNamed(r.state, win.SLO)
	good, n := r.w.good(o, r.instant(win.Start), r.instant(win.End))
	switch {
	case win.Evidence == "":
		t.Fatalf("seed %d: %s: no interval: %s", seed, describe(win), win.Reason)
	case n != win.Sequences:
		t.Fatalf("seed %d: %s: %d sequences, %d are true", seed, describe(win), win.Sequences, n)
	case good < win.Lower || good > win.Upper:
		t.Fatalf("seed %d: %s: truth %d outside [%d, %d]", seed, describe(win), good, win.Lower, win.Upper)
	case win.Upper > win.Requests:
		t.Fatalf("seed %d: %s: upper %d of %d requests", seed, describe(win), win.Upper, win.Requests)
	}
}

func objectiveNamed(s *State, name string) *slo.Objective {
	for i := range s.opts.Objectives {
		if s.opts.Objectives[i].Name == name {
			return &s.opts.Objectives[i]
		}
	}
	panic(name)
}

func describe(w Window) string {
	return fmt.Sprintf("window (%.2f, %.2f] slo %s method %s note %q", w.Start-epoch, w.End-epoch, w.SLO, w.Method, w.Note)
}

func (s sequence) value(f fact.Family) float64 {
	switch f {
	case fact.TTFT:
		return s.ttft
	case fact.TPOT:
		return s.tpot()
	case fact.E2E:
		return s.e2e
	case fact.Queue:
		return s.queue
	case fact.Prefill:
		return s.prefill
	case fact.Decode:
		return s.decode
	}
	panic(f)
}

// observations lists what a family observed in (from, to] on a rank.
func (w *world) observations(f fact.Family, rank int, from, to float64) (all []float64, aborted uint64) {
	for _, q := range w.requests {
		_, died := w.process(q.arrival)
		for _, s := range q.sequences {
			at := s.end
			if f == fact.TTFT {
				at = s.first
				if at > q.ends {
					continue
				}
			}
			if s.rank != rank || !(at > from && at <= to) || at >= died {
				continue
			}
			if f != fact.TTFT && s.aborted {
				aborted++
			}
			if f == fact.TPOT && s.output <= 1 {
				continue
			}
			if f == fact.TTFT || !s.aborted {
				all = append(all, s.value(f))
			}
		}
	}
	slices.Sort(all)
	return all, aborted
}

// checkQuantiles: each percentile contains its order statistic and is exactly the occupied bucket; only where the engine
// mixes aborted sequences into its histograms may it be wider.
func (r *run) checkQuantiles(t *testing.T, seed uint64) {
	t.Helper()
	type population struct {
		of       fact.Family
		engine   string
		from, to float64
	}
	var current population
	var all []float64
	var aborted uint64
	for _, q := range r.quantiles {
		if q.Metric == fact.TokenGap || crossesRestart(r.w, q.Start-epoch, q.End-epoch) {
			continue
		}
		rank := 0
		if q.Engine != "a" {
			rank = int(q.Engine[len(q.Engine)-1] - '0')
		}
		if p := (population{q.Metric, q.Engine, q.Start, q.End}); p != current {
			current = p
			all, aborted = r.w.observations(q.Metric, rank, r.instant(q.Start), r.instant(q.End))
		}
		if aborted > 0 && q.Metric == fact.TPOT {
			continue // how many of the aborted had more than one token is unknown, so n is
		}
		if uint64(len(all)) != q.Count {
			t.Fatalf("seed %d: %s q%v over (%.2f, %.2f]: count %d, %d are true", seed, q.Metric, q.Q, q.Start-epoch, q.End-epoch, q.Count, len(all))
		}
		x := all[hist.Rank(q.Q, q.Count)-1]
		below, above := hist.Neighbours(r.w.edges[q.Metric], x)
		if below == above {
			below = 0 // on an edge: the bucket below it; its lower end is not needed here
		}
		if x > q.Upper || (x <= q.Lower && !(x == 0 && q.Lower == 0)) {
			t.Fatalf("seed %d: %s q%v = %v outside (%v, %v]", seed, q.Metric, q.Q, x, q.Lower, q.Upper)
		}
		if aborted == 0 && below != 0 && (q.Lower != below || q.Upper != above) {
			t.Fatalf("seed %d: %s q%v = %v: (%v, %v] is not the occupied bucket (%v, %v]", seed, q.Metric, q.Q, x, q.Lower, q.Upper, below, above)
		}
	}
}

func crossesRestart(w *world, from, to float64) bool {
	for _, x := range w.restarts {
		if from < x+w.down && to >= x {
			return true
		}
	}
	return false
}

// checkMonotone: no counter ever falls.
func (r *run) checkMonotone(t *testing.T, seed uint64) {
	t.Helper()
	before := map[string]float64{}
	for i, s := range r.snapshots {
		if i%9 != 0 && len(s.Windows) == 0 && i != len(r.snapshots)-1 {
			continue
		}
		for name, v := range counters(s) {
			if v < before[name] {
				t.Fatalf("seed %d: %s fell from %v to %v at %.2f", seed, name, before[name], v, s.At-epoch)
			}
			before[name] = v
		}
	}
}

func counters(s *Snapshot) map[string]float64 {
	out := map[string]float64{}
	for _, e := range s.Engines {
		l := e.Ledger
		for name, span := range map[string]Span{"arrived": l.Arrived, "finished": l.Finished, "failed": l.Failed, "cancelled": l.Cancelled, "admission": l.RejectedAdmission, "client": l.RejectedClient, "lost": l.Lost, "unexplained": l.Unexplained} {
			out[e.ID+name+"lower"], out[e.ID+name+"upper"] = float64(span.Lower), float64(span.Upper)
		}
		for _, o := range e.SLOs {
			spanCounters(out, e.ID+o.Objective.Name, &o)
			out[e.ID+o.Objective.Name+"n"], out[e.ID+o.Objective.Name+"l"], out[e.ID+o.Objective.Name+"u"] = float64(o.Requests), float64(o.Lower), float64(o.Upper)
		}
		c := e.Spans
		for i, n := range []uint64{c.Late, c.Outside, c.Duplicate, c.Dropped, c.OneToken, c.Finished, c.Seen, c.Windows, c.Exact, c.Conflicts, c.Attempts, c.Logical} {
			out[fmt.Sprint(e.ID, "spans", i)] = float64(n)
		}
		for _, r := range e.Ranks {
			for _, c := range r.Sequences {
				out[r.ID+c.Reason] = float64(c.Count)
			}
			out[r.ID+"pt"], out[r.ID+"ot"], out[r.ID+"do"] = r.PromptTokens.V, r.OutputTokens.V, r.DoneOutput.V
			for f, h := range r.Histograms {
				if h == nil {
					continue
				}
				out[fmt.Sprint(r.ID, f, "sum")] = h.Sum
				for i := range h.Floor {
					out[fmt.Sprint(r.ID, f, "f", i)], out[fmt.Sprint(r.ID, f, "c", i)] = float64(h.Floor[i]), float64(h.Ceil[i])
				}
			}
		}
	}
	return out
}

// checkConserved: at the end, idle, the ledger is the world's, and it adds up.
func (r *run) checkConserved(t *testing.T, seed uint64) {
	t.Helper()
	e := r.snapshots[len(r.snapshots)-1].Engines[0]
	l := e.Ledger
	if !l.Committed || !l.Arrived.Exact() || !l.Cancelled.Exact() || !l.Failed.Exact() {
		t.Fatalf("seed %d: ledger not exact at the end: %+v", seed, l)
	}
	out := l.Finished.Lower + l.Failed.Lower + l.Cancelled.Lower + l.RejectedAdmission.Lower + l.RejectedClient.Lower + l.Lost.Lower
	// The gauges count sequences and lag by a step: where a process died or was first seen, requests with two
	// sequences stand for two, so arrivals and losses there are right to a few.
	slack := uint64(0)
	if len(r.w.restarts) > 0 || r.instant(r.windows[0].Start) > 0 {
		slack = 12
	}
	if d := math.Abs(float64(l.Arrived.Lower+r.baseline) - float64(out)); d > float64(slack) && !r.w.traits.HTTPAtStart {
		t.Fatalf("seed %d: %d arrived, %d accounted for: %+v", seed, l.Arrived.Lower, out, l)
	}
	if l.Unexplained.Lower != 0 {
		t.Fatalf("seed %d: %d unexplained: %+v", seed, l.Unexplained.Lower, l)
	}
	if slack != 0 {
		return
	}
	want := map[outcome]uint64{}
	for _, q := range r.w.requests {
		want[q.outcome]++
	}
	got := map[outcome]uint64{finishes: l.Finished.Lower, cancelled: l.Cancelled.Lower, clientError: l.RejectedClient.Lower}
	for o, n := range got {
		if n != want[o] {
			t.Fatalf("seed %d: outcome %d: %d, %d are true", seed, o, n, want[o])
		}
	}
	if l.RejectedAdmission.Lower != want[refused503]+want[refusedInStream] || l.Arrived.Lower != uint64(len(r.w.requests)) {
		t.Fatalf("seed %d: %+v, true %v of %d", seed, l, want, len(r.w.requests))
	}
}
