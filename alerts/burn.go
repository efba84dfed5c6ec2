package alerts

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// pair is a row of the window table: alert when so much of the error budget went within the long window, and it is
// still going in the short one, so that the alert ends soon after the trouble.
type pair struct {
	budget      float64 // share of the whole error budget
	long, short string
}

// The window table, after chapter 5 of the Site Reliability Workbook (Google, 2018): over 30 days, 2 % in an hour is
// a burn of 14.4, 5 % in six hours one of 6, and 10 % in three days one of 1.
var (
	pagePairs   = []pair{{0.02, "1h", "5m"}, {0.05, "6h", "30m"}}
	ticketPairs = []pair{{0.10, "3d", "6h"}}
)

// hoursOf is the length of the windows that the table uses.
var hoursOf = map[string]float64{"5m": 1. / 12, "30m": 0.5, "1h": 1, "6h": 6, "3d": 72}

const (
	// leastTraffic is how many sequences the long window must hold: of five, one bad one is a burn of 20 for 99 %.
	leastTraffic = 100
	// mostBad is the greatest share of bad sequences that an alert waits for. A burn of 14.4 is more than everything for
	// an objective of 0.93 or less, and such an alert could never fire.
	mostBad = 0.8
)

// threshold is one pair for one objective.
type threshold struct {
	pair
	table  float64 // the burn that the table asks for
	factor float64 // the burn that the rule asks for
	bad    float64 // the share of bad sequences that this is
}

// thresholds are the pairs that fit into the objective's window. The factor is that of the table unless the share of bad
// sequences would exceed mostBad; and it is never less than 1, since a burn below 1 keeps the promise.
func thresholds(o *slo.Objective, pairs []pair) (fit []threshold) {
	window, allowed := o.Window.Hours(), allowed(o)
	for _, p := range pairs {
		if hoursOf[p.long] > window {
			continue
		}
		t := threshold{pair: p, table: p.budget * window / hoursOf[p.long]}
		t.factor = max(1, min(t.table, mostBad/allowed))
		t.bad = t.factor * allowed
		fit = append(fit, t)
	}
	return fit
}

// allowed is the share of sequences that may miss the objective.
func allowed(o *slo.Objective) float64 { return math.Round((1-o.Objective)*1e12) / 1e12 }

// note says where a factor is not that of the table, and why.
func (t threshold) note() string {
	switch {
	case t.factor < t.table:
		return fmt.Sprintf("The factor over %s is lowered from %s to %s: at the table's, more than %s of all sequences would have to be bad.", t.long, number(t.table), number(t.factor), percent(mostBad))
	case t.factor > t.table:
		return fmt.Sprintf("The factor over %s is raised from %s to %s: a slower burn keeps the promise.", t.long, number(t.table), number(t.factor))
	}
	return ""
}

func notes(all []threshold) string {
	var said []string
	for _, t := range all {
		if n := t.note(); n != "" {
			said = append(said, n)
		}
	}
	return strings.Join(said, " ")
}

// burn are the alerts on the error budget of one objective: certain ones by the upper share, possible ones by the lower.
func burn(o *slo.Objective) (rules []Rule) {
	fast, slow := thresholds(o, pagePairs), thresholds(o, ticketPairs)
	for _, a := range []struct {
		name, severity, certainty, wait string
		share                           string
		pairs                           []threshold
	}{
		{"GoodputErrorBudgetBurn", page, certain, "2m", catalog.RuleShareUpper, fast},
		{"GoodputErrorBudgetBurnSlow", ticket, certain, "15m", catalog.RuleShareUpper, slow},
		{"GoodputErrorBudgetBurnPossible", ticket, possible, "15m", catalog.RuleShareLower, append(fast[:len(fast):len(fast)], slow...)},
	} {
		if len(a.pairs) == 0 {
			continue
		}
		r := alert(a.name, a.severity, a.certainty, a.wait, burnExpr(o, a.share, a.pairs), burnSummary(a.certainty), burnDescription(o, a.certainty, a.pairs))
		r.Note, r.Labels[catalog.LabelSLO] = notes(a.pairs), o.Name
		rules = append(rules, r)
	}
	return rules
}

func burnExpr(o *slo.Objective, share string, pairs []threshold) string {
	var terms []string
	for _, t := range pairs {
		of := func(base, window string) string {
			return fmt.Sprintf("%s{slo=%q}", catalog.RuleName(base, window), o.Name)
		}
		terms = append(terms, lines(
			"(",
			fmt.Sprintf("    (1 - %s) > %s", of(share, t.long), number(t.bad)),
			"  and",
			fmt.Sprintf("    (1 - %s) > %s", of(share, t.short), number(t.bad)),
			"  and",
			fmt.Sprintf("    %s * %s >= %d", of(catalog.RuleSLORequests, t.long), number(hoursOf[t.long]*3600), leastTraffic),
			")",
		))
	}
	return strings.Join(terms, "\nor\n")
}

func burnSummary(certainty string) string {
	verb := "uses"
	if certainty == possible {
		verb = "may be using"
	}
	return "{{ $labels.model }} " + verb + " up the error budget of {{ $labels.slo }}"
}

func burnDescription(o *slo.Objective, certainty string, pairs []threshold) string {
	how := "At least {{ $value | humanizePercentage }} of the sequences certainly missed"
	if certainty == possible {
		how = "Up to {{ $value | humanizePercentage }} of the sequences may have missed"
	}
	var over []string
	for _, t := range pairs {
		over = append(over, fmt.Sprintf("more than %s over %s and still over %s (burn %s)", percent(t.bad), t.long, t.short, number(t.factor)))
	}
	text := fmt.Sprintf("%s {{ $labels.slo }} on {{ $labels.model }}; the objective allows %s over %s. This fires at %s.",
		how, percent(allowed(o)), span(o), strings.Join(over, ", or "))
	if n := notes(pairs); n != "" {
		text += " " + n
	}
	return text
}

// budgetLeft records what is left of the error budget over the objective's own window, from the counters' increases.
// Shares of shorter windows are not averaged: a quiet night would weigh as much as a busy day.
func budgetLeft(o *slo.Objective) (rules []Rule) {
	increase := func(counter string) string {
		return fmt.Sprintf("sum %s (increase(%s{slo=%q}[%s]))", byModelSLO, counter, o.Name, span(o))
	}
	for _, end := range []struct{ record, qualified string }{
		{catalog.RuleBudgetLeftLower, catalog.SLOQualifiedLower}, {catalog.RuleBudgetLeftUpper, catalog.SLOQualifiedUpper},
	} {
		// promtool takes two rules of one name for a mistake unless they have labels that differ.
		rules = append(rules, Rule{Record: end.record, Labels: map[string]string{catalog.LabelSLO: o.Name}, Expr: lines(
			"1 - (",
			"    "+increase(catalog.SLORequests),
			"  -",
			"    "+increase(end.qualified),
			fmt.Sprintf(") / (%s * (%s > 0))", number(allowed(o)), increase(catalog.SLORequests)),
		)})
	}
	return rules
}

// span is the objective's window as Prometheus writes it.
func span(o *slo.Objective) string {
	s := int64(math.Round(o.Window.Seconds()))
	for _, u := range []struct {
		name    string
		seconds int64
	}{{"d", 86400}, {"h", 3600}, {"m", 60}} {
		if s%u.seconds == 0 {
			return strconv.FormatInt(s/u.seconds, 10) + u.name
		}
	}
	return strconv.FormatInt(s, 10) + "s"
}

// number prints a factor without the noise of binary fractions.
func number(f float64) string {
	return strconv.FormatFloat(math.Round(f*1e9)/1e9, 'g', -1, 64)
}

func percent(f float64) string { return number(f*100) + "%" }
