package catalog

// Names of recording rules over what qualified work costs. All are bases, which RuleName completes by a window of
// LoadWindows, and all are absent where no engine's energy is known or, for money, where no price is configured.
const (
	RuleTokenJoulesLower   = "model_slo:goodput_joules_per_qualified_token_lower:ratio_rate"
	RuleTokenJoulesUpper   = "model_slo:goodput_joules_per_qualified_token_upper:ratio_rate"
	RuleRequestJoulesLower = "model_slo:goodput_joules_per_qualified_request_lower:ratio_rate"
	RuleRequestJoulesUpper = "model_slo:goodput_joules_per_qualified_request_upper:ratio_rate"
	RuleTokenCostLower     = "model_slo:goodput_cost_per_qualified_token_lower:ratio_rate"
	RuleTokenCostUpper     = "model_slo:goodput_cost_per_qualified_token_upper:ratio_rate"
	RuleRequestCostLower   = "model_slo:goodput_cost_per_qualified_request_lower:ratio_rate"
	RuleRequestCostUpper   = "model_slo:goodput_cost_per_qualified_request_upper:ratio_rate"
)

const (
	whoseGPUs = ", of the engines whose GPUs are known, are theirs alone and all on one node, over all of the window"
	allWork   = "all that the engines used is shared out over what qualified: work that failed, missed or was idle is in the price"
)

// gpuRules lists the recording rules over what qualified work costs.
func gpuRules() []RecordingRule {
	row := func(base, what, unit, population string, labels ...string) RecordingRule {
		return RecordingRule{base, LoadWindows(), what + " Other engines are neither in what was used nor in what qualified.", unit, population + whoseGPUs, allWork,
			append([]string{LabelModel, LabelSLO}, labels...)}
	}
	const (
		tokens           = "output tokens of sequences that met all clauses"
		least            = "as if all in doubt had qualified. Absent while nothing can have qualified."
		most             = "as if nothing in doubt had qualified. Absent while nothing certainly qualified: then there is no limit to it."
		tokenJ, requestJ = "joules per output token", "joules per sequence"
		tokenC, requestC = "units of the currency per output token", "units of the currency per sequence"
	)
	return []RecordingRule{
		row(RuleTokenJoulesLower, "Least energy per output token that kept the promise: "+least, tokenJ, tokens),
		row(RuleTokenJoulesUpper, "Greatest energy per output token that kept the promise: "+most, tokenJ, tokens),
		row(RuleRequestJoulesLower, "Least energy per sequence that kept the promise: "+least, requestJ, sequences),
		row(RuleRequestJoulesUpper, "Greatest energy per sequence that kept the promise: "+most, requestJ, sequences),
		row(RuleTokenCostLower, "Least money per output token that kept the promise: "+least, tokenC, tokens, LabelCurrency),
		row(RuleTokenCostUpper, "Greatest money per output token that kept the promise: "+most, tokenC, tokens, LabelCurrency),
		row(RuleRequestCostLower, "Least money per sequence that kept the promise: "+least, requestC, sequences, LabelCurrency),
		row(RuleRequestCostUpper, "Greatest money per sequence that kept the promise: "+most, requestC, sequences, LabelCurrency),
	}
}
