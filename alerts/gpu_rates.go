package alerts

import (
	"fmt"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
)

// onePage tells apart engines of one id behind two exporters.
const onePage = "cluster, job, instance, engine"

// gpuRates are what qualified work costs, in joules and in money.
func gpuRates() Group {
	g := Group{Name: "goodput-gpus", Interval: quickly}
	for _, w := range catalog.LoadWindows() {
		for _, r := range []struct{ base, used, qualified, currency string }{
			{catalog.RuleTokenJoulesLower, catalog.EngineEnergy, catalog.SLOQualifiedTokensUpper, ""},
			{catalog.RuleTokenJoulesUpper, catalog.EngineEnergy, catalog.SLOQualifiedTokensLower, ""},
			{catalog.RuleRequestJoulesLower, catalog.EngineEnergy, catalog.SLOQualifiedUpper, ""},
			{catalog.RuleRequestJoulesUpper, catalog.EngineEnergy, catalog.SLOQualifiedLower, ""},
			{catalog.RuleTokenCostLower, catalog.EngineCost, catalog.SLOQualifiedTokensUpper, catalog.LabelCurrency},
			{catalog.RuleTokenCostUpper, catalog.EngineCost, catalog.SLOQualifiedTokensLower, catalog.LabelCurrency},
			{catalog.RuleRequestCostLower, catalog.EngineCost, catalog.SLOQualifiedUpper, catalog.LabelCurrency},
			{catalog.RuleRequestCostUpper, catalog.EngineCost, catalog.SLOQualifiedLower, catalog.LabelCurrency},
		} {
			g.Rules = append(g.Rules, Rule{Record: catalog.RuleName(r.base, w), Expr: usedPerQualified(r.used, r.qualified, r.currency, w)})
		}
	}
	return g
}

// usedPerQualified is what engines used, divided by what qualified on the same engines. The more qualified, the less each
// cost: the lower end of the quotient has the upper end of what qualified below the line.
//
// An engine counts when both of its counters are there now and were there when the window began. The counter of an engine
// begins when its GPUs become known, and what it used before that is in no counter: what qualified before must not be below
// the line. An engine with GPUs on other nodes counts neither here nor there, since what those used is not on this page.
//
// Both parts are of the same pairs of engine and objective; what an engine used is in the quotient of each of its objectives,
// and is added up over engines before it is divided.
func usedPerQualified(used, qualified, currency, w string) string {
	by, engine := "cluster, model, slo", onePage
	if currency != "" {
		by, engine = by+", "+currency, engine+", "+currency
	}
	whole := fmt.Sprintf("unless on (%s) max_over_time(%s{%s=%q}[%s])", onePage, catalog.EngineGPUs, catalog.LabelPartial, "true", w)
	amount := fmt.Sprintf("sum by (%s) (%s %s)", engine, throughout(used, w), whole)
	good := fmt.Sprintf("sum by (%s, model, slo) (%s)", onePage, throughout(qualified, w))
	return lines(
		fmt.Sprintf("sum by (%s) (", by),
		"    "+amount,
		fmt.Sprintf("  * on (%s) group_right (%s)", onePage, currency),
		"    (0 * "+good+" + 1)",
		") / (sum by ("+by+") (",
		"    (0 * "+amount+" + 1)",
		fmt.Sprintf("  * on (%s) group_right (%s)", onePage, currency),
		"    "+good,
		") > 0)",
	)
}

// throughout is the rate of a counter over a window that it was there for, from the beginning to the end.
func throughout(counter, w string) string {
	return fmt.Sprintf("(rate(%s[%s]) and %s and %s offset %s)", counter, w, counter, counter, w)
}
