package spans

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/internal/jsonlines"
)

const recordings = "../../testdata/recordings"

// lines reads those gzipped JSON lines that hold a text.
func lines[T any](t testing.TB, path, text string) (out []T) {
	t.Helper()
	jsonlines.Each(t, filepath.Join(recordings, path), func(line []byte) {
		if !bytes.Contains(line, []byte(text)) {
			return // most of a recording are pages, which take long to read
		}
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	})
	return out
}

// recorded are the messages that a real engine sent in a recording.
func recorded(t testing.TB, name string) (out []Message) {
	t.Helper()
	type line struct {
		Kind, Peer, Path string
		T                float64
		ContentType      string `json:"content_type"`
		ContentEncoding  string `json:"content_encoding"`
		Body             []byte `json:"body_base64"`
	}
	for _, l := range lines[line](t, name+"/recording.jsonl.gz", `"spans"`) {
		if l.Kind == "spans" {
			out = append(out, Message{l.Peer, l.Path, l.ContentType, l.ContentEncoding, l.Body, l.T})
		}
	}
	return out
}

// truth is what was read from the spans when they were recorded, by another reader.
type truth struct {
	ID                                       string
	Start, TTFT, E2E, Queue, Prefill, Decode float64
	Prompt                                   int `json:"prompt_tokens"`
	Completion                               int `json:"completion_tokens"`
	Received                                 float64
}

// What a recording must hold: sequences that finished, and processes that sent their spans. Other recordings hold none.
var recordedSpans = map[string]struct{ requests, processes int }{
	"vllm-0.11-day":     {1431, 1},
	"vllm-0.32-buckets": {1903, 1},
	"vllm-0.32-day":     {2668, 1},
	"vllm-0.32-dp2":     {788, 2},
	"vllm-0.32-kv":      {1677, 1},
	"vllm-0.32-restart": {427, 2},
	"vllm-0.32-spec":    {244, 1},
}

func TestEveryRecordedMessage(t *testing.T) {
	dirs, err := os.ReadDir(recordings)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		name := dir.Name()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, some := recordedSpans[name]
			messages := recorded(t, name)
			if some != (len(messages) > 0) {
				t.Fatalf("%d messages; the table must say what is in them", len(messages))
			}
			if !some {
				return
			}
			d := NewDecoder([]string{"llm_request"}, nil, 16<<20)
			var got []fact.Span
			var other, others uint64
			origins := map[*fact.Origin]bool{}
			for i, m := range messages {
				b, err := d.Decode(m)
				if err != nil || len(b.Refused) > 0 {
					t.Fatalf("message %d: %v, refused %+v", i, err, b.Refused)
				}
				other += b.Other
				others += strangers(t, m.Body)
				got = append(got, b.Spans...)
			}
			all := lines[truth](t, name+"/engine_truth.jsonl.gz", "")
			if len(got) != want.requests || len(all) != want.requests || other != others || name == "vllm-0.11-day" && other != 5127 {
				t.Fatalf("%d requests of %d, %d of %d others; want %+v", len(got), len(all), other, others, want)
			}
			slices.SortFunc(got, func(a, b fact.Span) int {
				return cmp.Or(strings.Compare(a.Call, b.Call), cmp.Compare(a.E2E, b.E2E), cmp.Compare(a.Decode, b.Decode))
			})
			slices.SortFunc(all, func(a, b truth) int {
				return cmp.Or(strings.Compare(a.ID, b.ID), cmp.Compare(a.E2E, b.E2E), cmp.Compare(a.Decode, b.Decode))
			})
			for i := range got {
				s, w := &got[i], &all[i]
				read := truth{s.Call, w.Start, s.TTFT, s.E2E, s.Queue, s.Prefill, s.Decode, s.PromptTokens, s.OutputTokens, s.Received}
				if read != *w || math.Abs(s.Start()-w.Start) > 2e-6 || s.Trace == [16]byte{} || s.ID == [8]byte{} {
					t.Fatalf("span %d: got %+v, want %+v", i, s, w)
				}
				origins[s.Origin] = true
				if o := s.Origin; o.Peer != "127.0.0.1" || o.Instance == "" || o.Engine != "" {
					t.Fatalf("span %d: origin %+v", i, o)
				}
			}
			if len(origins) != want.processes {
				t.Errorf("%d origins, want %d processes", len(origins), want.processes)
			}
		})
	}
}

// strangers counts, by the official types, the spans that stand for no request.
func strangers(t *testing.T, body []byte) (n uint64) {
	var data tracepb.TracesData
	if err := proto.Unmarshal(body, &data); err != nil {
		t.Fatal(err)
	}
	for _, r := range data.ResourceSpans {
		for _, s := range r.ScopeSpans {
			for _, span := range s.Spans {
				if span.Name != "llm_request" {
					n++
				}
			}
		}
	}
	return n
}
