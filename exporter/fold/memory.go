package fold

import (
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// A process is remembered for an hour after it was last heard of, and no more of them than maxInstances: it costs a
// sender nothing to invent another.
const (
	instanceLife = 3600 // seconds
	maxInstances = 4096
)

// memory is which process (service.instance.id) was matched to which target, in a ring from the one that was heard of
// last to the one that was not for the longest time.
type memory struct {
	byID map[string]*recollection
	ends *recollection // closes the ring: its older is the newest, its newer the oldest
}

// recollection is one process, and the origin by which it was matched.
type recollection struct {
	instance     string
	place        *place
	origin       *fact.Origin
	how          string
	seen         float64
	newer, older *recollection
}

// recall returns what a process was matched to, and nil for one that is not remembered.
func (m *memory) recall(instance string, at float64) *place {
	r := m.byID[instance]
	if r == nil {
		return nil
	}
	if at-r.seen > instanceLife {
		m.drop(r)
		return nil
	}
	r.seen = at
	r.unlink()
	m.link(r)
	return r.place
}

// keep remembers that the process of an origin was matched to a place by it. The best reason for it is kept: one that
// comes earlier in the order of trying outlives more changes among the targets.
func (m *memory) keep(o *fact.Origin, p *place, how string, at float64) {
	if o.Instance == "" {
		return
	}
	r := m.byID[o.Instance]
	switch {
	case r == nil:
		if m.byID == nil {
			m.byID = map[string]*recollection{}
			m.ends = &recollection{}
			m.ends.newer, m.ends.older = m.ends, m.ends
		}
		if len(m.byID) >= maxInstances {
			m.drop(m.ends.newer)
		}
		r = &recollection{instance: o.Instance}
		m.byID[r.instance] = r
		m.link(r)
	case r.place == p && slices.Index(hows[:], r.how) < slices.Index(hows[:], how):
		return
	}
	r.place, r.origin, r.how, r.seen = p, o, how, at
}

// forget drops what a function says should be.
func (m *memory) forget(should func(*recollection) bool) {
	for _, r := range m.byID {
		if should(r) {
			m.drop(r)
		}
	}
}

func (m *memory) drop(r *recollection) {
	delete(m.byID, r.instance)
	r.unlink()
}

// link makes r the newest.
func (m *memory) link(r *recollection) {
	r.newer, r.older = m.ends, m.ends.older
	r.newer.older, r.older.newer = r, r
}

func (r *recollection) unlink() {
	r.newer.older, r.older.newer = r.older, r.newer
}
