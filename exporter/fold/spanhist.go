package fold

import (
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// exactFamilies are the families of which the values themselves are kept.
var exactFamilies = [...]fact.Family{fact.TTFT, fact.TPOT, fact.E2E}

// spanEdges are the thresholds at which the values of each family are counted.
type spanEdges [fact.NumFamilies][]float64

// thresholdsOf lists the thresholds of all clauses of objectives and their classes, in order.
func thresholdsOf(objectives []slo.Objective) *spanEdges {
	var out spanEdges
	add := func(clauses []slo.Clause) {
		for _, c := range clauses {
			out[c.Metric] = append(out[c.Metric], c.Threshold)
		}
	}
	for i := range objectives {
		add(objectives[i].Clauses)
		for j := range objectives[i].Classes.List {
			add(objectives[i].Classes.List[j].Clauses)
		}
	}
	for f := range out {
		slices.Sort(out[f])
		out[f] = slices.Compact(out[f])
	}
	return &out
}

// spanHistogram is a SpanHistogram in the making. Once it was published, a copy goes on.
type spanHistogram struct {
	*SpanHistogram
	published bool
}

// reconfigure makes the engine's spans follow other options.
func (s *engineSpans) reconfigure(opts *Options, at float64) {
	s.on = s.on && opts.Spans
	s.countAt(thresholdsOf(opts.Objectives), at)
}

// countAt makes the histograms count at these thresholds. One that counted at others begins anew at once, from 0, so that
// a scraper sees it fall and takes no count for one at another threshold.
func (s *engineSpans) countAt(edges *spanEdges, at float64) {
	for _, f := range exactFamilies {
		if h := &s.histograms[f]; h.SpanHistogram != nil && !slices.Equal(h.Edges, edges[f]) {
			h.begin(edges[f], at)
		}
	}
}

func (h *spanHistogram) begin(edges []float64, at float64) {
	n := len(edges) + 1
	*h = spanHistogram{SpanHistogram: &SpanHistogram{
		Since: at, Native: hist.NewNative(), Edges: edges, Counts: make([]uint64, n), Newest: make([]Exemplar, n),
	}}
}

// observe counts a span's values in the histograms of the exact ones.
func (s *engineSpans) observe(span *fact.Span, edges *spanEdges, at float64) {
	for _, f := range exactFamilies {
		v := span.E2E
		switch f {
		case fact.TTFT:
			v = span.TTFT
		case fact.TPOT:
			tpot, has := span.TPOT()
			if !has {
				continue
			}
			v = tpot
		}
		h := &s.histograms[f]
		if h.SpanHistogram == nil {
			h.begin(edges[f], at)
		}
		h.observe(v, span)
	}
}

func (h *spanHistogram) observe(v float64, span *fact.Span) {
	if h.published {
		next := *h.SpanHistogram
		next.Native = next.Native.Clone()
		next.Counts, next.Newest = slices.Clone(next.Counts), slices.Clone(next.Newest)
		*h = spanHistogram{SpanHistogram: &next}
	}
	if !h.Native.Observe(v) {
		return
	}
	i, _ := slices.BinarySearch(h.Edges, v)
	h.Counts[i]++
	// An end after the receipt is by a clock that is wrong: it would be the newest until then.
	end := min(span.End, span.Received)
	if newest := &h.Newest[i]; end >= newest.At && span.Trace != [16]byte{} {
		*newest = Exemplar{Value: v, Trace: span.Trace, At: end}
	}
}

// publish returns what nobody writes to any more.
func (h *spanHistogram) publish() *SpanHistogram {
	h.published = true
	return h.SpanHistogram
}
