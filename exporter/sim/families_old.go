package sim

// oldFamilies are those of vLLM 0.11.0's page, in its order: its old name of the token gaps stands beside the new one.
var oldFamilies = []family{
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
		name: "vllm:generation_tokens_total", kind: "counter",
		help:  "Number of generation tokens processed.",
		value: at(func(s *stats) *float64 { return &s.outputTokens }),
	},
	{
		name: "vllm:request_success_total", kind: "counter",
		help:  "Count of successfully processed requests.",
		label: "finished_reason", values: reasons[:3], value: func(s *stats, i int) *float64 { return &s.success[i] },
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
		name: "vllm:time_per_output_token_seconds", kind: "histogram",
		help:      "Histogram of time per output token in seconds.DEPRECATED: Use vllm:inter_token_latency_seconds instead.",
		histogram: func(s *stats) *histogram { return s.gaps },
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
}

// oldCacheConfig are the labels of its vllm:cache_config_info: block size, prefix caching, rank, blocks.
const oldCacheConfig = `vllm:cache_config_info{block_size="%d",cache_dtype="auto",calculate_kv_scales="False",cpu_kvcache_space_bytes="1073741824",` +
	`cpu_offload_gb="0.0",enable_prefix_caching="%s",engine="%d",gpu_memory_utilization="0.9",is_attention_free="False",` +
	`kv_cache_memory_bytes="None",kv_sharing_fast_prefill="False",mamba_cache_dtype="auto",mamba_page_size_padded="None",` +
	`mamba_ssm_cache_dtype="auto",num_cpu_blocks="None",num_gpu_blocks="%d",num_gpu_blocks_override="None",` +
	`prefix_caching_hash_algo="sha256",sliding_window="None",swap_space="4.0",swap_space_bytes="4294967296.0"}`
