package spans

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// The numbers of the fields that are read, of trace.proto, resource.proto and common.proto in opentelemetry-proto 1.x.
const (
	requestResourceSpans = 1
	resourceSpansOrigin  = 1
	resourceSpansScopes  = 2
	resourceAttributes   = 1
	scopeSpansSpans      = 2

	spanTrace      = 1
	spanID         = 2
	spanParent     = 4
	spanName       = 5
	spanStart      = 7
	spanEnd        = 8
	spanAttributes = 9

	attributeKey   = 1
	attributeValue = 2

	valueString = 1
	valueBool   = 2
	valueInt    = 3
	valueDouble = 4
)

// field is one field of a protobuf message: bytes holds strings and messages, value the rest.
type field struct {
	number protowire.Number
	wire   protowire.Type
	bytes  []byte
	value  uint64
}

// is reports whether it is the field of that number, in the wire type that the field has; in another it is unknown.
func (f *field) is(number protowire.Number, wire protowire.Type) bool {
	return f.number == number && f.wire == wire
}

// next takes the field at the front of a message.
func (f *field) next(data []byte) (rest []byte, err *Error) {
	number, wire, n := protowire.ConsumeTag(data)
	if n < 0 {
		return nil, errWire()
	}
	data = data[n:]
	f.number, f.wire = number, wire
	switch wire {
	case protowire.BytesType:
		f.bytes, n = protowire.ConsumeBytes(data)
	case protowire.VarintType:
		f.value, n = protowire.ConsumeVarint(data)
	case protowire.Fixed64Type:
		f.value, n = protowire.ConsumeFixed64(data)
	default:
		n = protowire.ConsumeFieldValue(number, wire, data)
	}
	if n < 0 {
		return nil, errWire()
	}
	return data[n:], nil
}

func errWire() *Error {
	return refuse(Malformed, causeProtobuf, "the message is not an OTLP export of traces: its protobuf ends in the middle of a field or has one that cannot be")
}

// walk is the reading of one message.
type walk struct {
	d        *Decoder
	peer     string
	received float64

	batch   Batch
	refused refusals // of the batch
	spans   int      // of any name, so far
	groups  int      // resources and scopes so far

	resource []byte // of the spans that are read
	origin   *fact.Origin
	common   []string         // the resource's values of the attributes that are kept, in their order
	shared   []fact.Attribute // these, for spans that have none themselves
	own      []string         // the same of one span
}

func (w *walk) request(data []byte) (err *Error) {
	var f field
	for len(data) > 0 {
		if data, err = f.next(data); err != nil {
			return err
		}
		if f.is(requestResourceSpans, protowire.BytesType) {
			if err = w.resourceSpans(f.bytes); err != nil {
				return err
			}
		}
	}
	w.batch.Refused = w.refused
	return nil
}

// resourceSpans goes twice over the fields: a resource may stand behind its spans.
func (w *walk) resourceSpans(data []byte) (err *Error) {
	if err = count(&w.groups); err != nil {
		return err
	}
	w.resource, w.origin, w.common, w.shared = nil, nil, nil, nil
	var f field
	for rest := data; len(rest) > 0; {
		if rest, err = f.next(rest); err != nil {
			return err
		}
		if f.is(resourceSpansOrigin, protowire.BytesType) {
			w.resource = f.bytes
		}
	}
	for rest := data; len(rest) > 0; {
		if rest, err = f.next(rest); err != nil {
			return err
		}
		if f.is(resourceSpansScopes, protowire.BytesType) {
			if err = w.scopeSpans(f.bytes); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *walk) scopeSpans(data []byte) (err *Error) {
	if err = count(&w.groups); err != nil {
		return err
	}
	var f field
	for len(data) > 0 {
		if data, err = f.next(data); err != nil {
			return err
		}
		if !f.is(scopeSpansSpans, protowire.BytesType) {
			continue
		}
		if err = count(&w.spans); err != nil {
			return err
		}
		wanted, err := w.wanted(f.bytes)
		if err == nil && wanted {
			w.expect(len(data)/len(f.bytes) + 1)
			err = w.span(f.bytes)
		} else if err == nil {
			w.batch.Other++
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// expect makes room for about as many spans, if there is none, so that the slice does not grow one doubling after the
// other. What is expected is bounded: it is a guess from the length of one span.
func (w *walk) expect(n int) {
	if len(w.batch.Spans) == cap(w.batch.Spans) {
		w.batch.Spans = slices.Grow(w.batch.Spans, min(n, 4096))
	}
}

// count bounds the work that a message of empty parts makes.
func count(n *int) *Error {
	if *n++; *n > maxSpans {
		return refuse(TooLarge, causeParts, "the message has more than %d spans, or resources and scopes; all are lost: let the sender make smaller batches", maxSpans)
	}
	return nil
}

// wanted looks for the name of a span and reads nothing else of it.
func (w *walk) wanted(data []byte) (_ bool, err *Error) {
	var f field
	for len(data) > 0 {
		if data, err = f.next(data); err != nil {
			return false, err
		}
		if f.is(spanName, protowire.BytesType) {
			for _, name := range w.d.names {
				if string(f.bytes) == name {
					return true, nil
				}
			}
			return false, nil
		}
	}
	return false, nil
}
