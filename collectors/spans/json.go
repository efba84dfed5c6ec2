package spans

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// fromJSON writes an export in OTLP's JSON as protobuf, as far as it is read, so that both go the same way. It differs
// from protobuf's own JSON in its ids, which are hex (opentelemetry-proto, docs/specification.md, "JSON Protobuf
// Encoding"). Unknown keys are passed over, however deep they are nested up to encoding/json's limit of 10,000, without
// recursion; elements of lists are turned into their bytes one by one, so that memory stays in proportion to the text.
func fromJSON(text []byte) ([]byte, *Error) {
	var request struct {
		ResourceSpans list[jsonResourceSpans] `json:"resourceSpans"`
	}
	err := json.Unmarshal(text, &request)
	if large, ok := errors.AsType[*Error](err); ok {
		return nil, large
	}
	if err != nil {
		return nil, refuse(Malformed, causeJSON, "the message is not an OTLP export of traces in JSON: %s", where(err))
	}
	return tagged(nil, requestResourceSpans, request.ResourceSpans), nil
}

// where is what a person needs to find the mistake, without the text in which it is.
func where(err error) string {
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("wrong syntax after %d bytes", s.Offset)
	}
	if u, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("a value is of the wrong type for %s", u.Type)
	}
	if n, ok := errors.AsType[*numberError](err); ok {
		return n.Error()
	}
	return "a value cannot be read"
}

// element is what a list holds: it appends itself as a protobuf message without tag and length.
type element interface {
	appendTo([]byte) []byte
}

// list is the elements of an array, each as its length and its bytes.
type list[T element] []byte

// UnmarshalJSON reads one element at a time.
func (l *list[T]) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	if t, err := dec.Token(); err != nil {
		return err
	} else if t != json.Delim('[') {
		return &json.UnmarshalTypeError{Value: "scalar or object", Type: listType}
	}
	var message []byte
	for n := 0; dec.More(); {
		if err := count(&n); err != nil {
			return err
		}
		var e T
		if err := dec.Decode(&e); err != nil {
			return err
		}
		message = e.appendTo(message[:0])
		*l = protowire.AppendBytes(*l, message)
	}
	return nil
}

// tagged appends the elements of a list as a repeated field.
func tagged(to []byte, number protowire.Number, elements []byte) []byte {
	for len(elements) > 0 {
		e, n := protowire.ConsumeBytes(elements)
		to = protowire.AppendBytes(protowire.AppendTag(to, number, protowire.BytesType), e)
		elements = elements[n:]
	}
	return to
}

type jsonResourceSpans struct {
	Resource struct {
		Attributes list[jsonAttribute] `json:"attributes"`
	} `json:"resource"`
	ScopeSpans list[jsonScopeSpans] `json:"scopeSpans"`
}

func (r jsonResourceSpans) appendTo(to []byte) []byte {
	to = protowire.AppendTag(to, resourceSpansOrigin, protowire.BytesType)
	to = protowire.AppendBytes(to, tagged(nil, resourceAttributes, r.Resource.Attributes))
	return tagged(to, resourceSpansScopes, r.ScopeSpans)
}

type jsonScopeSpans struct {
	Spans list[jsonSpan] `json:"spans"`
}

func (s jsonScopeSpans) appendTo(to []byte) []byte { return tagged(to, scopeSpansSpans, s.Spans) }

type jsonSpan struct {
	TraceID    hexID               `json:"traceId"`
	SpanID     hexID               `json:"spanId"`
	Parent     hexID               `json:"parentSpanId"`
	Name       string              `json:"name"`
	Start      jsonInt             `json:"startTimeUnixNano"`
	End        jsonInt             `json:"endTimeUnixNano"`
	Attributes list[jsonAttribute] `json:"attributes"`
}

func (s jsonSpan) appendTo(to []byte) []byte {
	for number, id := range [...][]byte{spanTrace: s.TraceID, spanID: s.SpanID, spanParent: s.Parent, spanName: []byte(s.Name)} {
		if len(id) > 0 {
			to = protowire.AppendTag(to, protowire.Number(number), protowire.BytesType)
			to = protowire.AppendBytes(to, id)
		}
	}
	for number, time := range [...]jsonInt{spanStart: s.Start, spanEnd: s.End} {
		if time != 0 {
			to = protowire.AppendFixed64(protowire.AppendTag(to, protowire.Number(number), protowire.Fixed64Type), uint64(time))
		}
	}
	return tagged(to, spanAttributes, s.Attributes)
}

type jsonAttribute struct {
	Key   string `json:"key"`
	Value struct {
		String *string     `json:"stringValue"`
		Bool   *bool       `json:"boolValue"`
		Int    *jsonInt    `json:"intValue"`
		Double *jsonDouble `json:"doubleValue"`
	} `json:"value"`
}

func (a jsonAttribute) appendTo(to []byte) []byte {
	to = protowire.AppendString(protowire.AppendTag(to, attributeKey, protowire.BytesType), a.Key)
	var v []byte
	switch {
	case a.Value.String != nil:
		v = protowire.AppendString(protowire.AppendTag(v, valueString, protowire.BytesType), *a.Value.String)
	case a.Value.Bool != nil:
		v = protowire.AppendVarint(protowire.AppendTag(v, valueBool, protowire.VarintType), protowire.EncodeBool(*a.Value.Bool))
	case a.Value.Int != nil:
		v = protowire.AppendVarint(protowire.AppendTag(v, valueInt, protowire.VarintType), uint64(*a.Value.Int))
	case a.Value.Double != nil:
		v = protowire.AppendFixed64(protowire.AppendTag(v, valueDouble, protowire.Fixed64Type), math.Float64bits(float64(*a.Value.Double)))
	}
	return protowire.AppendBytes(protowire.AppendTag(to, attributeValue, protowire.BytesType), v)
}
