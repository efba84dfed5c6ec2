package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/internal/jsonlines"
)

// TestDialectPagesAreRealOnes compares every line of each dialect's page with that of its sample, but for the values; that
// of 0.11.0 with the last page of a recording.
func TestDialectPagesAreRealOnes(t *testing.T) {
	mixed := Mix{{Name: "x", Weight: 1, Prompt: 150, Output: 40, Stop: 0.5}}
	long := Mix{{Name: "x", Weight: 1, Prompt: 150, Output: 40}}
	for name, test := range map[string]struct {
		real   func(t *testing.T) string
		engine Engine
		load   Load
	}{
		"V0": {
			sampleOf("vllm-v0-0.6.6.prom"), Engine{Dialect: V0, Model: "meta-llama/Llama-3.1-8B-Instruct", Blocks: 27895, MaxModelLen: 8192},
			Load{Rate: Constant(4), Mix: mixed},
		},
		"V1 of 0.11.0": {
			lastRecorded("vllm-0.11-day"), Engine{Dialect: V1Old, Model: "demo", MaxSeqs: 16, BlockSize: 128, Blocks: 16384, MaxModelLen: 4096, Handler: "/v1/completions"},
			Load{Rate: Constant(4), Mix: long, Habits: Habits{Bad: 0.1}},
		},
		"Rust": {
			sampleOf("vllm-0.32-rust-live.prom"), Engine{Dialect: Rust, Model: "demo", Handler: "/v1/completions"},
			Load{Rate: Constant(4), Mix: long, Habits: Habits{Bad: 0.1, Cancel: 0.2, CancelAfter: 0.2}},
		},
		"llm-d's simulator": {
			sampleOf("llm-d-inference-sim.prom"), Engine{Dialect: Simulator, Model: "demo/sim-8b", MaxSeqs: 1, Blocks: 256, MaxModelLen: 2048},
			Load{Rate: Constant(4), Mix: mixed},
		},
	} {
		for _, prefix := range []string{"", "ray_vllm_", "kserve_vllm:", "vllm_"} {
			t.Run(name+" "+prefix, func(t *testing.T) {
				e, l := test.engine, test.load
				e.ID, e.Prefix, e.Step = "e", prefix, StepCost{Base: 0.008, Prefill: 1e-5, Sequence: 4e-4}
				l.Engines = []string{"e"}
				real := test.real(t)
				if prefix != "" {
					real = strings.ReplaceAll(real, "vllm:", prefix)
				}
				page, ok := run(t, Config{Start: 1.796e9, Engines: []Engine{e}, Loads: []Load{l}}, 30).Page("e")
				if !ok {
					t.Fatal("no page")
				}
				got, want := strings.Split(masked(string(page)), "\n"), strings.Split(masked(real), "\n")
				for i := range max(len(got), len(want)) {
					if i >= len(got) || i >= len(want) || got[i] != want[i] {
						t.Fatalf("line %d differs:\n got %q\nwant %q", i+1, line(got, i), line(want, i))
					}
				}
			})
		}
	}
}

// sampleOf reads a sample without the comments at its top, which are ours.
func sampleOf(name string) func(*testing.T) string {
	return func(t *testing.T) string {
		raw, err := os.ReadFile("../../testdata/samples/" + name)
		if err != nil {
			t.Fatal(err)
		}
		real := string(raw)
		for strings.HasPrefix(real, "# ") && !strings.HasPrefix(real, "# HELP") {
			_, real, _ = strings.Cut(real, "\n")
		}
		return real
	}
}

// lastRecorded is the last page of a recording.
func lastRecorded(name string) func(*testing.T) string {
	return func(t *testing.T) string {
		var last string
		jsonlines.Each(t, "../../testdata/recordings/"+name+"/recording.jsonl.gz", func(line []byte) {
			if bytes.HasPrefix(line, []byte(`{"body":`)) {
				last = string(line)
			}
		})
		var page struct{ Body string }
		if err := json.Unmarshal([]byte(last), &page); err != nil {
			t.Fatal(err)
		}
		return page.Body
	}
}

// summed is the sum of a name's children on a page, in whatever dialect.
func summed(t *testing.T, w *World, prefix string) (sum float64) {
	t.Helper()
	page, _ := w.Page("e")
	for l := range strings.SplitSeq(string(page), "\n") {
		if strings.HasPrefix(l, prefix) {
			var v float64
			if _, err := fmt.Sscan(l[strings.LastIndexByte(l, ' ')+1:], &v); err != nil {
				t.Fatal(err)
			}
			sum += v
		}
	}
	return sum
}

// TestWhatDialectsCount holds each dialect to what is known of how it counts. Every row is a world of one engine in which
// 40 requests are sent one a second, of 100 tokens in and 20 out; every fourth client leaves after a quarter of a second.
func TestWhatDialectsCount(t *testing.T) {
	for name, c := range map[string]struct {
		engine Engine
		n      int
		want   map[string]float64
	}{
		"Rust counts aborts as finished, and responses when they begin": {Engine{Dialect: Rust}, 1, map[string]float64{
			`vllm:request_success_total{model_name="m",engine="0",finished_reason="abort"}`:  10,
			`vllm:request_success_total{model_name="m",engine="0",finished_reason="length"}`: 30,
			`vllm:e2e_request_latency_seconds_count`:                                         40, `vllm:request_params_n_count`: 40,
			`http_requests_total{method="POST",status="2xx"`: 40, `http_request_duration_seconds_count`: 40,
		}},
		"Rust refuses n > 1": {Engine{Dialect: Rust}, 2, map[string]float64{
			`http_requests_total{method="POST",status="4xx"`: 40, `vllm:e2e_request_latency_seconds_count`: 0,
		}},
		"V0 counts no aborts and nothing of HTTP": {Engine{Dialect: V0}, 1, map[string]float64{
			`vllm:request_success_total`: 30, `vllm:e2e_request_latency_seconds_count`: 30, `http`: 0,
		}},
		"V0 counts a request once in its histograms": {Engine{Dialect: V0}, 2, map[string]float64{
			`vllm:request_success_total`: 60, `vllm:e2e_request_latency_seconds_count`: 30, `vllm:request_params_n_count`: 30,
			`vllm:request_generation_tokens_count`: 60, `vllm:time_to_first_token_seconds_count`: 80,
		}},
		"V1 of 0.11.0 counts no aborts": {Engine{Dialect: V1Old}, 1, map[string]float64{
			`vllm:request_success_total`: 30, `http_requests_total{`: 40, `vllm:time_to_first_token_seconds_count`: 40,
		}},
		"the simulator goes on when the client has gone": {Engine{Dialect: Simulator}, 1, map[string]float64{
			`vllm:request_success_total{finish_reason="length"`: 40, `vllm:time_to_first_token_seconds_count`: 40, `vllm:request_queue_time_seconds_count`: 0,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			e := c.engine
			e.ID, e.Model, e.Step = "e", "m", StepCost{Base: 0.02}
			l := Load{Name: "l", Engines: []string{"e"}}
			for i := range 40 {
				s := Sent{At: 1 + float64(i), Prompt: 100, Output: 20, N: c.n}
				if i%4 == 0 {
					s.CancelAfter = 0.25
				}
				l.Trace = append(l.Trace, s)
			}
			w := run(t, Config{Start: start, Engines: []Engine{e}, Loads: []Load{l}}, 60)
			for series, want := range c.want {
				if got := summed(t, w, series); got != want {
					t.Errorf("%s: %v, want %v", series, got, want)
				}
			}
		})
	}
}

// TestV0CountsFirstTokensAgain: what is computed anew after a preemption has another first token there, and only there.
func TestV0CountsFirstTokensAgain(t *testing.T) {
	for _, d := range []Dialect{V0, V1Old} {
		c := Config{Start: start, Stop: 60, Engines: []Engine{{ID: "e", Model: "m", Dialect: d, Step: StepCost{Base: 0.02}, Blocks: 80, MaxSeqs: 32}}}
		truth := listen(&c)
		c.Loads = []Load{{Engines: []string{"e"}, Rate: Constant(5), Mix: Mix{{Name: "x", Weight: 1, Prompt: 100, Output: 150}}}}
		w := run(t, c, 400)
		again := summed(t, w, "vllm:time_to_first_token_seconds_count") - float64(len(truth.firsts))
		if preempted := summed(t, w, "vllm:num_preemptions_total"); preempted == 0 || again < 0 || again > preempted || (again > 0) != (d == V0) {
			t.Errorf("%s: %v preemptions, %v first tokens beyond %d", d, preempted, again, len(truth.firsts))
		}
	}
}

// TestMistakesOfDialects: what a dialect does not have cannot be asked for.
func TestMistakesOfDialects(t *testing.T) {
	for want, e := range map[string]Engine{
		"has no admission limit: MaxQueued":  {Dialect: V0, MaxQueued: 3},
		"has one rank here: Ranks":           {Dialect: Rust, Ranks: 2},
		"has no torn pages here: Torn":       {Dialect: Simulator, Torn: 0.1},
		"has one kind of page: MultiProcess": {Dialect: V0, MultiProcess: true},
		"no such dialect":                    {Dialect: numDialects},
	} {
		e.ID, e.Model, e.Step = "e", "m", H100
		if _, err := New(Config{Engines: []Engine{e}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	_, err := New(Config{Engines: []Engine{{ID: "e", Model: "m", Dialect: V1Old, Step: H100}}, Loads: []Load{{Name: "l", Engines: []string{"e"}, Rate: Constant(1), Mix: fixed(1, 1), Habits: Habits{Error: 0.1}}}})
	if err == nil || !strings.Contains(err.Error(), `load "l" has sequences that fail`) {
		t.Errorf("%v", err)
	}
}
