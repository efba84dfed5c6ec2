//go:build linux && cgo

package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/NVIDIA/go-dcgm/pkg/dcgm"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
)

// overlap is how far each look for events goes back before the last one. An event is dated by the driver and arrives in
// DCGM's cache later, so one that is older than what was seen last can be new. It is also longer than a call can hang.
const overlap = 90 * time.Second

// events tells every XID once. It holds what it has seen, not what it has told.
type events struct {
	seen  map[frame.Event]int // how often
	since int64               // microseconds on the engine's clock, where the next look begins; 0: the first look
}

// read returns the events that were not there at the last look. newest is the engine's time now. The first look returns
// nothing: what happened before belongs to nobody's count.
func (e *events) read(p *plan, newest int64) (fresh []frame.Event, err error) {
	if p.events == nil {
		return nil, nil
	}
	values, _, err := dcgm.GetValuesSince(p.events.group, p.events.fields, time.UnixMicro(e.since))
	if err != nil {
		return nil, fmt.Errorf("XIDs: %w", err)
	}
	first, seen := e.seen == nil, map[frame.Event]int{}
	for i := range values {
		ev, ok := p.event(&values[i])
		if !ok {
			continue
		}
		newest = max(newest, ev.Time)
		if seen[ev]++; !first && seen[ev] > e.seen[ev] {
			fresh = append(fresh, ev)
		}
	}
	e.seen = seen
	e.since = max(e.since, newest-overlap.Microseconds())
	return fresh, nil
}

// event is an XID of a card or of an instance. When none has ever come, some releases hold a blank or a zero.
func (p *plan) event(v *dcgm.FieldValue_v2) (frame.Event, bool) {
	xid := v.Int64()
	if v.Status != dcgm.DCGM_ST_OK || v.FieldType != dcgm.DCGM_FT_INT64 || xid <= 0 || dcgm.IsInt64Blank(xid) {
		return frame.Event{}, false
	}
	ev := frame.Event{Kind: frame.Card, ID: int(v.EntityID), Field: int(v.FieldID), Time: v.TS, Int: xid}
	switch v.EntityGroupId {
	case dcgm.FE_GPU:
		return ev, true
	case dcgm.FE_GPU_I:
		ev.Kind = frame.Instance
		return ev, true
	case dcgm.FE_GPU_CI:
		i := slices.IndexFunc(p.inv.computes, func(c compute) bool { return c.id == v.EntityID })
		if i < 0 {
			return frame.Event{}, false
		}
		ev.Kind, ev.ID = frame.Instance, int(p.inv.computes[i].instance)
		return ev, true
	}
	return frame.Event{}, false
}
