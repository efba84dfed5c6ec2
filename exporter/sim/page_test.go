package sim

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// real engines like those of the samples, with a load that shows both statuses.
var (
	realSingle = Engine{ID: "e", Model: "demo", Step: StepCost{Base: 0.008, Prefill: 1e-5, Sequence: 4e-4}, MaxSeqs: 16, BlockSize: 128, Blocks: 16384, MaxModelLen: 4096, Handler: "/v1/completions"}
	realDouble = Engine{ID: "e", Model: "demo", Step: StepCost{Base: 0.008, Prefill: 1e-5, Sequence: 4e-4}, MaxSeqs: 8, BlockSize: 128, Blocks: 16384, MaxModelLen: 4096, Handler: "/v1/completions", Ranks: 2, MultiProcess: true}
)

func run(t testing.TB, c Config, until float64) *World {
	t.Helper()
	w, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	w.Run(c.Start + until)
	return w
}

// TestPageIsARealOne compares every line of a page with a real engine's, but for the values.
func TestPageIsARealOne(t *testing.T) {
	for name, test := range map[string]struct {
		sample string
		engine Engine
		bad    float64
	}{
		"one API server":                       {"vllm-0.32-live.prom", realSingle, 0.1},
		"two ranks behind several API servers": {"vllm-0.32-dp2-live.prom", realDouble, 0},
	} {
		t.Run(name, func(t *testing.T) {
			raw, err := os.ReadFile("../../testdata/samples/" + test.sample)
			if err != nil {
				t.Fatal(err)
			}
			_, real, _ := strings.Cut(string(raw), "\n") // the first line is ours
			w := run(t, Config{Start: 1.796e9, Engines: []Engine{test.engine}, Loads: []Load{{Engines: []string{"e"}, Rate: Constant(4), Mix: Mix{{Name: "x", Weight: 1, Prompt: 150, Output: 40}}, Habits: Habits{Bad: test.bad}}}}, 30)
			page, ok := w.Page("e")
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

func line(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(the end)"
}

var value = regexp.MustCompile(`(?m)^([^#].*) \S+$`)

// masked hides the values of samples, which are the only thing that may differ.
func masked(page string) string { return value.ReplaceAllString(page, "$1 V") }

// TestCustomBuckets: each list of edges is that of the families that --custom-histogram-buckets gives it to.
func TestCustomBuckets(t *testing.T) {
	e := realSingle
	e.Buckets = Buckets{TTFT: []float64{0.02, 0.2}, Gaps: []float64{0.005, 0.015, 1}, Latency: []float64{0.05}}
	s := read(t, run(t, Config{Start: start, Engines: []Engine{e}}, 1), "e")
	for family, want := range map[string]string{
		"time_to_first_token_seconds": "0.02 0.2 +Inf", "inter_token_latency_seconds": "0.005 0.015 1.0 +Inf", "request_time_per_output_token_seconds": "0.005 0.015 1.0 +Inf",
		"e2e_request_latency_seconds": "0.05 +Inf", "request_queue_time_seconds": "0.05 +Inf", "request_inference_time_seconds": "0.05 +Inf",
		"request_prefill_time_seconds": "0.05 +Inf", "request_decode_time_seconds": "0.05 +Inf", "request_params_n": "1.0 2.0 5.0 10.0 20.0 +Inf",
	} {
		var edges []string
		for _, l := range s.lines["vllm:"+family+"_bucket"] {
			_, le, _ := strings.Cut(l.labels, `le="`)
			le, _, _ = strings.Cut(le, `"`)
			edges = append(edges, le)
		}
		if got := strings.Join(edges, " "); got != want {
			t.Errorf("%s has the edges %s, want %s", family, got, want)
		}
	}
}
