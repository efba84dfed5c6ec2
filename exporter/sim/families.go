package sim

// family is one metric family of vLLM 0.32.0's page, in the page's order. The texts are what the engine writes.
type family struct {
	name, kind, help string
	label            string                         // beside engine and model_name; "" for none
	values           []string                       // of that label, in the page's order
	value            func(s *stats, i int) *float64 // of the i-th label value; nil, or a nil pointer: always 0
	histogram        func(s *stats) *histogram
}

func at(f func(*stats) *float64) func(*stats, int) *float64 {
	return func(s *stats, _ int) *float64 { return f(s) }
}

// only gives a value to one child of a family; the others stay 0.
func only(child int, f func(*stats) *float64) func(*stats, int) *float64 {
	return func(s *stats, i int) *float64 {
		if i != child {
			return nil
		}
		return f(s)
	}
}

var awake = 1.0

// engineFamilies are those that have the labels engine and model_name.
var engineFamilies = []family{
	{
		name: "vllm:estimated_flops_per_gpu_total", kind: "counter",
		help: "Estimated number of floating point operations per GPU (for Model Flops Utilization calculations).",
	},
	{
		name: "vllm:estimated_read_bytes_per_gpu_total", kind: "counter",
		help: "Estimated number of bytes read from memory per GPU (for Model Flops Utilization calculations).",
	},
	{
		name: "vllm:estimated_write_bytes_per_gpu_total", kind: "counter",
		help: "Estimated number of bytes written to memory per GPU (for Model Flops Utilization calculations).",
	},
	{
		name: "vllm:num_requests_running", kind: "gauge",
		help:  "Number of requests in model execution batches.",
		value: at(func(s *stats) *float64 { return &s.running }),
	},
	{
		name: "vllm:num_requests_waiting", kind: "gauge",
		help:  "Number of requests waiting to be processed.",
		value: at(func(s *stats) *float64 { return &s.waiting }),
	},
	{
		name: "vllm:num_requests_waiting_by_reason", kind: "gauge",
		help:  "Number of waiting requests by reason. Reason labels: 'capacity' = waiting for scheduling capacity; 'deferred' = deferred by transient constraints (LoRA budget, KV transfer, blocked status). Sum of all reasons equals vllm:num_requests_waiting.",
		label: "reason", values: []string{"capacity", "deferred"}, value: only(0, func(s *stats) *float64 { return &s.waiting }),
	},
	{
		name: "vllm:engine_sleep_state", kind: "gauge",
		help:  "Engine sleep state; awake = 0 means engine is sleeping; awake = 1 means engine is awake; weights_offloaded = 1 means sleep level 1; discard_all = 1 means sleep level 2.",
		label: "sleep_state", values: []string{"awake", "weights_offloaded", "discard_all"}, value: only(0, func(*stats) *float64 { return &awake }),
	},
	{
		name: "vllm:kv_cache_usage_perc", kind: "gauge",
		help:  "KV-cache usage. 1 means 100 percent usage.",
		value: at(func(s *stats) *float64 { return &s.usage }),
	},
	{
		name: "vllm:prefix_cache_queries_total", kind: "counter",
		help:  "Prefix cache queries, in terms of number of queried tokens.",
		value: at(func(s *stats) *float64 { return &s.queries }),
	},
	{
		name: "vllm:prefix_cache_hits_total", kind: "counter",
		help:  "Prefix cache hits, in terms of number of cached tokens.",
		value: at(func(s *stats) *float64 { return &s.hits }),
	},
	{
		name: "vllm:external_prefix_cache_queries_total", kind: "counter",
		help: "External prefix cache queries from KV connector cross-instance cache sharing, in terms of number of queried tokens.",
	},
	{
		name: "vllm:external_prefix_cache_hits_total", kind: "counter",
		help: "External prefix cache hits from KV connector cross-instance cache sharing, in terms of number of cached tokens.",
	},
	{
		name: "vllm:mm_cache_queries_total", kind: "counter",
		help: "Multi-modal cache queries, in terms of number of queried items.",
	},
	{
		name: "vllm:mm_cache_hits_total", kind: "counter",
		help: "Multi-modal cache hits, in terms of number of cached items.",
	},
	{
		name: "vllm:num_preemptions_total", kind: "counter",
		help:  "Cumulative number of preemption from the engine.",
		value: at(func(s *stats) *float64 { return &s.preemptions }),
	},
	{
		name: "vllm:prompt_tokens_total", kind: "counter",
		help:  "Number of prefill tokens processed.",
		value: at(func(s *stats) *float64 { return &s.promptTokens }),
	},
	{
		name: "vllm:prompt_tokens_by_source_total", kind: "counter",
		help:  "Number of prompt tokens by source.",
		label: "source", values: []string{"local_compute", "local_cache_hit", "external_kv_transfer"}, value: func(s *stats, i int) *float64 { return []*float64{&s.computedTokens, &s.cachedTokens, nil}[i] },
	},
	{
		name: "vllm:prompt_tokens_cached_total", kind: "counter",
		help:  "Number of cached prompt tokens (local + external).",
		value: at(func(s *stats) *float64 { return &s.cachedTokens }),
	},
	{
		name: "vllm:prompt_tokens_cached_by_source_total", kind: "counter",
		help:  "Prefix-cache hit tokens by the cache tier that supplied them: device (local HBM), host (offloaded to DRAM), disk, p2p (transferred from another vLLM instance) or external_unspecified. Counted at admission; sums to vllm:prefix_cache_hits + vllm:external_prefix_cache_hits.",
		label: "source", values: []string{"device", "host", "p2p", "disk", "external_unspecified"}, value: only(0, func(s *stats) *float64 { return &s.hits }),
	},
	{
		name: "vllm:generation_tokens_total", kind: "counter",
		help:  "Number of generation tokens processed.",
		value: at(func(s *stats) *float64 { return &s.outputTokens }),
	},
	{
		name: "vllm:request_success_total", kind: "counter",
		help:  "Count of successfully processed requests.",
		label: "finished_reason", values: reasons[:], value: func(s *stats, i int) *float64 { return &s.success[i] },
	},
	{
		name: "vllm:request_prompt_tokens", kind: "histogram",
		help:      "Number of prefill tokens processed.",
		histogram: func(s *stats) *histogram { return s.prompt },
	},
	{
		name: "vllm:request_generation_tokens", kind: "histogram",
		help:      "Number of generation tokens processed.",
		histogram: func(s *stats) *histogram { return s.output },
	},
	{
		name: "vllm:iteration_tokens_total", kind: "histogram",
		help:      "Histogram of number of tokens per engine_step.",
		histogram: func(s *stats) *histogram { return s.iteration },
	},
	{
		name: "vllm:request_max_num_generation_tokens", kind: "histogram",
		help:      "Histogram of maximum number of requested generation tokens.",
		histogram: func(s *stats) *histogram { return s.longest },
	},
	{
		name: "vllm:request_params_n", kind: "histogram",
		help:      "Histogram of the n request parameter.",
		histogram: func(s *stats) *histogram { return s.params },
	},
	{
		name: "vllm:request_params_max_tokens", kind: "histogram",
		help:      "Histogram of the max_tokens request parameter.",
		histogram: func(s *stats) *histogram { return s.maxTokens },
	},
	{
		name: "vllm:time_to_first_token_seconds", kind: "histogram",
		help:      "Histogram of time to first token in seconds.",
		histogram: func(s *stats) *histogram { return s.ttft },
	},
	{
		name: "vllm:inter_token_latency_seconds", kind: "histogram",
		help:      "Histogram of inter-token latency in seconds.",
		histogram: func(s *stats) *histogram { return s.gaps },
	},
	{
		name: "vllm:request_time_per_output_token_seconds", kind: "histogram",
		help:      "Histogram of time_per_output_token_seconds per request.",
		histogram: func(s *stats) *histogram { return s.tpot },
	},
	{
		name: "vllm:e2e_request_latency_seconds", kind: "histogram",
		help:      "Histogram of e2e request latency in seconds.",
		histogram: func(s *stats) *histogram { return s.e2e },
	},
	{
		name: "vllm:request_queue_time_seconds", kind: "histogram",
		help:      "Histogram of time spent in WAITING phase for request.",
		histogram: func(s *stats) *histogram { return s.queue },
	},
	{
		name: "vllm:request_inference_time_seconds", kind: "histogram",
		help:      "Histogram of time spent in RUNNING phase for request.",
		histogram: func(s *stats) *histogram { return s.inference },
	},
	{
		name: "vllm:request_prefill_time_seconds", kind: "histogram",
		help:      "Histogram of time spent in PREFILL phase for request.",
		histogram: func(s *stats) *histogram { return s.prefill },
	},
	{
		name: "vllm:request_decode_time_seconds", kind: "histogram",
		help:      "Histogram of time spent in DECODE phase for request.",
		histogram: func(s *stats) *histogram { return s.decode },
	},
	{
		name: "vllm:request_num_preemptions", kind: "histogram",
		help:      "Histogram of the number of times a request was preempted.",
		histogram: func(s *stats) *histogram { return s.preempts },
	},
	{
		name: "vllm:request_prefill_kv_computed_tokens", kind: "histogram",
		help:      "Histogram of new KV tokens computed during prefill (excluding cached tokens).",
		histogram: func(s *stats) *histogram { return s.kvComputed },
	},
}

// The families of the process and of the front end.
var (
	admissionFamily = family{
		name: "vllm:admission_rejections_total", kind: "counter",
		help: "Number of admission attempts rejected by a queue limit, by reason.",
	}
	cacheConfigFamily = family{name: "vllm:cache_config_info", kind: "gauge", help: "Information of the LLMEngine CacheConfig"}
	httpRequests      = family{name: "http_requests_total", kind: "counter", help: "Total number of requests by method, status and handler."}
	httpRequestSize   = family{
		name: "http_request_size_bytes", kind: "summary",
		help: "Content length of incoming requests by handler. Only value of header is respected. Otherwise ignored. No percentile calculated. ",
	}
	httpResponseSize = family{
		name: "http_response_size_bytes", kind: "summary",
		help: "Content length of outgoing responses by handler. Only value of header is respected. Otherwise ignored. No percentile calculated. ",
	}
	httpDurationFine = family{
		name: "http_request_duration_highr_seconds", kind: "histogram",
		help: "Latency with many buckets but no API specific labels. Made for more accurate percentile calculations. ",
	}
	httpDuration = family{
		name: "http_request_duration_seconds", kind: "histogram",
		help: "Latency with only few buckets by handler. Made to be only used if aggregation by handler is important. ",
	}
)
