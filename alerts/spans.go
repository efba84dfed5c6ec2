package alerts

import (
	"fmt"
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// spanRates are the rates and shares that only spans can tell. Those of classes are made where an objective has some.
func spanRates(objectives []slo.Objective) Group {
	g := Group{Name: "goodput-spans", Interval: quickly}
	split := slices.ContainsFunc(objectives, func(o slo.Objective) bool { return len(o.Classes.List) > 0 })
	for _, w := range catalog.LoadWindows() {
		g.Rules = append(g.Rules, tokenRates(w)...)
		g.Rules = append(g.Rules,
			Rule{Record: catalog.RuleName(catalog.RuleCompleteness, w), Expr: quotient(byModel, ofSpans(catalog.EvidenceSequencesSeen), ofSpans(catalog.EvidenceSequences), w)},
			Rule{Record: catalog.RuleName(catalog.RuleAttempts, w), Expr: quotient(byModel, catalog.RequestAttempts, catalog.LogicalRequests, w)},
		)
		if split {
			g.Rules = append(g.Rules, classShares(w)...)
		}
	}
	return g
}

// ofSpans is a series of evidence, of which spans are one source.
func ofSpans(name string) string {
	return fmt.Sprintf("%s{%s=%q}", name, catalog.LabelSource, catalog.SourceSpans)
}

func quotient(by, part, whole, window string) string {
	return fmt.Sprintf("%s / (%s > 0)", sumRate(by, part, window), sumRate(by, whole, window))
}

// tokenRates are token goodput and the throughput beside it. Token counters exist on engines that send spans only, so
// throughput is taken of the same engines: what others process is in no counter of tokens that it could be compared with.
func tokenRates(w string) []Rule {
	record := func(base, expr string) Rule { return Rule{Record: catalog.RuleName(base, w), Expr: expr} }
	return []Rule{
		record(catalog.RuleOutputTokens, besideTokenGoodput(catalog.Tokens, w)),
		record(catalog.RuleFinishedTokens, besideTokenGoodput(catalog.FinishedTokens, w)),
		record(catalog.RuleQualifiedTokensLower, sumRate(byModelSLO, catalog.SLOQualifiedTokensLower, w)),
		record(catalog.RuleQualifiedTokensUpper, sumRate(byModelSLO, catalog.SLOQualifiedTokensUpper, w)),
		record(catalog.RuleMissedTokensLower, sumRate(byModelSLO, catalog.SLOMissedTokensLower, w)),
		record(catalog.RuleMissedTokensUpper, sumRate(byModelSLO, catalog.SLOMissedTokensUpper, w)),
		record(catalog.RuleWastedTokensLower, wastedShare(catalog.RuleQualifiedTokensUpper, w)),
		record(catalog.RuleWastedTokensUpper, wastedShare(catalog.RuleQualifiedTokensLower, w)),
	}
}

// besideTokenGoodput is the rate of a counter of output tokens, once for each objective under which its engine has token
// goodput. Tokens are counted by each scheduler, objectives at the endpoint: a/0 and a/1 are added up to a. A page is
// scraped as a whole, so job and instance tell apart engines of one id behind two exporters.
func besideTokenGoodput(tokens, w string) string {
	const page = "cluster, job, instance"
	return lines(
		fmt.Sprintf("sum %s (", byModelSLO),
		fmt.Sprintf("    0 * max by (%s, engine, model, slo) (%s)", page, catalog.SLOQualifiedTokensLower),
		fmt.Sprintf("  + on (%s, engine) group_left () (sum by (%s, engine) (", page, page),
		fmt.Sprintf(`    label_replace(sum by (%s, endpoint) (`, page),
		fmt.Sprintf(`      label_replace(rate(%s{kind="output"}[%s]), "endpoint", "$1", "engine", "(.+?)(?:/[0-9]+)?")`, tokens, w),
		`    ), "engine", "$1", "endpoint", "(.+)")`,
		"  ))",
		")",
	)
}

// wastedShare is what of the processed output tokens kept no promise, 1 - qualified / processed, as a product of two
// quotients whose parts move together: token goodput steps once a judgement window, and only while spans are expected;
// what is processed grows with every poll. One divided by the other would waver, and would call everything wasted when
// spans cease to come.
//
//	qualified / processed = qualified / finished in the windows * finished / processed
//
// Tokens finished in the windows are those that qualified and those that did not, so qualified lower + missed upper,
// whose two doubts cancel: both take the same sequences for missed. The upper share has the lower end of what qualified
// above it, and the other way round. More may finish than is processed while a batch drains, hence the 1.
func wastedShare(qualified, w string) string {
	of := func(base string) string { return catalog.RuleName(base, w) }
	return lines(
		"1 - "+of(qualified),
		fmt.Sprintf("  / ((%s + %s) > 0)", of(catalog.RuleQualifiedTokensLower), of(catalog.RuleMissedTokensUpper)),
		fmt.Sprintf("  * clamp_max(%s / (%s > 0), 1)", of(catalog.RuleFinishedTokens), of(catalog.RuleOutputTokens)),
	)
}

// classShares are the rates of classes and the two ends of the share that met all clauses.
//
// Of a class, s sequences were seen, of which between l and h qualified; u of the objective were not seen, of which some
// x <= u are of the class, and some y <= x of those qualified. The share is (q + y) / (s + x) with l <= q <= h <= s. For any
// x it is least at q = l, y = 0, and then falls with x: l / (s + u). It is greatest at q = h, y = x, and then does not fall
// with x, since h <= s: (h + u) / (s + u). Requests upper is s + u, qualified lower is l, qualified upper is h + u: both ends
// are divided by requests upper. Sums over engines and windows keep all of this, with the sums of s, l, h and u.
func classShares(w string) []Rule {
	record := func(base, expr string) Rule { return Rule{Record: catalog.RuleName(base, w), Expr: expr} }
	lower, upper := catalog.RuleName(catalog.RuleClassQualifiedLower, w), catalog.RuleName(catalog.RuleClassQualifiedUpper, w)
	most := catalog.RuleName(catalog.RuleClassRequestsUpper, w)
	return []Rule{
		record(catalog.RuleClassRequestsLower, sumRate(byModelSLOClass, catalog.SLOClassRequestsLower, w)),
		record(catalog.RuleClassRequestsUpper, sumRate(byModelSLOClass, catalog.SLOClassRequestsUpper, w)),
		record(catalog.RuleClassQualifiedLower, sumRate(byModelSLOClass, catalog.SLOClassQualifiedLower, w)),
		record(catalog.RuleClassQualifiedUpper, sumRate(byModelSLOClass, catalog.SLOClassQualifiedUpper, w)),
		record(catalog.RuleClassQualifiedTokensLower, sumRate(byModelSLOClass, catalog.SLOClassQualifiedTokensLower, w)),
		record(catalog.RuleClassShareLower, fmt.Sprintf("%s / (%s > 0)", lower, most)),
		record(catalog.RuleClassShareUpper, fmt.Sprintf("%s / (%s > 0)", upper, most)),
	}
}
