package catalog

import "slices"

const (
	sequences    = "sequences (a request with n=2 is two)"
	underPolicy  = "as the policy in goodput_slo_info says; what is bad stays in the denominator and never qualifies"
	fromJoint    = "all latency histograms of the page, jointly, and the spans that the engine sends"
	observations = "observations of the clause's own histogram: first tokens for ttft, finished sequences for the others"
)

func objectiveSeries() []Series {
	slo := []string{LabelSLO}
	perEngine := []string{LabelEngine, LabelSLO}
	model := []string{LabelModel}
	rows := []Series{
		{
			Name: SLOInfo, Kind: Info, Stability: Stable,
			What:   "The contract of an objective, always 1: its clauses, what it counts, the window of its error budget, and its policy for everything that is not a success.",
			Labels: []string{LabelSLO, "clauses", "population", LabelWindow, "success", "cancelled", "client_errors", "admission", "failed", "lost", "retries"},
			Maybe:  []string{"match_model", "match_engine"},
		},
		{
			Name: SLOThreshold, Kind: Gauge, Unit: "seconds", Stability: Stable, Labels: []string{LabelSLO, LabelClause},
			What: "The most that the clause's latency may be for a sequence to qualify.",
		},
		{
			Name: SLOObjective, Kind: Gauge, Unit: "ratio, 0 to 1", Stability: Stable, Labels: slo,
			What: "The promised share of sequences that meet all clauses, over the window in goodput_slo_info.",
		},
		{
			Name: SLORequests, Kind: Counter, Unit: "sequences", Stability: Stable, Labels: perEngine, Maybe: model,
			What:       "The denominator of the objective. Moves together with the two qualified counters.",
			Population: sequences, Window: perWindow, Failures: underPolicy, Source: fromReasons + " and " + fromHTTP,
		},
		{
			Name: SLOQualifiedLower, Kind: Counter, Unit: "sequences", Stability: Stable, Labels: perEngine, Maybe: model,
			What:       "At least so many met all clauses of the objective at once: goodput, lower end.",
			Population: sequences, Window: perWindow, Failures: underPolicy, Source: fromJoint,
		},
		{
			Name: SLOQualifiedUpper, Kind: Counter, Unit: "sequences", Stability: Stable, Labels: perEngine, Maybe: model,
			What:       "At most so many met all clauses of the objective at once: goodput, upper end.",
			Population: sequences, Window: perWindow, Failures: underPolicy, Source: fromJoint,
		},
		{
			Name: SLOUnanswerable, Kind: Info, Stability: Experimental, Labels: []string{LabelEngine, LabelSLO, LabelReason},
			What: "Why an objective cannot be judged on an engine, always 1. While it is there, the counters of the objective are absent or stand still: that says nothing about the traffic.",
		},
	}
	return in(GroupObjective, slices.Concat(rows, tokenGoodput(), classSeries(), interval(SLOViolations, Series{
		What: "observations over the threshold of one clause, whatever the other clauses say: a marginal, and not to be added over clauses",
		Unit: "observations", Population: observations, Window: perWindow,
		Failures: "only what is observed in the histogram: rejected and lost requests are not",
		Source:   "the histogram of the clause; the spans, where it has no edge at the threshold and, but for ttft, where every span is there", Labels: []string{LabelEngine, LabelSLO, LabelClause}, Maybe: model, Stability: Stable,
	}))...)
}
