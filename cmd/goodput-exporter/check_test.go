package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/internal/golden"
)

// checked is what a person sees: the output, and the error that ends the program.
func checked(configFile, source string) (string, error) {
	var out bytes.Buffer
	err := runCheck(context.Background(), configFile, source, &out, io.Discard)
	if err != nil {
		fmt.Fprintf(&out, "error: %v\n", err)
	}
	return out.String(), err
}

func compareCheck(t *testing.T, name, got string) {
	t.Helper()
	golden.Compare(t, "testdata/check/"+name+".txt", []byte(got))
	if strings.Contains(got, "hunter2") {
		t.Error("a secret is shown")
	}
}

func TestCheckSaysWhatAnEngineCanAnswer(t *testing.T) {
	const samples, recordings = "../../testdata/samples/", "../../testdata/recordings/"
	for name, c := range map[string]struct {
		config, source string
		fails          bool
	}{
		"effective":       {"goodput", "", false},
		"wrong-config":    {"wrong", "", true},
		"idle-keys":       {"idle", "", false},
		"spans":           {"spans", "", false},
		"spans-0.32":      {"spans", samples + "vllm-0.32-live.prom", false},
		"spans-buckets":   {"spans", recordings + "vllm-0.32-buckets/recording.jsonl.gz", false},
		"spans-v0":        {"spans", samples + "vllm-v0-0.6.6.prom", true},
		"no-such-source":  {"chat", "nowhere.prom", true},
		"no-such-file":    {"chat", "nowhere.jsonl.gz", true},
		"covers-nothing":  {"elsewhere", samples + "vllm-0.32-live.prom", true},
		"chat-0.32":       {"chat", samples + "vllm-0.32-live.prom", false},
		"chat-0.32-dp2":   {"chat", samples + "vllm-0.32-dp2-live.prom", false},
		"chat-rust":       {"chat", samples + "vllm-0.32-rust-live.prom", false},
		"chat-0.11":       {"chat", samples + "vllm-v1-0.11.prom", false},
		"chat-v0":         {"chat", samples + "vllm-v0-0.6.6.prom", true},
		"all-0.32":        {"goodput", samples + "vllm-0.32-live.prom", true},
		"all-buckets":     {"goodput", recordings + "vllm-0.32-buckets/recording.jsonl.gz", true},
		"fine-0.11":       {"fine", samples + "vllm-v1-0.11.prom", true},
		"fine-simulator":  {"fine", samples + "llm-d-inference-sim.prom", true},
		"fine-v0":         {"fine", samples + "vllm-v0-0.6.6.prom", true},
		"fine-sglang":     {"fine", "../../collectors/engine/testdata/sglang.prom", true},
		"fine-buckets":    {"fine", recordings + "vllm-0.32-buckets/recording.jsonl.gz", false},
		"simulator":       {"chat", samples + "llm-d-inference-sim.prom", true},
		"only-failures":   {"chat", "testdata/check/only-failures.jsonl", true},
		"not-a-page":      {"chat", "testdata/check/chat.yaml", true},
		"not-a-recording": {"chat", "testdata/check/not-a-recording.jsonl", true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := checked("testdata/check/"+c.config+".yaml", c.source)
			if (err != nil) != c.fails {
				t.Errorf("error %v, want one: %v", err, c.fails)
			}
			compareCheck(t, name, got)
		})
	}
}

// TestCheckedEffectiveConfigurationIsAConfiguration feeds what check prints to the parser.
func TestCheckedEffectiveConfigurationIsAConfiguration(t *testing.T) {
	out, err := checked("testdata/check/goodput.yaml", "")
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse([]byte(out), "printed")
	if err != nil {
		t.Fatal(err)
	}
	want := string(c.YAML()) + "\n# testdata/check/goodput.yaml is valid: 4 objectives, 2 engines.\n"
	if got := strings.ReplaceAll(out, " # user, password and query are not shown", ""); got != want {
		t.Errorf("printed\n%s\nreads as\n%s", got, want)
	}
}

// TestCheckTellsRanksApart gives the second rank of a page another layout than the first.
func TestCheckTellsRanksApart(t *testing.T) {
	page, err := os.ReadFile("../../testdata/samples/vllm-0.32-dp2-live.prom")
	if err != nil {
		t.Fatal(err)
	}
	page = regexp.MustCompile(`(?m)^vllm:time_to_first_token_seconds_bucket\{engine="1".*le="0\.25".*\n`).ReplaceAll(page, nil)
	path := filepath.Join(t.TempDir(), "page.prom")
	if err := os.WriteFile(path, page, 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := checked("testdata/check/chat.yaml", path)
	if err == nil {
		t.Error("no error")
	}
	compareCheck(t, "ranks-differ", strings.ReplaceAll(got, path, "PAGE"))
}

// TestCheckReadsTheLastGoodPageOfEachTarget records two engines of different layouts, one of which then goes away.
func TestCheckReadsTheLastGoodPageOfEachTarget(t *testing.T) {
	read := func(name string) string {
		b, err := os.ReadFile("../../testdata/samples/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	good := read("vllm-0.32-live.prom")
	coarse := regexp.MustCompile(`(?m)^.*le="0\.25".*\n`).ReplaceAllString(good, "")
	var lines bytes.Buffer
	enc := json.NewEncoder(&lines)
	for i, p := range []struct{ target, body, err string }{
		{"engine-1", good, ""}, {"engine-0", good, ""}, {"engine-1", coarse, ""}, {"engine-0", good[:len(good)/2], ""}, {"engine-1", "", "connection refused"},
	} {
		line := map[string]any{"t": 1000 + i, "kind": "engine", "target": p.target, "took": 0.01}
		if p.err != "" {
			line["error"] = p.err
		} else {
			line["status"], line["content_type"], line["body"] = 200, "text/plain", p.body
		}
		if err := enc.Encode(line); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "two.jsonl")
	if err := os.WriteFile(path, lines.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := checked("testdata/check/chat.yaml", path)
	if err == nil {
		t.Error("no error")
	}
	compareCheck(t, "two-engines", strings.ReplaceAll(got, path, "RECORDING"))
}

// TestSuggestedEdgesMakeEveryThresholdAnEdge gives a page the buckets that check suggests, and checks it again.
func TestSuggestedEdgesMakeEveryThresholdAnEdge(t *testing.T) {
	const source = "../../testdata/samples/vllm-0.32-live.prom"
	out, err := checked("testdata/check/goodput.yaml", source)
	if err == nil {
		t.Fatal("every objective can be answered already")
	}
	flagged := regexp.MustCompile(`--custom-histogram-buckets '(.*)'`).FindStringSubmatch(out)
	if flagged == nil {
		t.Fatalf("no suggestion in\n%s", out)
	}
	var edges map[string][]float64
	if err := json.Unmarshal([]byte(flagged[1]), &edges); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	families := map[string][]string{
		"time_to_first_token": {"vllm:time_to_first_token_seconds"},
		"inter_token_latency": {"vllm:request_time_per_output_token_seconds", "vllm:inter_token_latency_seconds"},
		"request_latency": {
			"vllm:e2e_request_latency_seconds", "vllm:request_queue_time_seconds", "vllm:request_prefill_time_seconds",
			"vllm:request_decode_time_seconds", "vllm:request_inference_time_seconds",
		},
	}
	for option, names := range families {
		for _, name := range names {
			page = rebucket(page, name, edges[option])
		}
	}
	path := filepath.Join(t.TempDir(), "page.prom")
	if err := os.WriteFile(path, page, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := checked("testdata/check/goodput.yaml", path); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// rebucket replaces a family's finite buckets by empty ones at other edges.
func rebucket(page []byte, family string, edges []float64) []byte {
	var out bytes.Buffer
	for line := range strings.SplitAfterSeq(string(page), "\n") {
		if !strings.HasPrefix(line, family+"_bucket{") {
			out.WriteString(line)
			continue
		}
		if !strings.Contains(line, `le="+Inf"`) {
			continue
		}
		for _, e := range edges {
			labels, _, _ := strings.Cut(line, `le="+Inf"`)
			_, rest, _ := strings.Cut(line, `le="+Inf"`)
			rest = rest[:strings.LastIndexByte(rest, ' ')]
			fmt.Fprintf(&out, "%sle=\"%v\"%s 0.0\n", labels, e, rest)
		}
		out.WriteString(line)
	}
	return out.Bytes()
}

// TestCheckPollsALiveEngine asks a page over HTTP: one without the TPOT histogram, as before 0.11, for a configured
// target with a password.
func TestCheckPollsALiveEngine(t *testing.T) {
	page, err := os.ReadFile("../../testdata/samples/vllm-v1-0.11.prom")
	if err != nil {
		t.Fatal(err)
	}
	page = regexp.MustCompile(`(?m)^.*vllm:request_time_per_output_token_seconds.*\n`).ReplaceAll(page, nil)
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != "hunter2" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(page)
	}))
	defer engine.Close()
	host := strings.TrimPrefix(engine.URL, "http://")
	text := fmt.Sprintf(`
slos: [{name: chat, match: {engine: engine-0}, clauses: {ttft: 250ms, tpot: 25ms}, objective: 0.95}]
engines: {targets: [{id: engine-0, url: "http://user:hunter2@%s"}]}
`, host)
	file := filepath.Join(t.TempDir(), "goodput.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, source := range map[string]string{
		"live":                engine.URL,
		"live-wrong-password": "http://user:hunter22@" + host + "/metrics",
		"live-wrong-url":      "http://user:hunter2@" + host + ":1/metrics",
	} {
		t.Run(name, func(t *testing.T) {
			got, err := checked(file, source)
			if err == nil {
				t.Error("no error")
			}
			compareCheck(t, name, strings.ReplaceAll(got, host, "ENGINE"))
		})
	}
}

func TestCheckStopsWhenTold(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := runCheck(ctx, "testdata/check/chat.yaml", "../../testdata/recordings/vllm-0.32-day/recording.jsonl.gz", &bytes.Buffer{}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "check stopped") {
		t.Errorf("got %v", err)
	}
}
