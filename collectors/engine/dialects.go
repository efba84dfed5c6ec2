package engine

import "github.com/goodput-exporter/goodput-exporter/exporter/fact"

// dialect is one emitter of pages.
type dialect struct {
	name       string
	who        string // for a person
	since      string // the first engine version that speaks it; "" where versions of vLLM mean nothing
	gone       string // the first that no longer does; "" is still spoken by the newest known
	recognises func(signs) bool
	traits     fact.Traits
	// alwaysTransfers: a connector's families are on every page, configured or not.
	alwaysTransfers bool
	unread          []field // fields whose names are on the page and mean something else there

	// For docs/dialects.md.
	sign   string   // how it is recognised
	unlike []string // what differs from vLLM's V1 page, and what that costs
	tested string
}

// dialects are tried in order; the first that recognises a page reads it.
//
// The Rust front end is told from Python by what the two metric libraries cannot both do, not by a header that a proxy
// may rewrite: prometheus_client's text format keeps _total in the family's name and the Python process always has
// python_info or, with several API servers, HTTP summaries, a type that the Rust crate does not have.
var dialects = []dialect{
	{
		name: "vllm-rust", who: "vLLM's Rust front end", since: "0.22",
		recognises: func(s signs) bool {
			return s.of(vllm) && s.ranked && s.unranked == 0 && !s.replicas && (s.openMetrics || s.bareCounters) && s.seen&signPython == 0
		},
		traits: fact.Traits{AbortsFinish: true, HTTPAtStart: true}, alwaysTransfers: true,
		sign: "OpenMetrics, or counters whose TYPE line lacks _total; an engine label; neither python_info nor http_request_size_bytes",
		unlike: []string{
			"Sequences that the client aborted are counted as finished, with reason abort and in every histogram: how many of a bucket they are is unknown, so intervals and percentiles are wider by them.",
			"http_requests_total moves when a response begins: arrivals are exact, and cancelled requests are the aborts.",
			"No start time and no _created: a restart shows only as counters that fall.",
			"Refusals of an admission limit are on no counter of their own: they count as failed.",
			"No spans.",
		},
		tested: "live: recording vllm-0.32-rust; sample vllm-0.32-rust-live. Put together from source: sample vllm-rust-openmetrics. Simulated",
	},
	{
		name: "vllm-ray", who: "vLLM under Ray, by Ray's agent", since: "0.11",
		recognises: func(s signs) bool { return s.of(vllm) && s.ranked && s.unranked == 0 && s.replicas },
		traits:     fact.Traits{NoFrontEnd: true},
		sign:       "an engine label and a ReplicaId label; usually with the prefix ray_vllm_",
		unlike: []string{
			"One page may hold several replicas: each is a rank, named after its replica.",
			"No http_requests_total: arrivals, rejections and cancellations are unknown, the ledger has finished and lost requests only.",
			"A replica that is started anew under its old name has its counters twice on a page until the agent forgets the old ones; such a page is refused.",
		},
		tested: "a made-up page in the tests; never on a live one",
	},
	{
		name: "vllm-v1", who: "vLLM >= 0.8.3 with the V1 engine", since: "0.8.3",
		recognises: func(s signs) bool { return s.of(vllm) && s.ranked && s.unranked == 0 },
		sign:       "an engine label, and none of the signs above",
		unlike: []string{
			"Before 0.11 there is no time per output token of a sequence: clauses on tpot are refused, for token gaps are another population.",
			"Before 0.29 there is no admission limit, and none of its refusals.",
			"With several API servers: no start time and no _created, so a restart shows only as counters that fall. From 0.9.2 to 0.11.1 the KV cache's usage has one series for each process, of which the largest is told, with a warning.",
		},
		tested: "live: recordings vllm-0.11-day and vllm-0.32-*; samples vllm-0.32-live and vllm-0.32-dp2-live. Put together from source: samples vllm-v1-0.11, vllm-newest and vllm-newest-dp2-multiproc. Simulated",
	},
	{
		name: "llm-d-inference-sim", who: "the simulator of llm-d",
		recognises: func(s signs) bool {
			return s.of(vllm) && !s.ranked && s.unranked > 0 && s.seen&signPython == 0 && (s.seen&signSimulator != 0 || s.newNames)
		},
		traits: fact.Traits{NoFrontEnd: true, Unjudged: "the simulator's time to first token leaves the queue out, and sequences whose client has gone count as finished like all others"},
		unread: []field{field(fact.TTFT), field(fact.Queue)},
		sign:   "no engine label; max_num_generation_tokens, or names that the V0 engine does not have",
		unlike: []string{
			"time_to_first_token_seconds leaves the queue out (705 s in the sum of 2,574 where the clients waited 85,927 s): it is not read, and objectives are refused.",
			"Sequences whose client has gone go on, and count as finished like all others.",
			"request_queue_time_seconds counts only the sequences that waited, not all that finished: it is not read.",
			"No request_params_n and no http_requests_total: there is no ledger, but for what was lost.",
			"Its families of finished sequences are not updated together (on 521 of 542 recorded pages they differ by a sequence or two): torn pages are not looked for.",
			"No start time and no _created: a restart shows only as counters that fall.",
		},
		tested: "live: recording llm-d-sim-ramp; sample llm-d-inference-sim. Simulated",
	},
	{
		name: "vllm-v1-early", who: "vLLM 0.7.3 to 0.8.2 with the V1 engine", since: "0.7.3", gone: "0.8.3",
		recognises: func(s signs) bool {
			return s.of(vllm) && !s.ranked && s.unranked > 0 && s.seen&signEarlyV1 != 0
		},
		traits: fact.Traits{NoFrontEnd: true},
		sign:   "no engine label; gpu_prefix_cache_queries",
		unlike: []string{
			"No time per output token of a sequence: clauses on tpot are refused.",
			"No http_requests_total: arrivals, rejections and cancellations are unknown, the ledger has finished and lost requests only.",
		},
		tested: "a made-up page in the tests; never on a live one",
	},
	{
		name: "vllm-v0", who: "vLLM's V0 engine, 0.6 to 0.10", since: "0.6", gone: "0.11",
		recognises: func(s signs) bool { return s.of(vllm) && !s.ranked && s.unranked > 0 && !s.newNames },
		traits:     fact.Traits{NoFrontEnd: true, RequestHistograms: true},
		sign:       "no engine label, and none of the signs above",
		unlike: []string{
			"No time per output token of a sequence: clauses on tpot are refused.",
			"Before 0.8.3 no http_requests_total: arrivals, rejections and cancellations are unknown, the ledger has finished and lost requests only.",
			"A request for n > 1 counts n times under its finish reasons and once in the histograms: from then on objectives are refused, until the process is another.",
			"A sequence that was preempted and computed again counts another first token.",
			"Sequences that were swapped out count as waiting.",
			"Before 0.6.4 there is no queue, prefill, decode or inference time.",
			"No start time and no _created where the front end is a process of its own, as it is by default: a restart shows only as counters that fall.",
		},
		tested: "put together from source: sample vllm-v0-0.6.6. Simulated. Never on a live one",
	},
	{
		name: "sglang", who: "SGLang",
		recognises: func(s signs) bool { return s.of(sglang) && !s.ranked && s.unranked > 0 },
		traits:     fact.Traits{NoFrontEnd: true},
		sign:       "names that begin with sglang: and no engine label",
		unlike: []string{
			"No finish reasons: what succeeded is unknown, so objectives are refused. Latencies, queue and KV cache are told.",
			"No time per output token of a sequence.",
			"No request_params_n and no http_requests_total in vLLM's sense: there is no ledger, but for what was lost.",
			"queue_time_seconds is observed when a sequence is scheduled, not when it finishes: it is not read.",
			"Prompt and output tokens are counted when a request finishes.",
			"A page whose front end adds labels of its own to its counters has them several times, and is refused.",
			"The schedulers of a data-parallel engine share one front end: they are one rank, whose running and waiting sequences are added.",
		},
		tested: "a page put together from source in the tests; never on a live one",
	},
}
