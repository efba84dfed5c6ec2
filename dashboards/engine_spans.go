package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/heatmap"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
)

// atThresholds is the exact share of sequences at or below each threshold of an objective. The edges are the same on all
// engines of one configuration, so buckets may be added.
func atThresholds(histogram, what string) *timeseries.PanelBuilder {
	below := sum("le", rate(perStep, pick(histogram+"_bucket", `le!="+Inf"`, ofEngine)))
	all := sum("", rate(perStep, pick(histogram+"_count", ofEngine)))
	return lines(about{
		title: "Share of sequences with a span whose " + what + " is at most a threshold, 4 min and more",
		says: "Exact, of the sequences that have a span: each value is compared, none is guessed from a bucket. Of sampled spans it is the sample's share. " +
			"Lines are the thresholds of the objectives and classes on it. Empty: no spans, no clause on it, or a Prometheus that keeps native histograms only; then see the picture below.",
		unit: share, width: 8,
	}, polled, query{below + " / on () group_left () (" + all + " > 0)", "at most {{le}} s"})
}

// distribution is a latency of the chosen engines over time, from native histograms.
func distribution(histogram, what string) *heatmap.PanelBuilder {
	return cells(about{
		title: what + " of sequences with a span: how many a second in each bucket, 4 min and more",
		says: "Buckets are 9 % wide, so no shape is lost in them. Of the sequences that have a span; what did not finish has none. Needs a Prometheus that takes native histograms " +
			"(--enable-feature=native-histograms, from version 3.8 on scrape_native_histograms). Empty in others: the panel above is exact at the thresholds.",
		unit: seconds, width: 8,
	}, polled, query{sum("", rate(perStep, pick(histogram, ofEngine))), ""})
}

// spanLatencies are the panels of one row.
var spanLatencies = []struct{ histogram, what string }{
	{catalog.SpanTTFT, "TTFT"}, {catalog.SpanTPOT, "TPOT"}, {catalog.SpanE2E, "end-to-end latency"},
}
