package catalog

// Names of series. Those of a whole family of counters that may be known as an interval are bases, to be completed by
// Total, LowerTotal or UpperTotal; those of histograms by CeilSeconds and FloorSeconds, or Ceil and Floor.
const (
	EngineInfo        = "goodput_engine_info"
	EngineUp          = "goodput_engine_up"
	EnginePhaseInfo   = "goodput_engine_phase_info"
	EngineProgressing = "goodput_engine_progressing"
	EngineStart       = "goodput_engine_start_time_seconds"
	EngineResets      = "goodput_engine_resets_total"
	EngineKVUsage     = "goodput_engine_kv_usage_ratio"
	EnginePreemptions = "goodput_engine_preemptions_total"
	LastPoll          = "goodput_engine_last_poll_timestamp_seconds"
	PollDuration      = "goodput_engine_poll_duration_seconds"
	PollFailures      = "goodput_engine_poll_failures_total"
	PollInterval      = "goodput_engine_poll_interval_seconds"

	RequestsArrived     = "goodput_requests_arrived"
	RequestsFinished    = "goodput_requests_finished"
	RequestsFailed      = "goodput_requests_failed"
	RequestsCancelled   = "goodput_requests_cancelled"
	RequestsRejected    = "goodput_requests_rejected"
	RequestsLost        = "goodput_requests_lost"
	RequestsUnexplained = "goodput_requests_unexplained"
	RequestsInFlight    = "goodput_requests_in_flight"
	LedgerUnanswerable  = "goodput_ledger_unanswerable_info"

	SLOInfo           = "goodput_slo_info"
	SLOThreshold      = "goodput_slo_threshold_seconds"
	SLOObjective      = "goodput_slo_objective_ratio"
	SLORequests       = "goodput_slo_requests_total"
	SLOQualifiedLower = "goodput_slo_qualified_requests_lower_total"
	SLOQualifiedUpper = "goodput_slo_qualified_requests_upper_total"
	SLOViolations     = "goodput_slo_clause_violations"
	SLOUnanswerable   = "goodput_slo_unanswerable_info"

	SLOQualifiedTokensLower      = "goodput_slo_qualified_tokens_lower_total"
	SLOQualifiedTokensUpper      = "goodput_slo_qualified_tokens_upper_total"
	SLOMissedTokensLower         = "goodput_slo_missed_tokens_lower_total"
	SLOMissedTokensUpper         = "goodput_slo_missed_tokens_upper_total"
	SLOClassThreshold            = "goodput_slo_class_threshold_seconds"
	SLOClassRequestsLower        = "goodput_slo_class_requests_lower_total"
	SLOClassRequestsUpper        = "goodput_slo_class_requests_upper_total"
	SLOClassQualifiedLower       = "goodput_slo_class_qualified_requests_lower_total"
	SLOClassQualifiedUpper       = "goodput_slo_class_qualified_requests_upper_total"
	SLOClassQualifiedTokensLower = "goodput_slo_class_qualified_tokens_lower_total"

	QuantileLower = "goodput_latency_quantile_lower_seconds"
	QuantileUpper = "goodput_latency_quantile_upper_seconds"
	PromptTokens  = "goodput_request_prompt_tokens"
	OutputTokens  = "goodput_request_output_tokens"

	SequencesFinished = "goodput_sequences_finished_total"
	Tokens            = "goodput_tokens_total"
	FinishedTokens    = "goodput_finished_tokens_total"

	SpanTTFT = "goodput_span_ttft_seconds"
	SpanTPOT = "goodput_span_tpot_seconds"
	SpanE2E  = "goodput_span_e2e_seconds"

	SpansReceived     = "goodput_spans_received_total"
	SpansRefused      = "goodput_spans_refused_total"
	SpanMessages      = "goodput_span_messages_total"
	SpansBuffered     = "goodput_spans_buffered"
	SpansBufferSize   = "goodput_spans_buffer_size"
	SpansMatched      = "goodput_spans_matched_total"
	SpansUnmatched    = "goodput_spans_unmatched_total"
	SpansUnused       = "goodput_spans_unused_total"
	OneTokenSequences = "goodput_one_token_sequences_total"
	RequestAttempts   = "goodput_request_attempts_total"
	LogicalRequests   = "goodput_logical_requests_total"

	GPUInfo              = "goodput_gpu_info"
	GPUUp                = "goodput_gpu_up"
	GPUBusy              = "goodput_gpu_busy_ratio"
	GPUSMActive          = "goodput_gpu_sm_active_ratio"
	GPUSMOccupancy       = "goodput_gpu_sm_occupancy_ratio"
	GPUTensor            = "goodput_gpu_tensor_active_ratio"
	GPUDRAM              = "goodput_gpu_dram_active_ratio"
	GPUGraphics          = "goodput_gpu_graphics_active_ratio"
	GPUMemoryUsed        = "goodput_gpu_memory_used_bytes"
	GPUMemoryFree        = "goodput_gpu_memory_free_bytes"
	GPUMemoryTotal       = "goodput_gpu_memory_total_bytes"
	GPUMemoryReserved    = "goodput_gpu_memory_reserved_bytes"
	GPUPower             = "goodput_gpu_power_watts"
	GPUPowerLimit        = "goodput_gpu_power_limit_watts"
	GPUEnergy            = "goodput_gpu_energy_joules_total"
	GPUTemperature       = "goodput_gpu_temperature_celsius"
	GPUMemoryTemperature = "goodput_gpu_memory_temperature_celsius"
	GPUSMClock           = "goodput_gpu_sm_clock_hertz"
	GPUMemoryClock       = "goodput_gpu_memory_clock_hertz"
	GPUPCIeTx            = "goodput_gpu_pcie_transmit_bytes_per_second"
	GPUPCIeRx            = "goodput_gpu_pcie_receive_bytes_per_second"
	GPUNVLinkTx          = "goodput_gpu_nvlink_transmit_bytes_per_second"
	GPUNVLinkRx          = "goodput_gpu_nvlink_receive_bytes_per_second"
	GPURemapFailed       = "goodput_gpu_row_remap_failed"
	GPUThrottle          = "goodput_gpu_throttle_seconds_total"
	GPUXIDErrors         = "goodput_gpu_xid_errors_total"
	GPUErrors            = "goodput_gpu_errors_total"
	GPUECCErrors         = "goodput_gpu_ecc_uncorrectable_errors"
	GPUPCIeReplays       = "goodput_gpu_pcie_replays"
	EngineGPUs           = "goodput_engine_gpus"
	EngineEnergy         = "goodput_engine_energy_joules_total"
	EngineCost           = "goodput_engine_cost_total"
	GPUHourPrice         = "goodput_gpu_hour_price"
	EnergyPrice          = "goodput_kilowatt_hour_price"
	GPUSourceUp          = "goodput_gpu_source_up"
	GPUSourceInfo        = "goodput_gpu_source_info"
	GPULastSample        = "goodput_gpu_source_last_sample_timestamp_seconds"
	GPUDropped           = "goodput_gpu_values_dropped_total"
	GPUClaimsUp          = "goodput_gpu_claims_up"
	GPUClaimsUnresolved  = "goodput_gpu_claims_unresolved"
	GPUClaimConflicts    = "goodput_gpu_claim_conflicts_total"

	EvidenceCompleteness  = "goodput_evidence_completeness_ratio"
	EvidenceSequences     = "goodput_evidence_sequences_total"
	EvidenceSequencesSeen = "goodput_evidence_sequences_seen_total"
	EvidenceWindows       = "goodput_evidence_windows_total"
	EvidenceExactWindows  = "goodput_evidence_exact_windows_total"

	EvidenceConflicts = "goodput_evidence_conflicts_total"
	PagesSkipped      = "goodput_pages_skipped_total"
	WindowFallbacks   = "goodput_window_fallbacks_total"
	WindowCoverage    = "goodput_window_coverage_ratio"
	HistogramLayouts  = "goodput_histogram_layouts"

	Rounds          = "goodput_rounds_total"
	RoundsMissed    = "goodput_rounds_missed_total"
	RoundDuration   = "goodput_round_duration_seconds"
	LastRound       = "goodput_last_round_timestamp_seconds"
	EngineSeries    = "goodput_series"
	SeriesDropped   = "goodput_series_dropped"
	DiscoveryUp     = "goodput_discovery_up"
	DiscoverySynced = "goodput_discovery_last_sync_timestamp_seconds"
	DiscoveryPods   = "goodput_discovery_pods"
	EnginesStarting = "goodput_engines_starting"
	FilesBroken     = "goodput_target_files_broken"
	Refused         = "goodput_targets_refused"
	AccessBroken    = "goodput_access_files_broken"
	ReloadOK        = "goodput_config_last_reload_successful"
	ReloadTime      = "goodput_config_last_reload_success_timestamp_seconds"
	BuildInfo       = "goodput_build_info"
)

// Endings of names.
const (
	Total        = "_total"
	LowerTotal   = "_lower_total"
	UpperTotal   = "_upper_total"
	Ceil         = "_ceil"
	Floor        = "_floor"
	CeilSeconds  = Ceil + "_seconds"
	FloorSeconds = Floor + "_seconds"
)

// LatencyHistogram is the base of the pair of histograms of one latency, named as in the label metric: "ttft", "tpot",
// "e2e", "queue", "prefill", "decode" or "token_gap".
func LatencyHistogram(metric string) string { return "goodput_" + metric }

// Label names.
const (
	LabelEngine   = "engine"
	LabelModel    = "model"
	LabelSLO      = "slo"
	LabelClass    = "class"
	LabelClause   = "clause"
	LabelReason   = "reason"
	LabelBy       = "by"
	LabelStage    = "stage"
	LabelKind     = "kind"
	LabelMetric   = "metric"
	LabelQ        = "q"
	LabelWindow   = "window"
	LabelPhase    = "phase"
	LabelState    = "state"
	LabelSource   = "source"
	LabelOutcome  = "outcome"
	LabelProtocol = "protocol"
	LabelGPU      = "gpu"
	LabelJoin     = "join"
	LabelGPUModel = "gpu_model"
	LabelCard     = "card"
	LabelProfile  = "profile"
	LabelShared   = "shared"
	LabelBasis    = "basis"
	LabelPartial  = "partial"
	LabelXID      = "xid"
	LabelCurrency = "currency"
	LabelDriver   = "driver"
	LabelVersion  = "version"
)

// Words of the label source.
const (
	SourcePages = "pages"
	SourceSpans = "spans"
)

// BasisWhole is the word of the label basis.
const BasisWhole = "whole"

// Words of the label reason on goodput_spans_unused_total.
const (
	UnusedLate      = "late"
	UnusedOutside   = "outside"
	UnusedDuplicate = "duplicate"
	UnusedDropped   = "dropped"
)

// Words of the label reason on goodput_window_fallbacks_total and goodput_pages_skipped_total.
const (
	ReasonTorn          = "torn"
	ReasonContradiction = "contradiction"
	ReasonDisjoint      = "disjoint"
	ReasonTooLarge      = "too_large"
	ReasonMissingFamily = "missing_family"
	ReasonUnjudged      = "unjudged"
	ReasonOther         = "other"
)

// LabelMeaning explains one label.
type LabelMeaning struct{ Name, Meaning string }

// LabelMeanings lists every label that a declared series can have, except those of goodput_build_info and those that
// targets bring along.
func LabelMeanings() []LabelMeaning {
	return []LabelMeaning{
		{LabelBy, "who rejected: `admission` (the engine's admission limit) or `client_error` (a 4xx answer); on `" + SpansMatched + "` by what a span was matched: `engine`, `pod`, `instance`, `address` or `only`"},
		{LabelClass, "name of a class in the configuration of the objective, or `other`: what none of them takes"},
		{LabelClause, "the latency that a clause of the SLO limits: `ttft`, `tpot`, `e2e`, `queue`, `prefill`, `decode` or `inference`"},
		{LabelEngine, "id of the target; under data parallelism, series of one rank have `/rank` appended (`a/0`). No series exists at both levels"},
		{LabelKind, "`prompt` or `output`"},
		{LabelMetric, "the latency or length meant: `ttft`, `tpot`, `e2e`, `queue`, `prefill`, `decode`, `inference`, `token_gap`, and for layouts `prompt_tokens` and `output_tokens`. `token_gap` observes gaps between tokens, all others sequences: never put the two on one axis"},
		{LabelModel, "served model name as on the engine's page; left out on series of a whole endpoint while its page names none or several"},
		{LabelPhase, "`unseen`, `starting` (it never answered, and need not yet), `warming_up`, `judging`, `asleep`, `down` or `stalled`"},
		{LabelQ, "the quantile, 0 to 1"},
		{LabelReason, "one of a closed set of reasons, or a short fixed text; never text from a request"},
		{LabelSLO, "name of the objective in the configuration"},
		{LabelSource, "what the evidence is: `pages` (the engine's own histograms and counters) or `spans`; on `goodput_gpu_source_*`: `dcgm-exporter` (its page), `dcgm` (through goodput-dcgm) or `none` (nothing was found any more); on `goodput_discovery_*`: `kubernetes`"},
		{LabelState, "what became of a pod: `polled`, `starting` (polled, and not ready yet), `pending` (it has no address yet), `ended`, `terminating`, `no_endpoint` (a worker, or none of the ports is there) or `refused` (what it asks for is not allowed, or there are too many)"},
		{LabelGPU, "UUID of a card (`GPU-...`) or MIG instance (`MIG-...`, or the card's with `/` and the number of the instance); never an index, which changes"},
		{LabelJoin, "how it is known which engine a GPU is of: `uuid` (the configuration says so), `pod` (the kubelet does), `only` (there is one engine, and nothing says that the GPU is another's), `unmatched` (it is not) or `ambiguous` (there is more than one answer)"},
		{LabelGPUModel, "name of the card's model"},
		{LabelCard, "UUID of the card that a MIG instance is of; left out on cards"},
		{LabelProfile, "MIG profile such as `1g.10gb`; left out on cards"},
		{LabelShared, "`true` where several containers or engines hold the GPU; else left out"},
		{LabelBasis, "`whole` where all energy of the GPU is the engine's; left out where it cannot be told whose it is"},
		{LabelPartial, "`true` where the engine has GPUs elsewhere too, which are not counted here; else left out"},
		{LabelXID, "number of the driver's error, or `other`"},
		{LabelCurrency, "ISO 4217, as configured"},
		{LabelDriver, "version of the GPU driver"},
		{LabelOutcome, "what became of it: one of a closed set that the HELP lists"},
		{LabelProtocol, "`http` or `grpc`: how the message with spans came"},
		{LabelStage, "`queue` (waiting to be scheduled) or `running` (scheduled: prefill or decode)"},
		{LabelWindow, "length of the sliding window, `5m` or `1h`; on `goodput_slo_info` that of the error budget"},
		{"clauses", "all conditions that one request has to meet, such as `ttft<=250ms,tpot<=25ms`"},
		{"population", "what the objective counts"},
		{"success", "finish reasons that may qualify"},
		{"cancelled", "`bad` or `exclude`: how requests that the client gave up are counted"},
		{"client_errors", "`bad` or `exclude`: how 4xx answers are counted"},
		{"admission", "`bad` or `exclude`: how refusals by the admission limit are counted"},
		{"failed", "`bad` or `exclude`: how 5xx answers and sequences that ended in an error are counted"},
		{"lost", "`bad` or `exclude`: how requests in flight at the death of their process are counted"},
		{"retries", "`attempts` (each try of a caller counts for itself) or `logical` (the tries that one trace shows count as one request)"},
		{"match_model", "anchored pattern of the models that the objective is about; left out when it is about all"},
		{"match_engine", "anchored pattern of the engines that the objective is about; left out when it is about all"},
		{"dialect", "row of the dialect table that recognised the page"},
		{LabelVersion, "range of engine versions that the page's names fit; on `goodput_gpu_source_info` the versions of the source"},
		{"url", "address that is polled, without credentials, query and fragment"},
	}
}
