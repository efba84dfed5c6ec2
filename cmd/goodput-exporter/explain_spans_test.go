package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/collectors/recording"
	"github.com/goodput-exporter/goodput-exporter/internal/golden"
)

// unmatchedRecording is a recording of two engines whose spans say nothing of which is whose, with every other fault that
// messages may have.
func unmatchedRecording(t *testing.T) string {
	t.Helper()
	pages, err := readRecording(t, recordingPath("vllm-0.32-spec"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "unmatched.jsonl.gz")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w, err := recording.NewWriter(file)
	if err != nil {
		t.Fatal(err)
	}
	write := func(e recording.Entry) {
		if err := w.WriteEntry(e); err != nil {
			t.Fatal(err)
		}
	}
	for i, p := range pages {
		a, b := p, p
		a.Target, b.Target = "a", "b"
		write(recording.Entry{Page: &a})
		write(recording.Entry{Page: &b})
		at := p.T + p.Took
		message := func(peer, contentType string, body []byte) {
			write(recording.Entry{Message: &recording.Message{T: at, Peer: peer, Path: "/v1/traces", ContentType: contentType, Body: body}})
		}
		const protobuf = "application/x-protobuf"
		switch i {
		case 5:
			message("10.0.0.7", protobuf, exportOf(t, map[string]string{"goodput.engine": "gone", "service.name": "vllm"}, sentSpan{id: 1, end: at - 1}, sentSpan{id: 2, end: at - 2}))
		case 6:
			message("10.0.0.8", protobuf, exportOf(t, map[string]string{"service.instance.id": "i-1"},
				sentSpan{id: 3, end: at - 1}, sentSpan{id: 4, end: at - 30}, sentSpan{id: 5, end: at - 3}, sentSpan{id: 6, end: at, name: "Load model"},
				sentSpan{id: 7, end: at, also: map[string]any{"gen_ai.latency.time_in_queue": -5.0}}))
		case 7:
			message("10.0.0.9", protobuf, []byte("no protobuf"))
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestExplainSpans(t *testing.T) {
	computes(t)
	config := writeFile(t, "w.yaml", chatConfig+"spans: {listen: \"127.0.0.1:4318\"}\n")
	unmatched := unmatchedRecording(t)
	for name, o := range map[string]explainOptions{
		"day":            {Source: recordingPath("vllm-0.32-day")},
		"foreign":        {Source: recordingPath("vllm-0.11-day")},
		"two-servers":    {Source: recordingPath("vllm-0.32-dp2")},
		"unmatched":      {Source: unmatched},
		"unmatched-json": {Source: unmatched, JSON: true},
		"pages-only":     {Source: recordingPath("vllm-0.32-rust")},
	} {
		t.Run(name, func(t *testing.T) {
			o.ConfigFile, o.Spans = config, true
			var out bytes.Buffer
			if err := runExplain(t.Context(), o, &out); err != nil {
				t.Fatal(err)
			}
			got := strings.ReplaceAll(out.String(), unmatched, "unmatched.jsonl.gz")
			golden.Compare(t, "testdata/explain/spans-"+name+".txt", []byte(got))
		})
	}
}

// TestExplainSpansWithoutTakingThem says that the exporter would not, and what would come of them.
func TestExplainSpansWithoutTakingThem(t *testing.T) {
	var out bytes.Buffer
	err := runExplain(t.Context(), explainOptions{ConfigFile: writeFile(t, "w.yaml", chatConfig), Source: recordingPath("vllm-0.32-spec"), Spans: true}, &out)
	if err != nil || !strings.Contains(out.String(), "neither spans.listen nor spans.grpc_listen") || !strings.Contains(out.String(), "exact") {
		t.Errorf("%v: %s", err, out.String())
	}
}

func TestExplainSpansFaults(t *testing.T) {
	config := writeFile(t, "w.yaml", chatConfig)
	for name, c := range map[string]struct{ source, want string }{
		"an engine's page":       {"http://user:hunter2@127.0.0.1:8000/metrics", "explain --spans http://127.0.0.1:8000/metrics: spans are explained from a recording"},
		"a saved page":           {"page.prom", "make one with record while spans.listen is set"},
		"no such recording":      {"nowhere.jsonl.gz", "nowhere.jsonl.gz"},
		"a recording of nothing": {writeFile(t, "empty.jsonl", `{"kind":"header","version":1}`), "the recordings hold no engine page"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := runExplain(t.Context(), explainOptions{ConfigFile: config, Source: c.source, Spans: true}, &out)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
		})
	}
}

// TestExplainForeignPod: nobody is told to name a target in a pod that is none.
func TestExplainForeignPod(t *testing.T) {
	var out bytes.Buffer
	x := &explainer{out: &out}
	x.resources(&explainedSpans{
		Engines:   []explainedEngineSpans{{Engine: "a"}, {Engine: "b"}},
		Resources: []explainedResource{{PodName: "vllm-0", PodNamespace: "other", Peer: "10.0.0.7", Requests: 3, Why: "pod", Meaning: "no target is of its pod"}},
	})
	for _, want := range []string{"its pod is no target here", "pod_name: \"vllm-0\"", "pod_namespace: \"other\"", "let it send its spans there"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "goodput.engine=") || strings.Contains(out.String(), "pod_uid") {
		t.Errorf("it offers the names of targets:\n%s", out.String())
	}
}

// TestExplainClasses lists what each class is promised, and not only the SLO's own clauses: a class may ask
// for what the SLO itself does not.
func TestExplainClasses(t *testing.T) {
	config := writeFile(t, "c.yaml", `slos:
  - name: chat
    objective: 0.95
    clauses: {ttft: 500ms}
    classes: {by: prompt_tokens, list: [{name: short, at_most: 100, clauses: {ttft: 250ms}}, {name: long, clauses: {ttft: 300ms, tpot: 50ms}}]}
spans: {listen: 127.0.0.1:4318}
`)
	var out bytes.Buffer
	if err := runExplain(t.Context(), explainOptions{ConfigFile: config, Source: recordingPath("vllm-0.32-spec")}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"ttft <= 250ms, of class short: an edge of the engine's histogram", "refused, of class long: ttft <= 300ms: the threshold lies inside a bucket",
		"tpot <= 50ms, of class long: an edge", "over tpot ",
		"of which class a request is only its span says", "so histograms alone give no interval, or a wider one",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "ttft <= 500ms") {
		t.Errorf("no request is promised 500ms:\n%s", out.String())
	}
}
