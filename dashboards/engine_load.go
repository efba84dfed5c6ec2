package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
)

// batch is what the schedulers hold.
func batch() *timeseries.PanelBuilder {
	p := stacked(about{
		title: "Sequences in flight, running and in the queue, now",
		says: "Running sequences share the engine's steps; queued ones wait for room. All chosen engines together. Gauges, so what comes and goes between two scrapes is not seen. " +
			"A queue that stays is load beyond capacity, or a full KV cache.",
		unit: count, width: 8,
	}, polled, query{sum(catalog.LabelStage, pick(catalog.RequestsInFlight, ofRank)), "{{stage}}"})
	line(p, "running", finishedColour)
	line(p, "queue", rejectedColour)
	return p
}

// kvUsage is the fullest cache of each engine: shares are not added.
func kvUsage() *timeseries.PanelBuilder {
	return lines(about{
		title: "KV cache blocks in use, each engine or rank, now",
		says: "Share of each scheduler's own blocks. Near 1 sequences wait or are preempted; that is slow, not broken. Blocks kept for prefix reuse count as free here. " +
			"Peaks between two scrapes are not seen.",
		unit: share, width: 8,
	}, polled, query{aggregate("max", catalog.LabelEngine, pick(catalog.EngineKVUsage, ofRank)), "{{engine}}"})
}

func preemptions() *timeseries.PanelBuilder {
	return lines(about{
		title: "Preemptions of running sequences, each second, 4 min and more",
		says:  "A preempted sequence loses its KV blocks and is computed again: the stop shows in e2e and in token gaps, in TTFT only when it came before the first token. A sequence may be preempted several times, so this is no number of sequences.",
		unit:  "suffix: preemptions/s", width: 8,
	}, polled, query{sum(catalog.LabelEngine, rate(perStep, pick(catalog.EnginePreemptions, ofRank))), "{{engine}}"})
}

// tokenThroughput is what the engines computed, for whomever.
func tokenThroughput() *timeseries.PanelBuilder {
	return lines(about{
		title: "Tokens of all sequences, prompt and output, each second, 4 min and more",
		says: "What the engine processed, whether anybody got to read it or not: tokens of cancelled and failed sequences are in it. " +
			"It rises into overload and says nothing about a promise.",
		unit: tokensRate, width: 8,
	}, polled, query{sum(catalog.LabelKind, rate(perStep, pick(catalog.Tokens, ofRank))), "{{kind}}"})
}

// finishedTokens are those of the sequences that came to an end.
func finishedTokens() *timeseries.PanelBuilder {
	return lines(about{
		title: "Tokens of finished sequences, prompt and output, each second, 4 min and more",
		says: "Counted when a sequence ends, all at once, so it lags the panel of all tokens by a sequence's life and is rougher. " +
			"Over long ranges the difference between the two is work for nobody.",
		unit: tokensRate, width: 8,
	}, polled, query{sum(catalog.LabelKind, rate(perStep, pick(catalog.FinishedTokens, ofRank))), "{{kind}}"})
}
