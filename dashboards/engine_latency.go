package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
)

// engineQuantiles is one latency of one engine.
func engineQuantiles(metric, what string) *timeseries.PanelBuilder {
	return engineBands(metric, about{
		title: what + ", as intervals, last 5 min",
		says: "Each quantile lies in its band, the bucket that holds it; the exporter computed it over its own last five minutes. A wide band is a wide bucket. No upper line: above the last edge. " +
			"Of several ranks the band holds them all. What never finished is not in it; cancelled sequences are in TTFT only.",
		unit: seconds, width: 8,
	})
}

func engineGaps() *timeseries.PanelBuilder {
	return engineBands("token_gap", about{
		title: "Gaps between tokens, not sequences, as intervals, last 5 min",
		says: "Another population than TPOT: every gap counts, so long answers weigh more and one stall hides among thousands of gaps. It says nothing of how many sequences stalled. " +
			"With speculative decoding a gap is between outputs of several tokens.",
		unit: seconds, width: 12,
	})
}

func engineBands(metric string, a about) *timeseries.PanelBuilder {
	of := []string{catalog.LabelMetric + `="` + metric + `"`, catalog.LabelWindow + `="5m"`, ofRank}
	return quantileBands(lines(a, polled,
		query{aggregate("max", catalog.LabelQ, pick(catalog.QuantileUpper, of...)), "q {{q}} upper"},
		query{aggregate("min", catalog.LabelQ, pick(catalog.QuantileLower, of...)), "q {{q}} lower"}))
}

// meanOf divides a histogram's sum by its count: exact, and addable over ranks, since buckets do not enter.
func meanOf(base string) string {
	return ratio(sum("", rate(perStep, pick(base+"_sum", ofRank))), sum("", rate(perStep, pick(base+"_count", ofRank))))
}

// attribution is where a first token's time goes.
func attribution() *timeseries.PanelBuilder {
	mean := func(metric string) string { return meanOf(catalog.LatencyHistogram(metric) + catalog.CeilSeconds) }
	p := stacked(about{
		title: "Means: where the time of finished sequences goes, queue, prefill, decode, 4 min and more",
		says: "Means are exact, since sums and counts need no buckets, and means of the same sequences add up. Queue and prefill together are the mean TTFT of finished sequences, but for the front end's own time. " +
			"The line is the mean TTFT of all that had a first token, cancelled ones too. A mean says nothing about the tail.",
		unit: seconds, width: 12,
	}, polled,
		query{mean("queue"), "mean queue"},
		query{mean("prefill"), "mean prefill"},
		query{mean("decode"), "mean decode"},
		query{mean("ttft"), "mean TTFT"})
	line(p, "mean queue", rejectedColour)
	line(p, "mean prefill", finishedColour)
	line(p, "mean decode", doubtColour)
	overlay(p, "mean TTFT", failedColour)
	return p
}

// lengthMix is what kind of work this is.
func lengthMix() *timeseries.PanelBuilder {
	return lines(about{
		title: "Mean prompt and output length of finished sequences, 4 min and more",
		says:  "A change here changes every latency, whatever the load. Means are exact but hide a mix of short and long. What was cancelled or lost is not in it.",
		unit:  tokens, width: 8,
	}, polled,
		query{meanOf(catalog.PromptTokens + catalog.Ceil), "mean prompt"},
		query{meanOf(catalog.OutputTokens + catalog.Ceil), "mean output"})
}
