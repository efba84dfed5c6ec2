package catalog

func trustSeries() []Series {
	source, model := []string{LabelEngine, LabelSource}, []string{LabelModel}
	byReason := []string{LabelEngine, LabelReason}
	return in(GroupTrust,
		Series{
			Name: EvidenceConflicts, Kind: Counter, Unit: "windows", Stability: Stable, Labels: []string{LabelEngine, LabelSource},
			What: "Judgement windows in which the evidence contradicted itself: of those, only the wider claim was kept. The source is pages (two histograms or counters of the page) or spans " +
				"(they contradict the page, which was believed; that one is absent until a span of the engine has come).",
			Population: "judgement windows", Window: sinceFirstSeen,
		},
		Series{
			Name: EvidenceCompleteness, Kind: Gauge, Unit: "ratio, 0 to 1", Stability: Experimental, Labels: source, Maybe: model,
			What: "Share of the sequences that the engine's page says have finished of which there is a span. The rest, as where spans are sampled, is doubt in the interval of goodput, and makes no count smaller. " +
				"Absent when nothing finished, and while no spans are expected.",
			Population: "finished sequences", Window: "the judgement window that was committed last",
		},
		evidence(EvidenceSequences, "sequences", "Sequences that finished, as the engine's page counts them."),
		evidence(EvidenceSequencesSeen, "sequences", "Of "+EvidenceSequences+" those with a span in their window: the two give completeness over any time."),
		evidence(EvidenceWindows, "windows", "Judgement windows that were committed."),
		evidence(EvidenceExactWindows, "windows", "Of "+EvidenceWindows+" those with a span for each finished sequence: lower and upper end of goodput are equal in them, but for finish reasons that may not qualify, which no span tells."),
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

// evidence declares a counter of committed windows while evidence beside the page was expected.
func evidence(name, unit, what string) Series {
	population := map[string]string{"sequences": "finished sequences", "windows": "judgement windows"}
	return Series{
		Name: name, Kind: Counter, Unit: unit, Stability: Experimental, What: what + " " + onceSpansCame + ".",
		Population: population[unit], Window: spanWindow, Labels: []string{LabelEngine, LabelSource}, Maybe: []string{LabelModel},
	}
}
