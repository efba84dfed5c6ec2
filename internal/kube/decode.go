package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// limits bound what is read, in bytes.
type limits struct {
	object int64 // one object
	page   int64 // one answer to a list; 0: any
}

// usual are the limits of a client. etcd takes objects of 1.5 MiB, and the API server requests of 3 MiB.
var usual = limits{object: 4 << 20, page: 64 << 20}

var (
	errObjectTooLarge = errors.New("an object is larger than is read")
	errPageTooLarge   = errors.New("a list is larger than is read")
)

func (l limits) tooLargeObject() error {
	return fmt.Errorf("%w: %d bytes", errObjectTooLarge, l.object)
}

func (l limits) tooLargePage() error { return fmt.Errorf("%w: %d bytes", errPageTooLarge, l.page) }

// stream decodes JSON values of bounded size from a reader.
type stream struct {
	*json.Decoder
	from   io.Reader
	read   int64 // from it
	budget int64 // of read, for the value that is being read
	limits
}

func newStream(r io.Reader, l limits) *stream {
	s := &stream{from: r, limits: l}
	s.Decoder = json.NewDecoder(s)
	s.next()
	return s
}

// next says that another value begins.
func (s *stream) next() { s.budget = s.InputOffset() + s.object }

// Read is for the decoder.
func (s *stream) Read(p []byte) (int, error) {
	left := s.budget - s.read
	if left <= 0 {
		return 0, s.tooLargeObject()
	}
	if s.page > 0 && s.page-s.read < left {
		if left = s.page - s.read; left <= 0 {
			return 0, s.tooLargePage()
		}
	}
	n, err := s.from.Read(p[:min(int64(len(p)), left)])
	s.read += int64(n)
	return n, err
}

// value decodes the next value.
func (s *stream) value(into any) error {
	s.next()
	return s.Decode(into)
}

// delim reads one of the characters that are not values.
func (s *stream) delim(want json.Delim) error {
	s.next()
	t, err := s.Token()
	if err == nil && t != want {
		err = fmt.Errorf("%v where %v should be", t, want)
	}
	return err
}

// page is what a list says of itself.
type page struct {
	ResourceVersion string `json:"resourceVersion"`
	Continue        string `json:"continue"`
}

// decodeList hands over the objects of a list one by one.
func decodeList[T Kind](r io.Reader, l limits, each func(T) error) (page, error) {
	var p page
	s := newStream(r, l)
	if err := s.delim('{'); err != nil {
		return p, err
	}
	for s.More() {
		s.next()
		name, err := s.Token()
		if err != nil {
			return p, err
		}
		switch name {
		case "metadata":
			err = s.value(&p)
		case "items":
			err = decodeItems(s, each)
		default:
			err = s.value(&json.RawMessage{})
		}
		if err != nil {
			return p, err
		}
	}
	if err := s.delim('}'); err != nil {
		return p, err
	}
	if p.ResourceVersion == "" {
		return p, errors.New("a list without a resource version: this is no Kubernetes API")
	}
	return p, nil
}

func decodeItems[T Kind](s *stream, each func(T) error) error {
	s.next()
	t, err := s.Token()
	if err != nil || t == nil { // null is an empty list
		return err
	}
	if t != json.Delim('[') {
		return fmt.Errorf("%v where the items should be", t)
	}
	for s.More() {
		var object T
		if err := s.value(&object); err != nil {
			return err
		}
		if err := each(object); err != nil {
			return err
		}
	}
	return s.delim(']')
}

// event is one word of a watch.
type event struct {
	Type   string          `json:"type"`
	Object json.RawMessage `json:"object"`
}
