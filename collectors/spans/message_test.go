package spans

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Messages of tests are built with the official types. An export request has the bytes of a TracesData.

// received is when messages of tests come in, unix seconds; their requests began two seconds earlier.
const testReceived = 1_800_000_000

const second = 1_000_000_000 // nanoseconds

func attribute(key string, v any) *commonpb.KeyValue {
	value := &commonpb.AnyValue{}
	switch v := v.(type) {
	case string:
		value.Value = &commonpb.AnyValue_StringValue{StringValue: v}
	case int:
		value.Value = &commonpb.AnyValue_IntValue{IntValue: int64(v)}
	case float64:
		value.Value = &commonpb.AnyValue_DoubleValue{DoubleValue: v}
	case bool:
		value.Value = &commonpb.AnyValue_BoolValue{BoolValue: v}
	case []string:
		list := &commonpb.ArrayValue{}
		for _, s := range v {
			list.Values = append(list.Values, &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: s}})
		}
		value.Value = &commonpb.AnyValue_ArrayValue{ArrayValue: list}
	case nil:
	default:
		panic("a value of another type")
	}
	return &commonpb.KeyValue{Key: key, Value: value}
}

// with is a change to the attributes of a span: a value of nil takes one away.
type with map[string]any

// request is a span as vLLM 0.32 sends it, the n-th of a test, one second long.
func request(n int, changes ...with) *tracepb.Span {
	s := &tracepb.Span{
		TraceId: binary.BigEndian.AppendUint64(make([]byte, 8, 16), uint64(n+1)), SpanId: binary.BigEndian.AppendUint64(nil, uint64(n+1)),
		Name: "llm_request", Kind: tracepb.Span_SPAN_KIND_SERVER,
		StartTimeUnixNano: (testReceived - 2) * second, EndTimeUnixNano: (testReceived - 1) * second,
	}
	values := with{
		"gen_ai.latency.time_to_first_token": 0.25, "gen_ai.latency.e2e": 1.0, "gen_ai.latency.time_in_queue": 0.05,
		"gen_ai.latency.time_in_model_prefill": 0.125, "gen_ai.latency.time_in_model_decode": 0.75,
		"gen_ai.latency.time_in_model_inference": 0.875, "gen_ai.usage.prompt_tokens": 100, "gen_ai.usage.completion_tokens": 31,
		"gen_ai.request.id": "cmpl-1-0", "gen_ai.request.n": 1, "gen_ai.request.max_tokens": 31,
		"gen_ai.request.top_p": 1.0, "gen_ai.request.temperature": 1.0,
	}
	for _, c := range changes {
		for key, v := range c {
			if values[key] = v; v == nil {
				delete(values, key)
			}
		}
	}
	for key, v := range values {
		s.Attributes = append(s.Attributes, attribute(key, v))
	}
	return s
}

// other is a span that stands for no request, as FastAPI's instrumentation sends it.
func other() *tracepb.Span {
	s := request(0)
	s.Name = "GET /metrics http send"
	s.Attributes = []*commonpb.KeyValue{attribute("asgi.event.type", "http.response.start"), attribute("http.status_code", 200)}
	return s
}

func requests(n int) (all []*tracepb.Span) {
	for i := range n {
		all = append(all, request(i))
	}
	return all
}

// export is the spans of one process.
func export(resource with, spans ...*tracepb.Span) *tracepb.TracesData {
	r := &resourcepb.Resource{}
	for key, v := range resource {
		r.Attributes = append(r.Attributes, attribute(key, v))
	}
	scope := &tracepb.ScopeSpans{Scope: &commonpb.InstrumentationScope{Name: "vllm.tracing.otel"}, Spans: spans}
	return &tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{Resource: r, ScopeSpans: []*tracepb.ScopeSpans{scope}}}}
}

func wire(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func zipped(t testing.TB, body []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// protobuf is a message as HTTP brings it.
func protobuf(body []byte) Message {
	return Message{Peer: "10.0.0.7", Path: tracesPath, ContentType: "application/x-protobuf", Body: body, Received: testReceived}
}

// decoder is one with usual limits.
func decoder(attributes ...string) *Decoder {
	return NewDecoder([]string{"llm_request"}, attributes, 16<<20)
}
