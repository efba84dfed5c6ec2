package web

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// classed is chat with a class whose prompts are long.
func classed() *slo.Objective {
	o := chat()
	o.Classes = slo.Classes{By: slo.ByPromptTokens, List: []slo.Class{
		{Name: "short", AtMost: 500}, {Name: "long", AtMost: 8000, Clauses: []slo.Clause{{Metric: fact.TTFT, Threshold: 1}, {Metric: fact.TPOT, Threshold: 0.025}}},
	}}
	return o
}

// traced gives an engine of the fixtures spans: of all sequences in most windows, of four fifths in every fifth, and in
// one the spans contradict the page.
func traced(e fold.Engine) fold.Engine {
	s := &e.Spans
	*s = fold.EngineSpans{Expected: true, Last: now - 4, Matched: []fold.Tally{{Name: fold.ByEngine, Count: 12}, {Name: fold.ByInstance, Count: 6000}}, Late: 3, Outside: 7, OneToken: 40, Attempts: 5900, Logical: 5800}
	for i := range e.Past.Windows {
		w := &e.Past.Windows[i]
		for k := range w.Verdicts {
			v := &w.Verdicts[k]
			finished := v.Sequences.N
			v.Spans, v.Evidence = fold.WindowSpans{Expected: true, Seen: finished, Complete: true}, fold.EvidenceBoth
			switch {
			case i == 30:
				v.Spans, v.Evidence = fold.WindowSpans{Expected: true, Seen: finished, Conflict: true}, fold.EvidenceHistogram
			case i%5 == 0:
				v.Spans = fold.WindowSpans{Expected: true, Seen: finished * 4 / 5, Unsure: 2}
			default:
				v.Upper = v.Lower
			}
			unseen := finished - v.Spans.Seen
			all := 100 * finished
			v.Tokens = fold.Tokens{Known: true, Lower: 100 * v.Lower, Upper: 100 * v.Upper, MissedLower: all - 100*v.Upper, MissedUpper: all - 100*v.Lower}
			short := v.Spans.Seen * 3 / 4
			v.Classes = []fold.Class{
				{Name: "short", Seen: short, Unseen: unseen, Lower: short / 2, Upper: short/2 + unseen, TokensLower: 40 * short},
				{Name: "long", Seen: v.Spans.Seen - short, Unseen: unseen, Lower: v.Spans.Seen - short, Upper: v.Spans.Seen - short + unseen, TokensLower: 90 * short},
				{Name: slo.ClassOther, Unseen: unseen, Upper: unseen},
			}
			if k == 0 {
				s.Windows++
				s.Finished, s.Seen = s.Finished+finished, s.Seen+v.Spans.Seen
				if v.Spans.Complete {
					s.Exact++
				}
				s.Completeness = fact.Known(float64(v.Spans.Seen) / float64(max(finished, 1)))
			}
		}
	}
	s.Conflicts = 1
	spanLatencies(s)
	return e
}

// spanLatencies gives spans their histograms: of two thousand sequences, always the same.
func spanLatencies(s *fold.EngineSpans) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		family       fact.Family
		median, wide float64
		edges        []float64
	}{{fact.TTFT, 0.12, 1, []float64{0.25, 1}}, {fact.TPOT, 0.012, 0.3, []float64{0.025}}, {fact.E2E, 4, 0.8, nil}} {
		h := &fold.SpanHistogram{Since: now - 9000, Native: hist.NewNative(), Edges: c.edges, Counts: make([]uint64, len(c.edges)+1), Newest: make([]fold.Exemplar, len(c.edges)+1)}
		for range 2000 {
			v := c.median * math.Exp(c.wide*rng.NormFloat64())
			h.Native.Observe(v)
			at, _ := slices.BinarySearch(c.edges, v)
			h.Counts[at]++
		}
		s.Histograms[c.family] = h
	}
}

// observed is a node with spans: an engine that sends them, one that sends none, and some spans that are of neither; its
// inputs have trouble too.
func observed() View {
	o := classed()
	v := viewOf(traced(engine("a", "llama-3", 0, collapse, o)), engine("b", "llama-3", 25, steady, o))
	v.Intervals = map[string]float64{"a": 2, "b": 8}
	v.Snapshot.Unmatched = fold.Unmatched{
		Counts: []fold.Tally{{Name: fold.UnmatchedNothing, Count: 1234}, {Name: fold.UnmatchedPod, Count: 2}},
		Last: []fold.UnmatchedOrigin{
			{Reason: fold.UnmatchedNothing, Origin: fact.Origin{Peer: "10.0.0.9", Instance: "6f1a2b3c-0000-4000-8000-000000000001"}, At: now - 12},
			{Reason: fold.UnmatchedPod, Origin: fact.Origin{Peer: "10.0.0.8", PodName: "vllm-<b>7", PodNamespace: "prod", PodUID: "u-1"}, At: now - 4000},
		},
	}
	v.Inputs = Inputs{ReloadFailed: true, Reloaded: time.Unix(now-7200, 0), TargetFilesBroken: 1, TargetsRefused: 2, AccessFilesBroken: 1, Spans: &Spans{
		Outcomes: []fold.Tally{{Name: "full", Count: 40}, {Name: "other_name", Count: 51_000}, {Name: "refused", Count: 3}, {Name: "taken", Count: 7250}},
		Refused:  []fold.Tally{{Name: "long", Count: 1}, {Name: "negative", Count: 2}}, Buffered: 12, Room: 50_000,
	}}
	return v
}

// oddlyTraced gives an engine spans of which anything may hold that the reducer may say.
func oddlyTraced(e fold.Engine, rng *rand.Rand) fold.Engine {
	e = traced(e)
	e.Spans.Expected = rng.IntN(2) == 0
	if rng.IntN(3) == 0 {
		e.Spans.Completeness = fact.Number{}
	}
	for i := range e.Past.Windows {
		for k := range e.Past.Windows[i].Verdicts {
			v := &e.Past.Windows[i].Verdicts[k]
			v.Evidence = []fold.Evidence{"", fold.EvidenceHistogram, fold.EvidenceSpans, fold.EvidenceBoth}[rng.IntN(4)]
			v.Spans.Conflict, v.Spans.Expected = rng.IntN(9) == 0, rng.IntN(5) > 0
			if rng.IntN(5) == 0 {
				v.Tokens, v.Classes = fold.Tokens{}, nil
			}
		}
	}
	for _, f := range []fact.Family{fact.TTFT, fact.TPOT, fact.E2E} {
		h := &fold.SpanHistogram{Since: now - 7000*rng.Float64(), Native: hist.NewNative()}
		for range rng.IntN(3) {
			h.Edges = append(h.Edges, math.Exp(float64(len(h.Edges)))*rng.Float64())
		}
		slices.Sort(h.Edges)
		h.Counts, h.Newest = make([]uint64, len(h.Edges)+1), make([]fold.Exemplar, len(h.Edges)+1)
		for range rng.IntN(1 << rng.IntN(12)) {
			x := math.Exp(12*rng.NormFloat64() - 2)
			if rng.IntN(9) == 0 {
				x = 0
			}
			if h.Native.Observe(x) {
				at, _ := slices.BinarySearch(h.Edges, x)
				h.Counts[at]++
			}
		}
		if e.Spans.Histograms[f] = h; rng.IntN(5) == 0 {
			e.Spans.Histograms[f] = nil
		}
	}
	return e
}
