package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/internal/golden"
	"github.com/goodput-exporter/goodput-exporter/internal/jsonlines"
)

// recorded is one line of a recording.
type recorded struct {
	T           float64 `json:"t"`
	Kind        string  `json:"kind"`
	Status      int     `json:"status"`
	ContentType string  `json:"content_type"`
	Body        string  `json:"body"`
}

// recordings are the names of all recordings, sorted.
func recordings(t testing.TB) []string {
	t.Helper()
	dirs, err := filepath.Glob("../../testdata/recordings/*/recording.jsonl.gz")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no recordings found (%v)", err)
	}
	var found []string
	for _, d := range dirs {
		found = append(found, filepath.Base(filepath.Dir(d)))
	}
	return found
}

// pages calls yield with every page of a recording that has one.
func pages(t testing.TB, recording string, yield func(recorded)) {
	t.Helper()
	jsonlines.Each(t, filepath.Join("../../testdata/recordings", recording, "recording.jsonl.gz"), func(line []byte) {
		if bytes.Contains(line, []byte(`"body_base64"`)) {
			return // spans
		}
		r, err := parseRecorded(line)
		if err != nil {
			t.Fatal(err)
		}
		if r.Kind == "engine" && r.Status == 200 {
			yield(r)
		}
	})
}

// parseRecorded reads one line. The body is most of it, comes first and holds only two simple escapes, so it is cut out
// and undone by search, which under the race detector takes a third of the time that JSON takes for it.
func parseRecorded(line []byte) (r recorded, err error) {
	rest, cut := bytes.CutPrefix(line, []byte(`{"body":"`))
	end := bytes.Index(rest, []byte(`","content_type":`))
	if !cut || end < 0 || bytes.Contains(rest[:end], []byte(`\\`)) || bytes.Contains(rest[:end], []byte(`\u`)) {
		return r, json.Unmarshal(line, &r)
	}
	body := bytes.ReplaceAll(rest[:end], []byte(`\n`), []byte("\n"))
	err = json.Unmarshal(append([]byte("{"), rest[end+2:]...), &r)
	r.Body = string(bytes.ReplaceAll(body, []byte(`\"`), []byte(`"`)))
	return r, err
}

// sample reads a page of testdata/samples with the media type that its file name stands for.
func sample(t testing.TB, name string) (body []byte, contentType string) {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("../../testdata/samples", name+".prom"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(name, "rust") {
		return body, "application/openmetrics-text; version=1.0.0; charset=utf-8"
	}
	return body, "text/plain; version=1.0.0; charset=utf-8"
}

// samplesRead are the names of all samples, sorted.
func samplesRead(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("../../testdata/samples/*.prom")
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples found (%v)", err)
	}
	var found []string
	for _, f := range files {
		found = append(found, strings.TrimSuffix(filepath.Base(f), ".prom"))
	}
	return found
}

func TestGoldenSamples(t *testing.T) {
	for _, name := range samplesRead(t) {
		t.Run(name, func(t *testing.T) {
			body, contentType := sample(t, name)
			golden.Compare(t, "testdata/sample-"+name+".json", render(t, decoded(t, body, contentType)))
		})
	}
}

func decoded(t testing.TB, body []byte, contentType string) *fact.EngineSample {
	t.Helper()
	s, err := Decode(body, contentType)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// render writes a sample as JSON with one line for each thing; layouts, which repeat, are numbered.
func render(t *testing.T, s *fact.EngineSample) []byte {
	t.Helper()
	compact := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(strings.ReplaceAll(string(b), `\u003e`, ">"), `\u003c`, "<")
	}
	var layouts []string
	number := func(edges []float64) int {
		text := compact(edges)
		for i, l := range layouts {
			if l == text {
				return i
			}
		}
		layouts = append(layouts, text)
		return len(layouts) - 1
	}
	optional := func(n fact.Number) any {
		if !n.Known {
			return nil
		}
		return n.V
	}
	var b bytes.Buffer
	line := func(indent, key, value string) { fmt.Fprintf(&b, ",\n%s%q:%s", indent, key, value) }
	fmt.Fprintf(&b, "{%q:%s", "dialect", compact(s.Dialect))
	line("", "version", compact(s.Version))
	line("", "traits", compact(s.Traits))
	line("", "process_start", compact(s.ProcessStart))
	line("", "disaggregated", compact(s.Disaggregated))
	line("", "http", compact(s.HTTP))
	line("", "http_known", compact(s.HTTPKnown))
	line("", "admission", compact(optional(s.Admission)))
	line("", "missing", compact(s.Missing))
	line("", "warnings", compact(s.Warnings))
	line("", "series", compact(s.Series))
	line("", "bytes", compact(s.Bytes))
	fmt.Fprintf(&b, ",\n%q:[", "ranks")
	for i, r := range s.Ranks {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, "\n{%q:%s", "name", compact(r.Name))
		line(" ", "model", compact(r.Model))
		line(" ", "created", compact(r.Created))
		line(" ", "sleep", compact(r.Sleep))
		line(" ", "finished", compact(r.Finished))
		line(" ", "requests", compact(optional(r.Requests)))
		line(" ", "tokens", compact([]any{optional(r.PromptTokens), optional(r.OutputTokens)}))
		line(" ", "preemptions", compact(optional(r.Preemptions)))
		line(" ", "running_waiting_kv", compact([]any{optional(r.Running), optional(r.Waiting), optional(r.KVUsage)}))
		for f, h := range r.Histograms {
			if h.Known() {
				line(" ", fact.Family(f).String(), compact(map[string]any{"layout": number(h.Edges), "counts": h.Counts, "sum": h.Sum}))
			}
		}
		b.WriteString("}")
	}
	fmt.Fprintf(&b, "],\n%q:[\n%s]}\n", "layouts", strings.Join(layouts, ",\n"))
	if !json.Valid(b.Bytes()) {
		t.Fatalf("not JSON:\n%s", b.String())
	}
	return b.Bytes()
}
