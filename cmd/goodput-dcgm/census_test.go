//go:build linux && cgo

package main

import (
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
)

// TestTheNodeChanges: profiling becomes free, MIG is set up, and a card goes, all under a running child.
func TestTheNodeChanges(t *testing.T) {
	w := newWorld(t, double(t), append(node(2), "fail profiling -34")...)
	c := w.start("--address=localhost:5555", "--interval=100ms")
	if f := c.next(); len(f.Entities) != 2 || len(f.Unavailable) != len(frame.Profiling()) {
		t.Fatalf("%+v", f)
	}
	w.is(node(2)...)
	f := c.until("profiling fields", func(f *frame.Frame) bool { return len(f.Unavailable) == 0 })
	if v := value(entity(t, f, frame.Card, 0), frame.FieldTensor); v == nil || v.Status != 0 {
		t.Errorf("profiling is free and not watched: %+v", v)
	}
	w.is(append(node(2), "instance 3 of 1 gi 7", "value instance * 252 i 9000")...)
	f = c.until("an instance", func(f *frame.Frame) bool { return len(f.Entities) == 3 })
	if v := value(entity(t, f, frame.Instance, 3), frame.FieldMemoryUsed); v == nil || v.Status != 0 || v.Int != 9000 {
		t.Errorf("the instance is there and not watched: %+v", v)
	}
	w.is(node(1)...)
	f = c.until("one card", func(f *frame.Frame) bool { return len(f.Entities) == 1 })
	if v := value(entity(t, f, frame.Card, 0), frame.FieldPower); v == nil || v.Status != 0 {
		t.Errorf("the card that stayed is not watched: %+v", v)
	}
	c.stdin.Close()
	if status := c.exit(); status != 0 {
		t.Errorf("exit status %d, %s", status, c.said())
	}
	if n := strings.Count(c.said(), "profiling fields"); n != 1 {
		t.Errorf("profiling was complained of %d times: %s", n, c.said())
	}
	if made, taken := len(w.called("dcgmWatchFields")), len(w.called("dcgmUnwatchFields")); taken > made || taken < 9 {
		t.Errorf("%d watches made, %d taken back", made, taken)
	}
}
