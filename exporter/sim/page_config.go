package sim

import (
	"fmt"
	"math"
)

// cacheConfig adds what the engine says of its KV cache.
func (p *page) cacheConfig() {
	c := &p.e.config
	tokens := c.Blocks * c.BlockSize
	p.declare(cacheConfigFamily)
	for _, r := range p.e.ranks {
		if c.Dialect == V1Old {
			p.literal(fmt.Sprintf(oldCacheConfig, c.BlockSize, pythonBool(!c.NoPrefixCache), r.index, c.Blocks*c.Ranks) + " 1.0\n")
			continue
		}
		p.literal(fmt.Sprintf(cacheConfig, c.BlockSize, c.BlockSize, pythonBool(!c.NoPrefixCache), r.index,
			appendValue(nil, math.Round(float64(tokens)/float64(c.MaxModelLen)*100)/100), tokens, c.Blocks*c.Ranks) + " 1.0\n")
	}
}

func pythonBool(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// cacheConfig are the labels of vllm:cache_config_info: block size twice, prefix caching, rank, concurrency at the
// longest length, tokens, blocks.
const cacheConfig = `vllm:cache_config_info{_block_size_resolved="True",block_size="%d",cache_dtype="auto",cache_hit_alignment_tokens="None",` +
	`effective_attention_block_size="%d",enable_mamba_shared_prefix_checkpoint="False",enable_prefix_caching="%s",engine="%d",` +
	`gpu_memory_utilization="0.92",hash_block_size="None",is_attention_free="False",kv_cache_dtype_skip_layers="[]",kv_cache_layout="None",` +
	`kv_cache_max_concurrency="%s",kv_cache_memory_bytes="1073741824",kv_cache_size_tokens="%d",kv_offloading_backend="native",` +
	`kv_offloading_size="None",kv_sharing_fast_prefill="False",mamba_block_size="None",mamba_cache_dtype="auto",mamba_cache_mode="none",` +
	`mamba_page_size_padded="None",mamba_ssm_cache_dtype="auto",num_cpu_blocks="None",num_gpu_blocks="%d",num_gpu_blocks_override="None",` +
	`prefix_cache_retention_interval="0",prefix_caching_hash_algo="sha256",prefix_match_unit="None",replayssm_buffer_len="16",` +
	`skip_page_size_padded="None",sliding_window="None",swa_bounded_replay="True",use_kda_recoverssm="False",use_replayssm="False",` +
	`user_specified_block_size="False"}`
