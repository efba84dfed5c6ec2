package spans

import (
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// readResource reads the resource of the spans that are read, once, when the first request among them needs it.
func (w *walk) readResource() (err *Error) {
	if w.origin != nil {
		return nil
	}
	o := fact.Origin{Peer: w.peer}
	var f field
	n := 0
	for data := w.resource; len(data) > 0; {
		if data, err = f.next(data); err != nil {
			return err
		}
		if !f.is(resourceAttributes, protowire.BytesType) {
			continue
		}
		if n++; n > maxAttributes {
			return refuse(TooLarge, causeParts, "a resource has more than %d attributes", maxAttributes)
		}
		key, v, err := keyValue(f.bytes)
		if err != nil {
			return err
		}
		if part := originPart(&o, key); part != nil {
			*part = cut(v.text(), maxOrigin)
		}
		for i, wanted := range w.d.attributes {
			if string(key) == wanted {
				w.keep(&w.common, i, v)
			}
		}
	}
	w.origin, w.shared = w.d.origins.share(o), w.list(w.common, nil)
	return nil
}

// originPart is where a resource attribute belongs; nil: nowhere. Keys other than goodput.engine are of OpenTelemetry's
// semantic conventions for resources.
func originPart(o *fact.Origin, key []byte) *string {
	switch string(key) {
	case "goodput.engine":
		return &o.Engine
	case "k8s.pod.uid":
		return &o.PodUID
	case "k8s.pod.name":
		return &o.PodName
	case "k8s.namespace.name":
		return &o.PodNamespace
	case "service.instance.id":
		return &o.Instance
	}
	return nil
}

// keep notes the value of an attribute that is kept.
func (w *walk) keep(where *[]string, i int, v value) {
	if *where == nil {
		*where = make([]string, len(w.d.attributes))
	}
	if text := v.text(); len(text) > 0 {
		(*where)[i] = w.d.values.share(text)
	}
}

// kept is what is kept of the span that was just read; a value of the span hides that of its resource.
func (w *walk) kept() []fact.Attribute {
	for _, v := range w.own {
		if v != "" {
			return w.list(w.own, w.common)
		}
	}
	return w.shared
}

// list is the attributes with the first of two values, or else the second. An empty value is none.
func (w *walk) list(first, second []string) (all []fact.Attribute) {
	for i, key := range w.d.attributes {
		var v string
		if first != nil {
			v = first[i]
		}
		if v == "" && second != nil {
			v = second[i]
		}
		if v != "" {
			all = append(all, fact.Attribute{Key: key, Value: v})
		}
	}
	return all
}

// How many origins and values are remembered: then all are forgotten, and later spans share among themselves.
const (
	maxOrigins = 1024
	maxValues  = 4096
)

// origins makes equal origins one.
type origins struct {
	mu  sync.Mutex
	all map[fact.Origin]*fact.Origin
}

func (s *origins) share(o fact.Origin) *fact.Origin {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.all[o]; known != nil {
		return known
	}
	if s.all == nil || len(s.all) >= maxOrigins {
		s.all = map[fact.Origin]*fact.Origin{}
	}
	s.all[o] = &o
	return &o
}

// values makes equal attribute values one.
type values struct {
	mu  sync.Mutex
	all map[string]string
}

func (s *values) share(text []byte) string {
	if len(text) > maxValue {
		text = []byte(cut(text, maxValue))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.all[string(text)]; ok {
		return known
	}
	if s.all == nil || len(s.all) >= maxValues {
		s.all = map[string]string{}
	}
	v := cut(text, maxValue)
	s.all[string(text)] = v
	return v
}
