package spans

import (
	"math"
	"reflect"
	"testing"
	"unicode/utf8"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// FuzzDecode holds what any bytes must keep in either encoding, gzipped or not: no panic, the body unchanged, a batch
// or an error, no span that breaks what every span must keep, the same answer from a used decoder, and the spans that
// the official types count in what they can read.
func FuzzDecode(f *testing.F) {
	// The shortest messages of an engine, with start-up spans and requests: long seeds only make the search slow.
	for _, m := range recorded(f, "vllm-0.32-spec") {
		var data tracepb.TracesData
		if err := proto.Unmarshal(m.Body, &data); err != nil {
			f.Fatal(err)
		}
		if len(m.Body) < 4000 {
			f.Add(m.Body, byte(0))
			f.Add(otlpJSON(f, &data), byte(1))
			f.Add(zipped(f, m.Body), byte(2))
		}
	}
	small := export(with{"goodput.engine": "a", "tier": "gold"}, request(0), other(), request(1, with{"gen_ai.latency.e2e": -1.0, "tier": "x"}))
	f.Add(wire(f, small), byte(0))
	f.Add(otlpJSON(f, small), byte(1))
	f.Add(zipped(f, otlpJSON(f, small)), byte(3))
	f.Add(jsonSpans(`{"name":"llm_request","startTimeUnixNano":"1e3","attributes":[{"key":"k","value":{"doubleValue":"NaN"}}]}`), byte(1))
	used := decoder("tier", "service.name")
	f.Fuzz(func(t *testing.T, body []byte, kind byte) {
		m := protobuf(body)
		if kind&1 != 0 {
			m.ContentType = "application/json"
		}
		if kind&2 != 0 {
			m.ContentEncoding = "gzip"
		}
		before := append([]byte(nil), body...)
		// Not Decode, which turns a panic into a refusal.
		d := NewDecoder([]string{"llm_request"}, []string{"tier", "service.name"}, 16<<20)
		b, err := d.read(m)
		if !reflect.DeepEqual(append([]byte(nil), body...), before) {
			t.Fatal("the body was changed")
		}
		again, errAgain := used.read(m)
		if !reflect.DeepEqual(again, b) || !reflect.DeepEqual(errAgain, err) {
			t.Errorf("a used decoder reads %+v, %v; a fresh one %+v, %v", again, errAgain, b, err)
		}
		if err != nil {
			if err.Outcome != TooLarge && err.Outcome != Malformed || err.Detail == "" || !utf8.ValidString(err.Detail) || len(err.Detail) > 500 {
				t.Errorf("refused with %+v", err)
			}
			return
		}
		for i := range b.Spans {
			lawful(t, &b.Spans[i])
		}
		var data tracepb.TracesData
		if kind&3 == 0 && proto.Unmarshal(body, &data) == nil {
			sameAsOfficial(t, d, &data)
		}
	})
}

// lawful checks what every span keeps, whatever was sent.
func lawful(t *testing.T, s *fact.Span) {
	t.Helper()
	for _, v := range []float64{s.TTFT, s.E2E, s.Queue, s.Prefill, s.Decode} {
		if !(v >= 0) || v > s.E2E+slack {
			t.Fatalf("a duration of %v in %+v", v, s.Request)
		}
	}
	if math.Abs(s.Start()-testReceived) > maxAway+1e-5 || s.PromptTokens < 0 || s.OutputTokens < 0 || s.PromptTokens > maxTokens || s.OutputTokens > maxTokens {
		t.Fatalf("%+v", s.Request)
	}
	if s.Trace == [16]byte{} || s.ID == [8]byte{} || len(s.Call) > maxCall || len(s.Attributes) > 2 || s.Origin == nil {
		t.Fatalf("%+v", s)
	}
	texts := []string{s.Call}
	for _, a := range s.Attributes {
		if a.Value == "" || len(a.Value) > maxValue {
			t.Fatalf("attribute %+v", a)
		}
		texts = append(texts, a.Value)
	}
	for _, x := range []string{s.Origin.Engine, s.Origin.PodUID, s.Origin.PodName, s.Origin.PodNamespace, s.Origin.Instance} {
		if len(x) > maxOrigin {
			t.Fatalf("origin of %d bytes", len(x))
		}
		texts = append(texts, x)
	}
	for _, x := range texts {
		if !utf8.ValidString(x) {
			t.Fatalf("%q is not UTF-8", x)
		}
	}
}

// sameAsOfficial writes a message as the official types do, without fields that come twice, and counts its spans and
// reads its ids with them.
func sameAsOfficial(t *testing.T, d *Decoder, data *tracepb.TracesData) {
	t.Helper()
	b, err := d.read(protobuf(wire(t, data)))
	if err != nil {
		if err.Outcome != TooLarge {
			t.Fatalf("the official types can read it: %v", err)
		}
		return
	}
	wanted, others := map[string]bool{}, uint64(0)
	n := uint64(0)
	for _, r := range data.ResourceSpans {
		for _, scope := range r.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				if s.GetName() != "llm_request" {
					others++
					continue
				}
				n++
				wanted[string(s.TraceId)+string(s.SpanId)] = true
			}
		}
	}
	if b.Other != others || uint64(len(b.Spans))+b.Rejected() != n {
		t.Fatalf("%d taken, %d refused, %d others; the official types count %d and %d", len(b.Spans), b.Rejected(), b.Other, n, others)
	}
	for i := range b.Spans {
		if s := &b.Spans[i]; !wanted[string(s.Trace[:])+string(s.ID[:])] {
			t.Fatalf("no span has the ids of %+v", s)
		}
	}
}
