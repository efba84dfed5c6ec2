package config

import (
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// TestDefaultEdgesAreThoseOfARealEngine reads the edges off a page of vLLM 0.32.0.
func TestDefaultEdgesAreThoseOfARealEngine(t *testing.T) {
	page := string(readFile(t, "../../testdata/samples/vllm-0.32-live.prom"))
	for f, name := range map[fact.Family]string{
		fact.TTFT: "time_to_first_token_seconds", fact.TPOT: "request_time_per_output_token_seconds", fact.E2E: "e2e_request_latency_seconds",
		fact.Queue: "request_queue_time_seconds", fact.Prefill: "request_prefill_time_seconds", fact.Decode: "request_decode_time_seconds",
		fact.Inference: "request_inference_time_seconds", fact.TokenGap: "inter_token_latency_seconds",
		fact.PromptTokens: "request_prompt_tokens", fact.OutputTokens: "request_generation_tokens",
	} {
		var edges []float64
		for _, m := range regexp.MustCompile(`(?m)^vllm:`+name+`_bucket\{.*le="([0-9.e+]+)"`).FindAllStringSubmatch(page, -1) {
			v, err := strconv.ParseFloat(m[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			edges = append(edges, v)
		}
		want := defaultEdges(f)
		if f == fact.PromptTokens || f == fact.OutputTokens {
			want = want[:min(len(edges), len(want))] // the page ends at the model's longest sequence
		}
		if len(edges) == 0 || !slices.Equal(edges, want) {
			t.Errorf("%s: the page has %v, the default is %v", f, edges, want)
		}
	}
}

func TestGridsHoldTheThresholdsOfAllObjectives(t *testing.T) {
	c, err := Parse([]byte(`
slos:
  - {name: chat, clauses: {ttft: 300ms, tpot: 25ms}, objective: 0.95}
  - {name: slow, clauses: {ttft: 1s, e2e: 61s}, objective: 0.95}
engines: {targets: [{id: a, url: "http://h"}]}
grid: {ttft: [0.1, 1], queue: [7]}
`), "f")
	if err != nil {
		t.Fatal(err)
	}
	grids := c.Grids()
	for f, want := range map[fact.Family][]float64{
		fact.TTFT: {0.1, 0.3, 1}, fact.Queue: {7}, fact.TPOT: defaultEdges(fact.TPOT), fact.TokenGap: defaultEdges(fact.TokenGap),
		fact.E2E: {0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 61, 120, 240, 480, 960, 1920, 7680},
	} {
		if !slices.Equal(grids[f], want) {
			t.Errorf("%s: %v, want %v", f, grids[f], want)
		}
	}
	if len(c.Grid[fact.TTFT]) != 2 {
		t.Error("the configuration was written to")
	}
}
