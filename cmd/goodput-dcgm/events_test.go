//go:build linux && cgo

package main

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
)

// TestEveryXIDIsToldOnce: also the one that arrives late, and the one of the same number and card.
func TestEveryXIDIsToldOnce(t *testing.T) {
	at := func(ago time.Duration) int64 { return time.Now().Add(-ago).UnixMicro() }
	xid := func(what string, id, xid int, at int64) string {
		return fmt.Sprintf("xid %s %d %d %d", what, id, xid, at)
	}
	world0 := append(node(2), "instance 3 of 1 gi 7", xid("card", 0, 13, at(time.Minute)), xid("card", 0, 13, at(100*time.Hour)))
	w := newWorld(t, double(t), world0...)
	c := w.start("--embedded", "--interval=100ms", "--fields=203,230")
	if f := c.next(); len(f.Events) != 0 {
		t.Errorf("events of before the child were told: %+v", f.Events)
	}
	var told []frame.Event
	collect := func(n int) {
		t.Helper()
		c.until("an event", func(f *frame.Frame) bool {
			told = append(told, f.Events...)
			return len(told) >= n
		})
	}
	first := at(0)
	script := append(world0, xid("card", 0, 31, first), xid("card", 1, 31, first))
	w.is(script...)
	collect(2)
	late, again := first-20_000_000, at(0)
	script = append(script, xid("card", 0, 94, late), xid("card", 0, 31, again), xid("card", 0, 31, again))
	w.is(script...)
	collect(5)
	part := at(0)
	script = append(script, xid("instance", 3, 43, part), xid("compute", 3+100, 45, part))
	w.is(script...)
	collect(7)
	for range 3 {
		told = append(told, c.next().Events...)
	}
	want := []frame.Event{
		{Kind: "card", ID: 0, Field: 230, Time: first, Int: 31}, {Kind: "card", ID: 1, Field: 230, Time: first, Int: 31},
		{Kind: "card", ID: 0, Field: 230, Time: late, Int: 94}, {Kind: "card", ID: 0, Field: 230, Time: again, Int: 31}, {Kind: "card", ID: 0, Field: 230, Time: again, Int: 31},
		{Kind: "instance", ID: 3, Field: 230, Time: part, Int: 43}, {Kind: "instance", ID: 3, Field: 230, Time: part, Int: 45},
	}
	if !slices.Equal(told, want) {
		t.Errorf("told\n%+v\nwant\n%+v", told, want)
	}
}

func TestEventsThatCannotBeReadAreSaidToBeLost(t *testing.T) {
	w := newWorld(t, double(t), node(1)...)
	c := w.start("--embedded", "--interval=100ms")
	c.next()
	w.is(append(node(1), "fail dcgmGetValuesSince_v2 -3")...)
	f := c.until("lost events", func(f *frame.Frame) bool { return f.EventsLost })
	if len(f.Entities) != 1 {
		t.Errorf("the values went with the events: %+v", f)
	}
	w.is(node(1)...)
	c.until("no lost events", func(f *frame.Frame) bool { return !f.EventsLost })
}
