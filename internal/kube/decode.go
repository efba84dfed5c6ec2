package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Limits, in bytes. etcd takes objects of 1.5 MiB, and the API server requests of 3 MiB.
const (
	maxObject = 4 << 20
	maxPage   = 64 << 20
)

var (
	errObjectTooLarge = fmt.Errorf("an object is larger than %d bytes", maxObject)
	errPageTooLarge   = fmt.Errorf("a list is larger than %d bytes", maxPage)
)

// stream decodes JSON values of bounded size from a reader.
type stream struct {
	*json.Decoder
	from   io.Reader
	read   int64 // from it
	budget int64 // of read, for the value that is being read
	most   int64 // of read, altogether; 0: any
}

func newStream(r io.Reader, most int64) *stream {
	s := &stream{from: r, most: most}
	s.Decoder = json.NewDecoder(s)
	s.next()
	return s
}

// next says that another value begins.
func (s *stream) next() { s.budget = s.InputOffset() + maxObject }

// Read is for the decoder.
func (s *stream) Read(p []byte) (int, error) {
	left := s.budget - s.read
	if left <= 0 {
		return 0, errObjectTooLarge
	}
	if s.most > 0 && s.most-s.read < left {
		if left = s.most - s.read; left <= 0 {
			return 0, errPageTooLarge
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
func decodeList[T Kind](r io.Reader, each func(T) error) (page, error) {
	var p page
	s := newStream(r, maxPage)
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
