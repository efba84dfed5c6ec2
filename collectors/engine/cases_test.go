package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
)

const (
	textPlain       = "text/plain; version=0.0.4; charset=utf-8"
	openMetricsType = "application/openmetrics-text; version=1.0.0; charset=utf-8"
)

// want is what a page must say, as far as a case is about it.
type want struct {
	dialect  string
	running  float64 // added over ranks
	waiting  float64
	kv       []float64 // rank by rank
	finished uint64    // over ranks and reasons
	prompts  float64
	model    string
	warnings int
	created  float64
}

// The cases are pages on which other programs of the field went wrong; their ids and threads are in the comments of the
// rows.
var cases = map[string]struct {
	contentType string
	page        string
	want        want
}{
	// PAR-01, gpustack/gpustack#6215: a classic parser reads these counters as untyped and reports zero.
	"an OpenMetrics page gives up its counters": {openMetricsType, `# TYPE vllm:prompt_tokens counter
vllm:prompt_tokens_total{engine="0",model_name="acme-8b"} 1200
# TYPE vllm:request_success counter
vllm:request_success_total{engine="0",finished_reason="stop",model_name="acme-8b"} 40
# EOF`, want{dialect: "vllm-rust", finished: 40, prompts: 1200}},
	"the same counters on a classic page are the same numbers": {textPlain, `# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{engine="0",model_name="acme-8b"} 1200
# TYPE vllm:request_success_total counter
vllm:request_success_total{engine="0",finished_reason="stop",model_name="acme-8b"} 40
`, want{dialect: "vllm-v1", finished: 40, prompts: 1200}},

	// PAR-03, gpustack/gpustack#6218: a creation time was added to a count.
	"a creation time in OpenMetrics is no sample of its counter": {openMetricsType, `# TYPE vllm:request_success counter
vllm:request_success_total{engine="0",finished_reason="stop",model_name="acme-8b"} 12
vllm:request_success_created{engine="0",finished_reason="stop",model_name="acme-8b"} 1.79e+09
# EOF
`, want{dialect: "vllm-rust", finished: 12, created: 1.79e9}},
	"the same without ranks": {openMetricsType, `# TYPE vllm:request_success counter
vllm:request_success_total{finished_reason="stop",model_name="acme-8b"} 12
vllm:request_success_created{finished_reason="stop",model_name="acme-8b"} 1.79e+09
# EOF
`, want{dialect: "vllm-v0", finished: 12, created: 1.79e9}},
	"a creation time in a gauge family of its own is no sample of its counter": {textPlain, `# TYPE vllm:request_success_total counter
vllm:request_success_total{engine="0",finished_reason="stop",model_name="acme-8b"} 12
# TYPE vllm:request_success_created gauge
vllm:request_success_created{engine="0",finished_reason="stop",model_name="acme-8b"} 1.79e+09
`, want{dialect: "vllm-v1", finished: 12, created: 1.79e9}},
	"the creation time of the first-token histogram goes before that of others": {textPlain, `vllm:prompt_tokens_total{engine="0",model_name="m"} 1
vllm:prompt_tokens_created{engine="0",model_name="m"} 100
vllm:time_to_first_token_seconds_created{engine="0",model_name="m"} 200
vllm:request_success_created{engine="0",finished_reason="stop",model_name="m"} 300
`, want{dialect: "vllm-v1", prompts: 1, created: 200}},

	// PAR-07, prometheus/common#355: Prometheus reads this, expfmt does not.
	"a second TYPE line is forgiven and told": {textPlain, `# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="acme-8b"} 2
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="1",model_name="acme-8b"} 5
`, want{dialect: "vllm-v1", waiting: 7, warnings: 1}},
	"a second HELP line is forgiven and told": {textPlain, `# HELP vllm:num_requests_waiting a
# HELP vllm:num_requests_waiting b
vllm:num_requests_waiting{engine="1",model_name="acme-8b"} 5
`, want{dialect: "vllm-v1", waiting: 5, warnings: 1}},

	// PAR-09, prometheus/common#488: a type that is not classic, of a family that nobody needs.
	"a type that the format does not have harms no other family": {textPlain, `# TYPE vllm:cache_config info
vllm:cache_config_info{block_size="16",engine="0"} 1
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="acme-8b"} 4
`, want{dialect: "vllm-v1", running: 4, warnings: 1}},
	"a needed family of another type is read and told": {textPlain, `# TYPE vllm:num_requests_running untyped
vllm:num_requests_running{engine="0",model_name="acme-8b"} 4
`, want{dialect: "vllm-v1", running: 4, warnings: 1}},

	// PAR-11, llm-d-incubation/py-inference-scheduler#28: served model names are free text.
	"a model name may hold braces, commas, quotes and hashes": {textPlain,
		`vllm:num_requests_running{engine="0",model_name="lab/q}4, \"beta\" # 2"} 4` + "\n",
		want{dialect: "vllm-v1", running: 4, model: `lab/q}4, "beta" # 2`}},
	"a model name may hold a line feed and backslashes": {textPlain,
		`vllm:num_requests_running{model_name="a\\\\b\nc\\",engine="0"} 4` + "\n",
		want{dialect: "vllm-v1", running: 4, model: "a\\\\b\nc\\"}},

	// MRG-01, kubernetes-sigs/gateway-api-inference-extension#2950: one rank was taken for all.
	"every rank of a data parallel engine is kept apart": {textPlain, `vllm:num_requests_running{engine="0",model_name="acme-8b"} 3
vllm:num_requests_running{engine="1",model_name="acme-8b"} 9
vllm:kv_cache_usage_perc{engine="0",model_name="acme-8b"} 0.20
vllm:kv_cache_usage_perc{engine="1",model_name="acme-8b"} 0.90
`, want{dialect: "vllm-v1", running: 12, kv: []float64{0.2, 0.9}}},

	// MRG-05, vllm-project/vllm#28792: one series for each API server, and nothing says which is the newest.
	"of a share of memory that differs in pid the largest is told, and that it may be old": {textPlain, `vllm:kv_cache_usage_perc{engine="0",model_name="acme-8b",pid="271"} 0.0
vllm:kv_cache_usage_perc{engine="0",model_name="acme-8b",pid="272"} 0.0
vllm:kv_cache_usage_perc{engine="0",model_name="acme-8b",pid="273"} 0.65
vllm:kv_cache_usage_perc{engine="0",model_name="acme-8b",pid="274"} 0.0
`, want{dialect: "vllm-v1", kv: []float64{0.65}, warnings: 1}},
	"a number of sequences that differs in pid is unknown": {textPlain, `vllm:num_requests_running{engine="0",model_name="m",pid="271"} 3
vllm:num_requests_running{engine="0",model_name="m",pid="272"} 5
vllm:num_requests_waiting{engine="0",model_name="m",pid="271"} 2
vllm:num_requests_waiting{engine="0",model_name="m",pid="272"} 2
`, want{dialect: "vllm-v1", waiting: 2, warnings: 1}},
	"a pid without a number does not hide the one that has it": {textPlain, `vllm:kv_cache_usage_perc{engine="0",model_name="acme-8b",pid="271"} NaN
vllm:kv_cache_usage_perc{engine="0",model_name="acme-8b",pid="273"} 0.65
vllm:kv_cache_usage_perc{engine="0",model_name="acme-8b",pid="274"} NaN
`, want{dialect: "vllm-v1", kv: []float64{0.65}, warnings: 1}},

	// MRG-09, vllm-project/vllm#13303: a gauge whose value is a time, of which no number is made here.
	"adapter information is passed over": {textPlain, `vllm:lora_requests_info{max_lora="2",running_lora_adapters="",waiting_lora_adapters=""} 1790000000
vllm:lora_requests_info{max_lora="2",running_lora_adapters="fr,de",waiting_lora_adapters="es"} 1790000030
vllm:num_requests_running{engine="0",model_name="m"} 4
`, want{dialect: "vllm-v1", running: 4}},

	"the old name of the KV cache's usage is read where it is the only one": {textPlain,
		"vllm:gpu_cache_usage_perc{engine=\"0\",model_name=\"m\"} 0.5\n", want{dialect: "vllm-v1", kv: []float64{0.5}}},
	"the new name of the KV cache's usage goes before the old, wherever it stands": {textPlain,
		"vllm:gpu_cache_usage_perc{engine=\"0\",model_name=\"m\"} 0.5\nvllm:kv_cache_usage_perc{engine=\"0\",model_name=\"m\"} 0.25\n",
		want{dialect: "vllm-v1", kv: []float64{0.25}}},

	"names are whole: what begins alike is not counted": {textPlain, `vllm:prompt_tokens_total{engine="0",model_name="m"} 7
vllm:prompt_tokens_cached_total{engine="0",model_name="m"} 1000
vllm:prompt_tokens_by_source_total{engine="0",model_name="m",source="local_compute"} 1000
vllm:prompt_tokens_recomputed_total{engine="0",model_name="m"} 1000
vllm:iteration_tokens_total_count{engine="0",model_name="m"} 1000
vllm:iteration_tokens_total_created{engine="0",model_name="m"} 1.79e+09
`, want{dialect: "vllm-v1", prompts: 7}},

	"blanks, timestamps, blank lines and plain comments are as the format has them": {textPlain, `
# a comment
  # TYPE vllm:num_requests_running gauge
vllm:num_requests_running { engine = "0" , model_name = "m" , } 3e+000 1700000000000

	vllm:num_requests_waiting{engine="0",model_name="m"}	1e+010
`, want{dialect: "vllm-v1", running: 3, waiting: 1e10}},
	"exemplars and timestamps of OpenMetrics are passed over": {openMetricsType, `# TYPE vllm:prompt_tokens counter
vllm:prompt_tokens_total{engine="0",model_name="m"} 5 1700000000.25 # {trace_id="a}b\"c"} 0.5 1.5
vllm:generation_tokens_total{engine="0",model_name="m"} 6 # {} 1
# EOF
`, want{dialect: "vllm-rust", prompts: 5}},
	"names in quotes are read like others": {textPlain, `{"dotted.name",a="b"} 1
{"dotted.name","a.b"="c"} 1
{"vllm:num_requests_running",engine="0",model_name="m"} 4
{"engine"="1","vllm:num_requests_running",model_name="m"} 2
`, want{dialect: "vllm-v1", running: 6}},
}

func TestCases(t *testing.T) {
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s, err := Decode([]byte(c.page), c.contentType)
			if err != nil {
				t.Fatal(err)
			}
			got := want{dialect: s.Dialect, warnings: len(s.Warnings), created: s.Ranks[0].Created, model: s.Ranks[0].Model}
			for _, r := range s.Ranks {
				got.running += r.Running.V
				got.waiting += r.Waiting.V
				got.finished += r.Sequences()
				got.prompts += r.PromptTokens.V
				if r.KVUsage.Known {
					got.kv = append(got.kv, r.KVUsage.V)
				}
			}
			if c.want.model == "" {
				got.model = ""
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("got  %+v\nwant %+v\nwarnings %q", got, c.want, s.Warnings)
			}
			if c.contentType == openMetricsType && !strings.HasSuffix(c.page, "\n") {
				if all, err := openMetricsReading([]byte(c.page)); err != nil {
					t.Errorf("expfmt: %v", err)
				} else if diff := disagreement(s, all); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// PAR-05, sensu/sensu-go#5166: the parser that this reader replaced could panic. A bug in this one costs the page only.
func TestAPanicCostsOnePage(t *testing.T) {
	s, err := guard(func() (*fact.EngineSample, *Error) { panic("index out of range") })
	if s != nil || ReasonOf(err) != fact.ReasonParse || !strings.Contains(err.Error(), "index out of range") {
		t.Errorf("got %v, %v", s, err)
	}
	// A decoder that was left in any state reads the next page.
	body, contentType := sample(t, "vllm-0.32-live")
	d := NewDecoder()
	for cut := range 60 {
		_, _ = d.Decode(body[:len(body)-701*cut], contentType)
	}
	again, decodeErr := d.Decode(body, contentType)
	if decodeErr != nil {
		t.Fatal(decodeErr)
	}
	if got, fresh := render(t, again), render(t, decoded(t, body, contentType)); string(got) != string(fresh) {
		t.Errorf("a used decoder reads\n%s\na fresh one\n%s", got, fresh)
	}
}

// histogramPage is a page with one histogram, in the order of multi-process Python.
func histogramPage(lines ...string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString("vllm:time_to_first_token_seconds_" + l + "\n")
	}
	return b.String()
}

const only = `engine="0",model_name="m"`

// MRG-07, prometheus/prometheus#14485: servers write the same bound differently, and some in another order.
func TestBoundsAreNumbers(t *testing.T) {
	python := histogramPage(`sum{`+only+`} 1.5`,
		`bucket{le="0.5",`+only+`} 1.0`, `bucket{le="1.0",`+only+`} 4.0`, `bucket{le="10.0",`+only+`} 6.0`, `bucket{le="+Inf",`+only+`} 8.0`,
		`count{`+only+`} 8.0`)
	goes := histogramPage(`count{`+only+`} 16`,
		`bucket{`+only+`,le="+Inf"} 16`, `bucket{`+only+`,le="1e+01"} 12`, `bucket{`+only+`,le="1"} 6`, `bucket{`+only+`,le="5e-01"} 2`,
		`sum{`+only+`} 3`)
	d := NewDecoder()
	var got [2]hist.Histogram
	for i, page := range []string{python, goes} {
		s, err := d.Decode([]byte(page), textPlain)
		if err != nil {
			t.Fatal(err)
		}
		got[i] = s.Ranks[0].Histograms[fact.TTFT]
	}
	a, b := got[0], got[1]
	if !slices.Equal(a.Edges, []float64{0.5, 1, 10}) || &a.Edges[0] != &b.Edges[0] {
		t.Errorf("layouts %v and %v must be one slice", a.Edges, b.Edges)
	}
	if !slices.Equal(a.Counts, []uint64{1, 3, 2, 2}) || !slices.Equal(b.Counts, []uint64{2, 4, 6, 4}) || a.Sum != 1.5 || b.Sum != 3 {
		t.Errorf("got %+v and %+v", a, b)
	}
	a.Accumulate(b)
	if lower, upper := a.CountAtMost(1); lower != 10 || upper != 10 || a.Count() != 24 {
		t.Errorf("%d to %d of %d at most 1, want 10 of 24", lower, upper, a.Count())
	}
}

func TestEqualLayoutsOfAPageShareOneSlice(t *testing.T) {
	body, contentType := sample(t, "vllm-0.32-dp2-live")
	s := decoded(t, body, contentType)
	distinct := map[*float64]bool{}
	for _, r := range s.Ranks {
		for _, h := range r.Histograms {
			distinct[&h.Edges[0]] = true
		}
	}
	if len(distinct) != 4 {
		t.Errorf("%d slices for the 4 layouts of the page", len(distinct))
	}
}

// The sample outlives the page's buffer, which the fetcher uses again.
func TestASampleKeepsNothingOfThePage(t *testing.T) {
	body, contentType := sample(t, "vllm-0.32-dp2-live")
	body = slices.Clone(body)
	s := decoded(t, body, contentType)
	before := string(render(t, s))
	for i := range body {
		body[i] = '#'
	}
	if after := string(render(t, s)); after != before {
		t.Errorf("the sample changed with the buffer:\n%s", after)
	}
}

func TestHTTPStatusesAreGrouped(t *testing.T) {
	s := decoded(t, []byte(`vllm:num_requests_running{engine="0",model_name="m"} 1
http_requests_total{handler="/v1/completions",method="POST",status="200"} 5
http_requests_total{handler="/v1/completions",method="POST",status="201"} 2
http_requests_total{handler="/v1/completions",method="POST",status="2xx"} 1
http_requests_total{handler="/v1/completions",method="POST",status="503"} 3
http_requests_total{handler="/v1/chat/completions",method="POST",status="4xx"} 4
`), textPlain)
	want := []fact.HTTPCount{
		{Handler: "/v1/chat/completions", Method: "POST", Class: "4xx", Count: 4},
		{Handler: "/v1/completions", Method: "POST", Class: "2xx", Count: 8},
		{Handler: "/v1/completions", Method: "POST", Class: "5xx", Count: 3},
	}
	if !slices.Equal(s.HTTP, want) {
		t.Errorf("got %+v, want %+v", s.HTTP, want)
	}
}

// The counters of admission refusals have no rank label; they are added over models and reasons.
func TestRefusalsAreAddedOverTheirReasons(t *testing.T) {
	page := `vllm:num_requests_running{engine="0",model_name="m"} 1
vllm:admission_rejections_total{model_name="m",reason="max_num_queued_reqs"} 134
vllm:admission_rejections_total{model_name="m",reason="max_num_queued_tokens"} 16
`
	if s := decoded(t, []byte(page), textPlain); s.Admission != fact.Known(150) || len(s.Ranks) != 1 {
		t.Errorf("admission %+v of %d ranks, want 150 of 1", s.Admission, len(s.Ranks))
	}
}

// L5: what a family that is announced has not counted yet is 0, what is not announced is unknown, and a gauge without a
// number is unknown.
func TestUnknownIsNotZero(t *testing.T) {
	s := decoded(t, []byte(`# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} -nan
vllm:num_requests_waiting{engine="0",model_name="m"} +Inf
vllm:kv_cache_usage_perc{engine="0",model_name="m"} NaN
# TYPE vllm:request_params_n histogram
# TYPE http_requests counter
# TYPE vllm:time_to_first_token_seconds histogram
`), textPlain)
	r := s.Ranks[0]
	if r.Running.Known || r.Waiting.Known || r.KVUsage.Known {
		t.Errorf("gauges %+v %+v %+v, want all unknown", r.Running, r.Waiting, r.KVUsage)
	}
	if len(s.Warnings) != 1 || s.Warnings[0] != "line 2: a gauge of NaN is unknown (3 of this kind)" {
		t.Errorf("warnings %q", s.Warnings)
	}
	if r.Requests != fact.Known(0) || !s.HTTPKnown || len(s.HTTP) != 0 {
		t.Errorf("requests %+v, http known %t: announced families have counted 0", r.Requests, s.HTTPKnown)
	}
	if r.PromptTokens.Known || r.Preemptions.Known || s.Admission.Known || r.Histograms[fact.TTFT].Known() || r.Histograms[fact.E2E].Known() {
		t.Errorf("known without evidence: %+v %+v", r, s.Admission)
	}
	var missing []string
	for _, m := range s.Missing {
		missing = append(missing, m.Field)
		if m.Cost == "" {
			t.Errorf("no cost for %s", m.Field)
		}
	}
	want := "tpot e2e queue prefill decode inference token_gap prompt_tokens output_tokens finish_reasons prompt_tokens_count output_tokens_count preemptions admission_rejections process_start created"
	if got := strings.Join(missing, " "); got != want {
		t.Errorf("missing %q\nwant    %q", got, want)
	}
}
