package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
)

// gpuEnergy is the energy of each card and of each engine, as power that is exact over its window.
func gpuEnergy() *timeseries.PanelBuilder {
	return lines(about{
		title: "Energy of GPUs, and of the engines whose own they are, joules each second, 4 min and more",
		says: "From counters, so nothing between two readings is missed. An engine has a line while its GPUs are known and its alone: then the lines of its GPUs add up to it. " +
			"An engine with GPUs on other nodes has those of this node only.",
		unit: watts, width: 8,
	}, polled,
		query{aggregate("max", catalog.LabelGPU, rate(perStep, pick(catalog.GPUEnergy, ofGPU))), "{{gpu}}"},
		query{sum(catalog.LabelEngine, rate(perStep, pick(catalog.EngineEnergy, ofModel))), "engine {{engine}}"})
}

const whoseWork = " Of engines whose GPUs are known, their own alone and on one node, for five minutes at least; all that these used is shared out over what qualified. " +
	"From the recording rules: without them the panel is empty. No upper line: nothing certainly qualified."

// perQualified is the interval of a price, of each model and objective.
func perQualified(title, says, unit, lower, upper string, more string) *timeseries.PanelBuilder {
	by := catalog.LabelModel + ", " + catalog.LabelSLO + more
	legend := "{{model}} {{slo}}"
	if more != "" {
		legend += " {{currency}}"
	}
	return lines(about{title: title, says: says + whoseWork, unit: unit, width: 6}, judged,
		query{aggregate("max", by, pick(catalog.RuleName(upper, "5m"), ofModel, ofSLO)), legend + " upper"},
		query{aggregate("min", by, pick(catalog.RuleName(lower, "5m"), ofModel, ofSLO)), legend + " lower"})
}

func joulesPerToken() *timeseries.PanelBuilder {
	return perQualified("GPU energy per output token of sequences that met all clauses, last 5 min",
		"The truth lies between the lines.", "suffix: J/tok", catalog.RuleTokenJoulesLower, catalog.RuleTokenJoulesUpper, "")
}

func joulesPerRequest() *timeseries.PanelBuilder {
	return perQualified("GPU energy per sequence that met all clauses, of all sequences, last 5 min",
		"The truth lies between the lines.", "suffix: J/seq", catalog.RuleRequestJoulesLower, catalog.RuleRequestJoulesUpper, "")
}

func moneyPerToken() *timeseries.PanelBuilder {
	return perQualified("GPU cost per output token of sequences that met all clauses, last 5 min",
		"Units of the currency. The truth lies between the lines.", count, catalog.RuleTokenCostLower, catalog.RuleTokenCostUpper, ", "+catalog.LabelCurrency)
}

func moneyPerRequest() *timeseries.PanelBuilder {
	return perQualified("GPU cost per sequence that met all clauses, of all sequences, last 5 min",
		"Units of the currency. The truth lies between the lines.", count, catalog.RuleRequestCostLower, catalog.RuleRequestCostUpper, ", "+catalog.LabelCurrency)
}

// prices are what money is counted by, and what was spent.
func prices() *table.PanelBuilder {
	by := catalog.LabelCurrency
	return rows(about{
		title: "GPU prices, and what the engines of the chosen models cost over the dashboard's range",
		says:  "Prices are those of the exporters' configuration. Cost is of the engines whose GPUs are known and theirs alone: the hours that they held them, their energy, or both. Empty: no price is configured.",
		unit:  count, width: 24,
	}, []string{by},
		query{aggregate("max", by, pick(catalog.GPUHourPrice)), "of a GPU for an hour"},
		query{aggregate("max", by, pick(catalog.EnergyPrice)), "of a kilowatt hour"},
		query{sum(by, increase(theRange, pick(catalog.EngineCost, ofModel))), "spent"})
}
