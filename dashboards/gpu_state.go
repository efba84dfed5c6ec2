package dashboards

import (
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
)

const ofGPU = catalog.LabelGPU + `=~"$gpu"`

// gpuLines shows gauges of each GPU: pairs of a series and what the legend calls it. Two exporters may see one card, so the
// greater is taken; nothing is added up.
func gpuLines(title, says, unit string, width uint32, named ...string) *timeseries.PanelBuilder {
	var queries []query
	for i := 0; i < len(named); i += 2 {
		queries = append(queries, query{aggregate("max", catalog.LabelGPU, pick(named[i], ofGPU)), strings.TrimSpace("{{gpu}} " + named[i+1])})
	}
	return lines(about{title: title, says: says + " No line: the source does not tell it.", unit: unit, width: width}, polled, queries...)
}

func gpuIdentity() *table.PanelBuilder {
	by := []string{catalog.LabelEngine, catalog.LabelModel, catalog.LabelGPU, catalog.LabelGPUModel, catalog.LabelJoin, catalog.LabelShared, catalog.LabelCard, catalog.LabelProfile, catalog.LabelBasis}
	up := aggregate("min", catalog.LabelGPU, pick(catalog.GPUUp, ofGPU))
	return rows(about{
		title: "GPUs, the engine that each belongs to, and how that is known, now",
		says: "1: the GPU answers, 0: it is lost. A GPU that several engines share has a row for each; one without an engine belongs to none, or to more than one would have it (ambiguous). " +
			"Basis whole: all its energy is on the engine's account.",
		unit: count, width: 24,
	}, by, query{aggregate("max", strings.Join(by, ", "), pick(catalog.GPUInfo, ofGPU)) + " * on (" + catalog.LabelGPU + ") group_left () " + up, "answers"})
}

func gpuPresence() *statetimeline.PanelBuilder {
	return states(about{
		title: "GPUs: do they answer, over time",
		says:  "Red: the source is alive, and the GPU is not in it or does not answer. It stays red until it comes back, for 24 hours, or until the exporter restarts. A gap: the source was down.",
		unit:  count, width: 8,
	}, polled, map[string]string{"0": "red", "1": "green"}, query{aggregate("min", catalog.LabelGPU, pick(catalog.GPUUp, ofGPU)), "{{gpu}}"})
}

func gpuHeld() *table.PanelBuilder {
	by := []string{catalog.LabelEngine, catalog.LabelModel, catalog.LabelJoin, catalog.LabelPartial}
	return rows(about{
		title: "GPUs of each engine on its exporter's node, and how that is known, now",
		says:  "0: the engine's GPUs are not known. Partial: it has GPUs on other nodes, which are not counted. Cards and MIG instances count the same.",
		unit:  count, width: 8,
	}, by, query{aggregate("max", strings.Join(by, ", "), pick(catalog.EngineGPUs, ofModel)), "GPUs"})
}

func gpuClaims() *timeseries.PanelBuilder {
	return lines(about{
		title: "GPUs: does the kubelet say which pod holds them, and where that helps nothing, now",
		says: "Answers: 1, or 0 while its last answer of up to an hour ago is used. Unresolved: devices under a name that is no UUID, so they cannot be joined. " +
			"Conflicts: times that several pods were said to hold a device that is not shared, since the start. No line: the kubelet is not asked.",
		unit: count, width: 8,
	}, polled,
		query{aggregate("min", "", pick(catalog.GPUClaimsUp)), "answers"},
		query{sum(catalog.LabelReason, pick(catalog.GPUClaimsUnresolved)), "unresolved, {{reason}}"},
		query{sum("", pick(catalog.GPUClaimConflicts)), "conflicts"})
}

func gpuThrottle() *timeseries.PanelBuilder {
	return lines(about{
		title: "GPUs: share of time in which clocks were held down, by reason, 4 min and more",
		says: "sw_power_cap is the power limit and normal at full load; heat, the power supply (hw_power_brake) and hw_slowdown are not. Reasons overlap, so they do not add up. " +
			"Idle clocks are not among them. No line: the source does not tell it.",
		unit: share, width: 24,
	}, polled, query{aggregate("max", catalog.LabelGPU+", "+catalog.LabelReason, rate(perStep, pick(catalog.GPUThrottle, ofGPU))), "{{gpu}} {{reason}}"})
}

func gpuXIDs() *table.PanelBuilder {
	by := []string{catalog.LabelGPU, catalog.LabelXID}
	return rows(about{
		title: "XID errors of the GPUs since their exporter first saw them, now",
		says: "13, 31, 43, 45, 68 and 109 are of applications as a rule; look any other up in NVIDIA's Xid catalogue. " +
			"Where the source shows the last error only, one that comes twice in a row counts once. Empty: there was none.",
		unit: count, width: 8,
	}, by, query{aggregate("max", strings.Join(by, ", "), pick(catalog.GPUXIDErrors, ofGPU)), "errors"})
}

func gpuErrorsOverTime() *timeseries.PanelBuilder {
	return lines(about{
		title: "XID errors of the GPUs, each second, 4 min and more",
		says:  "Of all numbers together. Where the source counts errors the line is there at 0 before the first; else the first is in no rate, and the table beside has it.",
		unit:  "suffix: errors/s", width: 8,
	}, polled, query{aggregate("max", catalog.LabelGPU, rate(perStep, pick(catalog.GPUErrors, ofGPU))), "{{gpu}}"})
}

func gpuHealth() *table.PanelBuilder {
	of := func(name string) string { return aggregate("max", catalog.LabelGPU, pick(name, ofGPU)) }
	return rows(about{
		title: "GPU memory and bus: errors that could not be corrected, now",
		says:  "Memory errors and PCIe retries are the driver's own counts, which begin anew with it. Remap failed 1: a row of the memory is lost, the card is to be replaced.",
		unit:  count, width: 8,
	}, []string{catalog.LabelGPU}, query{of(catalog.GPUECCErrors), "memory errors"}, query{of(catalog.GPURemapFailed), "remap failed"}, query{of(catalog.GPUPCIeReplays), "PCIe retries"})
}

func gpuSources() *table.PanelBuilder {
	by := []string{"instance", catalog.LabelSource, catalog.LabelDriver, catalog.LabelVersion}
	return rows(about{
		title: "Where each exporter knows its GPUs from, now",
		says:  "dcgm-exporter: its page; dcgm: DCGM itself, through goodput-dcgm; none: nothing is found any more. Empty: no GPUs were asked for or found.",
		unit:  count, width: 8,
	}, by, query{aggregate("max", strings.Join(by, ", "), pick(catalog.GPUSourceInfo)), "is"})
}

func gpuSourceAge() *timeseries.PanelBuilder {
	return lines(about{
		title: "Readings of the GPUs by each exporter: up, and age of the last good one, now",
		says: "Up 0: the newest reading is too old to be true, and everything else about GPUs is absent. A dcgm-exporter shows values that are up to 30 s older than the reading, " +
			"and does not say when they were sampled. Age in seconds.",
		unit: seconds, width: 8,
	}, polled,
		query{aggregate("min", "instance, "+catalog.LabelSource, pick(catalog.GPUSourceUp)), "{{instance}} {{source}} up"},
		query{"time() - " + aggregate("max", "instance, "+catalog.LabelSource, pick(catalog.GPULastSample)), "{{instance}} {{source}} age"})
}

func gpuDropped() *timeseries.PanelBuilder {
	return lines(about{
		title: "Values of all GPUs that were not believed, by reason, each second, 4 min and more",
		says:  "Blank is DCGM's way to say that a card does not tell a value, and normal. Stale values are those of a source that has stopped sampling. No line: everything was believed.",
		unit:  "suffix: values/s", width: 8,
	}, polled, query{sum(catalog.LabelReason, rate(perStep, pick(catalog.GPUDropped))), "{{reason}}"})
}
