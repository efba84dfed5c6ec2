package catalog

import "fmt"

const (
	finishedSequences = "finished sequences"
	atFinish          = "what never finished is not observed: rejected, lost and, on vLLM's Python front end, cancelled requests"
	atFirstToken      = "what had no first token is not observed; sequences that were cancelled after it are"
)

func latencySeries() []Series {
	var rows []Series
	for _, h := range []struct{ metric, what, population, failures, source string }{
		{"ttft", "Time from arrival to first token", "sequences that had a first token", atFirstToken, "vllm:time_to_first_token_seconds"},
		{"tpot", "Time per output token after the first, the mean of one sequence; sequences of one token have none and are left out", finishedSequences, atFinish, "vllm:request_time_per_output_token_seconds"},
		{"e2e", "Time from arrival to last token", finishedSequences, atFinish, "vllm:e2e_request_latency_seconds"},
		{"queue", "Time waiting to be scheduled for the first time", finishedSequences, atFinish, "vllm:request_queue_time_seconds"},
		{"prefill", "Time from first scheduling to first token", finishedSequences, atFinish, "vllm:request_prefill_time_seconds"},
		{"decode", "Time from first to last token", finishedSequences, atFinish, "vllm:request_decode_time_seconds"},
		{"token_gap", "Time between consecutive outputs of a sequence", "token gaps, not sequences: a long sequence has many", "gaps of sequences that were cancelled later are observed", "vllm:inter_token_latency_seconds"},
	} {
		s := Series{Unit: "seconds", Population: h.population, Failures: h.failures, Source: h.source}
		rows = append(rows, images(LatencyHistogram(h.metric), "_seconds", h.what, s)...)
	}
	for _, h := range []struct{ base, what, source string }{
		{PromptTokens, "Length of the prompt", "vllm:request_prompt_tokens"},
		{OutputTokens, "Length of the output", "vllm:request_generation_tokens"},
	} {
		s := Series{Unit: "tokens", Population: finishedSequences, Failures: atFinish, Source: h.source}
		rows = append(rows, images(h.base, "", h.what, s)...)
	}
	quantile := func(name, end, more string) Series {
		return Series{
			Name: name, Kind: Gauge, Unit: "seconds", Stability: Stable,
			What: fmt.Sprintf("The %s end of the interval that holds a quantile of a latency: the truth lies in (lower, upper]. "+
				"Of this engine alone, and never to be averaged: quantiles of a fleet come from %s. Absent while nothing was observed.", end, more),
			Population: "sequences; for metric=\"token_gap\" token gaps", Window: "the sliding window in the label window",
			Failures: "what never finished, or for ttft had no first token, is not observed", Source: "the histogram of the metric",
			Labels: []string{LabelEngine, LabelMetric, LabelQ, LabelWindow}, Maybe: []string{LabelModel},
		}
	}
	rows = append(rows, spanHistograms()...)
	return in(GroupLatency, append(rows,
		quantile(QuantileLower, "lower", "the floor histograms"),
		quantile(QuantileUpper, "upper", "the ceil histograms. +Inf when the quantile is above the last edge"))...)
}

// images declares the two images of a histogram on the shared grid.
func images(base, unit, what string, s Series) []Series {
	s.Kind, s.Window, s.Stability = Histogram, sinceFirstSeen, Stable
	s.Labels, s.Maybe = []string{LabelEngine}, []string{LabelModel}
	ceil, floor := s, s
	ceil.Name, floor.Name = base+Ceil+unit, base+Floor+unit
	ceil.What = what + ", each observation pushed up to the next edge of the shared grid that it is surely not above: quantiles of it are upper ends."
	floor.What = what + ", each observation pushed down to the lowest bucket of the shared grid that it may be in: quantiles of it are lower ends."
	return []Series{ceil, floor}
}
