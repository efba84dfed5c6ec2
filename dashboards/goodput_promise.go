package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
)

const perSLO = catalog.LabelModel + ", " + catalog.LabelSLO

// judgedBy is a counter of objectives over a window, summed by labels.
func judgedBy(window, by, name string) string {
	return sum(by, increase(window, pick(name, ofModel, ofSLO)))
}

// promiseTable has the whole answer in one row for each model and objective.
func promiseTable() *table.PanelBuilder {
	asked := judgedBy(theRange, perSLO, catalog.SLORequests)
	lower := ratio(judgedBy(theRange, perSLO, catalog.SLOQualifiedLower), asked)
	upper := ratio(judgedBy(theRange, perSLO, catalog.SLOQualifiedUpper), asked)
	p := rows(about{
		title: "Promise kept: share of judged sequences, over the dashboard's range",
		says: "Between lower and upper lies the share of sequences that met all clauses of the SLO at once. Lower at or above the objective: the promise was kept. " +
			"Upper below it: broken. Else the engines' pages cannot tell. The error budget is that of the SLO's own window, not of the range; below 0 it is overspent. " +
			"Counters move once a minute and are judged from the first committed window on: ranges under five minutes say little. Not told: the latency that users see beyond the engine.",
		unit: share, width: 24,
	}, []string{catalog.LabelModel, catalog.LabelSLO},
		query{verdict(lower, upper), "promise"},
		query{objectiveOf(asked), "objective"},
		query{lower, "share, lower"},
		query{upper, "share, upper"},
		query{aggregate("min", perSLO, pick(catalog.RuleBudgetLeftLower, ofModel, ofSLO)), "error budget left, lower"},
		query{aggregate("max", perSLO, pick(catalog.RuleBudgetLeftUpper, ofModel, ofSLO)), "error budget left, upper"},
		query{asked, "sequences judged"})
	p.Decimals(2).Height(5) // so that the rates are on the first screen too
	p.OverrideByName("sequences judged", []dashboard.DynamicConfigValue{property("unit", count), property("decimals", 0)})
	p.OverrideByName("promise", []dashboard.DynamicConfigValue{
		property("custom.cellOptions", map[string]any{"type": "color-background"}),
		property("mappings", []dashboard.ValueMapping{{ValueMap: &dashboard.ValueMap{Type: "value", Options: map[string]dashboard.ValueMappingResult{
			"1": spoken("kept", "green"), "0": spoken("cannot tell", "orange"), "-1": spoken("broken", "red"),
		}}}}),
	})
	p.OverrideByRegexp("^error budget.*", []dashboard.DynamicConfigValue{
		property("decimals", 0), property("custom.cellOptions", map[string]any{"type": "color-text"}),
		property("thresholds", map[string]any{"mode": "absolute", "steps": []map[string]any{
			{"color": "red", "value": nil}, {"color": "orange", "value": 0}, {"color": "green", "value": 0.25},
		}}),
	})
	return p
}

// promised is the objective, which has no model of its own, as the right side of an operation on shares.
func promised() string {
	return "on (" + catalog.LabelSLO + ") group_left () " + aggregate("max", catalog.LabelSLO, pick(catalog.SLOObjective, ofSLO))
}

// objectiveOf is the promised share, once for each set of labels of whole.
func objectiveOf(whole string) string { return "0 * " + whole + " + " + promised() }

// verdict is 1 where the objective was certainly met, -1 where it certainly was not, and 0 between.
func verdict(lower, upper string) string {
	return "(" + lower + " >= bool " + promised() + ") - (" + upper + " < bool " + promised() + ")"
}

// spoken is how a value is said.
func spoken(text, colour string) dashboard.ValueMappingResult {
	return dashboard.ValueMappingResult{Text: &text, Color: &colour}
}

// threeRates are offered load, throughput and goodput in one picture: where they part, work is done in vain.
func threeRates() *timeseries.PanelBuilder {
	good := func(name string) string { return sum("", rate(perStep, pick(name, ofModel, ofSLO))) }
	// Load and throughput know nothing of objectives: they are taken of the engines that the objective judges.
	under := func(name string) string {
		return sum("", onJudged(byEndpoint(rate(perStep, pick(name, ofModel)))))
	}
	arrived := sum("", onJudged(added(rate, perStep, catalog.LabelEngine, catalog.RequestsArrived, lowerEnd, ofModel)))
	p := lines(about{
		title: "Offered requests, finished and qualified sequences of $slo, each second, 5 min and more",
		says: "Throughput counts sequences that finished, however late. Goodput, the band, counts those that met all clauses: the truth lies inside. Throughput far above the band is work in vain. " +
			"Offered load counts HTTP requests, and one with n=2 is two sequences: compare the level with goodput only where n is 1. " +
			"Where an engine's arrivals are an interval only, the lower end is drawn. What arrives and never finishes is in the ledger below.",
		unit: mixedRate, width: 12,
	}, judged,
		query{arrived, "offered, requests"},
		query{under(catalog.SequencesFinished), "throughput, sequences"},
		query{good(catalog.SLOQualifiedUpper), "goodput upper, sequences"},
		query{good(catalog.SLOQualifiedLower), "goodput lower, sequences"})
	line(p, "offered, requests", offeredColour)
	line(p, "throughput, sequences", finishedColour)
	band(p, "goodput lower, sequences", "goodput upper, sequences", goodColour)
	return p
}

// onJudged keeps of a vector by engine what is under the chosen objectives.
func onJudged(e string) string {
	return e + " and on (" + catalog.LabelEngine + ") " + aggregate("max", catalog.LabelEngine, pick(catalog.SLORequests, ofModel, ofSLO))
}

// shareOverTime is goodput over what was judged.
func shareOverTime() *timeseries.PanelBuilder {
	asked := judgedBy(perStep, "", catalog.SLORequests)
	p := lines(about{
		title: "Share of judged sequences that met all clauses of $slo, 5 min and more",
		says: "The truth lies in the band. Dashed: the objective. The band below the line: certainly missed. The line inside the band: the pages cannot tell. " +
			"Counts are added over models and engines first and then divided. No line: no traffic was judged, or none could be; the engine board says why.",
		unit: share, width: 12,
	}, judged,
		query{ratio(judgedBy(perStep, "", catalog.SLOQualifiedUpper), asked), "upper"},
		query{ratio(judgedBy(perStep, "", catalog.SLOQualifiedLower), asked), "lower"},
		query{aggregate("max", "", pick(catalog.SLOObjective, ofSLO)), "objective"})
	band(p, "lower", "upper", goodColour)
	dashed(p, "objective", objectiveColour)
	return p
}

// violations shows which clause fails when, beside how many sequences failed for any reason.
func violations() *timeseries.PanelBuilder {
	missed := sum("", rate(perStep, pick(catalog.SLORequests, ofModel, ofSLO))) + " - " + sum("", rate(perStep, pick(catalog.SLOQualifiedUpper, ofModel, ofSLO)))
	possible := sum("", rate(perStep, pick(catalog.SLORequests, ofModel, ofSLO))) + " - " + sum("", rate(perStep, pick(catalog.SLOQualifiedLower, ofModel, ofSLO)))
	p := lines(about{
		title: "Sequences that missed $slo, and observations over a clause's threshold, each second, 5 min and more",
		says: "A clause's line counts what is over its own threshold, whatever the other clauses say: one sequence may be in several, so they do not add up to the misses. " +
			"Misses lie between certain and possible, and also hold failed, refused and lost requests where the policy says so. TTFT is observed at the first token, everything else at the end.",
		unit: sequenceRate, width: 12,
	}, judged,
		query{possible, "missed, possible"},
		query{missed, "missed, certain"},
		query{added(rate, perStep, catalog.LabelClause, catalog.SLOViolations, lowerEnd, ofModel, ofSLO), "over {{clause}}"})
	band(p, "missed, certain", "missed, possible", failedColour)
	return p
}

// budgetLeft is what the objective still allows.
func budgetLeft() *timeseries.PanelBuilder {
	p := lines(about{
		title: "Error budget left for judged sequences of $slo, over the SLO's own window",
		says: "1 is untouched, 0 used up, below 0 overspent. Lower takes every doubtful sequence for a bad one, upper for a good one. Of several models the worst and the best are drawn. " +
			"It speaks for the time that Prometheus has kept, if that is shorter than the window. From the recording rules; without them the panel is empty.",
		unit: share, width: 12, signed: true,
	}, judged,
		query{aggregate("max", "", pick(catalog.RuleBudgetLeftUpper, ofModel, ofSLO)), "upper"},
		query{aggregate("min", "", pick(catalog.RuleBudgetLeftLower, ofModel, ofSLO)), "lower"})
	band(p, "lower", "upper", goodColour)
	return p.AxisSoftMin(0)
}
