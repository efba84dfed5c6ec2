package catalog

import (
	"fmt"
	"slices"
	"strings"
)

// LabelCluster is the label of targets by which rules keep clusters apart. A series without it belongs to one cluster
// that has no name, so a Prometheus of one cluster needs no such label.
const LabelCluster = "cluster"

// Names of recording rules. Those that end in rate, increase or a share are bases: RuleName completes them by a window.
// They follow Prometheus's level:metric:operations.
const (
	RuleArrived         = "model:goodput_requests_arrived:rate"
	RuleFinished        = "model:goodput_requests_finished:rate"
	RuleSequences       = "model:goodput_sequences_finished:rate"
	RuleSLORequests     = "model_slo:goodput_slo_requests:rate"
	RuleQualifiedLower  = "model_slo:goodput_slo_qualified_requests_lower:rate"
	RuleQualifiedUpper  = "model_slo:goodput_slo_qualified_requests_upper:rate"
	RuleShareLower      = "model_slo:goodput_slo_qualified_share_lower:ratio_rate"
	RuleShareUpper      = "model_slo:goodput_slo_qualified_share_upper:ratio_rate"
	RuleBudgetLeftLower = "model_slo:goodput_error_budget_left_lower:ratio"
	RuleBudgetLeftUpper = "model_slo:goodput_error_budget_left_upper:ratio"
	RuleQuantileLower   = "model:goodput_latency_quantile_lower_seconds:increase"
	RuleQuantileUpper   = "model:goodput_latency_quantile_upper_seconds:increase"
	RuleCoverage        = "model:goodput_window_coverage:min"
)

// RuleName is the name of a recording rule over a window, "5m" for example.
func RuleName(base, window string) string { return base + window }

// RuleBuckets is the name of the recording rule that adds up one image of a latency's histogram over 5 minutes. image is
// CeilSeconds or FloorSeconds.
func RuleBuckets(metric, image string) string {
	return "model:" + LatencyHistogram(metric) + image + "_bucket:increase" + LatencyWindow
}

// LatencyWindow is the window of the recorded percentiles.
const LatencyWindow = "5m"

// RuleLatencies are the latencies whose percentiles are recorded, as in the label metric.
func RuleLatencies() []string {
	return []string{"ttft", "tpot", "e2e", "queue", "prefill", "decode", "token_gap"}
}

// RuleQuantiles are the quantiles that are recorded, as in the label q.
func RuleQuantiles() []string { return []string{"0.5", "0.95", "0.99"} }

// RuleWindows are the windows that rates of objectives are recorded over, the shortest first. Counters of objectives move
// once a judgement window, about a minute, so no window is shorter than five of them.
func RuleWindows() []string { return []string{"5m", "30m", "1h", "6h", "3d"} }

// LoadWindows are the windows that rates of requests and sequences are recorded over.
func LoadWindows() []string { return []string{"5m", "1h"} }

// RecordingRule declares one family of recording rules: the same quantity over each of its windows.
type RecordingRule struct {
	Base    string   // name, without the window
	Windows []string // none: Base is the whole name

	What       string // one sentence
	Unit       string
	Population string
	Failures   string

	Labels []string // beside cluster, which is there where targets have it
}

// Names are the names of the family's series.
func (r RecordingRule) Names() []string {
	if len(r.Windows) == 0 {
		return []string{r.Base}
	}
	var names []string
	for _, w := range r.Windows {
		names = append(names, RuleName(r.Base, w))
	}
	return names
}

const (
	requestRate  = "HTTP requests per second"
	sequenceRate = "sequences per second"
	asPolicy     = "as the policy in goodput_slo_info says"
	lowerLedger  = "Where an engine's ledger is an interval only, its lower end: then at least so many."
)

// RecordingRules lists all families of recording rules, in the order of the reference.
func RecordingRules() []RecordingRule {
	model := []string{LabelModel}
	slo := []string{LabelModel, LabelSLO}
	quantile := []string{LabelModel, LabelMetric, LabelQ}
	rules := []RecordingRule{
		{RuleArrived, LoadWindows(), "Offered load. " + lowerLedger, requestRate, httpRequests, "all included, whatever became of them", model},
		{RuleFinished, LoadWindows(), "Throughput, in requests. " + lowerLedger, requestRate, httpRequests, "failed, cancelled, rejected and lost requests are not included", model},
		{RuleSequences, LoadWindows(), "Throughput in the unit of goodput.", sequenceRate, sequences, "rejected and lost requests are not included", model},
		{RuleSLORequests, RuleWindows(), "The denominator of the objective.", sequenceRate, sequences, asPolicy, slo},
		{RuleQualifiedLower, RuleWindows(), "Goodput, lower end.", sequenceRate, sequences, asPolicy, slo},
		{RuleQualifiedUpper, RuleWindows(), "Goodput, upper end.", sequenceRate, sequences, asPolicy, slo},
		{RuleShareLower, RuleWindows(), "Share of sequences that certainly met all clauses: the two rates divided. Absent without traffic.", "ratio, 0 to 1", sequences, asPolicy, slo},
		{RuleShareUpper, RuleWindows(), "Share of sequences that may have met all clauses: the two rates divided. Absent without traffic.", "ratio, 0 to 1", sequences, asPolicy, slo},
		{RuleBudgetLeftLower, nil, "Share of the error budget that is certainly left, over the objective's own window: 1 is untouched, 0 used up, below 0 overspent. Takes every doubtful sequence for a bad one.", "ratio, at most 1", sequences, asPolicy, slo},
		{RuleBudgetLeftUpper, nil, "Share of the error budget that is left at most, over the objective's own window. Takes every doubtful sequence for a good one.", "ratio, at most 1", sequences, asPolicy, slo},
	}
	for _, metric := range RuleLatencies() {
		for _, image := range []string{CeilSeconds, FloorSeconds} {
			rules = append(rules, RecordingRule{
				Base: RuleBuckets(metric, image), What: "Cumulative histogram of the last 5 minutes, of all engines of the model together.", Unit: "observations",
				Population: latencyPopulation(metric), Failures: "what is not observed in the histogram is not included", Labels: []string{LabelModel, "le"},
			})
		}
	}
	rules = append(rules, slices.Concat(spanRules(), classRules(), gpuRules())...)
	const (
		both     = "sequences; for metric=\"token_gap\" token gaps"
		observed = "what never finished, or for ttft had no first token, is not observed"
	)
	return append(rules,
		RecordingRule{RuleQuantileLower, []string{LatencyWindow}, "Lower end of the interval that holds a quantile over all engines of the model, from added bucket counts. Absent while nothing was observed.", "seconds", both, observed, quantile},
		RecordingRule{RuleQuantileUpper, []string{LatencyWindow}, "Upper end of the interval that holds a quantile over all engines of the model, from added bucket counts; +Inf above the last edge. Absent while nothing was observed.", "seconds", both, observed, quantile},
		RecordingRule{RuleCoverage, nil, "The worst coverage of any engine of the model over 5 minutes: a percentile speaks for that share of the time only.", "ratio, 0 to 1", "", "", model},
	)
}

// latencyPopulation is what a latency's histogram counts.
func latencyPopulation(metric string) string {
	switch metric {
	case "ttft":
		return "sequences that had a first token"
	case "token_gap":
		return "token gaps, not sequences"
	}
	return finishedSequences
}

// ruleDocument is the reference of the recording rules, as Markdown.
func ruleDocument() string {
	var b strings.Builder
	b.WriteString("\n## Recording rules\n\nNot on the exporter's page: Prometheus makes these from `alerts/goodput.rules.yml` or from what `goodput-exporter generate rules` writes " +
		"([alerts.md](alerts.md)). All have the label `cluster` where targets have it.\n\n| series | windows | labels | what it says |\n|---|---|---|---|\n")
	for _, r := range RecordingRules() {
		name, windows := r.Base, strings.Join(r.Windows, ", ")
		if windows != "" {
			name += "WINDOW"
		}
		parts := []string{cell(r.What), "*unit*: " + r.Unit}
		if r.Population != "" {
			parts = append(parts, "*population*: "+cell(r.Population))
		}
		if r.Failures != "" {
			parts = append(parts, "*failures*: "+cell(r.Failures))
		}
		fmt.Fprintf(&b, "| `%s` | %s | `%s` | %s |\n", name, windows, strings.Join(r.Labels, "`, `"), strings.Join(parts, "<br>"))
	}
	return b.String()
}

// RuleNames lists the names of all recording rules, sorted.
func RuleNames() []string {
	var names []string
	for _, r := range RecordingRules() {
		names = append(names, r.Names()...)
	}
	slices.Sort(names)
	return names
}
