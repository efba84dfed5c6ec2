package catalog

func trustSeries() []Series {
	engine := []string{LabelEngine}
	byReason := []string{LabelEngine, LabelReason}
	return in(GroupTrust,
		Series{
			Name: EvidenceConflicts, Kind: Counter, Unit: "windows", Stability: Stable, Labels: engine,
			What:       "Judgement windows in which the evidence contradicted itself: of those, only the wider claim was kept.",
			Population: "judgement windows", Window: sinceFirstSeen,
		},
		Series{
			Name: PagesSkipped, Kind: Counter, Unit: "pages", Stability: Experimental, Labels: byReason,
			What: "Pages that were read but not judged; what they said is in the next page. The reason is torn (the page was written while the engine counted, " +
				"and its parts are of different moments), unjudged (pages were torn for so long that the window was given up) or other.",
			Population: "pages", Window: sinceFirstPoll,
		},
		Series{
			Name: WindowFallbacks, Kind: Counter, Unit: "windows", Stability: Experimental, Labels: byReason,
			What: "Judgement windows of an objective that were judged by less than the best method: their intervals are wider, not wrong. The reason is " +
				"torn (histograms of one page count different sequences), contradiction (the first tokens do not explain what finished), " +
				"disjoint (two methods exclude each other), too_large (too many pages in reach for the best method), missing_family (a histogram is missing) or other.",
			Population: "judgement windows, each once an objective", Window: sinceFirstSeen,
		},
		Series{
			Name: WindowCoverage, Kind: Gauge, Unit: "ratio, 0 to 1", Stability: Stable,
			What:   "Share of a sliding window that polls covered: less than 1 after a start, and after failed polls. A quantile of the window speaks for that share only.",
			Window: "the sliding window in the label window", Labels: []string{LabelEngine, LabelWindow}, Maybe: []string{LabelModel},
		},
		Series{
			Name: HistogramLayouts, Kind: Gauge, Unit: "layouts", Stability: Stable, Labels: []string{LabelMetric},
			What: "How many different bucket layouts the engines have for one histogram. Above 1, the ceil and floor histograms differ, and only they may be added.",
		},
	)
}
