package alerts

import (
	"fmt"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
)

// What sums are taken by. Every rule names its labels, so that the restart of an exporter, which changes pod and instance, neither
// splits a series nor lets two sides of a division meet more than one partner.
const (
	byModel         = "by (cluster, model)"
	byModelSLO      = "by (cluster, model, slo)"
	byModelSLOClass = "by (cluster, model, slo, class)"
	onModel         = "on (cluster, model)"
)

// shortRates are the rates that alerts react with.
func shortRates() Group {
	g := Group{Name: "goodput-rates", Interval: quickly}
	for _, w := range catalog.LoadWindows() {
		g.Rules = append(g.Rules,
			Rule{Record: catalog.RuleName(catalog.RuleArrived, w), Expr: atLeast(byModel, "rate", catalog.RequestsArrived, w)},
			Rule{Record: catalog.RuleName(catalog.RuleFinished, w), Expr: atLeast(byModel, "rate", catalog.RequestsFinished, w)},
			Rule{Record: catalog.RuleName(catalog.RuleSequences, w), Expr: sumRate(byModel, catalog.SequencesFinished, w)},
		)
	}
	for _, w := range catalog.RuleWindows()[:3] {
		g.Rules = append(g.Rules, shares(w)...)
	}
	g.Rules = append(g.Rules, Rule{
		Record: catalog.RuleCoverage,
		Expr:   fmt.Sprintf("min %s (%s{%s=%q})", byModel, catalog.WindowCoverage, catalog.LabelWindow, catalog.LatencyWindow),
	})
	return g
}

// longRates are the rates over hours and days.
func longRates() Group {
	g := Group{Name: "goodput-rates-long", Interval: slowly}
	for _, w := range catalog.RuleWindows()[3:] {
		g.Rules = append(g.Rules, shares(w)...)
	}
	return g
}

// shares are the three rates of objectives over a window, and the two shares of them. Rates are added before they are
// divided: a share of a model is never a mean of its engines' shares.
func shares(w string) []Rule {
	requests := catalog.RuleName(catalog.RuleSLORequests, w)
	lower, upper := catalog.RuleName(catalog.RuleQualifiedLower, w), catalog.RuleName(catalog.RuleQualifiedUpper, w)
	return []Rule{
		{Record: requests, Expr: sumRate(byModelSLO, catalog.SLORequests, w)},
		{Record: lower, Expr: sumRate(byModelSLO, catalog.SLOQualifiedLower, w)},
		{Record: upper, Expr: sumRate(byModelSLO, catalog.SLOQualifiedUpper, w)},
		{Record: catalog.RuleName(catalog.RuleShareLower, w), Expr: fmt.Sprintf("%s / (%s > 0)", lower, requests)},
		{Record: catalog.RuleName(catalog.RuleShareUpper, w), Expr: fmt.Sprintf("%s / (%s > 0)", upper, requests)},
	}
}

func sumRate(by, counter, window string) string {
	return fmt.Sprintf("sum %s (rate(%s[%s]))", by, counter, window)
}

// atLeast adds up a count of the ledger over engines: exact where it is, the lower end where that is known only. When an
// engine's count ceases to be exact, both series are inside the window for a while and have the same labels; the label
// end keeps them apart until they are added.
func atLeast(by, function, base, window string) string {
	return lines(
		fmt.Sprintf("sum %s (", by),
		fmt.Sprintf(`    label_replace(%s(%s[%s]), "end", "exact", "", "")`, function, base+catalog.Total, window),
		"  or",
		fmt.Sprintf(`    label_replace(%s(%s[%s]), "end", "lower", "", "")`, function, base+catalog.LowerTotal, window),
		")",
	)
}
