package engine

import (
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// A name means one thing, and what merely looks like a needed name means nothing.
func TestNamesAreWhole(t *testing.T) {
	for _, name := range []string{
		"vllm:iteration_tokens_total", "vllm:prompt_tokens", "vllm:prompt_tokens_cached_total",
		"vllm:request_params_n_bucket", "prompt_tokens_total", "vllm:http_requests_total", "vllm:num_requests_waiting_by_reason",
	} {
		if r, is := names.samples[name]; is {
			t.Errorf("%s is read as part %d of %s", name, r.part, names.slots[r.slot].alias.what)
		}
	}
	if r := names.samples["vllm:prompt_tokens_created"]; r.part != partCreated {
		t.Errorf("vllm:prompt_tokens_created is part %d: a time, not a count", r.part)
	}
}

// TPOT counts sequences: no name of a family of token gaps may stand in for it.
func TestTPOTHasNoFallback(t *testing.T) {
	s := decoded(t, []byte(`vllm:time_per_output_token_seconds_bucket{le="+Inf",engine="0",model_name="m"} 1
vllm:time_per_output_token_seconds_sum{engine="0",model_name="m"} 1
vllm:time_per_output_token_seconds_count{engine="0",model_name="m"} 1
`), textPlain)
	r := &s.Ranks[0]
	if r.Histograms[fact.TPOT].Known() || r.Histograms[fact.TokenGap].Count() != 1 || s.Version != ">=0.8.3,<0.15" {
		t.Errorf("tpot %+v, token gap %+v, version %s", r.Histograms[fact.TPOT], r.Histograms[fact.TokenGap], s.Version)
	}
}

// The two front ends are told apart by what they print, whatever a header says.
func TestDialectsAreToldApartByContent(t *testing.T) {
	for name, c := range map[string]struct {
		contentType, page, want string
	}{
		"a Rust page whose type was lost on the way": {"", `# TYPE vllm:prompt_tokens counter
vllm:prompt_tokens_total{model_name="m",engine="0"} 1
`, "vllm-rust"},
		"a Rust page served again as plain text": {textPlain, `# TYPE vllm:prompt_tokens counter
vllm:prompt_tokens_total{model_name="m",engine="0"} 1
# EOF
`, "vllm-rust"},
		"a Python page in OpenMetrics": {openMetricsType, `# TYPE python info
python_info{version="3.12"} 1
# TYPE vllm:prompt_tokens counter
vllm:prompt_tokens_total{engine="0",model_name="m"} 1
# EOF
`, "vllm-v1"},
		"a multi-process Python page in OpenMetrics": {openMetricsType, `# TYPE vllm:prompt_tokens counter
vllm:prompt_tokens_total{engine="0",model_name="m"} 1
# TYPE http_request_size_bytes summary
http_request_size_bytes_count{handler="/v1/completions"} 1
# EOF
`, "vllm-v1"},
		"a Python page": {textPlain, `# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{engine="0",model_name="m"} 1
`, "vllm-v1"},
	} {
		s := decoded(t, []byte(c.page), c.contentType)
		if s.Dialect != c.want {
			t.Errorf("%s: %s, want %s", name, s.Dialect, c.want)
		}
		if rust := c.want == "vllm-rust"; s.Traits != (fact.Traits{AbortsFinish: rust, HTTPAtStart: rust}) {
			t.Errorf("%s: traits %+v", name, s.Traits)
		}
	}
}
