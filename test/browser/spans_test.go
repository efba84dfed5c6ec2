package browser

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/collectors/recording"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// silent is the engine whose spans are left out, so that the pages show both kinds.
const silent = "gpu-1"

// tracedBy are the spans of an engine's laps: what its engine told of each sequence, at the time at which it arrived.
// Every tenth is left out on one engine, as by a sampler.
func tracedBy(t *testing.T, id, tape string, played []fact.Poll) []fact.Span {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "testdata", "recordings", tape, "engine_truth.jsonl.gz"))
	if errors.Is(err, os.ErrNotExist) {
		return nil // an engine without tracing
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	begin := begins(t, tape)
	var shifts []float64 // of each lap
	for i, p := range played {
		if s := p.Sample; s != nil && (i == 0 || played[i-1].Sample == nil || s.ProcessStart != played[i-1].Sample.ProcessStart) {
			shifts = append(shifts, s.ProcessStart-begin)
		}
	}
	origin := &fact.Origin{Engine: id, Peer: "127.0.0.1"}
	var out []fact.Span
	d := json.NewDecoder(unzipped)
	for n := 0; ; n++ {
		var s struct {
			Start, TTFT, E2E, Queue, Prefill, Decode, Received float64
			Prompt                                             int `json:"prompt_tokens"`
			Output                                             int `json:"completion_tokens"`
		}
		if err := d.Decode(&s); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		for lap, shift := range shifts {
			if id == "gpu-3" && n%10 == 0 {
				continue
			}
			out = append(out, fact.Span{
				Request:  fact.Request{End: s.Start + s.E2E + shift, TTFT: s.TTFT, E2E: s.E2E, Queue: s.Queue, Prefill: s.Prefill, Decode: s.Decode, PromptTokens: s.Prompt, OutputTokens: s.Output},
				Received: s.Received + shift, Origin: origin, Trace: [16]byte{byte(n >> 16), byte(n >> 8), byte(n), byte(lap), 1}, ID: [8]byte{1},
			})
		}
	}
}

// begins is when a recording's first page was asked for.
func begins(t *testing.T, tape string) float64 {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "testdata", "recordings", tape, "recording.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	reader, err := recording.NewReader(f, tape)
	if err != nil {
		t.Fatal(err)
	}
	p, err := reader.Next()
	if err != nil {
		t.Fatal(err)
	}
	return p.T
}

// stray is a span that is no engine's.
func stray(now float64) fact.Span {
	return fact.Span{Request: fact.Request{End: now - 60, E2E: 1, TTFT: 0.5}, Received: now - 55, ID: [8]byte{9},
		Origin: &fact.Origin{Peer: "2001:db8::17", PodName: "vllm-7f9c6d5b8-x2x4q", PodNamespace: "production", Engine: "gpu-17"}}
}

// noSpans has none: those of the past hour came with the pages.
type noSpans struct{}

func (noSpans) Drain() []fact.Span { return nil }
