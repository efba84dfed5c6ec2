package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
)

func coverage() *timeseries.PanelBuilder {
	return lines(about{
		title: "Coverage: share of the sliding windows, 5 min and 1 h, that polls of an engine covered",
		says: "Below 1 after a start and after failed polls. Percentiles of that window speak for that share of the time only. " +
			"What happened in the rest is in the counters, if the process lived on.",
		unit: share, width: 8,
	}, polled, query{aggregate("min", catalog.LabelEngine+", "+catalog.LabelWindow, pick(catalog.WindowCoverage, ofRank)), "{{engine}} {{window}}"})
}

// doubts are the events that make intervals wider.
func doubts() *timeseries.PanelBuilder {
	return lines(about{
		title: "Pages skipped, judgement windows with conflicts and fallbacks, each second, 5 min and more",
		says: "A skipped page was torn; the next one says what it said. A fallback is a window judged by less than the best method: its interval is wider, not wrong. " +
			"A conflict is evidence that contradicts itself: the wider claim was kept. How much wider is not told here; the share's band shows it.",
		unit: mixedRate, width: 8,
	}, judged,
		query{sum(catalog.LabelReason, rate(perStep, pick(catalog.PagesSkipped, ofEngine))), "pages skipped, {{reason}}"},
		query{sum(catalog.LabelReason, rate(perStep, pick(catalog.WindowFallbacks, ofEngine))), "windows, fallback, {{reason}}"},
		query{sum(catalog.LabelSource, rate(perStep, pick(catalog.EvidenceConflicts, ofEngine))), "windows, conflict of {{source}}"})
}

func unanswerableSLOs() *statetimeline.PanelBuilder {
	return states(about{
		title: "Objectives that cannot be judged on an engine, with the reason, over time",
		says: "While a line is there, the objective's counters are absent or stand still: that says nothing about the traffic. Empty: every objective can be judged. " +
			"A threshold that is no edge of the engine's histogram needs another threshold or other buckets; `check` names the flag.",
		unit: count, width: 12,
	}, polled, map[string]string{"1": "orange"}, query{pick(catalog.SLOUnanswerable, ofEngine, ofSLO), "{{engine}} {{slo}}: {{reason}}"})
}

func unanswerableLedgers() *statetimeline.PanelBuilder {
	return states(about{
		title: "Ledgers of HTTP requests that cannot be kept, with the reason, over time",
		says: "While a line is there, counters of the ledger are absent or stand still: that says nothing about the traffic. Empty: all can be kept. " +
			"Sequences are counted whatever the ledger says.",
		unit: count, width: 12,
	}, polled, map[string]string{"1": "orange"}, query{pick(catalog.LedgerUnanswerable, ofEngine), "{{engine}}: {{reason}}"})
}

func layouts() *timeseries.PanelBuilder {
	return lines(about{
		title: "Different bucket layouts of a histogram among all engines, now",
		says: "Above 1 the engines' own histograms cannot be added; the exporter's ceil and floor images can, and their quantile bands are wider. " +
			"Counted by each exporter for its own engines: two nodes may still differ from each other.",
		unit: count, width: 8,
	}, polled, query{aggregate("max", catalog.LabelMetric, pick(catalog.HistogramLayouts)), "{{metric}}"})
}

// contracts are the objectives as they are judged.
func contracts() *table.PanelBuilder {
	return rows(about{
		title: "Objectives: what is promised of which sequences, now",
		says: "The clauses that one sequence has to meet together, the window of the error budget, and how everything that is not a success is counted. " +
			"From the exporters' configuration at the end of the range; two rows of one name are exporters that disagree.",
		unit: count, width: 24,
	}, []string{catalog.LabelSLO, "clauses", catalog.LabelWindow, "match_model", "match_engine", "success", "cancelled", "client_errors", "admission", "failed", "lost", "retries", "population"},
		query{aggregate("count", "slo, clauses, window, match_model, match_engine, success, cancelled, client_errors, admission, failed, lost, retries, population", pick(catalog.SLOInfo, ofSLO)), "exporters"})
}
