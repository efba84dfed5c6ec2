package catalog

// Sources on the engine's page, by the names of the newest vLLM; older names of the same quantity are read too.
const (
	fromRunning = "vllm:num_requests_running"
	fromWaiting = "vllm:num_requests_waiting"
	fromReasons = "vllm:request_success_total"
	fromHTTP    = "http_requests_total"
	fromParamsN = "vllm:request_params_n_count"
	fromStart   = "process_start_time_seconds"
)

const (
	sinceFirstSeen = "cumulative since the exporter first saw the engine (the created timestamp)"
	sinceFirstPoll = "cumulative since the exporter first polled the engine"
)

func engineSeries() []Series {
	engine := []string{LabelEngine}
	rank := []string{LabelEngine}
	model := []string{LabelModel}
	return in(GroupEngine,
		Series{
			Name: EngineInfo, Kind: Info, Stability: Stable,
			What:   "Identity of an engine, always 1: join it by engine. The labels of the target stand beside those listed.",
			Labels: engine, Maybe: []string{LabelModel, "dialect", "version", "url"}, Open: true,
		},
		Series{
			Name: EngineUp, Kind: Gauge, Unit: "boolean", Stability: Stable, Labels: engine,
			What: "1 when the last poll brought a page that could be used, else 0. Absent while the phase is starting.",
		},
		Series{
			Name: EnginePhaseInfo, Kind: Info, Stability: Experimental, Labels: []string{LabelEngine, LabelPhase},
			What: "What can be expected of an engine's numbers, always 1: only the current phase is there.",
		},
		Series{
			Name: EngineProgressing, Kind: Gauge, Unit: "boolean", Stability: Experimental, Labels: engine,
			What:   "0 when pages come and work is in flight, but nothing has moved for a minute; else 1. Absent while the engine is down.",
			Source: "all counters of the page",
		},
		Series{
			Name: EngineStart, Kind: Gauge, Unit: "seconds since 1970", Stability: Experimental, Labels: engine,
			What:   "When the engine's API server process started. Two exporters that show the same start and url poll the same engine, and its requests are counted twice.",
			Source: fromStart,
		},
		Series{
			Name: EngineResets, Kind: Counter, Unit: "restarts", Stability: Experimental, Labels: engine,
			What: "Changes of the engine's process that were seen.", Population: "processes", Window: sinceFirstSeen, Source: fromStart + " and falling counters",
		},
		Series{
			Name: EngineKVUsage, Kind: Gauge, Unit: "ratio, 0 to 1", Stability: Experimental, Labels: rank, Maybe: model,
			What: "Share of the KV cache blocks in use. Absent once the page is too old to be true now.", Source: "vllm:kv_cache_usage_perc",
		},
		Series{
			Name: EnginePreemptions, Kind: Counter, Unit: "preemptions", Stability: Experimental, Labels: rank, Maybe: model,
			What: "Times that a running sequence lost its KV blocks and had to be computed again.", Population: "preemptions, a sequence may have several",
			Window: sinceFirstSeen, Source: "vllm:num_preemptions_total",
		},
		Series{
			Name: LastPoll, Kind: Gauge, Unit: "seconds since 1970", Stability: Stable, Labels: engine,
			What: "When the last accepted page was received. Absent until there is one.",
		},
		Series{
			Name: PollDuration, Kind: Gauge, Unit: "seconds", Stability: Stable, Labels: engine,
			What: "How long the last poll took, also when it failed.",
		},
		Series{
			Name: PollInterval, Kind: Gauge, Unit: "seconds", Stability: Experimental, Labels: engine,
			What: "Time between two polls of the engine: poll.interval, or longer while its page takes more than 2 % of that on average.",
		},
		Series{
			Name: PollFailures, Kind: Counter, Unit: "polls", Stability: Stable, Labels: []string{LabelEngine, LabelReason},
			What: "Polls that brought no page, and pages that were refused.", Population: "polls", Window: sinceFirstPoll,
		},
	)
}
