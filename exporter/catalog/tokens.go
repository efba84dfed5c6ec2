package catalog

func tokenSeries() []Series {
	model := []string{LabelModel}
	const tokenSources = "vllm:prompt_tokens_total and vllm:generation_tokens_total"
	return in(GroupTokens,
		Series{
			Name: SequencesFinished, Kind: Counter, Unit: "sequences", Stability: Stable,
			What:       "Sequences that the engine ended, by finish reason; a reason that vLLM does not have counts as other.",
			Population: sequences, Window: sinceFirstSeen,
			Failures: "rejected and lost requests are not included; cancelled ones only on vLLM's Rust front end, as abort",
			Source:   fromReasons, Labels: []string{LabelEngine, LabelReason}, Maybe: model,
		},
		Series{
			Name: Tokens, Kind: Counter, Unit: "tokens", Stability: Stable,
			What:       "Tokens that the engine processed: token throughput, whether anybody got to read them or not.",
			Population: "tokens of all sequences", Window: sinceFirstSeen,
			Failures: "tokens of cancelled and failed sequences are included", Source: tokenSources,
			Labels: []string{LabelEngine, LabelKind}, Maybe: model,
		},
		Series{
			Name: FinishedTokens, Kind: Counter, Unit: "tokens", Stability: Experimental,
			What:       "Tokens of sequences that finished, counted when they finish.",
			Population: "tokens of finished sequences", Window: sinceFirstSeen, Failures: atFinish,
			Source: "the sums of vllm:request_prompt_tokens and vllm:request_generation_tokens",
			Labels: []string{LabelEngine, LabelKind}, Maybe: model,
		},
	)
}
