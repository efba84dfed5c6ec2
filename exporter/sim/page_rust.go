package sim

// rustPage is the page of the Rust front end of vLLM 0.32.0: the page testdata/samples/vllm-0.32-rust-live.prom of a real one. See template.
const rustPage = `# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{model_name="%M",engine="0"} $running
# HELP vllm:num_requests_waiting Number of requests waiting to be processed.
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{model_name="%M",engine="0"} $waiting
# HELP vllm:num_requests_waiting_by_reason Number of waiting requests by reason. Reason labels: 'capacity' = waiting for scheduling capacity; 'deferred' = deferred by transient constraints (LoRA budget, KV transfer, blocked status). Sum of all reasons equals vllm:num_requests_waiting..
# TYPE vllm:num_requests_waiting_by_reason gauge
vllm:num_requests_waiting_by_reason{model_name="%M",engine="0",reason="capacity"} $waiting
vllm:num_requests_waiting_by_reason{model_name="%M",engine="0",reason="deferred"} 0
# HELP vllm:kv_cache_usage_perc KV-cache usage. 1 means 100 percent usage.
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{model_name="%M",engine="0"} $usage
# HELP vllm:lora_requests_info Running stats on lora requests..
# TYPE vllm:lora_requests_info gauge
# HELP vllm:prefix_cache_queries Prefix cache queries, in terms of number of queried tokens.
# TYPE vllm:prefix_cache_queries counter
vllm:prefix_cache_queries_total{model_name="%M",engine="0"} $queries
# HELP vllm:prefix_cache_hits Prefix cache hits, in terms of number of cached tokens..
# TYPE vllm:prefix_cache_hits counter
vllm:prefix_cache_hits_total{model_name="%M",engine="0"} $hits
# HELP vllm:external_prefix_cache_queries External prefix cache queries from KV connector cross-instance cache sharing, in terms of number of queried tokens..
# TYPE vllm:external_prefix_cache_queries counter
vllm:external_prefix_cache_queries_total{model_name="%M",engine="0"} 0
# HELP vllm:prompt_tokens_cached_by_source Prefix-cache hit tokens by the cache tier that supplied them: device (local HBM), host (offloaded to DRAM), disk, p2p (transferred from another vLLM instance) or external_unspecified. Counted at admission; sums to vllm:prefix_cache_hits + vllm:external_prefix_cache_hits..
# TYPE vllm:prompt_tokens_cached_by_source counter
vllm:prompt_tokens_cached_by_source_total{model_name="%M",engine="0",source="host"} 0
vllm:prompt_tokens_cached_by_source_total{model_name="%M",engine="0",source="p2p"} 0
vllm:prompt_tokens_cached_by_source_total{model_name="%M",engine="0",source="disk"} 0
vllm:prompt_tokens_cached_by_source_total{model_name="%M",engine="0",source="external_unspecified"} 0
vllm:prompt_tokens_cached_by_source_total{model_name="%M",engine="0",source="device"} $hits
# HELP vllm:external_prefix_cache_hits External prefix cache hits from KV connector cross-instance cache sharing, in terms of number of cached tokens..
# TYPE vllm:external_prefix_cache_hits counter
vllm:external_prefix_cache_hits_total{model_name="%M",engine="0"} 0
# HELP vllm:spec_decode_num_drafts Number of spec decoding drafts..
# TYPE vllm:spec_decode_num_drafts counter
vllm:spec_decode_num_drafts_total{model_name="%M",engine="0"} 0
# HELP vllm:spec_decode_num_draft_tokens Number of draft tokens..
# TYPE vllm:spec_decode_num_draft_tokens counter
vllm:spec_decode_num_draft_tokens_total{model_name="%M",engine="0"} 0
# HELP vllm:spec_decode_num_accepted_tokens Number of accepted tokens..
# TYPE vllm:spec_decode_num_accepted_tokens counter
vllm:spec_decode_num_accepted_tokens_total{model_name="%M",engine="0"} 0
# HELP vllm:spec_decode_num_accepted_tokens_per_pos Accepted tokens per draft position..
# TYPE vllm:spec_decode_num_accepted_tokens_per_pos counter
# HELP vllm:estimated_flops_per_gpu Estimated number of floating point operations per GPU (for Model Flops Utilization calculations)..
# TYPE vllm:estimated_flops_per_gpu counter
vllm:estimated_flops_per_gpu_total{model_name="%M",engine="0"} 0
# HELP vllm:estimated_read_bytes_per_gpu Estimated number of bytes read from memory per GPU (for Model Flops Utilization calculations)..
# TYPE vllm:estimated_read_bytes_per_gpu counter
vllm:estimated_read_bytes_per_gpu_total{model_name="%M",engine="0"} 0
# HELP vllm:estimated_write_bytes_per_gpu Estimated number of bytes written to memory per GPU (for Model Flops Utilization calculations)..
# TYPE vllm:estimated_write_bytes_per_gpu counter
vllm:estimated_write_bytes_per_gpu_total{model_name="%M",engine="0"} 0
# HELP vllm:kv_block_lifetime_seconds Histogram of KV cache block lifetime from allocation to eviction. Sampled metrics (controlled by --kv-cache-metrics-sample)..
# TYPE vllm:kv_block_lifetime_seconds histogram
0~vllm:kv_block_lifetime_seconds model_name="%M",engine="0" 0.001 0.002 0.005 0.01 0.02 0.05 0.1 0.2 0.5 1.0 2.0 5.0 10.0 20.0 30.0 60.0 120.0 300.0 600.0 1200.0 1800.0
# HELP vllm:kv_block_idle_before_evict_seconds Histogram of idle time before KV cache block eviction. Sampled metrics (controlled by --kv-cache-metrics-sample)..
# TYPE vllm:kv_block_idle_before_evict_seconds histogram
0~vllm:kv_block_idle_before_evict_seconds model_name="%M",engine="0" 0.001 0.002 0.005 0.01 0.02 0.05 0.1 0.2 0.5 1.0 2.0 5.0 10.0 20.0 30.0 60.0 120.0 300.0 600.0 1200.0 1800.0
# HELP vllm:kv_block_reuse_gap_seconds Histogram of time gaps between consecutive KV cache block accesses. Only the most recent accesses are recorded (ring buffer). Sampled metrics (controlled by --kv-cache-metrics-sample)..
# TYPE vllm:kv_block_reuse_gap_seconds histogram
0~vllm:kv_block_reuse_gap_seconds model_name="%M",engine="0" 0.001 0.002 0.005 0.01 0.02 0.05 0.1 0.2 0.5 1.0 2.0 5.0 10.0 20.0 30.0 60.0 120.0 300.0 600.0 1200.0 1800.0
# HELP vllm:mooncake_store_operation_time_seconds Histogram of Mooncake store communication time..
# TYPE vllm:mooncake_store_operation_time_seconds histogram
# HELP vllm:mooncake_store_operation Number of Mooncake store communication operations..
# TYPE vllm:mooncake_store_operation counter
# HELP vllm:mooncake_store_operation_keys Number of Mooncake store keys touched by operations..
# TYPE vllm:mooncake_store_operation_keys counter
# HELP vllm:mooncake_store_operation_bytes Number of bytes transferred by Mooncake store operations..
# TYPE vllm:mooncake_store_operation_bytes counter
# HELP vllm:mooncake_store_operation_failed_keys Number of Mooncake store keys that failed in operations..
# TYPE vllm:mooncake_store_operation_failed_keys counter
# HELP vllm:nixl_xfer_time_seconds Histogram of transfer duration for NIXL KV Cache transfers..
# TYPE vllm:nixl_xfer_time_seconds histogram
0~vllm:nixl_xfer_time_seconds model_name="%M",engine="0" 0.005 0.01 0.025 0.05 0.075 0.1 0.2 0.3 0.5 0.75 1.0 5.0
# HELP vllm:nixl_post_time_seconds Histogram of transfer post time for NIXL KV Cache transfers..
# TYPE vllm:nixl_post_time_seconds histogram
0~vllm:nixl_post_time_seconds model_name="%M",engine="0" 0.001 0.005 0.01 0.025 0.05 0.075 0.1 0.2 0.3 0.5 0.75 1.0 5.0
# HELP vllm:nixl_bytes_transferred Histogram of bytes transferred per NIXL KV Cache transfers..
# TYPE vllm:nixl_bytes_transferred histogram
0~vllm:nixl_bytes_transferred model_name="%M",engine="0" 2048.0 8192.0 32768.0 131072.0 524288.0 2097152.0 8388608.0 33554432.0 134217728.0 536870912.0 2147483648.0 8589934592.0
# HELP vllm:nixl_num_descriptors Histogram of number of descriptors per NIXL KV Cache transfers..
# TYPE vllm:nixl_num_descriptors histogram
0~vllm:nixl_num_descriptors model_name="%M",engine="0" 10.0 20.0 30.0 50.0 75.0 100.0 200.0 400.0 1000.0 2000.0 4000.0 10000.0 20000.0 50000.0
# HELP vllm:nixl_num_failed_transfers Number of failed NIXL KV Cache transfers..
# TYPE vllm:nixl_num_failed_transfers counter
vllm:nixl_num_failed_transfers_total{model_name="%M",engine="0"} 0
# HELP vllm:nixl_num_failed_notifications Number of failed NIXL KV Cache notifications..
# TYPE vllm:nixl_num_failed_notifications counter
vllm:nixl_num_failed_notifications_total{model_name="%M",engine="0"} 0
# HELP vllm:nixl_num_kv_expired_reqs Number of requests that had their KV expire. NOTE: This metric is tracked on the P instance..
# TYPE vllm:nixl_num_kv_expired_reqs counter
vllm:nixl_num_kv_expired_reqs_total{model_name="%M",engine="0"} 0
# HELP vllm:iteration_tokens_total Histogram of computed prompt and generated tokens per nonempty engine output batch..
# TYPE vllm:iteration_tokens_total histogram
?~vllm:iteration_tokens_total model_name="%M",engine="0" iteration
# HELP vllm:num_preemptions Cumulative number of preemption events..
# TYPE vllm:num_preemptions counter
vllm:num_preemptions_total{model_name="%M",engine="0"} $preemptions
# HELP vllm:prompt_tokens Number of prefill tokens processed..
# TYPE vllm:prompt_tokens counter
?vllm:prompt_tokens_total{model_name="%M",engine="0"} $prompt_tokens
# HELP vllm:prompt_tokens_by_source Number of prompt tokens by source..
# TYPE vllm:prompt_tokens_by_source counter
?vllm:prompt_tokens_by_source_total{model_name="%M",engine="0",source="external_kv_transfer"} $zero
?vllm:prompt_tokens_by_source_total{model_name="%M",engine="0",source="local_compute"} $computed
?vllm:prompt_tokens_by_source_total{model_name="%M",engine="0",source="local_cache_hit"} $cached
# HELP vllm:prompt_tokens_cached Number of prompt tokens with prefix cache hits..
# TYPE vllm:prompt_tokens_cached counter
?vllm:prompt_tokens_cached_total{model_name="%M",engine="0"} $cached
# HELP vllm:generation_tokens Number of generation tokens processed..
# TYPE vllm:generation_tokens counter
?vllm:generation_tokens_total{model_name="%M",engine="0"} $output_tokens
# HELP vllm:corrupted_requests Corrupted requests, in terms of total number of requests with NaNs in logits..
# TYPE vllm:corrupted_requests counter
vllm:corrupted_requests_total{model_name="%M",engine="0"} 0
# HELP vllm:request_success Count of successfully processed requests..
# TYPE vllm:request_success counter
?vllm:request_success_total{model_name="%M",engine="0",finished_reason="abort"} $success.abort
?vllm:request_success_total{model_name="%M",engine="0",finished_reason="error"} $success.error
?vllm:request_success_total{model_name="%M",engine="0",finished_reason="length"} $success.length
?vllm:request_success_total{model_name="%M",engine="0",finished_reason="stop"} $success.stop
# HELP vllm:request_prompt_tokens Number of prefill tokens processed..
# TYPE vllm:request_prompt_tokens histogram
?~vllm:request_prompt_tokens model_name="%M",engine="0" prompt
# HELP vllm:request_generation_tokens Number of generation tokens processed..
# TYPE vllm:request_generation_tokens histogram
?~vllm:request_generation_tokens model_name="%M",engine="0" output
# HELP vllm:request_max_num_generation_tokens Histogram of maximum number of requested generation tokens..
# TYPE vllm:request_max_num_generation_tokens histogram
?~vllm:request_max_num_generation_tokens model_name="%M",engine="0" longest
# HELP vllm:request_params_max_tokens Histogram of the max_tokens request parameter..
# TYPE vllm:request_params_max_tokens histogram
?~vllm:request_params_max_tokens model_name="%M",engine="0" max_tokens
# HELP vllm:request_params_n Histogram of the n request parameter..
# TYPE vllm:request_params_n histogram
?~vllm:request_params_n model_name="%M",engine="0" params
# HELP vllm:request_num_preemptions Histogram of the number of times a request was preempted..
# TYPE vllm:request_num_preemptions histogram
?~vllm:request_num_preemptions model_name="%M",engine="0" preempts
# HELP vllm:request_prefill_kv_computed_tokens Histogram of new KV tokens computed during prefill (excluding cached tokens)..
# TYPE vllm:request_prefill_kv_computed_tokens histogram
?~vllm:request_prefill_kv_computed_tokens model_name="%M",engine="0" kv_computed
# HELP vllm:time_to_first_token_seconds Histogram of time to first token in seconds..
# TYPE vllm:time_to_first_token_seconds histogram
?~vllm:time_to_first_token_seconds model_name="%M",engine="0" ttft
# HELP vllm:inter_token_latency_seconds Histogram of inter-token latency in seconds..
# TYPE vllm:inter_token_latency_seconds histogram
?~vllm:inter_token_latency_seconds model_name="%M",engine="0" gaps
# HELP vllm:e2e_request_latency_seconds Histogram of e2e request latency in seconds..
# TYPE vllm:e2e_request_latency_seconds histogram
?~vllm:e2e_request_latency_seconds model_name="%M",engine="0" e2e
# HELP vllm:request_queue_time_seconds Histogram of time spent in WAITING phase for request..
# TYPE vllm:request_queue_time_seconds histogram
?~vllm:request_queue_time_seconds model_name="%M",engine="0" queue
# HELP vllm:request_prefill_time_seconds Histogram of time spent in PREFILL phase for request..
# TYPE vllm:request_prefill_time_seconds histogram
?~vllm:request_prefill_time_seconds model_name="%M",engine="0" prefill
# HELP vllm:request_decode_time_seconds Histogram of time spent in DECODE phase for request..
# TYPE vllm:request_decode_time_seconds histogram
?~vllm:request_decode_time_seconds model_name="%M",engine="0" decode
# HELP vllm:request_inference_time_seconds Histogram of time spent in RUNNING phase for request..
# TYPE vllm:request_inference_time_seconds histogram
?~vllm:request_inference_time_seconds model_name="%M",engine="0" inference
# HELP vllm:request_time_per_output_token_seconds Histogram of time_per_output_token_seconds per request..
# TYPE vllm:request_time_per_output_token_seconds histogram
?~vllm:request_time_per_output_token_seconds model_name="%M",engine="0" tpot
# HELP http_requests Total number of HTTP requests by method, status, and handler..
# TYPE http_requests counter
?http_requests_total{method="POST",status="2xx",handler="%H"} $http.2xx
?http_requests_total{method="POST",status="4xx",handler="%H"} $http.4xx
?http_requests_total{method="POST",status="5xx",handler="%H"} $http.5xx
# HELP http_request_duration_seconds Duration of HTTP requests in seconds grouped by method and handler..
# TYPE http_request_duration_seconds histogram
?~http_request_duration_seconds method="POST",handler="%H" coarse
# HELP http_request_duration_highr_seconds High-resolution duration of HTTP requests in seconds..
# TYPE http_request_duration_highr_seconds histogram
~http_request_duration_highr_seconds - fine
# HELP vllm:rl_weight_update_operation_duration_seconds Duration of one weight-transfer operation..
# TYPE vllm:rl_weight_update_operation_duration_seconds histogram
# HELP vllm:rl_weight_update_operations_in_flight Weight-transfer operations currently awaited..
# TYPE vllm:rl_weight_update_operations_in_flight gauge
# HELP vllm:sleep_mode_operation_duration_seconds Duration of one sleep-mode operation..
# TYPE vllm:sleep_mode_operation_duration_seconds histogram
# HELP vllm:sleep_mode_operations_in_flight Sleep-mode operations currently awaited..
# TYPE vllm:sleep_mode_operations_in_flight gauge
# EOF
`
