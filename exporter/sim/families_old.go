package sim

import "slices"

// oldFamilies are those of vLLM 0.11.0's page, in its order: its old name of the token gaps stands beside the new one.
// All but the two that changed are still there in 0.32.0, text for text.
var oldFamilies = inOrder(append([]family{
	{
		name: "vllm:request_success_total", kind: "counter",
		help:  "Count of successfully processed requests.",
		label: "finished_reason", values: reasons[:3], value: func(s *stats, i int) *float64 { return &s.success[i] },
	},
	{
		name: "vllm:time_per_output_token_seconds", kind: "histogram",
		help:      "Histogram of time per output token in seconds.DEPRECATED: Use vllm:inter_token_latency_seconds instead.",
		histogram: func(s *stats) *histogram { return s.gaps },
	},
}, engineFamilies...),
	"vllm:num_requests_running",
	"vllm:num_requests_waiting",
	"vllm:kv_cache_usage_perc",
	"vllm:prefix_cache_queries_total",
	"vllm:prefix_cache_hits_total",
	"vllm:num_preemptions_total",
	"vllm:prompt_tokens_total",
	"vllm:generation_tokens_total",
	"vllm:request_success_total",
	"vllm:request_prompt_tokens",
	"vllm:request_generation_tokens",
	"vllm:iteration_tokens_total",
	"vllm:request_max_num_generation_tokens",
	"vllm:request_params_n",
	"vllm:request_params_max_tokens",
	"vllm:time_to_first_token_seconds",
	"vllm:time_per_output_token_seconds",
	"vllm:inter_token_latency_seconds",
	"vllm:request_time_per_output_token_seconds",
	"vllm:e2e_request_latency_seconds",
	"vllm:request_queue_time_seconds",
	"vllm:request_inference_time_seconds",
	"vllm:request_prefill_time_seconds",
	"vllm:request_decode_time_seconds",
)

// inOrder are the families of these names; of two with one name the first.
func inOrder(from []family, names ...string) []family {
	var out []family
	for _, name := range names {
		out = append(out, from[slices.IndexFunc(from, func(f family) bool { return f.name == name })])
	}
	return out
}

// oldCacheConfig are the labels of its vllm:cache_config_info: block size, prefix caching, rank, blocks.
const oldCacheConfig = `vllm:cache_config_info{block_size="%d",cache_dtype="auto",calculate_kv_scales="False",cpu_kvcache_space_bytes="1073741824",` +
	`cpu_offload_gb="0.0",enable_prefix_caching="%s",engine="%d",gpu_memory_utilization="0.9",is_attention_free="False",` +
	`kv_cache_memory_bytes="None",kv_sharing_fast_prefill="False",mamba_cache_dtype="auto",mamba_page_size_padded="None",` +
	`mamba_ssm_cache_dtype="auto",num_cpu_blocks="None",num_gpu_blocks="%d",num_gpu_blocks_override="None",` +
	`prefix_caching_hash_algo="sha256",sliding_window="None",swap_space="4.0",swap_space_bytes="4294967296.0"}`
