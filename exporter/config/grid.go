package config

import "github.com/goodput-exporter/goodput-exporter/exporter/fact"

// defaultEdges are vLLM's own upper bounds since 0.8.4 (vllm/v1/metrics/buckets.py), so that an engine that was not
// configured otherwise is re-exported without loss. Seconds; tokens for the two lengths. The engine's token edges end
// at its max_model_len, which differs between models: the grid goes to a million.
func defaultEdges(f fact.Family) []float64 {
	switch f {
	case fact.TTFT:
		return []float64{
			0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560,
		}
	case fact.TPOT, fact.TokenGap:
		return []float64{0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	case fact.E2E, fact.Queue, fact.Prefill, fact.Decode, fact.Inference:
		return []float64{0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
	case fact.PromptTokens, fact.OutputTokens:
		return []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6}
	}
	return nil
}
