package gpu

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// staleAfter is how many intervals old a value may be, and a frame.
const staleAfter = 3

// Status codes of DCGM that say more than that there is no value (dcgm_structs.h, dcgmReturn_t).
const (
	statusLost   = -18
	statusPaused = -54
)

// judge makes readings of frames. It remembers across frames who is who and how many errors there were, and is not safe
// for concurrent use.
type judge struct {
	node  string
	names map[int]fact.GPU          // identity by entity id of a card, as last told by this child
	xids  map[string]map[int]uint64 // by UUID of a card, over all children
	last  map[string]int64          // time of the newest event that was counted, by UUID
	fresh bool                      // no frame of this child was read yet
}

func newJudge(node string) *judge {
	return &judge{node: node, names: map[int]fact.GPU{}, xids: map[string]map[int]uint64{}, last: map[string]int64{}}
}

// begin forgets what holds for one child only: entity ids can move when the host engine starts anew.
func (j *judge) begin() {
	clear(j.names)
	j.fresh = true
}

// reading judges a frame: status, blanks, age and range of each value. A frame of which every value is too old is a
// reading without GPUs.
func (j *judge) reading(f *frame.Frame) fact.GPUReading {
	r := fact.GPUReading{Source: NameChild, At: f.At, Version: versions(f)}
	if !(f.Interval > 0) || !(f.At > 0) {
		r.Reason, r.Detail = fact.ReasonParse, "goodput-dcgm does not say when it read, or how often; install it and goodput-exporter from one release"
		return r
	}
	t := newTally()
	cards, all := j.entities(f, &r, t)
	j.events(f, cards, t)
	j.fresh = false
	counted := !slices.ContainsFunc(f.Unavailable, func(u frame.Unavailable) bool { return u.Field == frame.FieldXID })
	values := 0
	for _, e := range all {
		e.finish(1, t)
		if e.XIDs = nil; e.Card == "" {
			for xid, n := range j.xids[e.UUID] {
				e.XIDs = append(e.XIDs, fact.XIDCount{XID: xid, Count: n})
			}
			e.XIDsCounted = counted
		}
		if e.SampledAt > 0 || e.Lost {
			values++
		}
	}
	r.GPUs = settle(all, t)
	r.Missing = unavailable(f, r.GPUs)
	t.into(&r)
	if values == 0 {
		r.Reason, r.Detail = nothing(f, len(all), t)
		r.GPUs, r.Missing = nil, nil
	}
	return r
}

// nothing says why a frame brought no value that can be told.
func nothing(f *frame.Frame, entities int, t tally) (fact.Reason, string) {
	switch {
	case t.dropped[dropStale] > 0:
		return fact.ReasonStale, fmt.Sprintf("every value is more than %d intervals old: the host engine does not sample any more, or its clock is behind; restart it (nv-hostengine)", staleAfter)
	case t.dropped[dropFuture] > 0:
		return fact.ReasonStale, "every value is from the future: the clock of the host engine's node is ahead of this one; set both by NTP"
	case entities == 0:
		return fact.ReasonDialect, "DCGM knows no GPU here: see whether nvidia-smi lists one, and whether the driver is visible in the container (runtimeClassName nvidia)"
	}
	return fact.ReasonStale, "DCGM has no value of any GPU: as just after its start; if it stays so, see the host engine's log"
}

// versions is what the child runs on, such as "libdcgm 4.6.0, engine 4.6.0".
func versions(f *frame.Frame) string {
	var parts []string
	if v := tidy(f.Library); v != "" {
		parts = append(parts, "libdcgm "+v)
	}
	if v := tidy(f.Engine); v != "" {
		parts = append(parts, "engine "+v)
	}
	return strings.Join(parts, ", ")
}

// entities builds the cards first, since instances are named after them.
func (j *judge) entities(f *frame.Frame, r *fact.GPUReading, t tally) (cards map[int]*entity, all []*entity) {
	cards = map[int]*entity{}
	if len(f.Entities) > maxEntities {
		t.drop(dropTooMany)
		t.warn(fmt.Sprintf("more than %d cards and instances: the rest is left out", maxEntities))
		f.Entities = f.Entities[:maxEntities]
	}
	for i := range f.Entities {
		src := &f.Entities[i]
		if src.Kind != frame.Card || cards[src.ID] != nil {
			continue
		}
		identity, ok := j.identify(src, r)
		if !ok || slices.ContainsFunc(all, func(e *entity) bool { return e.UUID == identity.UUID }) {
			t.drop(dropUnidentified)
			t.warn("a card without a UUID of its own is left out: an index is no identity")
			continue
		}
		e := newEntity(identity)
		e.Lost = src.State != ""
		j.values(f, src, e, t)
		cards[src.ID], all = e, append(all, e)
	}
	for i := range f.Entities {
		if src := &f.Entities[i]; src.Kind == frame.Instance {
			if e := j.instance(src, cards[src.Card], all, t); e != nil {
				j.values(f, src, e, t)
				all = append(all, e)
			}
		}
	}
	return cards, all
}

// values puts the values of an entity in that can be told. An instance keeps what it has of its own: the rest repeats the
// card's.
func (j *judge) values(f *frame.Frame, src *frame.Entity, e *entity, t tally) {
	for k := range src.Values {
		v := &src.Values[k]
		i, known := fieldsByID[v.Field]
		if !known || v.Field == frame.FieldXID || e.Card != "" && (fields[i].of == nil || !fields[i].of.instance) {
			continue
		}
		if v.Status == statusLost {
			e.Lost = true
		}
		if v.Status == statusPaused {
			t.warn("profiling is paused on the host engine: let it go on with dcgmi profile --resume")
		}
		if why := age(f, v); why != "" {
			t.drop(why)
			continue
		}
		if raw, ok := numeric(v); !ok {
			t.drop(dropNotANumber)
		} else if e.put(i, raw, t) {
			e.SampledAt = max(e.SampledAt, float64(v.Time)/1e6)
		}
	}
	if e.Lost { // what is left is from before
		clear(e.raw)
		e.SampledAt = 0
	}
}

// age says why a value is not of this moment; "" when it is. Blanks carry no time and are told as what they are.
func age(f *frame.Frame, v *frame.Value) string {
	if v.Status != 0 {
		return dropStatus
	}
	if raw, ok := numeric(v); ok && fields[fieldsByID[v.Field]].blank(raw) {
		return dropBlank
	}
	limit := f.Interval
	if own := f.Intervals[v.Field]; own > limit {
		limit = own
	}
	switch old := f.At - float64(v.Time)/1e6; {
	case old > staleAfter*limit:
		return dropStale
	case old < -staleAfter*limit:
		return dropFuture
	}
	return ""
}

func numeric(v *frame.Value) (float64, bool) {
	switch v.Kind {
	case frame.Int:
		return float64(v.Int), true
	case frame.Double:
		return v.Double, true
	}
	return 0, false
}

// unavailable lists what the child does not watch, with its reason, and what else no card has.
func unavailable(f *frame.Frame, gpus []fact.GPU) []fact.Missing {
	all := missing(gpus)
	for _, u := range f.Unavailable {
		i, known := fieldsByID[u.Field]
		if !known || fields[i].of == nil {
			continue
		}
		name, why := fields[i].of.name, tidy(u.Why)
		k := slices.IndexFunc(all, func(m fact.Missing) bool { return m.Field == name })
		if k < 0 {
			all = append(all, fact.Missing{Field: name, Cost: why})
		} else {
			all[k].Cost += "; " + why
		}
	}
	return all
}
