package catalog

// Names of recording rules over what spans say. All are bases, which RuleName completes by a window of LoadWindows, and
// all are absent where no engine sends spans.
const (
	RuleOutputTokens         = "model_slo:goodput_output_tokens:rate"
	RuleFinishedTokens       = "model_slo:goodput_finished_output_tokens:rate"
	RuleQualifiedTokensLower = "model_slo:goodput_slo_qualified_tokens_lower:rate"
	RuleQualifiedTokensUpper = "model_slo:goodput_slo_qualified_tokens_upper:rate"
	RuleMissedTokensLower    = "model_slo:goodput_slo_missed_tokens_lower:rate"
	RuleMissedTokensUpper    = "model_slo:goodput_slo_missed_tokens_upper:rate"
	RuleWastedTokensLower    = "model_slo:goodput_slo_wasted_tokens_share_lower:ratio_rate"
	RuleWastedTokensUpper    = "model_slo:goodput_slo_wasted_tokens_share_upper:ratio_rate"
	RuleCompleteness         = "model:goodput_evidence_completeness:ratio_rate"
	RuleAttempts             = "model:goodput_attempts_of_logical_request:ratio_rate"
)

// Names of recording rules over classes, which are there for objectives that have some.
const (
	RuleClassRequestsLower        = "model_slo_class:goodput_slo_class_requests_lower:rate"
	RuleClassRequestsUpper        = "model_slo_class:goodput_slo_class_requests_upper:rate"
	RuleClassQualifiedLower       = "model_slo_class:goodput_slo_class_qualified_requests_lower:rate"
	RuleClassQualifiedUpper       = "model_slo_class:goodput_slo_class_qualified_requests_upper:rate"
	RuleClassQualifiedTokensLower = "model_slo_class:goodput_slo_class_qualified_tokens_lower:rate"
	RuleClassShareLower           = "model_slo_class:goodput_slo_class_qualified_share_lower:ratio_rate"
	RuleClassShareUpper           = "model_slo_class:goodput_slo_class_qualified_share_upper:ratio_rate"
)

const (
	tokenRate    = "tokens per second"
	whereSpans   = "output tokens of the engines that have token goodput under the objective: those that send spans"
	inWindows    = "output tokens of finished sequences, in the judgement windows that expected spans"
	finishedOnly = "only what finished: tokens of requests that vanished are in " + RuleOutputTokens + " alone"
	noClass      = "what did not finish has no span, so its class is not known, and is not included"
)

// spanRules lists the recording rules over what spans say.
func spanRules() []RecordingRule {
	slo := []string{LabelModel, LabelSLO}
	windows := LoadWindows()
	tokens := func(base, what string) RecordingRule {
		return RecordingRule{base, windows, what, tokenRate, inWindows, finishedOnly, slo}
	}
	wasted := func(base, what string) RecordingRule {
		return RecordingRule{base, windows, what + " Of finished sequences the share is that of the judgement windows that expected spans; what was processed and never finished comes on top, " +
			"and so does a batch that is growing, until its sequences end.", "ratio, 0 to 1", whereSpans,
			"tokens of requests that vanished (cancelled, failed or lost) are wasted", slo}
	}
	return []RecordingRule{
		{RuleOutputTokens, windows, "Token throughput beside token goodput: what the same engines processed, whether anybody got to read it or not.", tokenRate, whereSpans, "tokens of cancelled, failed and lost requests are included", slo},
		{RuleFinishedTokens, windows, "Token throughput in sequences that came to an end, counted when they do.", tokenRate, whereSpans, "tokens of requests that vanished are not included", slo},
		tokens(RuleQualifiedTokensLower, "Token goodput, lower end: output tokens of sequences that certainly met all clauses."),
		tokens(RuleQualifiedTokensUpper, "Token goodput, upper end: output tokens of sequences that may have met all clauses."),
		tokens(RuleMissedTokensLower, "Output tokens of sequences that finished and certainly did not qualify."),
		tokens(RuleMissedTokensUpper, "Output tokens of sequences that finished and may not have qualified."),
		wasted(RuleWastedTokensLower, "Least share of the processed output tokens that kept no promise."),
		wasted(RuleWastedTokensUpper, "Greatest share of the processed output tokens that kept no promise."),
		{RuleCompleteness, windows, "Share of the finished sequences that have a span in their window, of engines that are expected to send them: the two rates divided. 1 makes goodput exact; a sampler makes it its ratio, and the interval wider.", "ratio, 0 to 1", finishedSequences, "what did not finish is not included", []string{LabelModel}},
		{RuleAttempts, windows, "How often a logical request was tried, as far as the callers' traces tell: the two rates divided. 1 where nobody tries again within a judgement window, or no trace shows it.", "attempts per logical request, 1 and more", "finished requests with a span", "an attempt that did not finish has no span", []string{LabelModel}},
	}
}

// classRules lists the recording rules over classes.
func classRules() []RecordingRule {
	class := []string{LabelModel, LabelSLO, LabelClass}
	row := func(base, what, unit string) RecordingRule {
		return RecordingRule{base, LoadWindows(), what, unit, finishedSequences, noClass, class}
	}
	const ratio = "ratio, 0 to 1"
	return []RecordingRule{
		row(RuleClassRequestsLower, "Sequences of the class that were seen: at least so many there were.", sequenceRate),
		row(RuleClassRequestsUpper, "Sequences of the class that were seen, and all of the objective that were not: at most so many there were. Not to be added over classes.", sequenceRate),
		row(RuleClassQualifiedLower, "Goodput of the class, lower end.", sequenceRate),
		row(RuleClassQualifiedUpper, "Goodput of the class, upper end. Not to be added over classes.", sequenceRate),
		row(RuleClassQualifiedTokensLower, "Token goodput of the class, lower end; what was not seen may add to it.", tokenRate),
		row(RuleClassShareLower, "Least share of the class's sequences that met all its clauses: as if all that were not seen were of the class and missed. Absent without traffic.", ratio),
		row(RuleClassShareUpper, "Greatest share of the class's sequences that met all its clauses: as if all that were not seen were of the class and met them. Absent without traffic.", ratio),
	}
}
