package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
)

const perClass = catalog.LabelSLO + ", " + catalog.LabelClass

// tokenGoodput is token throughput and token goodput in one picture, of the same engines.
func tokenGoodput() *timeseries.PanelBuilder {
	of := func(name string) string { return sum("", rate(perStep, pick(name, ofModel, ofSLO))) }
	// Only engines that send spans have token goodput; the tokens of others have nothing to be compared with.
	processed := sum("", byEndpoint(rate(perStep, pick(catalog.Tokens, `kind="output"`, ofModel)))+
		" and on ("+catalog.LabelEngine+") "+aggregate("max", catalog.LabelEngine, pick(catalog.SLOQualifiedTokensLower, ofModel, ofSLO)))
	p := lines(about{
		title: "Output tokens processed, and of sequences that met or missed $slo, each second, 5 min and more",
		says: "Token goodput, the green band, is tokens of finished sequences that met all clauses: the truth lies inside. The red band is tokens of those that finished and did not. " +
			"Processed tokens are of the same engines, those of cancelled, failed and lost requests included. Only engines that send spans are here. No line: none does.",
		unit: tokensRate, width: 8,
	}, judged,
		query{processed, "processed"},
		query{of(catalog.SLOQualifiedTokensUpper), "goodput upper"},
		query{of(catalog.SLOQualifiedTokensLower), "goodput lower"},
		query{of(catalog.SLOMissedTokensUpper), "missed upper"},
		query{of(catalog.SLOMissedTokensLower), "missed lower"})
	line(p, "processed", finishedColour)
	band(p, "goodput lower", "goodput upper", goodColour)
	band(p, "missed lower", "missed upper", failedColour)
	return p
}

// wastedTokens is what of the work kept no promise.
func wastedTokens() *timeseries.PanelBuilder {
	lower, upper := catalog.RuleName(catalog.RuleWastedTokensLower, "5m"), catalog.RuleName(catalog.RuleWastedTokensUpper, "5m")
	p := lines(about{
		title: "Share of the processed output tokens that kept no promise of $slo, last 5 min",
		says: "Tokens of sequences that finished and missed, and of requests that vanished: cancelled, failed or lost. The truth lies in the band; of several models the least and the greatest end are drawn. " +
			"A batch that grows shows here until its sequences end. From the recording rules, of engines that send spans; without either the panel is empty.",
		unit: share, width: 8,
	}, judged,
		query{aggregate("max", "", pick(upper, ofModel, ofSLO)), "upper"},
		query{aggregate("min", "", pick(lower, ofModel, ofSLO)), "lower"})
	band(p, "lower", "upper", failedColour)
	return p
}

// classShare is one end of the share of a class. Both are over the greatest number of sequences that the class may have.
func classShare(window, by, qualified string) string {
	return ratio(judgedBy(window, by, qualified), judgedBy(window, by, catalog.SLOClassRequestsUpper))
}

// classesOverTime is the objective, split.
func classesOverTime() *timeseries.PanelBuilder {
	return lines(about{
		title: "Share of finished sequences that met all clauses of $slo, by class, 5 min and more",
		says: "Each class has a lower and an upper line: the truth lies between. Lower takes all sequences without a span for misses of this class, upper for hits. " +
			"What did not finish has no class and is not here, so a class can look better than the SLO. Empty: the SLO has no classes, or no engine sends spans.",
		unit: share, width: 8,
	}, judged,
		query{classShare(perStep, catalog.LabelClass, catalog.SLOClassQualifiedUpper), "{{class}} upper"},
		query{classShare(perStep, catalog.LabelClass, catalog.SLOClassQualifiedLower), "{{class}} lower"})
}

// classTable is what the classes come to, in numbers.
func classTable() *table.PanelBuilder {
	t := rows(about{
		title: "Classes of the SLOs: finished sequences and the share that met all clauses, over the dashboard's range",
		says: "At least: sequences of the class that have a span. At most: those, and all of the SLO without one, which may be of any class, so upper numbers do not add up over classes. " +
			"What did not finish has no span and no class. Token goodput is its lower end. Empty: no SLO has classes, or no engine sends spans.",
		unit: count, width: 10,
	}, []string{catalog.LabelSLO, catalog.LabelClass},
		query{judgedBy(theRange, perClass, catalog.SLOClassRequestsLower), "sequences, at least"},
		query{judgedBy(theRange, perClass, catalog.SLOClassRequestsUpper), "sequences, at most"},
		query{classShare(theRange, perClass, catalog.SLOClassQualifiedLower), "share, lower"},
		query{classShare(theRange, perClass, catalog.SLOClassQualifiedUpper), "share, upper"},
		query{judgedBy(theRange, perClass, catalog.SLOClassQualifiedTokensLower), "good output tokens, at least"})
	t.OverrideByRegexp("^share.*", []dashboard.DynamicConfigValue{property("unit", share), property("decimals", 2)})
	return t.Decimals(0)
}

// classThresholds is what the classes promise.
func classThresholds() *table.PanelBuilder {
	return rows(about{
		title: "Thresholds of the classes' sequences, now",
		says:  "A sequence of the class has to be at or below each of its thresholds. Classes without clauses of their own have those of the SLO. From the exporters' configuration.",
		unit:  seconds, width: 6,
	}, []string{catalog.LabelSLO, catalog.LabelClass, catalog.LabelClause},
		query{aggregate("max", perClass+", "+catalog.LabelClause, pick(catalog.SLOClassThreshold, ofSLO)), "threshold"})
}

// exactness says how much of the promise is known exactly.
func exactness() *timeseries.PanelBuilder {
	of := func(part, whole string) string {
		counted := func(name string) string {
			return sum(catalog.LabelModel, rate(perStep, pick(name, ofSpans, ofModel)))
		}
		return ratio(counted(part), counted(whole))
	}
	return lines(about{
		title: "Shares of judgement windows that are exact, and of sequences with a span, 5 min and more",
		says: "In an exact window every finished sequence has a span: lower and upper are equal. Completeness is sequences with a span over finished ones; sampled spans leave it at their ratio, and goodput an interval. " +
			"Of engines that send spans only: others are judged by their histograms alone, and are in neither line. No line: no engine sends any.",
		unit: share, width: 8,
	}, judged,
		query{of(catalog.EvidenceExactWindows, catalog.EvidenceWindows), "exact windows, {{model}}"},
		query{of(catalog.EvidenceSequencesSeen, catalog.EvidenceSequences), "completeness, {{model}}"})
}
