package engine

import (
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

func TestAliasTableIsComplete(t *testing.T) {
	rows := map[field]bool{}
	whats := map[string]bool{}
	for _, a := range aliases {
		if rows[a.field] || whats[a.what] {
			t.Errorf("%s has two rows", a.what)
		}
		rows[a.field], whats[a.what] = true, true
		if a.cost == "" || len(a.names) == 0 {
			t.Errorf("%s has no cost or no name", a.what)
		}
		if a.field < field(fact.NumFamilies) && (a.what != fact.Family(a.field).String() || a.kind != histogram) {
			t.Errorf("row %s is for family %s", a.what, fact.Family(a.field))
		}
		for _, s := range a.names {
			if s.source == "" {
				t.Errorf("%s: %s has no source", a.what, s.name)
			}
			if s.gone != "" && !older(s.first, s.gone) {
				t.Errorf("%s: %s went in %s before it came in %s", a.what, s.name, s.gone, s.first)
			}
		}
	}
	for f := range numFields {
		if !rows[f] {
			t.Errorf("field %d has no row", f)
		}
	}
	if numFields >= 64 {
		t.Error("the set of absent fields no longer fits a word")
	}
}

// Two names must never mean the same sample, or one would hide the other.
func TestNamesAreUnambiguous(t *testing.T) {
	seen := map[string]string{}
	for _, a := range aliases {
		for _, s := range a.names {
			if other, is := seen[s.name]; is {
				t.Errorf("%s is a name of %s and of %s", s.name, a.what, other)
			}
			seen[s.name] = a.what
		}
	}
	if _, is := names.samples["vllm:iteration_tokens_total"]; is {
		t.Error("vllm:iteration_tokens_total is a histogram, not a counter of ours")
	}
	for name, r := range names.samples {
		if r.part != partPython && (r.slot < 0 || r.slot >= len(names.slots)) {
			t.Errorf("%s has slot %d", name, r.slot)
		}
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

func TestVersions(t *testing.T) {
	v1, rust := &dialects[1], &dialects[0]
	for name, c := range map[string]struct {
		dialect *dialect
		present []spelling
		want    string
	}{
		"nothing that dates":                        {v1, nil, ">=0.8.3"},
		"the youngest name decides":                 {v1, []spelling{{first: "0.11"}, {first: "0.9.2"}}, ">=0.11"},
		"0.30 is younger than 0.9.2":                {v1, []spelling{{first: "0.9.2"}, {first: "0.30"}}, ">=0.30"},
		"the first name that went decides":          {v1, []spelling{{first: "0.11"}, {gone: "0.15"}, {gone: "0.12"}}, ">=0.11,<0.12"},
		"a hidden name switched on again":           {v1, []spelling{{first: "0.13"}, {gone: "0.12"}}, ">=0.13"},
		"a dialect is not older than its first":     {rust, []spelling{{first: "0.11"}}, ">=0.22"},
		"a patch release is younger than its minor": {v1, []spelling{{first: "0.11"}, {first: "0.11.1"}}, ">=0.11.1"},
	} {
		if got := versions(c.dialect, c.present); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
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
