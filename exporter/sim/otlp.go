package sim

import (
	"slices"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// encoder writes batches of spans. It keeps the messages that it has filled in, since building them anew would take most
// of its time.
type encoder struct {
	slots []*slot
}

// slot is the message of one finished sequence: what is the same on all of them is there already, and the rest is written
// through the fields.
type slot struct {
	span                                         *tracepb.Span
	ttft, e2e, queue, prefill, decode, inference *commonpb.AnyValue_DoubleValue
	prompt, output, maxTokens                    *commonpb.AnyValue_IntValue
	call                                         *commonpb.AnyValue_StringValue
	fixed                                        int // attributes; those of the caller come after them
}

// newSlot has vLLM's attributes in its order and of its types: testdata/recordings.
func newSlot() *slot {
	s := &slot{span: &tracepb.Span{Name: "llm_request", Kind: tracepb.Span_SPAN_KIND_SERVER, Status: &tracepb.Status{}}}
	add := func(key string, v *commonpb.AnyValue) {
		s.span.Attributes = append(s.span.Attributes, &commonpb.KeyValue{Key: key, Value: v})
	}
	seconds := func(key string) *commonpb.AnyValue_DoubleValue {
		v := &commonpb.AnyValue_DoubleValue{}
		add(key, &commonpb.AnyValue{Value: v})
		return v
	}
	tokens := func(key string) *commonpb.AnyValue_IntValue {
		v := &commonpb.AnyValue_IntValue{}
		add(key, &commonpb.AnyValue{Value: v})
		return v
	}
	s.ttft = seconds("gen_ai.latency.time_to_first_token")
	s.e2e = seconds("gen_ai.latency.e2e")
	s.queue = seconds("gen_ai.latency.time_in_queue")
	s.prompt = tokens("gen_ai.usage.prompt_tokens")
	s.output = tokens("gen_ai.usage.completion_tokens")
	s.prefill = seconds("gen_ai.latency.time_in_model_prefill")
	s.decode = seconds("gen_ai.latency.time_in_model_decode")
	s.inference = seconds("gen_ai.latency.time_in_model_inference")
	s.call = &commonpb.AnyValue_StringValue{}
	add("gen_ai.request.id", &commonpb.AnyValue{Value: s.call})
	seconds("gen_ai.request.top_p").DoubleValue = 1
	s.maxTokens = tokens("gen_ai.request.max_tokens")
	seconds("gen_ai.request.temperature").DoubleValue = 0.7
	tokens("gen_ai.request.n").IntValue = 1 // of the sequence, whatever the request asked for
	s.fixed = len(s.span.Attributes)
	return s
}

// Flags of a span say whether its parent is of another process, and that this is known (opentelemetry-proto, SpanFlags).
const (
	knowsParent  = 0x100
	remoteParent = 0x200
)

func fill(p *tracepb.Span, s *span) {
	p.TraceId, p.SpanId, p.ParentSpanId, p.Flags = s.trace[:], s.id[:], nil, knowsParent
	if s.parent != [8]byte{} {
		p.ParentSpanId = s.parent[:]
	}
	if s.remote {
		p.Flags |= remoteParent
	}
	p.StartTimeUnixNano, p.EndTimeUnixNano = uint64(s.start*1e9), uint64(s.end*1e9)
}

// sequence fills in the message of a finished sequence. It borrows the span's memory.
func (s *slot) sequence(of *span) *tracepb.Span {
	fill(s.span, of)
	v := &of.values
	s.ttft.DoubleValue, s.e2e.DoubleValue, s.queue.DoubleValue = v.ttft, v.e2e, v.queue
	s.prefill.DoubleValue, s.decode.DoubleValue, s.inference.DoubleValue = v.prefill, v.decode, v.inference
	s.prompt.IntValue, s.output.IntValue, s.maxTokens.IntValue = int64(v.prompt), int64(v.output), int64(v.maxTokens)
	s.call.StringValue = of.call
	s.span.Attributes = append(s.span.Attributes[:s.fixed], texts(of.caller)...)
	return s.span
}

// message is that of another span.
func (o *otherSpan) message(of *span) *tracepb.Span {
	p := &tracepb.Span{Name: o.name, Kind: tracepb.Span_SPAN_KIND_INTERNAL, Status: &tracepb.Status{}, Attributes: texts(o.attributes)}
	fill(p, of)
	if o.server {
		p.Kind = tracepb.Span_SPAN_KIND_SERVER
		p.Attributes = slices.Insert(p.Attributes, 1, number("server.port", 8000))
		p.Attributes = append(p.Attributes, number("http.response.status_code", o.status))
	}
	if o.failed != "" {
		p.Status.Code = tracepb.Status_STATUS_CODE_ERROR
		p.Attributes = append(p.Attributes, texts([]Attribute{{"error.type", o.failed}})...)
	}
	return p
}

func number(key string, v int) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: int64(v)}}}
}

func texts(attributes []Attribute) (out []*commonpb.KeyValue) {
	for _, a := range attributes {
		out = append(out, &commonpb.KeyValue{Key: a.Key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: a.Value}}})
	}
	return out
}

// scopeOf is what the spans of finished sequences are told under.
func scopeOf(d Dialect) string {
	if d == V1Old {
		return "vllm.llm_engine"
	}
	return "vllm.tracing.otel"
}

// encode writes spans of one process. The scopes come in the order of their first spans.
func (e *encoder) encode(d Dialect, resource []Attribute, spans []span) []byte {
	of := &tracepb.ResourceSpans{Resource: &resourcepb.Resource{Attributes: texts(resource)}}
	scopes := map[string]*tracepb.ScopeSpans{}
	for i := range spans {
		s := &spans[i]
		name := scopeOf(d)
		if s.other != nil {
			name = s.other.scope
		}
		in := scopes[name]
		if in == nil {
			in = &tracepb.ScopeSpans{Scope: &commonpb.InstrumentationScope{Name: name}}
			if name == fastAPI {
				in.Scope.Version, in.SchemaUrl = "0.165.0", "https://opentelemetry.io/schemas/1.44.0"
			}
			scopes[name] = in
			of.ScopeSpans = append(of.ScopeSpans, in)
		}
		if s.other != nil {
			in.Spans = append(in.Spans, s.other.message(s))
		} else {
			in.Spans = append(in.Spans, e.slot(i).sequence(s))
		}
	}
	// TracesData has the one field of ExportTraceServiceRequest, whose package brings a gRPC gateway along.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{of}})
	if err != nil {
		panic("sim: " + err.Error()) // only text that is no UTF-8 is refused, and validate lets none pass
	}
	return body
}

func (e *encoder) slot(i int) *slot {
	for len(e.slots) <= i {
		e.slots = append(e.slots, newSlot())
	}
	return e.slots[i]
}
