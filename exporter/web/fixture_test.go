package web

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// now is the clock of all fixtures: 2027-01-15 08:00:00 UTC.
const now = 1800000000.0

// Each secret stands once in the address of every engine of the fixtures.
const secretURL = "http://alice:s3cret@10.0.0.7:8000/metrics?key=t0ken"

func shown(string) string { return "http://10.0.0.7:8000/metrics" }

func chat() *slo.Objective {
	return &slo.Objective{Name: "chat", Objective: 0.95, Window: 30 * 24 * time.Hour, Policy: slo.DefaultPolicy(),
		Clauses: []slo.Clause{{Metric: fact.TTFT, Threshold: 0.25}, {Metric: fact.TPOT, Threshold: 0.025}}}
}

func batch() *slo.Objective {
	return &slo.Objective{Name: "batch", Objective: 0.9, Window: 7 * 24 * time.Hour, Policy: slo.DefaultPolicy(),
		Match: slo.Match{Model: regexp.MustCompile("^(?:llama-3)$")}, Clauses: []slo.Clause{{Metric: fact.E2E, Threshold: 60}}}
}

func exactly(n uint64) fold.Span     { return fold.Span{Lower: n, Upper: n, Known: true} }
func within(lo, hi uint64) fold.Span { return fold.Span{Lower: lo, Upper: hi, Known: true} }
func known(n uint64) fold.Number     { return fold.Number{N: n, Known: true} }

// load is how many sequences finish in a window, and how many of them certainly and possibly meet an objective.
type load func(minute int) (finished, lower, upper uint64)

// steady keeps every promise.
func steady(int) (uint64, uint64, uint64) { return 100, 99, 100 }

// collapse begins to miss twelve minutes ago.
func collapse(minute int) (uint64, uint64, uint64) {
	if minute < 12 {
		return 120, 60, 72
	}
	return steady(minute)
}

// engine is a judging engine with an hour behind it. skew shifts its windows, in seconds.
func engine(id, model string, skew float64, l load, objectives ...*slo.Objective) fold.Engine {
	e := fold.Engine{
		ID: id, Target: fact.Target{ID: id, URL: secretURL, Labels: map[string]string{"tier": "gold", "__meta": "no"}}, Model: model, Phase: fold.PhaseJudging,
		Since: now - 9000, Up: true, LastPoll: now - 1.5, PollTook: 0.0125, Dialect: "vllm-v1", Version: ">=0.31", Start: now - 90000, Series: 439,
		WindowStart: now - skew, Ledger: fold.Ledger{Committed: true},
		Ranks: []fold.Rank{{ID: id, Model: model, Fresh: true, Running: fact.Known(12), Waiting: fact.Known(3), KVUsage: fact.Known(0.625),
			Coverage: []fold.Coverage{{Window: 300, Ratio: 1}, {Window: 3600, Ratio: 0.995}}}},
	}
	for minute := 59; minute >= 0; minute-- {
		e.Past.Windows = append(e.Past.Windows, window(now-skew-60*float64(minute), minute, l, objectives))
		e.Past.Latency = append(e.Past.Latency, latencyPoint(id, now-skew-60*float64(minute), minute < 12))
	}
	for _, o := range objectives {
		s := fold.SLO{Objective: o, Judged: true}
		for i := range e.Past.Windows {
			v := verdict(&e.Past.Windows[i], o.Name)
			s.Requests, s.Lower, s.Upper = s.Requests+v.Requests.N, s.Lower+v.Lower, s.Upper+v.Upper
		}
		e.SLOs = append(e.SLOs, s)
	}
	for i := range e.Past.Windows {
		e.Ledger.Unexplained = plus(e.Ledger.Unexplained, e.Past.Windows[i].Ledger.Unexplained)
	}
	return e
}

func window(end float64, minute int, l load, objectives []*slo.Objective) fold.PastWindow {
	finished, lower, upper := l(minute)
	slow := float64(finished - lower + 1)
	w := fold.PastWindow{
		Start: end - 60, End: end, From: end - 60, InFlight: int64(minute%3 - 1), Sequences: known(finished),
		Ledger: fold.Ledger{Committed: true, Finished: exactly(finished), Failed: exactly(uint64(minute % 2)), Cancelled: exactly(3), RejectedAdmission: exactly(0),
			RejectedClient: exactly(1), Lost: exactly(0), Unexplained: exactly(0)},
		Spent: [fold.NumStages]fold.Spent{
			fold.StageQueue: {Seconds: 2 * slow, Count: finished}, fold.StagePrefill: {Seconds: 0.07 * float64(finished), Count: finished},
			fold.StageDecode: {Seconds: 0.7 * float64(finished), Count: finished}, fold.StageE2E: {Seconds: 0.77*float64(finished) + 2*slow, Count: finished},
			fold.StageTTFT: {Seconds: 0.07*float64(finished) + 2*slow, Count: finished + 2},
		},
	}
	w.Ledger.Arrived = exactly(uint64(int64(finished+4+uint64(minute%2)) + w.InFlight))
	for _, o := range objectives {
		v := fold.Verdict{Objective: o, Judged: true, Requests: known(finished), Lower: lower, Upper: upper, Sequences: known(finished), FirstTokens: finished + 2}
		for i, c := range o.Clauses {
			n := (finished - lower) / uint64(1+3*i)
			v.Violations = append(v.Violations, fold.Violation{Metric: c.Metric, Lower: n, Upper: n + uint64(i)})
		}
		w.Verdicts = append(w.Verdicts, v)
	}
	return w
}

func latencyPoint(rank string, at float64, slow bool) fold.LatencyPoint {
	p := fold.LatencyPoint{From: at - 300, At: at, Rank: rank, Ranks: 1, Of: 1}
	for i := range p.Counts {
		p.Counts[i] = 500
		bounds := []fold.Bound{{Lower: 0.05, Upper: 0.1}, {Lower: 0.1, Upper: 0.25}, {Lower: 0.25, Upper: 0.5}}
		if slow {
			bounds = []fold.Bound{{Lower: 0, Upper: 0.25}, {Lower: 2.5, Upper: 5}, {Lower: 10, Upper: math.Inf(1)}}
		}
		p.Bounds = append(p.Bounds, bounds...)
	}
	return p
}

// viewOf is the view of some engines after a round that ended a second ago.
func viewOf(engines ...fold.Engine) View {
	s := &fold.Snapshot{At: now - 1, Rounds: 1800, Engines: engines, Terms: fold.Terms{JudgementWindow: 60, History: 3600, Sliding: 300, Quantiles: []float64{0.5, 0.9, 0.99}}}
	for f := range s.Layouts {
		s.Layouts[f] = 1
	}
	seen := map[string]bool{}
	for _, e := range engines {
		for _, r := range e.Ranks {
			if !seen[r.Model] {
				seen[r.Model] = true
				m := fold.Model{Name: r.Model}
				for _, p := range e.Past.Latency {
					p.Rank = ""
					m.Past = append(m.Past, p)
				}
				s.Models = append(s.Models, m)
			}
		}
	}
	return View{Snapshot: s, Ended: utc(now - 1), Interval: 2 * time.Second, Rounds: 1800, Missed: 2, Down: map[string]fact.Poll{}}
}

// maker makes pages of a view at the fixtures' clock.
func maker(v View, objectives ...*slo.Objective) *pageMaker {
	m := &pageMaker{view: v, address: shown, version: "1.2.3", now: now, refresh: refreshEvery}
	for _, o := range objectives {
		m.objectives = append(m.objectives, *o)
	}
	if v.Snapshot != nil {
		m.frame = newFrame(v.Snapshot, now)
	}
	return m
}

// hostile is text that must not become markup, and is long.
var hostile = `<script>alert("1")</script>'&amp; ünïcödé 模型 ` + strings.Repeat("very-long-", 20)

// trouble is a fleet in which everything is wrong that can be.
func trouble() View {
	c, b := chat(), batch()
	down := engine("down", "llama-3", 10, steady, c, b)
	down.Phase, down.Up, down.LastPoll, down.Ranks[0].Fresh = fold.PhaseDown, false, now-900, false
	down.Past.Windows, down.Past.Latency = down.Past.Windows[:45], down.Past.Latency[:45]
	down.Failures = []fold.Tally{{Name: "refused", Count: 450}}
	stalled := engine("stalled", "llama-3", 20, func(int) (uint64, uint64, uint64) { return 0, 0, 0 }, c, b)
	stalled.Phase, stalled.Warnings = fold.PhaseStalled, []string{"a family is declared twice"}
	blind := engine("blind", "llama-3", 30, steady, c)
	blind.SLOs[0].Absent = "no tpot histogram: start the engine with --custom-histogram-buckets"
	blind.Ledger.Absent = "the page has no http_requests_total: arrivals and cancellations are unknown"
	blind.Missing = []fact.Missing{{Field: "http_requests_total", Cost: "no ledger"}}
	for i := range blind.Past.Windows {
		w := &blind.Past.Windows[i]
		w.Ledger = fold.Ledger{Committed: true, Absent: blind.Ledger.Absent, Lost: exactly(0), Unexplained: exactly(0)}
		w.Verdicts[0].Judged, w.Verdicts[0].Reason = false, blind.SLOs[0].Absent
	}
	rust := engine("rust", "qwen", 5, steady, c)
	for i := range rust.Past.Windows {
		l := &rust.Past.Windows[i].Ledger
		l.Cancelled, l.Failed = within(2, 4), within(0, 2)
		l.Arrived = exactly(uint64(int64(l.Finished.Lower+l.RejectedClient.Lower+4) + rust.Past.Windows[i].InFlight))
		l.Unexplained = exactly(1)
	}
	rust.Ledger.Unexplained = exactly(60)
	warming := fold.Engine{ID: "new", Phase: fold.PhaseWarming, Up: true, Since: now - 20, WindowStart: now - 20, LastPoll: now - 1, Model: "mistral",
		SLOs: []fold.SLO{{Objective: c}}, Ranks: []fold.Rank{{ID: "new", Model: "mistral", Fresh: true, Running: fact.Known(0), Waiting: fact.Known(0)}}}
	unseen := fold.Engine{ID: "unseen", Phase: fold.PhaseUnseen, Target: fact.Target{ID: "unseen", URL: secretURL}}
	gone := engine("gone", "llama-3", 0, steady, c)
	gone.Gone, gone.Up, gone.Phase = true, false, fold.PhaseDown
	v := viewOf(engine("a", "llama-3", 0, collapse, c, b), blind, down, gone, engine(hostile, hostile, 7, steady), warming, rust, stalled, unseen)
	v.Down = map[string]fact.Poll{"down": {Reason: fact.ReasonRefused, Detail: "nothing <listens>"}, "unseen": {Reason: fact.ReasonAuth, Detail: "give a token"}}
	v.Snapshot.Layouts[fact.TTFT] = 2
	return v
}

// big is a node of n engines with an hour behind each, under some objectives.
func big(n, objectives int) View {
	var os []*slo.Objective
	for i := range objectives {
		o := chat()
		o.Name = fmt.Sprintf("slo-%02d", i)
		os = append(os, o)
	}
	var engines []fold.Engine
	for i := range n {
		l := load(steady)
		if i%3 == 0 {
			l = collapse
		}
		engines = append(engines, engine(fmt.Sprintf("gpu-%02d", i), "llama-3", 60*float64(i)/float64(n), l, os...))
	}
	return viewOf(engines...)
}

// random is a view in which anything may be anything that the reducer may say.
func random(seed uint64) (View, []*slo.Objective) {
	rng := rand.New(rand.NewPCG(seed, 3))
	names := []string{"a", "b/c", "..", "", "<b>&\"'", "gpu:0", "模型", hostile, "a b?c#d%", "x\\y"}
	pick := func() string { return names[rng.IntN(len(names))] }
	objectives := []*slo.Objective{chat(), batch()}
	objectives[0].Name = pick()
	span := func(n uint64) fold.Span {
		lo := rng.Uint64N(n + 1)
		return fold.Span{Lower: lo, Upper: lo + rng.Uint64N(3), Known: rng.IntN(6) > 0}
	}
	var engines []fold.Engine
	for i := range rng.IntN(4) {
		e := engine(fmt.Sprintf("%s%d", pick(), i), pick(), 60*rng.Float64(), func(int) (uint64, uint64, uint64) {
			n := rng.Uint64N(1 << (1 + rng.IntN(20)))
			lo := rng.Uint64N(n + 1)
			return n, lo, lo + rng.Uint64N(n-lo+1)
		}, objectives[:rng.IntN(3)]...)
		e.Phase = []fold.Phase{fold.PhaseUnseen, fold.PhaseStarting, fold.PhaseWarming, fold.PhaseJudging, fold.PhaseDown, fold.PhaseStalled, "odd"}[rng.IntN(7)]
		e.Gone, e.Up = rng.IntN(8) == 0, rng.IntN(3) > 0
		kept := e.Past.Windows[:0]
		for _, w := range e.Past.Windows {
			if rng.IntN(8) == 0 {
				continue
			}
			w.Ledger.Arrived, w.Ledger.Cancelled, w.Ledger.Failed, w.Ledger.Unexplained = span(200), span(9), span(9), span(2)
			w.Sequences.Known = rng.IntN(9) > 0
			if rng.IntN(30) == 0 {
				w.Start = w.End // a window without length
				w.From = w.End
			}
			for k := range w.Verdicts {
				w.Verdicts[k].Judged = rng.IntN(9) > 0
			}
			kept = append(kept, w)
		}
		e.Past.Windows = kept
		if rng.IntN(5) == 0 {
			e.Past = fold.Past{}
		}
		for k := range e.SLOs {
			if rng.IntN(4) == 0 {
				e.SLOs[k].Absent = pick()
			}
		}
		if rng.IntN(2) == 0 {
			e = oddlyTraced(e, rng)
		}
		engines = append(engines, e)
	}
	v := viewOf(engines...)
	if rng.IntN(3) > 0 {
		v.Inputs.Spans = &Spans{Outcomes: []fold.Tally{{Name: pick(), Count: rng.Uint64()}}, Refused: []fold.Tally{{Name: pick(), Count: 1}}}
		v.Snapshot.Unmatched = fold.Unmatched{Counts: []fold.Tally{{Name: pick(), Count: 7}, {Name: fold.UnmatchedPod, Count: 1}},
			Last: []fold.UnmatchedOrigin{{Reason: fold.UnmatchedPod, Origin: fact.Origin{Peer: pick(), PodName: pick(), Engine: pick()}, At: now - 900*rng.Float64()}}}
	}
	if rng.IntN(2) == 0 {
		odd := onGPUs().Snapshot
		v.Snapshot.GPUs, v.Snapshot.GPUSource = odd.GPUs, odd.GPUSource
		v.Snapshot.GPUSource.Up, v.Snapshot.GPUSource.Detail = rng.IntN(2) == 0, pick()
		for i := range v.Snapshot.GPUs {
			g := &v.Snapshot.GPUs[i]
			g.UUID, g.Model, g.Join, g.Engines, g.Up = pick(), pick(), pick(), []string{pick(), "a0"}[:rng.IntN(3)], rng.IntN(2) == 0
			g.MemoryUsed, g.SMActive = fact.Known(rng.Float64()*1e12), fact.Known(rng.Float64())
		}
		for i := range v.Snapshot.Engines {
			v.Snapshot.Engines[i].GPUs = fold.EngineGPUs{Join: pick(), Why: pick(), Partial: pick(), UUIDs: []string{pick()}, Joules: fact.Known(rng.Float64() * 1e9)}
		}
	}
	if rng.IntN(9) == 0 {
		v.Snapshot = nil
	}
	return v, objectives
}
