package engine

import (
	"os"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/internal/golden"
)

// A page put together from SGLang's definitions: another engine is another column of the table.
func TestSGLang(t *testing.T) {
	body, err := os.ReadFile("testdata/sglang.prom")
	if err != nil {
		t.Fatal(err)
	}
	s := decoded(t, body, textPlain)
	golden.Compare(t, "testdata/sglang.json", render(t, s))
	if len(s.Ranks) != 1 || s.Dialect != "sglang" || s.Version != "" {
		t.Fatalf("%d ranks of %s %q", len(s.Ranks), s.Dialect, s.Version)
	}
	r := &s.Ranks[0]
	if r.Running.V != 3 || r.Waiting.V != 1 || r.KVUsage.V != 0.02 {
		t.Errorf("running %v, waiting %v, KV usage %v: two schedulers add up, their fullest cache counts", r.Running, r.Waiting, r.KVUsage)
	}
	if r.Histograms[fact.TTFT].Count() != 43 || r.Histograms[fact.E2E].Count() != 40 || r.Histograms[fact.Queue].Known() || len(r.Finished) != 0 {
		t.Errorf("first tokens %d, finished %d, queue %t, reasons %v", r.Histograms[fact.TTFT].Count(), r.Histograms[fact.E2E].Count(), r.Histograms[fact.Queue].Known(), r.Finished)
	}
	if _, err := Decode([]byte(strings.ReplaceAll(string(body), "sglang:", "sglang_")), textPlain); err != nil {
		t.Errorf("with the colon rewritten: %v", err)
	}
}

// Whatever stands before a name, the numbers are the same.
func TestPrefixes(t *testing.T) {
	for _, name := range []string{"vllm-0.32-live", "vllm-0.32-dp2-live", "vllm-0.32-rust-live", "vllm-v0-0.6.6"} {
		body, contentType := sample(t, name)
		want := decoded(t, body, contentType)
		for _, prefix := range prefixes[vllm][1:] {
			got := decoded(t, []byte(strings.ReplaceAll(string(body), "vllm:", prefix)), contentType)
			got.Bytes = want.Bytes
			if string(render(t, got)) != string(render(t, want)) {
				t.Errorf("%s with %s: %s, %d ranks", name, prefix, got.Dialect, len(got.Ranks))
			}
		}
	}
}

// What tells a dialect, and what its pages say in other ways.
func TestWhatAPageSays(t *testing.T) {
	for what, c := range map[string]struct {
		page, dialect string
		version       string
		check         func(*fact.EngineSample) bool
	}{
		"the V0 engine's swapped sequences wait": {
			`vllm:num_requests_waiting{model_name="m"} 2
vllm:num_requests_swapped{model_name="m"} 3
`, "vllm-v0", ">=0.6,<0.9.1", func(s *fact.EngineSample) bool { return s.Ranks[0].Waiting.V == 5 && s.Ranks[0].Name == "" }},
		"the V1 engine before it had ranks": {
			`vllm:num_requests_waiting{model_name="m"} 2
vllm:gpu_prefix_cache_queries_total{model_name="m"} 3
`, "vllm-v1-early", ">=0.7.3,<0.8.3", func(s *fact.EngineSample) bool { return !s.Traits.RequestHistograms }},
		"a simulator without its own names, by those that V0 does not have": {
			`vllm:kv_cache_usage_perc{model_name="m"} 0.25
`, "llm-d-inference-sim", "", func(s *fact.EngineSample) bool { return s.Ranks[0].KVUsage.V == 0.25 && s.Traits.Unjudged != "" }},
		"each replica of a Ray page is a rank": {
			`ray_vllm_num_requests_running{ReplicaId="x1",WorkerId="w",engine="0",model_name="m"} 2
ray_vllm_num_requests_running{ReplicaId="x2",WorkerId="v",engine="0",model_name="m"} 3
`, "vllm-ray", ">=0.11", func(s *fact.EngineSample) bool {
				return len(s.Ranks) == 2 && s.Ranks[0].Name == "x1/0" && s.Ranks[1].Name == "x2/0" && s.Ranks[1].Running.V == 3
			}},
		"a scheduler that was put to sleep": {
			`vllm:engine_sleep_state{engine="0",model_name="m",sleep_state="awake"} 0
vllm:engine_sleep_state{engine="0",model_name="m",sleep_state="weights_offloaded"} 1
vllm:engine_sleep_state{engine="0",model_name="m",sleep_state="discard_all"} 0
`, "vllm-v1", ">=0.11.1", func(s *fact.EngineSample) bool { return s.Ranks[0].Sleep == "weights_offloaded" }},
		"prompts that another engine computed, by their source": {
			`vllm:prompt_tokens_by_source_total{engine="0",model_name="m",source="local_compute"} 5
vllm:prompt_tokens_by_source_total{engine="0",model_name="m",source="external_kv_transfer"} 7
`, "vllm-v1", ">=0.16", func(s *fact.EngineSample) bool { return strings.Contains(s.Disaggregated, "external_kv_transfer") }},
		"prompts out of the host's memory are this engine's own": {
			`vllm:prompt_tokens_by_source_total{engine="0",model_name="m",source="external_kv_transfer"} 7
vllm:prompt_tokens_cached_by_source_total{engine="0",model_name="m",source="host"} 7
vllm:prompt_tokens_cached_by_source_total{engine="0",model_name="m",source="p2p"} 0
`, "vllm-v1", ">=0.31", func(s *fact.EngineSample) bool { return s.Disaggregated == "" }},
		"prompts out of another engine's memory are not": {
			`vllm:prompt_tokens_cached_by_source_total{engine="0",model_name="m",source="p2p"} 1
`, "vllm-v1", ">=0.31", func(s *fact.EngineSample) bool { return strings.Contains(s.Disaggregated, "p2p") }},
		"transfers of a connector": {
			`vllm:nixl_xfer_time_seconds_count{engine="0",model_name="m"} 1
`, "vllm-v1", ">=0.11.1", func(s *fact.EngineSample) bool { return strings.Contains(s.Disaggregated, "nixl") }},
		"a connector that has only handed over": {
			`vllm:nixl_xfer_time_seconds_count{engine="0",model_name="m"} 0
`, "vllm-v1", ">=0.11.1", func(s *fact.EngineSample) bool { return strings.Contains(s.Disaggregated, "nixl") }},
		"the Rust front end has a connector's families without a connector": {
			`# TYPE vllm:prompt_tokens counter
vllm:nixl_xfer_time_seconds_count{model_name="m",engine="0"} 0
`, "vllm-rust", ">=0.22", func(s *fact.EngineSample) bool { return s.Disaggregated == "" }},
	} {
		s := decoded(t, []byte(c.page), textPlain)
		if s.Dialect != c.dialect || s.Version != c.version || !c.check(s) {
			t.Errorf("%s: %s %s: %+v", what, s.Dialect, s.Version, s)
		}
	}
}
