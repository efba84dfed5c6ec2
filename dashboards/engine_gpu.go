package dashboards

import (
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
)

// engineGPULines shows gauges of the GPUs of the chosen engines. A GPU that several engines share has a line for each: no such
// lines are added up.
func engineGPULines(title, says, unit string, named ...string) *timeseries.PanelBuilder {
	var queries []query
	for i := 0; i < len(named); i += 2 {
		// Each pair of engine and GPU is 1, so the product is the GPU's own value.
		expr := aggregate("max", catalog.LabelEngine+", "+catalog.LabelGPU, pick(catalog.GPUInfo, ofEngine)) +
			" * on (" + catalog.LabelGPU + ") group_left () " + aggregate("max", catalog.LabelGPU, pick(named[i]))
		queries = append(queries, query{expr, strings.TrimSpace("{{engine}} {{gpu}} " + named[i+1])})
	}
	return lines(about{title: title, says: says + " No line: the engine's GPUs are not known, or the source does not tell it.", unit: unit, width: 8}, polled, queries...)
}

func engineGPUActivity() *timeseries.PanelBuilder {
	return engineGPULines("GPUs of the engines: share of time in which any kernel ran, and in which multiprocessors had work, now",
		"Busy near 1 is usual under any load. A GPU that is idle while sequences wait is the engine's doing: its scheduler, its processor, or a hang.", share,
		catalog.GPUBusy, "busy", catalog.GPUSMActive, "active")
}

func engineGPUMemory() *timeseries.PanelBuilder {
	return engineGPULines("GPU memory under the engines, in use and there, now",
		"An engine takes its share at the start, so this says little about load. Of a shared GPU it is everybody's.", octets, catalog.GPUMemoryUsed, "used", catalog.GPUMemoryTotal, "total")
}

func engineGPUPower() *timeseries.PanelBuilder {
	return engineGPULines("GPUs of the engines: power and its limit, now",
		"At the limit a card lowers its clocks; under full load that is how it was built. Of a shared GPU it is everybody's.", watts, catalog.GPUPower, "drawn", catalog.GPUPowerLimit, "limit")
}

func engineGPUHeld() *table.PanelBuilder {
	by := []string{catalog.LabelEngine, catalog.LabelJoin, catalog.LabelPartial}
	return rows(about{
		title: "GPUs of each chosen engine, and how that is known, now",
		says:  "0: the engine's GPUs are not known, and the other panels of this row know nothing of it. Partial: it has GPUs on other nodes too. Empty: no GPUs are read.",
		unit:  count, width: 8,
	}, by, query{aggregate("max", strings.Join(by, ", "), pick(catalog.EngineGPUs, ofEngine)), "GPUs"})
}

func engineGPUThrottle() *timeseries.PanelBuilder {
	return lines(about{
		title: "GPUs of the engines: share of time in which clocks were held down, by reason, 4 min and more",
		says: "sw_power_cap is the power limit and normal at full load; heat, the power supply and hw_slowdown are not, and make TPOT longer. Reasons overlap, so they do not add up. " +
			"A GPU that several engines share is not here.",
		unit: share, width: 8,
	}, polled, query{notShared(rate(perStep, pick(catalog.GPUThrottle)), catalog.LabelReason), "{{engine}} {{gpu}} {{reason}}"})
}

// notShared is of the GPUs that one engine has alone, so that its name can stand beside several lines of one GPU. Two
// exporters may tell of a GPU and call its engine by two names: then it stands under one of them, since a join of many with
// many is an error.
func notShared(e, more string) string {
	return aggregate("max", catalog.LabelGPU+", "+more, e) + " * on (" + catalog.LabelGPU + ") group_left (" + catalog.LabelEngine + ") topk by (" + catalog.LabelGPU + ") (1, " +
		aggregate("max", catalog.LabelEngine+", "+catalog.LabelGPU, pick(catalog.GPUInfo, ofEngine, catalog.LabelShared+`=""`)) + ")"
}

func engineGPUErrors() *table.PanelBuilder {
	return rows(about{
		title: "XID errors of the GPUs of the engines since their exporter first saw them, now",
		says: "13, 31, 43, 45, 68 and 109 are of applications as a rule; look any other up in NVIDIA's Xid catalogue. A GPU that several engines share is on the GPU board only. " +
			"Empty: there was none.",
		unit: count, width: 8,
	}, []string{catalog.LabelEngine, catalog.LabelGPU, catalog.LabelXID}, query{notShared(pick(catalog.GPUXIDErrors), catalog.LabelXID), "errors"})
}

// engineJoules is what a qualified token costs on each engine.
func engineJoules() *timeseries.PanelBuilder {
	used := sum(catalog.LabelEngine, rate(perStep, pick(catalog.EngineEnergy, ofEngine)))
	by := catalog.LabelEngine + ", " + catalog.LabelSLO
	per := func(name string) string {
		good := sum(by, rate(perStep, pick(name, ofEngine, ofSLO)))
		return "1 / ((" + good + " > 0) / on (" + catalog.LabelEngine + ") group_left () " + used + ")"
	}
	return lines(about{
		title: "GPU energy of an engine per output token of sequences that met all clauses, 5 min and more",
		says: "The truth lies between lower and upper. All that its GPUs on its exporter's node used, idle time included; the first minutes after its GPUs became known are rough. " +
			"No line: its energy is not known, it sends no spans, or nothing qualified.",
		unit: "suffix: J/tok", width: 8,
	}, judged,
		query{per(catalog.SLOQualifiedTokensLower), "{{engine}} {{slo}} upper"},
		query{per(catalog.SLOQualifiedTokensUpper), "{{engine}} {{slo}} lower"})
}
