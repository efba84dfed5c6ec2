package exporter

import (
	"cmp"
	"slices"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// histogramNames are the names of the two images of a family. Inference has none: it is prefill and decode together.
func histogramNames(f fact.Family) (ceil, floor string) {
	switch f {
	case fact.PromptTokens:
		return catalog.PromptTokens + catalog.Ceil, catalog.PromptTokens + catalog.Floor
	case fact.OutputTokens:
		return catalog.OutputTokens + catalog.Ceil, catalog.OutputTokens + catalog.Floor
	}
	base := catalog.LatencyHistogram(f.String())
	return base + catalog.CeilSeconds, base + catalog.FloorSeconds
}

// collectRank sends what one scheduler says, but for its histograms and quantiles.
func collectRank(p *page, e *fold.Engine, r *fold.Rank) {
	since := cmp.Or(r.Since, e.Since)
	for _, c := range finishReasons(r.Sequences) {
		p.counter(catalog.SequencesFinished, float64(c.Count), since, r.ID, c.Name, r.Model)
	}
	for _, row := range []struct {
		name, kind string
		n          fact.Number
	}{
		{catalog.Tokens, "prompt", r.PromptTokens},
		{catalog.Tokens, "output", r.OutputTokens},
		{catalog.FinishedTokens, "prompt", r.DonePrompt},
		{catalog.FinishedTokens, "output", r.DoneOutput},
	} {
		if row.n.Known {
			p.counter(row.name, row.n.V, since, r.ID, row.kind, r.Model)
		}
	}
	if r.Preemptions.Known {
		p.counter(catalog.EnginePreemptions, r.Preemptions.V, since, r.ID, r.Model)
	}
	for _, c := range r.Coverage {
		p.gauge(catalog.WindowCoverage, c.Ratio, r.ID, span(seconds(c.Window)), r.Model)
	}
	if r.Fresh {
		collectFresh(p, r)
	}
}

// collectFresh sends what holds now, and so only while the page is young.
func collectFresh(p *page, r *fold.Rank) {
	if r.Waiting.Known {
		p.gauge(catalog.RequestsInFlight, r.Waiting.V, r.ID, "queue", r.Model)
	}
	if r.Running.Known {
		p.gauge(catalog.RequestsInFlight, r.Running.V, r.ID, "running", r.Model)
	}
	if r.KVUsage.Known {
		p.gauge(catalog.EngineKVUsage, r.KVUsage.V, r.ID, r.Model)
	}
}

// The histograms that answer whether a promise is kept, and those that say why not.
func collectMainHistograms(p *page, e *fold.Engine, r *fold.Rank) {
	collectHistograms(p, e, r, fact.TTFT, fact.TPOT, fact.E2E, fact.TokenGap)
}

func collectOtherHistograms(p *page, e *fold.Engine, r *fold.Rank) {
	collectHistograms(p, e, r, fact.Queue, fact.Prefill, fact.Decode, fact.PromptTokens, fact.OutputTokens)
}

func collectHistograms(p *page, e *fold.Engine, r *fold.Rank, families ...fact.Family) {
	since := cmp.Or(r.Since, e.Since)
	for _, f := range families {
		if h := r.Histograms[f]; h != nil {
			ceil, floor := histogramNames(f)
			p.histogram(ceil, buckets{edges: h.Grid, counts: h.Ceil, sum: h.Sum}, since, r.ID, r.Model)
			p.histogram(floor, buckets{edges: h.Grid, counts: h.Floor, sum: h.Sum}, since, r.ID, r.Model)
		}
	}
}

// collectQuantiles sends the quantiles of sliding windows, while the page is young.
func collectQuantiles(p *page, _ *fold.Engine, r *fold.Rank) {
	if !r.Fresh {
		return
	}
	for _, q := range r.Quantiles {
		if q.Metric == fact.PromptTokens || q.Metric == fact.OutputTokens {
			continue // these are not seconds
		}
		labels := []string{r.ID, q.Metric.String(), number(q.Q), span(seconds(q.Window)), r.Model}
		p.gauge(catalog.QuantileLower, q.Lower, labels...)
		p.gauge(catalog.QuantileUpper, q.Upper, labels...)
	}
}

// list joins names as a label value: sorted and separated by commas.
func list(names []string) string {
	names = slices.Clone(names)
	slices.Sort(names)
	return strings.Join(names, ",")
}
