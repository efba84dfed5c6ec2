package spans

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// raw is what the wire says of one request, before it is judged.
type raw struct {
	trace, id, parent, call []byte
	start, end              uint64 // unix nanoseconds
	numbers                 [numMeasures]float64
	seen                    [numMeasures]bool
	attributes              int
}

// span reads a span that stands for a request, and takes or refuses it.
func (w *walk) span(data []byte) (err *Error) {
	var r raw
	clear(w.own)
	var f field
	for len(data) > 0 {
		if data, err = f.next(data); err != nil {
			return err
		}
		switch {
		case f.is(spanAttributes, protowire.BytesType):
			if r.attributes++; r.attributes <= maxAttributes {
				err = w.attribute(&r, f.bytes)
			}
		case f.is(spanTrace, protowire.BytesType):
			r.trace = f.bytes
		case f.is(spanID, protowire.BytesType):
			r.id = f.bytes
		case f.is(spanParent, protowire.BytesType):
			r.parent = f.bytes
		case f.is(spanStart, protowire.Fixed64Type):
			r.start = f.value
		case f.is(spanEnd, protowire.Fixed64Type):
			r.end = f.value
		}
		if err != nil {
			return err
		}
	}
	request, no := r.judge(w.received)
	if no != nil {
		if known, first := w.refused.add(no.reason, 1); first {
			known.Example = no.text()
			if w.batch.from == nil {
				w.batch.from = map[string]sender{}
			}
			w.batch.from[no.reason] = senderOf(w.resource)
		}
		return nil
	}
	if err := w.readResource(); err != nil {
		return err
	}
	s := fact.Span{Request: request, Received: w.received, Call: call(r.call), Attributes: w.kept(), Origin: w.origin}
	copy(s.Trace[:], r.trace)
	copy(s.ID[:], r.id)
	if len(r.parent) == len(s.Parent) {
		copy(s.Parent[:], r.parent)
	}
	w.batch.Spans = append(w.batch.Spans, s)
	return nil
}

func (w *walk) attribute(r *raw, data []byte) *Error {
	key, v, err := keyValue(data)
	if err != nil {
		return err
	}
	if m := measureOf(key); m >= 0 {
		r.numbers[m], r.seen[m] = v.number()
	} else if string(key) == "gen_ai.request.id" {
		r.call = v.text()
	}
	for i, wanted := range w.d.attributes {
		if string(key) == wanted {
			w.keep(&w.own, i, v)
		}
	}
	return nil
}

// call is the engine's id of a request. The client can choose it, so a long one is kept as its beginning and its hash:
// equal ids stay equal, and others stay others.
func call(id []byte) string {
	if len(id) <= maxCall {
		return strings.ToValidUTF8(string(id), "?")
	}
	sum := sha256.Sum256(id)
	return cut(id, maxCall-2*16) + hex.EncodeToString(sum[:16])
}
