package spans

import (
	"fmt"
	"math"
	"strings"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

func TestValuesThatCannotBeTrueAreRefused(t *testing.T) {
	many := with{}
	for i := range maxAttributes {
		many[fmt.Sprint("k", i)] = i
	}
	for name, c := range map[string]struct {
		change  with
		span    func(*tracepb.Span)
		reason  string
		example string
	}{
		"no TTFT":                      {change: with{"gen_ai.latency.time_to_first_token": nil}, reason: "missing", example: "gen_ai.latency.time_to_first_token is missing or no number"},
		"no e2e":                       {change: with{"gen_ai.latency.e2e": nil}, reason: "missing", example: "gen_ai.latency.e2e is missing or no number"},
		"no queue":                     {change: with{"gen_ai.latency.time_in_queue": nil}, reason: "missing", example: "gen_ai.latency.time_in_queue is missing or no number"},
		"prefill, but no decode":       {change: with{"gen_ai.latency.time_in_model_decode": nil}, reason: "missing", example: "gen_ai.latency.time_in_model_decode is missing or no number"},
		"inference, but no phases":     {change: with{"gen_ai.latency.time_in_model_decode": nil, "gen_ai.latency.time_in_model_prefill": nil}, reason: "missing", example: "gen_ai.latency.time_in_model_prefill is missing or no number"},
		"no prompt tokens":             {change: with{"gen_ai.usage.prompt_tokens": nil}, reason: "missing", example: "gen_ai.usage.prompt_tokens is missing or no number"},
		"no output tokens":             {change: with{"gen_ai.usage.completion_tokens": nil}, reason: "missing", example: "gen_ai.usage.completion_tokens is missing or no number"},
		"a number as text":             {change: with{"gen_ai.latency.e2e": "1.0"}, reason: "missing", example: "gen_ai.latency.e2e is missing or no number"},
		"a duration below zero":        {change: with{"gen_ai.latency.time_in_queue": -0.001}, reason: "negative", example: "gen_ai.latency.time_in_queue is -0.001 s"},
		"NaN":                          {change: with{"gen_ai.latency.e2e": math.NaN()}, reason: "infinite", example: "gen_ai.latency.e2e is NaN"},
		"infinity":                     {change: with{"gen_ai.latency.time_in_model_decode": math.Inf(1)}, reason: "infinite", example: "gen_ai.latency.time_in_model_decode is +Inf"},
		"infinitely many tokens":       {change: with{"gen_ai.usage.prompt_tokens": math.Inf(1)}, reason: "infinite", example: "gen_ai.usage.prompt_tokens is +Inf"},
		"a first token after the end":  {change: with{"gen_ai.latency.time_to_first_token": 2.5}, reason: "part", example: "gen_ai.latency.time_to_first_token is 2.5 s, gen_ai.latency.e2e 1 s"},
		"decode longer than the whole": {change: with{"gen_ai.latency.time_in_model_decode": 2.5}, reason: "part", example: "gen_ai.latency.time_in_model_decode is 2.5 s, gen_ai.latency.e2e 1 s"},
		"queue and prefill longer":     {change: with{"gen_ai.latency.time_in_queue": 1.5, "gen_ai.latency.time_in_model_prefill": 1}, reason: "part", example: "queue and prefill last 2.5 s, gen_ai.latency.e2e is 1 s"},
		"the host's uptime as e2e":     {change: with{"gen_ai.latency.e2e": 864000.5}, reason: "long", example: "gen_ai.latency.e2e is 864000.5 s, its span lasts 1 s"},
		"a negative number of tokens":  {change: with{"gen_ai.usage.completion_tokens": -1}, reason: "tokens", example: "gen_ai.usage.completion_tokens is -1"},
		"half a token":                 {change: with{"gen_ai.usage.prompt_tokens": 1.5}, reason: "tokens", example: "gen_ai.usage.prompt_tokens is 1.5"},
		"a billion tokens":             {change: with{"gen_ai.usage.prompt_tokens": 1_000_000_000}, reason: "tokens", example: "gen_ai.usage.prompt_tokens is 1e+09"},
		"no start":                     {span: func(s *tracepb.Span) { s.StartTimeUnixNano = 0 }, reason: "time", example: "its start or end time is missing"},
		"no end":                       {span: func(s *tracepb.Span) { s.EndTimeUnixNano = 0 }, reason: "time", example: "its start or end time is missing"},
		"a start two days ago":         {span: func(s *tracepb.Span) { s.StartTimeUnixNano -= 172798 * second }, reason: "time", example: "begins -172800 s from now"},
		"a start in two days":          {span: func(s *tracepb.Span) { s.StartTimeUnixNano += 172802 * second }, reason: "time", example: "begins 172800 s from now"},
		"an end in two days": {
			change: with{"gen_ai.latency.e2e": 172802}, span: func(s *tracepb.Span) { s.EndTimeUnixNano += 172802 * second },
			reason: "time", example: "ends 172800 s after it came: the sender's clock is ahead of this one",
		},
		"an end in ten minutes": {
			span:   func(s *tracepb.Span) { s.StartTimeUnixNano += 600 * second; s.EndTimeUnixNano += 600 * second },
			reason: "time", example: "ends 599 s after it came: the sender's clock is ahead of this one",
		},
		"a start in milliseconds":               {span: func(s *tracepb.Span) { s.StartTimeUnixNano /= 1e6 }, reason: "time", example: "begins -1.7999982e+09 s from now"},
		"no trace id":                           {span: func(s *tracepb.Span) { s.TraceId = nil }, reason: "identity", example: "its trace id or span id is missing, zero or of a wrong length"},
		"a span id of zeros":                    {span: func(s *tracepb.Span) { s.SpanId = make([]byte, 8) }, reason: "identity", example: "its trace id or span id is missing, zero or of a wrong length"},
		"a long trace id":                       {span: func(s *tracepb.Span) { s.TraceId = append(s.TraceId, 1) }, reason: "identity", example: "its trace id or span id is missing, zero or of a wrong length"},
		"one span for several sequences, as V0": {change: with{"gen_ai.usage.num_sequences": 3}, reason: "sequences", example: "gen_ai.usage.num_sequences is 3: the values of each sequence are not known"},
		"more attributes than are read":         {change: many, reason: "size", example: "1037 attributes, of which at most 1024 are read"},
	} {
		t.Run(name, func(t *testing.T) {
			bad := request(1, c.change)
			if c.span != nil {
				c.span(bad)
			}
			b, err := decoder().Decode(protobuf(wire(t, export(nil, request(0), bad, bad, request(2)))))
			if err != nil || len(b.Spans) != 2 || b.Rejected() != 2 || len(b.Refused) != 1 {
				t.Fatalf("%d taken, refused %+v, %v", len(b.Spans), b.Refused, err)
			}
			if got := b.Refused[0]; got.Reason != c.reason || got.Example != c.example || got.Count != 2 {
				t.Errorf("got %+v, want %s: %s", got, c.reason, c.example)
			}
		})
	}
}

// The limits are wide enough for what honest clocks do.
func TestValuesThatClocksMayGiveAreTaken(t *testing.T) {
	for name, c := range map[string]with{
		"a first token 0.9 s after the end by the other clock": {"gen_ai.latency.time_to_first_token": 1.9},
		"a span that was closed 0.9 s early":                   {"gen_ai.latency.e2e": 1.9},
		"an answer of no token":                                {"gen_ai.usage.completion_tokens": 0},
		"everything at once":                                   {"gen_ai.latency.time_to_first_token": 0.0, "gen_ai.latency.time_in_model_prefill": 0, "gen_ai.latency.time_in_model_decode": 0},
	} {
		t.Run(name, func(t *testing.T) {
			if b, err := decoder().Decode(protobuf(wire(t, export(nil, request(0, c))))); err != nil || len(b.Spans) != 1 {
				t.Errorf("refused %+v, %v", b.Refused, err)
			}
		})
	}
}

// An example is for logs and pages, so it must not carry what a sender wrote.
func TestExamplesRepeatNoText(t *testing.T) {
	s := request(0, with{"gen_ai.latency.e2e": "hunter2", "gen_ai.request.id": "hunter2"})
	b, err := decoder("gen_ai.request.id").Decode(protobuf(wire(t, export(with{"service.name": "hunter2"}, s))))
	if err != nil || len(b.Refused) != 1 || strings.Contains(b.Refused[0].Example, "hunter") {
		t.Errorf("got %+v, %v", b.Refused, err)
	}
}
