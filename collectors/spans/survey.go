package spans

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// Survey is who sent what in a message, whether it is of use or not: for a person who looks for what does not arrive. Names
// are what senders wrote: fit for a person's eyes, not for labels.
type Survey struct {
	Bytes     int // decompressed; of JSON, of what is read of it
	Resources []Resource
}

// Resource is what one resource of a message says of its sender, and what it sent.
type Resource struct {
	Service string // service.name
	Origin  fact.Origin
	Spans   map[string]uint64 // by name
}

// The limits of a survey: names cut at so many bytes, and so many of one resource told apart. The others are under "".
const (
	maxName  = 128
	maxNames = 1000
)

// Survey reads one message as Decode does, for what Decode does not keep. The error is an *Error.
func (d *Decoder) Survey(m Message) (Survey, error) {
	s, err := d.survey(m)
	if err != nil {
		return Survey{}, err
	}
	return s, nil
}

func (d *Decoder) survey(m Message) (s Survey, err *Error) {
	json, err := m.readable()
	if err != nil {
		return s, err
	}
	body := m.Body
	if encoding(m.ContentEncoding) == gzipped {
		if body, err = inflate(nil, body, d.max); err != nil {
			return s, err
		}
	} else if int64(len(body)) > d.max {
		return s, tooLarge(d.max)
	}
	if json {
		if body, err = fromJSON(body); err != nil {
			return s, err
		}
	}
	s.Bytes = len(body)
	w := survey{peer: m.Peer}
	err = each(body, requestResourceSpans, w.resource)
	s.Resources = w.resources
	return s, err
}

// each calls f with each message in the field of that number.
func each(data []byte, number protowire.Number, f func([]byte) *Error) (err *Error) {
	var at field
	for len(data) > 0 {
		if data, err = at.next(data); err != nil {
			return err
		}
		if !at.is(number, protowire.BytesType) {
			continue
		}
		if err = f(at.bytes); err != nil {
			return err
		}
	}
	return nil
}

// survey is the surveying of one message.
type survey struct {
	peer      string
	resources []Resource
	groups    int // resources and scopes so far
	spans     int
}

func (w *survey) resource(data []byte) *Error {
	if err := count(&w.groups); err != nil {
		return err
	}
	r := Resource{Origin: fact.Origin{Peer: w.peer}, Spans: map[string]uint64{}}
	attribute := func(data []byte) *Error {
		key, v, err := keyValue(data)
		if err != nil {
			return err
		}
		if part := originPart(&r.Origin, key); part != nil {
			*part = cut(v.text(), maxOrigin)
		} else if string(key) == "service.name" {
			r.Service = cut(v.text(), maxOrigin)
		}
		return nil
	}
	err := each(data, resourceSpansOrigin, func(data []byte) *Error { return each(data, resourceAttributes, attribute) })
	if err != nil {
		return err
	}
	w.resources = append(w.resources, r)
	return each(data, resourceSpansScopes, func(data []byte) *Error {
		if err := count(&w.groups); err != nil {
			return err
		}
		return each(data, scopeSpansSpans, func(data []byte) *Error { return w.span(r.Spans, data) })
	})
}

func (w *survey) span(names map[string]uint64, data []byte) *Error {
	if err := count(&w.spans); err != nil {
		return err
	}
	name, named := "", false
	err := each(data, spanName, func(text []byte) *Error {
		if !named { // the first counts, as for Decode
			name, named = cut(text, maxName), true
		}
		return nil
	})
	if err != nil {
		return err
	}
	if _, known := names[name]; !known && len(names) >= maxNames {
		name = ""
	}
	names[name]++
	return nil
}
