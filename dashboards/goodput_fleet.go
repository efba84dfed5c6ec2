package dashboards

import (
	"fmt"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
)

// losers are the engines with the most certain misses.
func losers() *table.PanelBuilder {
	const by = catalog.LabelEngine + ", " + catalog.LabelModel + ", " + catalog.LabelSLO
	certain := judgedBy(theRange, by, catalog.SLORequests) + " - " + judgedBy(theRange, by, catalog.SLOQualifiedUpper)
	worst := "topk(10, " + certain + " > 0)"
	possible := judgedBy(theRange, by, catalog.SLORequests) + " - " + judgedBy(theRange, by, catalog.SLOQualifiedLower)
	p := rows(about{
		title: "Engines with the most certainly missed sequences, over the dashboard's range",
		says: "Certain misses are judged sequences that cannot have met all clauses; possible ones may not have. A big engine loses more in number: compare with what was judged. " +
			"The engine's name leads to its board. Empty: nobody certainly missed.",
		unit: count, width: 10,
	}, []string{catalog.LabelEngine, catalog.LabelModel, catalog.LabelSLO},
		query{worst, "missed, certain"},
		query{"(" + possible + ") and " + worst, "missed, possible"},
		query{judgedBy(theRange, by, catalog.SLORequests) + " and " + worst, "sequences judged"})
	p.Decimals(0)
	p.OverrideByName(catalog.LabelEngine, []dashboard.DynamicConfigValue{property("links", []map[string]any{{
		"title": "Board of this engine",
		"url":   "/d/" + EngineUID + "?var-engine=${__value.text}&${datasource:queryparam}&${model:queryparam}&${slo:queryparam}&${__url_time_range}",
	}})})
	return p
}

// judgedClauses are the clauses whose own histogram is exported, as in the label clause.
var judgedClauses = []string{"ttft", "tpot", "e2e", "queue", "prefill", "decode"}

// clauseShare relates a clause's violations to the observations of its own histogram.
func clauseShare(clause string, which end) string {
	of := catalog.LabelClause + `="` + clause + `"`
	observed := byEndpoint(increase(theRange, pick(catalog.LatencyHistogram(clause)+catalog.CeilSeconds+"_count", ofModel)))
	// What an engine observed is joined to its objectives, so that engines under no such objective stay out.
	under := aggregate("max", catalog.LabelEngine+", "+catalog.LabelSLO, pick(catalog.SLORequests, ofModel, ofSLO))
	whole := sum(catalog.LabelSLO, under+" * 0 + on ("+catalog.LabelEngine+") group_left () "+observed)
	over := added(increase, theRange, catalog.LabelSLO+", "+catalog.LabelClause, catalog.SLOViolations, which, of, ofModel, ofSLO)
	return over + " / on (" + catalog.LabelSLO + ") group_left () (" + whole + " > 0)"
}

// clauseShares says which clause is to blame, each alone.
func clauseShares() *table.PanelBuilder {
	shares := func(which end) string {
		var all []string
		for _, clause := range judgedClauses {
			all = append(all, clauseShare(clause, which))
		}
		return strings.Join(all, " or ")
	}
	const by = catalog.LabelSLO + ", " + catalog.LabelClause
	t := rows(about{
		title: "Observations over a clause's threshold: share of sequences of its population, over the dashboard's range",
		says: "Each clause alone: for ttft of the sequences that had a first token, for all others of the finished ones. A sequence may be over several thresholds, so the shares do not add up, " +
			"and their product says nothing about sequences that met all. Violations count from committed minutes, populations from every poll: on short ranges the share is off by up to a minute's traffic.",
		unit: share, width: 8,
	}, []string{catalog.LabelSLO, catalog.LabelClause},
		query{aggregate("max", by, pick(catalog.SLOThreshold, ofSLO)), "threshold"},
		query{shares(lowerEnd), "over it, at least"},
		query{shares(upperEnd), "over it, at most"})
	t.OverrideByName("threshold", []dashboard.DynamicConfigValue{property("unit", seconds)})
	return t.Decimals(2)
}

// rangeLedger is where the requests went, in numbers.
func rangeLedger() *table.PanelBuilder {
	return ledgerTable(about{
		title: "HTTP requests by what became of them, over the dashboard's range",
		says: "arrived = finished + failed + cancelled + rejected + lost + change of what is in flight. Where the pages tell an interval only, at least and at most are different. " +
			"Unexplained requests are those on which two counts of the same page disagree: above 0, distrust the rest. increase() stretches a range to its edges, so numbers can be off by one scrape's worth.",
		unit: count, width: 6,
	}, ofModel)
}

// outcomes are the rows of the ledger, in its order. Those with a colour are the parts of what arrived.
var outcomes = []struct{ name, base, colour string }{
	{"arrived", catalog.RequestsArrived, ""},
	{"finished", catalog.RequestsFinished, finishedColour},
	{"failed", catalog.RequestsFailed, failedColour},
	{"cancelled", catalog.RequestsCancelled, cancelledColour},
	{"rejected", catalog.RequestsRejected, rejectedColour},
	{"lost", catalog.RequestsLost, lostColour},
	{"unexplained", catalog.RequestsUnexplained, ""},
}

// labelOutcome names the rows of the ledger, inside queries only.
const labelOutcome = "outcome"

// ledgerTable has a row for each outcome and a column for each end.
func ledgerTable(a about, matchers ...string) *table.PanelBuilder {
	column := func(which end) string {
		var all []string
		for _, o := range outcomes {
			all = append(all, fmt.Sprintf(`label_replace(%s, %q, %q, "", "")`, added(increase, theRange, "", o.base, which, matchers...), labelOutcome, o.name))
		}
		return strings.Join(all, " or ")
	}
	return rows(a, []string{labelOutcome}, query{column(lowerEnd), "at least"}, query{column(upperEnd), "at most"}).Decimals(0)
}

// fleetQuantiles is one latency of all engines together.
func fleetQuantiles(metric, what string) *timeseries.PanelBuilder {
	return fleetBands(metric, about{
		title: what + ", as intervals, last 5 min",
		says: "Each quantile lies in its band: the bucket of the added histograms that holds it. A wide band is a wide bucket, not a spread of users. No upper line: the quantile is above the last edge. " +
			"From the recording rules, which add bucket counts over engines; percentiles of engines are never averaged. Of several clusters the band holds them all. What never finished is not in it.",
		unit: seconds, width: 8,
	})
}

func fleetGaps() *timeseries.PanelBuilder {
	return fleetBands("token_gap", about{
		title: "Gaps between tokens, not sequences, as intervals, last 5 min",
		says: "Another population than the panels beside it: every gap counts, so long answers weigh more and one stall hides among thousands of gaps. " +
			"It says nothing of how many sequences stalled. From the recording rules, which add bucket counts over engines.",
		unit: seconds, width: 12,
	})
}

func fleetBands(metric string, a about) *timeseries.PanelBuilder {
	of := catalog.LabelMetric + `="` + metric + `"`
	upper, lower := catalog.RuleName(catalog.RuleQuantileUpper, catalog.LatencyWindow), catalog.RuleName(catalog.RuleQuantileLower, catalog.LatencyWindow)
	return quantileBands(lines(a, polled,
		query{aggregate("max", catalog.LabelQ, pick(upper, of, ofModel)), "q {{q}} upper"},
		query{aggregate("min", catalog.LabelQ, pick(lower, of, ofModel)), "q {{q}} lower"}))
}

// fleetCoverage is how much of the time was watched.
func fleetCoverage() *timeseries.PanelBuilder {
	return lines(about{
		title: "Worst coverage of any engine of a model: share of the last 5 min that was polled",
		says: "Below 1 the percentiles speak for that share of the time only: an engine came, went, or did not answer. From the recording rules. " +
			"It says nothing about engines that the exporter was never told of.",
		unit: share, width: 12,
	}, polled, query{aggregate("min", catalog.LabelModel, pick(catalog.RuleCoverage, ofModel)), "{{model}}"})
}

// firing are the alerts, with the time since when.
func firing() *statetimeline.PanelBuilder {
	return states(about{
		title: "Alerts of the exporter's rules that fire, all models and engines, over time",
		says: "One line for each alert that fired in the range. Empty: none fired, or the rules are not loaded in this data source. " +
			"Alerts of other rulers than this Prometheus are not here.",
		unit: count, width: 24,
	}, polled, map[string]string{"1": "red"},
		query{`max by (alertname, severity, ` + catalog.LabelModel + `, ` + catalog.LabelSLO + `, ` + catalog.LabelEngine + `) (ALERTS{alertname=~"Goodput.+", alertstate="firing"})`,
			"{{alertname}} {{severity}} {{model}} {{slo}} {{engine}}"})
}
