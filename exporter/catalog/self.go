package catalog

func selfSeries() []Series {
	const sinceStart = "cumulative since the exporter started"
	return in(GroupSelf,
		Series{
			Name: Rounds, Kind: Counter, Unit: "rounds", Stability: Stable,
			What: "Rounds of polls that were ended and published.", Window: sinceStart,
		},
		Series{
			Name: RoundsMissed, Kind: Counter, Unit: "rounds", Stability: Stable,
			What: "Rounds that were due while the round before was still going on, and so did not happen.", Window: sinceStart,
		},
		Series{
			Name: RoundDuration, Kind: Histogram, Unit: "seconds", Stability: Experimental,
			What: "How long rounds took, from the first poll to the published snapshot.", Population: "rounds", Window: sinceStart,
		},
		Series{
			Name: LastRound, Kind: Gauge, Unit: "seconds since 1970", Stability: Stable,
			What: "When the last round ended: how old everything else on this page is.",
		},
		Series{
			Name: EngineSeries, Kind: Gauge, Unit: "series", Stability: Experimental, Labels: []string{LabelEngine},
			What: "How many series of this page belong to the engine, its ranks included; a histogram counts as all its buckets, sum and count, one that is native too as one more, and _created lines and exemplars are left out. What is said of GPUs belongs to none.",
		},
		Series{
			Name: SeriesDropped, Kind: Gauge, Unit: "series", Stability: Experimental, Labels: []string{LabelEngine},
			What: "How many series of the engine are left out because it would have more than engines.max_series: quantiles go first, then histograms of the page, stages and lengths before the others, then those of spans, then classes, then what else is said of single ranks. What holds for the whole engine stays.",
		},
		Series{
			Name: FilesBroken, Kind: Gauge, Unit: "files", Stability: Experimental,
			What: "Files of engines.files that cannot be read or hold a mistake: the targets that they named before are polled. The log says which.",
		},
		Series{
			Name: Refused, Kind: Gauge, Unit: "targets", Stability: Experimental,
			What: "Targets that are not polled because another one has their id or their page. The log says which.",
		},
		Series{
			Name: AccessBroken, Kind: Gauge, Unit: "files", Stability: Experimental,
			What: "Files with tokens, passwords, certificates or keys that could not be used when they were last needed: what they held before is used. An engine of which nothing is known yet is not asked.",
		},
		Series{
			Name: ReloadOK, Kind: Gauge, Unit: "boolean", Stability: Stable,
			What: "1 when the configuration that was read last is the one in use, else 0: then the one before it is. A start counts.",
		},
		Series{
			Name: ReloadTime, Kind: Gauge, Unit: "seconds since 1970", Stability: Stable,
			What: "When the configuration in use was read. A start counts.",
		},
		Series{
			Name: BuildInfo, Kind: Info, Stability: Stable,
			// The text is that of client_golang's version collector, which makes the metric.
			What:   "A metric with a constant '1' value labeled by version, revision, branch, goversion from which goodput was built, and the goos and goarch for the build.",
			Labels: []string{"branch", "goarch", "goos", "goversion", "revision", "tags", "version"},
		},
	)
}
