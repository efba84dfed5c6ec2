// Package otlp reads the spans that an engine sends to the exporter, on their way there: the engine's own record of every
// sequence that it finished, by which the client's clock and the exporter's intervals can be judged. It reads as much of the
// protocol as that takes, and shares no code with the exporter's receiver.
package otlp

import (
	"fmt"
	"math"
)

// Span is one finished sequence by the engine's own account. Times are unix seconds, durations seconds.
type Span struct {
	ID                 string // of the request, as the engine calls it
	Start, End         float64
	TTFT, E2E          float64
	Queue, Prefill     float64
	Decode             float64
	Prompt, Completion int
	Received           float64 // when its message came
}

// TPOT is the time per output token after the first; false for an answer of one token.
func (s *Span) TPOT() (float64, bool) {
	if s.Completion < 2 {
		return 0, false
	}
	return s.Decode / float64(s.Completion-1), true
}

// maxBatch bounds what one batch may hold; an engine sends 512 spans of about 1 kB.
const maxBatch = 16 << 20

// The numbers of the fields that are read, of opentelemetry-proto's trace.proto and common.proto.
const (
	requestResourceSpans = 1
	resourceScopeSpans   = 2
	scopeSpans           = 2
	spanName             = 5
	spanStart            = 7
	spanAttributes       = 9
	attributeKey         = 1
	attributeValue       = 2
	valueString          = 1
	valueInt             = 3
	valueDouble          = 4
)

// Decode reads an ExportTraceServiceRequest.
func Decode(batch []byte) ([]Span, error) {
	var out []Span
	err := walk(batch, func(f field) error {
		return f.in(requestResourceSpans, func(f field) error {
			return f.in(resourceScopeSpans, func(f field) error {
				if f.number != scopeSpans {
					return nil
				}
				s, named, err := decodeSpan(f.bytes)
				if named {
					out = append(out, s)
				}
				return err
			})
		})
	})
	if err != nil {
		return nil, fmt.Errorf("OTLP: %w", err)
	}
	return out, nil
}

// decodeSpan reads a span; named is false for one that is not about a finished sequence.
func decodeSpan(data []byte) (s Span, named bool, err error) {
	err = walk(data, func(f field) error {
		switch f.number {
		case spanName:
			named = string(f.bytes) == "llm_request"
		case spanStart:
			s.Start = float64(f.value) / 1e9
		case spanAttributes:
			return s.attribute(f.bytes)
		}
		return nil
	})
	// The span's own end is when it was handed over, a little after the sequence ended.
	s.End = s.Start + s.E2E
	return s, named, err
}

// attribute takes one attribute; those that are not needed are passed over.
func (s *Span) attribute(data []byte) error {
	var key, text string
	var number float64
	err := walk(data, func(f field) error {
		if f.number == attributeKey {
			key = string(f.bytes)
		}
		return f.in(attributeValue, func(f field) error {
			switch f.number {
			case valueString:
				text = string(f.bytes)
			case valueInt:
				number = float64(int64(f.value))
			case valueDouble:
				number = math.Float64frombits(f.value)
			}
			return nil
		})
	})
	switch key {
	case "gen_ai.request.id":
		s.ID = text
	case "gen_ai.latency.time_to_first_token":
		s.TTFT = number
	case "gen_ai.latency.e2e":
		s.E2E = number
	case "gen_ai.latency.time_in_queue":
		s.Queue = number
	case "gen_ai.latency.time_in_model_prefill":
		s.Prefill = number
	case "gen_ai.latency.time_in_model_decode":
		s.Decode = number
	case "gen_ai.usage.prompt_tokens":
		s.Prompt = int(number)
	case "gen_ai.usage.completion_tokens":
		s.Completion = int(number)
	}
	return err
}
