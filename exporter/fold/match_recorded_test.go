package fold

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/internal/jsonlines"
)

// recordedSpans are the origins of the llm_request spans of a recorded engine, in the order in which they came, and how
// many processes sent them.
func recordedSpans(t *testing.T, name string) (spans []fact.Span, processes int) {
	t.Helper()
	instances := map[string]bool{}
	jsonlines.Each(t, filepath.Join("..", "..", "testdata", "recordings", name, "recording.jsonl.gz"), func(line []byte) {
		if !bytes.Contains(line, []byte(`"body_base64"`)) {
			return // a page
		}
		var message struct {
			T    float64
			Peer string
			Body []byte `json:"body_base64"`
		}
		if err := json.Unmarshal(line, &message); err != nil {
			t.Fatal(err)
		}
		var data tracev1.TracesData
		if err := proto.Unmarshal(message.Body, &data); err != nil {
			t.Fatal(err)
		}
		for _, r := range data.ResourceSpans {
			o := &fact.Origin{Peer: message.Peer, Engine: attributeText(r.Resource.Attributes, "goodput.engine"), Instance: attributeText(r.Resource.Attributes, "service.instance.id")}
			for _, scope := range r.ScopeSpans {
				for _, s := range scope.Spans {
					if s.Name == "llm_request" {
						span := spanOf(len(spans)+1, message.T, o)
						spans = append(spans, span)
						instances[o.Instance] = true
					}
				}
			}
		}
	})
	return spans, len(instances)
}

func attributeText(attributes []*commonv1.KeyValue, key string) string {
	for _, a := range attributes {
		if a.Key == key {
			return a.Value.GetStringValue()
		}
	}
	return ""
}

// TestSpansOfRealEnginesAreMatched: real vLLM names itself in no way, so its spans can be told by their address, or because
// there is one target; beside a second engine on the same host they cannot.
func TestSpansOfRealEnginesAreMatched(t *testing.T) {
	const page = "http://127.0.0.1:8000/metrics"
	for name, processes := range map[string]int{
		"vllm-0.11-day": 1, "vllm-0.32-buckets": 1, "vllm-0.32-day": 1, "vllm-0.32-dp2": 2, "vllm-0.32-kv": 1, "vllm-0.32-restart": 2, "vllm-0.32-spec": 1,
	} {
		t.Run(name, func(t *testing.T) {
			spans, seen := recordedSpans(t, name)
			finished := 0
			jsonlines.Each(t, filepath.Join("..", "..", "testdata", "recordings", name, "engine_truth.jsonl.gz"), func([]byte) { finished++ })
			equal(t, "spans, one for each finished sequence,", len(spans), finished)
			equal(t, "processes", seen, processes)
			for what, c := range map[string]struct {
				targets []fact.Target
				how     string // or why
			}{
				"the only target, at no known address": {[]fact.Target{at("engine-0", "")}, ByOnly},
				"the only target, at the address":      {[]fact.Target{at("engine-0", page)}, ByAddress},
				"a target elsewhere too":               {[]fact.Target{at("engine-0", page), two[0]}, ByAddress},
				"a target on another port too":         {[]fact.Target{at("engine-0", page), at("engine-1", "http://localhost:8001/metrics")}, UnmatchedAmbiguous},
				"targets elsewhere":                    {two, UnmatchedNothing},
				"no target":                            {nil, UnmatchedNoTarget},
			} {
				s := listener()
				for i := range spans {
					s.arrive(spans[i].Received, c.targets, spans[i])
				}
				got := s.publishUnmatched().Counts
				if s.engines["engine-0"] != nil {
					got = append(got, s.spans("engine-0", 0).Matched...)
				}
				if len(got) != 1 || got[0] != (Tally{c.how, uint64(finished)}) {
					t.Errorf("%s: %v, want %d by %q", what, got, finished, c.how)
				}
			}
		})
	}
}
