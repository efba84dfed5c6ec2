package catalog

const (
	// spanWindow is how counters move that exist only while spans are expected.
	spanWindow    = "cumulative over judgement windows that were committed while spans were expected"
	untilExpected = "Absent until a window was committed with spans expected"
	outputTokens  = "output tokens of finished sequences, by the engine's page and the spans"
	seenOnly      = "finished sequences only: what was rejected, cancelled or lost has no span, so its class is not known"
)

// tokenGoodput declares the tokens of an objective: those that kept the promise, and those that were spent in vain.
func tokenGoodput() []Series {
	row := func(name, what string) Series {
		return Series{
			Name: name, Kind: Counter, Unit: "tokens", Stability: Experimental,
			What: what + " " + untilExpected + ".", Population: outputTokens, Window: spanWindow,
			Failures: "only what finished: tokens of cancelled, failed and lost requests are in " + Tokens + " alone",
			Source:   fromSpans + " and the sum of vllm:request_generation_tokens",
			Labels:   []string{LabelEngine, LabelSLO}, Maybe: []string{LabelModel},
		}
	}
	return []Series{
		row(SLOQualifiedTokensLower, "At least so many output tokens were of sequences that met all clauses of the objective: token goodput, lower end."),
		row(SLOQualifiedTokensUpper, "At most so many output tokens were of sequences that met all clauses of the objective: token goodput, upper end."),
		row(SLOMissedTokensLower, "At least so many output tokens were of sequences that finished and did not qualify, lower end."),
		row(SLOMissedTokensUpper, "At most so many output tokens were of sequences that finished and did not qualify, upper end."),
	}
}

// classSeries declares what an objective says of each of its classes.
func classSeries() []Series {
	row := func(name, unit, population, what string) Series {
		return Series{
			Name: name, Kind: Counter, Unit: unit, Stability: Experimental,
			What: what + " " + untilExpected + ".", Population: population, Window: spanWindow, Failures: seenOnly, Source: fromSpans,
			Labels: []string{LabelEngine, LabelSLO, LabelClass}, Maybe: []string{LabelModel},
		}
	}
	const ofClass = "finished sequences"
	return []Series{
		{
			Name: SLOClassThreshold, Kind: Gauge, Unit: "seconds", Stability: Experimental, Labels: []string{LabelSLO, LabelClass, LabelClause},
			What: "The most that the clause's latency may be for a sequence of the class to qualify. Absent for an objective without classes.",
		},
		row(SLOClassRequestsLower, "sequences", ofClass, "At least so many sequences were of the class: those that were seen, lower end."),
		row(SLOClassRequestsUpper, "sequences", ofClass, "At most so many sequences were of the class: those that were seen and all that were not, upper end. Not to be added over classes: what was not seen is in each."),
		row(SLOClassQualifiedLower, "sequences", ofClass, "At least so many sequences of the class met all its clauses at once: goodput of the class, lower end."),
		row(SLOClassQualifiedUpper, "sequences", ofClass, "At most so many sequences of the class met all its clauses at once, all that were not seen included: goodput of the class, upper end. Not to be added over classes."),
		row(SLOClassQualifiedTokensLower, "tokens", "output tokens of finished sequences", "At least so many output tokens were of sequences of the class that met all its clauses: token goodput of the class, lower end."),
	}
}
