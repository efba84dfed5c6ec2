package otlp

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// message is a message of spans of sequences, a little longer than so many bytes.
func message(t testing.TB, size int) []*tracepb.ResourceSpans {
	t.Helper()
	one := spanOf(&calls(3, 1, time.Second)[0], time.Now().Add(-2*time.Second))
	var spans []*tracepb.Span
	for range size/proto.Size(one) + 1 {
		s := proto.Clone(one).(*tracepb.Span)
		s.TraceId, s.SpanId = []byte(randomHex(8)), []byte(randomHex(4))
		spans = append(spans, s)
	}
	return []*tracepb.ResourceSpans{resourceSpans(spans, "goodput.engine", "a")}
}

// resourceSpans puts spans under a resource of so many attributes, each a key and a value.
func resourceSpans(spans []*tracepb.Span, attributes ...string) *tracepb.ResourceSpans {
	r := &resourcepb.Resource{}
	for i := 0; i < len(attributes); i += 2 {
		r.Attributes = append(r.Attributes, text(attributes[i], attributes[i+1]))
	}
	return &tracepb.ResourceSpans{Resource: r, ScopeSpans: []*tracepb.ScopeSpans{{Scope: &commonpb.InstrumentationScope{Name: "vllm.tracing.otel"}, Spans: spans}}}
}

// spanOf is the span of a sequence in the protocol's own types.
func spanOf(c *call, start time.Time) *tracepb.Span {
	s := &tracepb.Span{
		TraceId: []byte(randomHex(8)), SpanId: []byte(randomHex(4)), Name: "llm_request", Kind: tracepb.Span_SPAN_KIND_SERVER,
		StartTimeUnixNano: uint64(start.UnixNano()), EndTimeUnixNano: uint64(start.Add(seconds(c.e2e()) + time.Millisecond).UnixNano()),
	}
	for _, a := range c.attributes() {
		v := &commonpb.AnyValue{}
		switch a.Value.Type() {
		case attribute.FLOAT64:
			v.Value = &commonpb.AnyValue_DoubleValue{DoubleValue: a.Value.AsFloat64()}
		case attribute.INT64:
			v.Value = &commonpb.AnyValue_IntValue{IntValue: a.Value.AsInt64()}
		default:
			v.Value = &commonpb.AnyValue_StringValue{StringValue: a.Value.AsString()}
		}
		s.Attributes = append(s.Attributes, &commonpb.KeyValue{Key: string(a.Key), Value: v})
	}
	return s
}

func text(key, value string) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: value}}}
}

// encoded is a message as it goes over the wire.
func encoded(t testing.TB, spans ...*tracepb.ResourceSpans) []byte {
	t.Helper()
	body, err := proto.Marshal(&collectorpb.ExportTraceServiceRequest{ResourceSpans: spans})
	must(t, err)
	return body
}
