package exporter

import (
	"cmp"
	"slices"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// histogramNames are the families that are re-exported, with the names of their two images. Inference is not among
// them: it is prefill and decode together.
func histogramNames(f fact.Family) (ceil, floor string, exported bool) {
	switch f {
	case fact.Inference:
		return "", "", false
	case fact.PromptTokens:
		return catalog.PromptTokens + catalog.Ceil, catalog.PromptTokens + catalog.Floor, true
	case fact.OutputTokens:
		return catalog.OutputTokens + catalog.Ceil, catalog.OutputTokens + catalog.Floor, true
	}
	base := catalog.LatencyHistogram(f.String())
	return base + catalog.CeilSeconds, base + catalog.FloorSeconds, true
}

// collectRank sends what one scheduler says.
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
	for f, h := range r.Histograms {
		ceil, floor, exported := histogramNames(fact.Family(f))
		if h == nil || !exported {
			continue
		}
		p.histogram(ceil, buckets{edges: h.Grid, counts: h.Ceil, sum: h.Sum}, since, r.ID, r.Model)
		p.histogram(floor, buckets{edges: h.Grid, counts: h.Floor, sum: h.Sum}, since, r.ID, r.Model)
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
