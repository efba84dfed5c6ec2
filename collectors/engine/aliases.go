package engine

import "github.com/goodput-exporter/goodput-exporter/exporter/fact"

// field is one canonical fact of a page, whatever the engine calls it. The first fact.NumFamilies fields are the
// histogram families of the same number.
type field int

const (
	fieldRequests field = field(fact.NumFamilies) + iota
	fieldFinished
	fieldPromptTokens
	fieldOutputTokens
	fieldPreemptions
	fieldRunning
	fieldWaiting
	fieldKVUsage
	fieldHTTP
	fieldAdmission
	fieldProcessStart
	fieldSwapped
	fieldSources
	fieldCacheSources
	fieldTransfers
	fieldSleep
	numFields
)

// kind is how a field stands on a page.
type kind int

const (
	histogram    kind = iota // _bucket, _sum and _count
	observations             // a histogram of which only _count is read
	counter                  // NAME_total
	gauge                    // NAME
)

// spelling is one name of a field, without the dialect's prefix and without the suffixes that its kind adds.
type spelling struct {
	name   string
	first  string // engine version that has it first; "" is older than every dialect here
	gone   string // engine version that no longer has it; "" is still there in the newest known
	source string // where that is known from: upstream file at commit, or "seen live"
}

// alias is one row of the table from page names to fields.
type alias struct {
	field field
	what  string // the field's name in fact.Missing
	kind  kind
	bare  bool // the name has no dialect prefix, whatever the dialect
	ranks bool // one series for each rank, so it carries the rank label where the engine has ranks
	// optional is a field that says something where it is there, and whose absence costs nothing.
	optional bool
	folds    folding
	names    []spelling // vLLM's, in order of preference
	sglang   []spelling // SGLang's
	cost     string     // what cannot be answered without it
}

// folding is what a gauge's several series for one rank are together.
type folding int

const (
	foldCount folding = iota // of processes that differ none is right; shards add up
	foldShare                // the largest, for a share of memory that is nearly full somewhere
)

// Upstream files, shortened: loggers is vllm/v1/metrics/loggers.py, pfi is the prometheus-fastapi-instrumentator's
// default set as mounted by vllm/entrypoints/serve/instrumentator/metrics.py.
const (
	loggers = "vllm/v1/metrics/loggers.py@7ca49fbe4"
	v0      = "vllm/engine/metrics.py@v0.6.6.post1"
	tokens  = "python/sglang/srt/metrics/collector.py@93d04878c, TokenizerMetricsCollector"
	batches = "python/sglang/srt/metrics/collector.py@93d04878c, SchedulerMetricsCollector"
	pfi     = "vllm/entrypoints/serve/instrumentator/metrics.py@7ca49fbe4; seen live on 0.11.0 and 0.32.0"
)

// aliases is the one table of names. TPOT has one spelling on purpose: time_per_output_token_seconds, which older
// engines have, counts token gaps and not requests, so it can stand in for token_gap and never for tpot.
var aliases = []alias{
	{field: field(fact.TTFT), what: "ttft", kind: histogram, ranks: true,
		names: []spelling{{"time_to_first_token_seconds", "", "", loggers}}, sglang: []spelling{{"time_to_first_token_seconds", "", "", tokens}},
		cost: "no clause on the time to first token can be judged"},
	{field: field(fact.TPOT), what: "tpot", kind: histogram, ranks: true,
		names: []spelling{{"request_time_per_output_token_seconds", "0.11", "", "vllm/v1/metrics/loggers.py@d06b5a95c; seen live on 0.11.0"}},
		cost:  "no clause on the time per output token can be judged; token gaps are another population and do not replace it"},
	{field: field(fact.E2E), what: "e2e", kind: histogram, ranks: true,
		names: []spelling{{"e2e_request_latency_seconds", "", "", loggers}}, sglang: []spelling{{"e2e_request_latency_seconds", "", "", tokens}},
		cost: "no clause on the whole latency can be judged"},
	{field: field(fact.Queue), what: "queue", kind: histogram, ranks: true,
		names: []spelling{{"request_queue_time_seconds", "", "", loggers}},
		cost:  "waiting cannot be told from working"},
	{field: field(fact.Prefill), what: "prefill", kind: histogram, ranks: true,
		names: []spelling{{"request_prefill_time_seconds", "", "", loggers}},
		cost:  "the stages of a slow first token are unknown, joint bounds are wider"},
	{field: field(fact.Decode), what: "decode", kind: histogram, ranks: true,
		names: []spelling{{"request_decode_time_seconds", "", "", loggers}},
		cost:  "joint bounds are wider"},
	{field: field(fact.Inference), what: "inference", kind: histogram, ranks: true,
		names: []spelling{{"request_inference_time_seconds", "", "", loggers}},
		cost:  "joint bounds are wider, a torn page is harder to notice"},
	{field: field(fact.TokenGap), what: "token_gap", kind: histogram, ranks: true,
		names: []spelling{
			{"inter_token_latency_seconds", "0.10.2", "", "vllm/v1/metrics/loggers.py@241779847; seen live on 0.11.0"},
			{"time_per_output_token_seconds", "", "0.15", "vllm/v1/metrics/loggers.py, removed by bb9172030; the same samples, seen live on 0.11.0"},
		},
		sglang: []spelling{{"inter_token_latency_seconds", "", "", tokens}},
		cost:   "gaps between tokens are unknown"},
	{field: field(fact.PromptTokens), what: "prompt_tokens", kind: histogram, ranks: true,
		names: []spelling{{"request_prompt_tokens", "", "", loggers}}, sglang: []spelling{{"prompt_tokens_histogram", "", "", tokens}},
		cost: "the mix of prompt lengths is unknown"},
	{field: field(fact.OutputTokens), what: "output_tokens", kind: histogram, ranks: true,
		names: []spelling{{"request_generation_tokens", "", "", loggers}}, sglang: []spelling{{"generation_tokens_histogram", "", "", tokens}},
		cost: "the mix of output lengths is unknown, and one-token sequences cannot be told apart, which have no time per output token"},

	{field: fieldRequests, what: "requests", kind: observations, ranks: true,
		names: []spelling{{"request_params_n", "", "", loggers}},
		cost:  "finished requests cannot be told from finished sequences, so there is no ledger"},
	{field: fieldFinished, what: "finish_reasons", kind: counter, ranks: true,
		names: []spelling{{"request_success", "", "", loggers}},
		cost:  "finished sequences and their reasons are unknown"},
	{field: fieldPromptTokens, what: "prompt_tokens_count", kind: counter, ranks: true,
		names: []spelling{{"prompt_tokens", "", "", loggers}}, sglang: []spelling{{"prompt_tokens", "", "", tokens}},
		cost: "prompt tokens per second are unknown"},
	{field: fieldOutputTokens, what: "output_tokens_count", kind: counter, ranks: true,
		names: []spelling{{"generation_tokens", "", "", loggers}}, sglang: []spelling{{"generation_tokens", "", "", tokens}},
		cost: "output tokens per second are unknown"},
	{field: fieldPreemptions, what: "preemptions", kind: counter, ranks: true,
		names: []spelling{{"num_preemptions", "", "", loggers}},
		cost:  "a KV cache that is too small shows only in its usage"},
	{field: fieldRunning, what: "running", kind: gauge, ranks: true,
		names: []spelling{{"num_requests_running", "", "", loggers}}, sglang: []spelling{{"num_running_reqs", "", "", batches}},
		cost: "requests in flight are unknown: no arrivals, no check by Little's law"},
	{field: fieldWaiting, what: "waiting", kind: gauge, ranks: true,
		names: []spelling{{"num_requests_waiting", "", "", loggers}}, sglang: []spelling{{"num_queue_reqs", "", "", batches}},
		cost: "the queue's length is unknown: no arrivals, no check by Little's law"},
	{field: fieldKVUsage, what: "kv_usage", kind: gauge, ranks: true, folds: foldShare,
		names: []spelling{
			{"kv_cache_usage_perc", "0.9.2", "", "vllm/v1/metrics/loggers.py, vllm-project/vllm#18354; seen live on 0.11.0"},
			{"gpu_cache_usage_perc", "", "0.12", "vllm/v1/metrics/loggers.py, removed by 9cf4edae6"},
		},
		sglang: []spelling{{"token_usage", "", "", batches}},
		cost:   "whether the KV cache binds is unknown"},
	{field: fieldAdmission, what: "admission_rejections", kind: counter,
		names: []spelling{{"admission_rejections", "0.29", "", "seen live on 0.32.0; vllm-project/vllm#58192 for 0.29"}},
		cost:  "refusals by an admission limit look like other failures; an engine before 0.29 has no such limit"},
	{field: fieldHTTP, what: "http_requests", kind: counter, bare: true,
		names: []spelling{{"http_requests", "", "", pfi}},
		cost:  "arrived, rejected and cancelled requests are unknown"},
	{field: fieldProcessStart, what: "process_start", kind: gauge, bare: true,
		names: []spelling{{"process_start_time_seconds", "", "", pfi}},
		cost:  "a restart shows only by counters that fall; absent with several API servers and from the Rust front end"},

	{field: fieldSwapped, what: "swapped", kind: gauge, ranks: true, optional: true,
		names: []spelling{{"num_requests_swapped", "", "0.9.1", v0 + ", removed by vllm-project/vllm#18837"}},
		cost:  "V0 only: sequences that were preempted into the host's memory"},
	{field: fieldSources, what: "prompt_sources", kind: counter, ranks: true, optional: true,
		names: []spelling{{"prompt_tokens_by_source", "0.16", "", "vllm-project/vllm@4403e3ed4"}},
		cost:  "whether another engine computed the prompts shows only in the connector's own families"},
	{field: fieldCacheSources, what: "cache_sources", kind: counter, ranks: true, optional: true,
		names: []spelling{{"prompt_tokens_cached_by_source", "0.31", "", "absent from 0.30, seen live on 0.32.0"}},
		cost:  "a cache in the host's memory cannot be told from another engine's"},
	{field: fieldTransfers, what: "transfers", kind: observations, ranks: true, optional: true,
		names: []spelling{{"nixl_xfer_time_seconds", "0.11.1", "", "vllm-project/vllm@accb8fab0; seen live on the Rust front end of 0.32.0"}},
		cost:  "transfers of KV blocks between engines do not show"},
	{field: fieldSleep, what: "sleep", kind: gauge, ranks: true, optional: true,
		names: []spelling{{"engine_sleep_state", "0.11.1", "", "vllm/v1/metrics/loggers.py@1da3309ac"}},
		cost:  "an engine that was put to sleep looks idle"},
}

// createdOf is the field whose _created gauge tells when a rank's metrics were made, before those of other fields.
const createdOf = field(fact.TTFT)

// dating are families that are not read but tell which versions a page can come from. Of those that a setting switches
// on, only the presence says something; presence is all that is looked at.
var dating = []spelling{
	{"external_prefix_cache_queries", "0.11.1", "", "vllm/v1/metrics/loggers.py@88afa1101"},
	{"mm_cache_queries", "0.11.1", "", "vllm/v1/metrics/loggers.py@ad430a67c"},
	{"request_prefill_kv_computed_tokens", "0.13", "", "vllm/v1/metrics/loggers.py@f1599ca55"},
	{"prompt_tokens_recomputed", "0.16", "0.20", "vllm-project/vllm@4403e3ed4, removed by 72ff142c3"},
	{"estimated_flops_per_gpu", "0.17", "", "vllm-project/vllm@5cc7c4452"},
	{"num_requests_waiting_by_reason", "0.20", "", "vllm/v1/metrics/loggers.py@5c18b961d"},
	{"request_num_preemptions", "0.30", "", "vllm-project/vllm#49984; seen live on 0.32.0"},
}
