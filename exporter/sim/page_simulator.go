package sim

// simulatorPage is the page of llm-d-inference-sim: the page testdata/samples/llm-d-inference-sim.prom of a real one. See template.
const simulatorPage = `# HELP vllm:cache_config_info Information of the LLMEngine CacheConfig.
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size="%S",num_gpu_blocks="%B"} 1
# HELP vllm:e2e_request_latency_seconds Histogram of end to end request latency in seconds.
# TYPE vllm:e2e_request_latency_seconds histogram
?~vllm:e2e_request_latency_seconds model_name="%M" e2e
# HELP vllm:generation_tokens_total Total number of generated tokens.
# TYPE vllm:generation_tokens_total counter
?vllm:generation_tokens_total{model_name="%M"} $output_tokens
# HELP vllm:inter_token_latency_seconds Histogram of inter-token latency in seconds.
# TYPE vllm:inter_token_latency_seconds histogram
?~vllm:inter_token_latency_seconds model_name="%M" gaps
# HELP vllm:kv_cache_usage_perc Prometheus metric for the fraction of KV-cache blocks currently in use (from 0 to 1).
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{model_name="%M"} $usage
# HELP vllm:lora_requests_info Running stats on lora requests.
# TYPE vllm:lora_requests_info gauge
vllm:lora_requests_info{max_lora="1",running_lora_adapters="",waiting_lora_adapters=""} $boot
# HELP vllm:max_num_generation_tokens Histogram of maximum number of requested generation tokens.
# TYPE vllm:max_num_generation_tokens histogram
?~vllm:max_num_generation_tokens model_name="%M" longest
# HELP vllm:num_requests_running Number of requests currently running on GPU.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{model_name="%M"} $running
# HELP vllm:num_requests_waiting Prometheus metric for the number of queued requests.
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{model_name="%M"} $waiting
# HELP vllm:prefix_cache_hits_total Prefix cache hits, in terms of number of cached tokens.
# TYPE vllm:prefix_cache_hits_total counter
?vllm:prefix_cache_hits_total{model_name="%M"} $hits
# HELP vllm:prefix_cache_queries_total Prefix cache queries, in terms of number of queried tokens.
# TYPE vllm:prefix_cache_queries_total counter
?vllm:prefix_cache_queries_total{model_name="%M"} $queries
# HELP vllm:prompt_tokens_total Total number of prompt tokens processed.
# TYPE vllm:prompt_tokens_total counter
?vllm:prompt_tokens_total{model_name="%M"} $prompt_tokens
# HELP vllm:request_decode_time_seconds Histogram of time spent in DECODE phase for request.
# TYPE vllm:request_decode_time_seconds histogram
?~vllm:request_decode_time_seconds model_name="%M" decode
# HELP vllm:request_generation_tokens Number of generation tokens processed.
# TYPE vllm:request_generation_tokens histogram
?~vllm:request_generation_tokens model_name="%M" output
# HELP vllm:request_inference_time_seconds Histogram of time spent in RUNNING phase for request.
# TYPE vllm:request_inference_time_seconds histogram
?~vllm:request_inference_time_seconds model_name="%M" inference
# HELP vllm:request_params_max_tokens Histogram of the max_tokens request parameter.
# TYPE vllm:request_params_max_tokens histogram
?~vllm:request_params_max_tokens model_name="%M" max_tokens
# HELP vllm:request_prefill_time_seconds Histogram of time spent in PREFILL phase for request.
# TYPE vllm:request_prefill_time_seconds histogram
?~vllm:request_prefill_time_seconds model_name="%M" prefill
# HELP vllm:request_prompt_tokens Number of prefill tokens processed.
# TYPE vllm:request_prompt_tokens histogram
?~vllm:request_prompt_tokens model_name="%M" prompt
# HELP vllm:request_queue_time_seconds Histogram of time spent in WAITING phase for request.
# TYPE vllm:request_queue_time_seconds histogram
?~vllm:request_queue_time_seconds model_name="%M" queue
# HELP vllm:request_success_total Count of successfully processed requests.
# TYPE vllm:request_success_total counter
?vllm:request_success_total{finish_reason="length",model_name="%M"} $success.length
?vllm:request_success_total{finish_reason="stop",model_name="%M"} $success.stop
# HELP vllm:request_time_per_output_token_seconds Histogram of time_per_output_token_seconds per request.
# TYPE vllm:request_time_per_output_token_seconds histogram
?~vllm:request_time_per_output_token_seconds model_name="%M" tpot
# HELP vllm:time_per_output_token_seconds Histogram of time per output token in seconds.
# TYPE vllm:time_per_output_token_seconds histogram
?~vllm:time_per_output_token_seconds model_name="%M" gaps
# HELP vllm:time_to_first_token_seconds Histogram of time to first token in seconds.
# TYPE vllm:time_to_first_token_seconds histogram
?~vllm:time_to_first_token_seconds model_name="%M" ttft
`
