package main

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"net/http"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// sentSpan is a span to send: a request unless it has a name of its own.
type sentSpan struct {
	id   int
	name string
	end  float64 // unix seconds; now by default
	e2e  float64 // seconds; 0.5 by default
	also map[string]any
}

func (s sentSpan) proto() *tracepb.Span {
	if s.end == 0 {
		s.end = unix(time.Now())
	}
	if s.e2e == 0 {
		s.e2e = 0.5
	}
	if s.name == "" {
		s.name = "llm_request"
	}
	out := &tracepb.Span{
		TraceId: binary.BigEndian.AppendUint64(make([]byte, 8), uint64(s.id+1)), SpanId: binary.BigEndian.AppendUint64(nil, uint64(s.id+1)), Name: s.name,
		StartTimeUnixNano: uint64((s.end - s.e2e) * 1e9), EndTimeUnixNano: uint64(s.end * 1e9),
	}
	values := map[string]any{
		"gen_ai.latency.time_to_first_token": 0.1, "gen_ai.latency.e2e": s.e2e, "gen_ai.latency.time_in_queue": 0.02, "gen_ai.latency.time_in_model_prefill": 0.05,
		"gen_ai.latency.time_in_model_decode": 0.2, "gen_ai.usage.prompt_tokens": 100, "gen_ai.usage.completion_tokens": 21, "gen_ai.request.id": fmt.Sprintf("cmpl-%d", s.id),
	}
	for k, v := range s.also {
		values[k] = v
	}
	for k, v := range values {
		out.Attributes = append(out.Attributes, keyValue(k, v))
	}
	return out
}

func keyValue(key string, v any) *commonpb.KeyValue {
	value := &commonpb.AnyValue{}
	switch v := v.(type) {
	case string:
		value.Value = &commonpb.AnyValue_StringValue{StringValue: v}
	case int:
		value.Value = &commonpb.AnyValue_IntValue{IntValue: int64(v)}
	case float64:
		value.Value = &commonpb.AnyValue_DoubleValue{DoubleValue: v}
	default:
		panic(fmt.Sprintf("no attribute: %v", v))
	}
	return &commonpb.KeyValue{Key: key, Value: value}
}

// exportOf is a message of a resource and its spans.
func exportOf(t *testing.T, resource map[string]string, spans ...sentSpan) []byte {
	t.Helper()
	r := &resourcepb.Resource{}
	for k, v := range resource {
		r.Attributes = append(r.Attributes, keyValue(k, v))
	}
	scope := &tracepb.ScopeSpans{}
	for _, s := range spans {
		scope.Spans = append(scope.Spans, s.proto())
	}
	// On the wire this is an ExportTraceServiceRequest.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{Resource: r, ScopeSpans: []*tracepb.ScopeSpans{scope}}}})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// sendSpans sends a message and returns the status; 0 when nobody listens.
func sendSpans(t *testing.T, scheme, address string, body []byte) int {
	t.Helper()
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	response, err := client.Post(scheme+"://"+address+"/v1/traces", "application/x-protobuf", bytes.NewReader(body))
	if err != nil {
		return 0
	}
	response.Body.Close()
	return response.StatusCode
}
