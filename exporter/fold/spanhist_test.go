package fold

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

func promise(name string, clauses ...slo.Clause) slo.Objective {
	return slo.Objective{Name: name, Clauses: clauses, Policy: slo.DefaultPolicy()}
}

func TestThresholdsOfAllClausesAreCounted(t *testing.T) {
	ttft := func(v float64) slo.Clause { return slo.Clause{Metric: fact.TTFT, Threshold: v} }
	tpot := func(v float64) slo.Clause { return slo.Clause{Metric: fact.TPOT, Threshold: v} }
	classes := promise("classes", ttft(1), tpot(.1))
	classes.Classes = slo.Classes{By: slo.ByPromptTokens, List: []slo.Class{{Name: "short", AtMost: 100, Clauses: []slo.Clause{ttft(.1)}}, {Name: "long"}}}
	for name, c := range map[string]struct {
		objectives []slo.Objective
		ttft, tpot []float64
	}{
		"none without objectives":                    {nil, nil, nil},
		"of each objective, once and in order":       {[]slo.Objective{promise("a", ttft(1)), promise("b", ttft(.25), tpot(.02)), promise("c", ttft(1))}, []float64{.25, 1}, []float64{.02}},
		"those of classes among them":                {[]slo.Objective{classes}, []float64{.1, 1}, []float64{.1}},
		"those of other families are not among them": {[]slo.Objective{promise("a", slo.Clause{Metric: fact.Queue, Threshold: 3}, slo.Clause{Metric: fact.E2E, Threshold: 2})}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := thresholdsOf(c.objectives)
			if !slices.Equal(got[fact.TTFT], c.ttft) || !slices.Equal(got[fact.TPOT], c.tpot) {
				t.Errorf("ttft %v tpot %v, want %v and %v", got[fact.TTFT], got[fact.TPOT], c.ttft, c.tpot)
			}
		})
	}
}

// TestValuesOfSpansAreCountedWhereTheyAre: at every threshold the count is that of the values, one that is equal to a
// threshold meets it, and each bucket shows the trace of the sequence that ended last.
func TestValuesOfSpansAreCountedWhereTheyAre(t *testing.T) {
	rng := rand.New(rand.NewPCG(54, 1))
	edges := []float64{0.1, 0.25, 1}
	s := listener(promise("a", slo.Clause{Metric: fact.TTFT, Threshold: .25}, slo.Clause{Metric: fact.TPOT, Threshold: .1}), promise("b", slo.Clause{Metric: fact.TTFT, Threshold: 1}),
		promise("c", slo.Clause{Metric: fact.TTFT, Threshold: .1}))
	var sent []fact.Span
	for id := range 500 {
		span := spanOf(id, 100+rng.Float64()*10, fromA)
		span.TTFT = rng.ExpFloat64()
		if rng.IntN(5) == 0 {
			span.TTFT = edges[rng.IntN(3)]
		}
		if rng.IntN(2) == 0 {
			span.Trace = [16]byte{} // nobody could look it up
		}
		sent = append(sent, span)
		s.arrive(104+float64(id), two, span)
	}
	h := s.spans("a", 700).Histograms[fact.TTFT]
	if !slices.Equal(h.Edges, edges) || h.Since != 104 || h.Native.Count != 500 {
		t.Fatalf("edges %v since %v, count %d", h.Edges, h.Since, h.Native.Count)
	}
	want, newest := make([]uint64, 4), make([]Exemplar, 4)
	for _, span := range sent {
		i := 0
		for i < len(edges) && span.TTFT > edges[i] {
			i++
		}
		want[i]++
		if span.End >= newest[i].At && span.Trace != [16]byte{} {
			newest[i] = Exemplar{span.TTFT, span.Trace, span.End}
		}
	}
	if !slices.Equal(h.Counts, want) || !slices.Equal(h.Newest, newest) {
		t.Errorf("counts %v, want %v; newest %v, want %v", h.Counts, want, h.Newest, newest)
	}
	tpot := s.spans("a", 700).Histograms[fact.TPOT]
	if !slices.Equal(tpot.Edges, []float64{.1}) || !slices.Equal(tpot.Counts, []uint64{500, 0}) {
		t.Errorf("ten tokens in a second after the first meet 0.1 s: %v at %v", tpot.Counts, tpot.Edges)
	}
	if e2e := s.spans("a", 700).Histograms[fact.E2E]; len(e2e.Edges) != 0 || !slices.Equal(e2e.Counts, []uint64{500}) {
		t.Errorf("without a threshold all values are in one bucket: %v at %v", e2e.Counts, e2e.Edges)
	}
	if queue := s.spans("a", 700).Histograms[fact.Queue]; queue != nil {
		t.Error("values of a family that nobody asked for are kept")
	}
}

func TestWhatWasPublishedIsNotWrittenTo(t *testing.T) {
	s := listener()
	s.arrive(104, two, spanOf(1, 100, fromA))
	first := s.spans("a", 104)
	var copies [fact.NumFamilies]SpanHistogram
	for _, f := range exactFamilies {
		copies[f] = *first.Histograms[f]
		copies[f].Native = copies[f].Native.Clone()
		copies[f].Counts, copies[f].Newest = slices.Clone(copies[f].Counts), slices.Clone(copies[f].Newest)
	}
	slow := spanOf(2, 101, fromA)
	slow.TTFT, slow.Decode, slow.E2E = 5, 50, 55
	s.arrive(105, two, slow, spanOf(3, 102, fromA))
	for _, f := range exactFamilies {
		if !reflect.DeepEqual(*first.Histograms[f], copies[f]) {
			t.Errorf("%v was %+v and is %+v", f, copies[f], *first.Histograms[f])
		}
		equal(t, "afterwards", s.spans("a", 105).Histograms[f].Native.Count, 3)
	}
	if again := s.spans("a", 106); again.Histograms[fact.TTFT] != s.spans("a", 107).Histograms[fact.TTFT] {
		t.Error("what has not changed was copied")
	}
}

// TestPublishingCostsOneCopy: the values after the first one are counted without another.
func TestPublishingCostsOneCopy(t *testing.T) {
	s := listener()
	span := spanOf(1, 100, fromA)
	s.arrive(104, two, span, spanOf(2, 100, fromA))
	s.spans("a", 104)
	spans, edges := &s.engines["a"].spans, thresholdsOf(s.opts.Objectives)
	spans.observe(&span, edges, 105)
	if n := testing.AllocsPerRun(100, func() { spans.observe(&span, edges, 105) }); n > 0 {
		t.Errorf("%v allocations a span", n)
	}
}

// TestHistogramsBeginAnewWithOtherThresholds: at once, from 0, and only those whose thresholds changed.
func TestHistogramsBeginAnewWithOtherThresholds(t *testing.T) {
	ttft, tpot := slo.Clause{Metric: fact.TTFT, Threshold: .25}, slo.Clause{Metric: fact.TPOT, Threshold: .1}
	s := listener(promise("a", ttft, tpot))
	s.arrive(104, two, spanOf(1, 100, fromA))
	before := s.spans("a", 104)

	s.opts.Objectives = []slo.Objective{promise("renamed", ttft, tpot)}
	s.engines["a"].spans.reconfigure(&s.opts, 150)
	equal(t, "another objective of the same thresholds begins", s.spans("a", 150).Histograms[fact.TTFT].Since, 104)

	s.opts.Objectives = append(s.opts.Objectives, promise("b", slo.Clause{Metric: fact.TTFT, Threshold: .1}))
	s.engines["a"].spans.reconfigure(&s.opts, 200)
	h := s.spans("a", 200).Histograms
	if n := h[fact.TTFT]; n.Since != 200 || n.Native.Count != 0 || !slices.Equal(n.Edges, []float64{.1, .25}) || !slices.Equal(n.Counts, []uint64{0, 0, 0}) || n.Newest[1].At != 0 {
		t.Errorf("after the change: %+v", n)
	}
	if n := h[fact.TPOT]; n.Since != 104 || n.Native.Count != 1 {
		t.Errorf("the other family: %+v", n)
	}
	if n := before.Histograms[fact.TTFT]; n.Native.Count != 1 || !slices.Equal(n.Edges, []float64{.25}) {
		t.Errorf("what was published before: %+v", n)
	}
	// An engine that nobody told begins anew with its next span, and with none of another's.
	s.opts.Objectives = s.opts.Objectives[:1]
	s.arrive(300, two, spanOf(2, 250, fromB))
	equal(t, "until then it counts", s.spans("a", 300).Histograms[fact.TTFT].Since, 200)
	s.arrive(301, two, spanOf(3, 251, fromA))
	if n := s.spans("a", 301).Histograms[fact.TTFT]; n.Since != 301 || n.Native.Count != 1 {
		t.Errorf("with the next span: %+v", n)
	}
}

// TestAValueThatIsNoLatencyIsInNoBucket, neither in a native one nor at a threshold.
func TestAValueThatIsNoLatencyIsInNoBucket(t *testing.T) {
	s := listener()
	span := spanOf(1, 100, fromA)
	span.TTFT = -1e-9
	s.arrive(104, two, span)
	h := s.spans("a", 104).Histograms
	if n := h[fact.TTFT]; n.Native.Count != 0 || slices.Max(n.Counts) != 0 || n.Newest[0].At != 0 {
		t.Errorf("a negative one: %+v", n)
	}
	equal(t, "the span's other values", h[fact.E2E].Native.Count, 1)
}

// TestAnExemplarFromTheFutureIsReplaced: an end after the receipt is no reason to show a trace until then.
func TestAnExemplarFromTheFutureIsReplaced(t *testing.T) {
	s := listener()
	early := spanOf(1, 86500, fromA)
	early.Received = 103
	s.arrive(104, two, early)
	equal(t, "when it ended at the latest", s.spans("a", 104).Histograms[fact.E2E].Newest[0].At, 103)
	next := spanOf(2, 110, fromA)
	s.arrive(114, two, next)
	if got := s.spans("a", 114).Histograms[fact.E2E].Newest[0]; got.Trace != next.Trace {
		t.Errorf("the newest is %+v", got)
	}
}
