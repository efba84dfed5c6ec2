//go:build linux && cgo

package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
)

// TestDEP05: a host engine of our own takes the profiling counters from nobody unless it is told to, and when they are taken
// for good it says so once, brings the rest and does not try again.
func TestDEP05(t *testing.T) {
	library := double(t)
	for name, c := range map[string]struct {
		args []string
		why  string // that profiling fields are missing; "" they are not
	}{
		"embedded":                              {[]string{"--embedded"}, "not asked for by an embedded host engine"},
		"embedded and told to":                  {[]string{"--embedded", "--profiling=on"}, ""},
		"through the host engine that is there": {[]string{"--address=localhost:5555"}, ""},
		"through it and told not to":            {[]string{"--address=localhost:5555", "--profiling=off"}, "switched off with --profiling=off"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, library, node(1)...)
			f := w.start(append(c.args, "--interval=1s")...).next()
			missing := slices.ContainsFunc(f.Unavailable, func(u frame.Unavailable) bool {
				return u.Field == frame.FieldTensor && c.why != "" && strings.Contains(u.Why, c.why)
			})
			asked := len(w.called("dcgmProfGetSupportedMetricGroups"))
			if missing != (c.why != "") || len(f.Unavailable) > 0 != missing || (asked > 0) == missing {
				t.Errorf("asked %d times, unavailable %+v", asked, f.Unavailable)
			}
			if v := value(entity(t, f, frame.Card, 0), frame.FieldPower); v == nil || v.Status != 0 {
				t.Errorf("the rest is not there: %+v", v)
			}
		})
	}
	t.Run("the counters are taken for good", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, library, append(node(1), "fail profiling -37")...)
		c := w.start("--embedded", "--profiling=on", "--interval=100ms")
		var f *frame.Frame
		for range census + 3 {
			f = c.next()
		}
		if !slices.ContainsFunc(f.Unavailable, func(u frame.Unavailable) bool {
			return u.Field == frame.FieldTensor && strings.Contains(u.Why, "unrecoverable error")
		}) {
			t.Errorf("unavailable %+v", f.Unavailable)
		}
		if n := len(w.called("dcgmProfGetSupportedMetricGroups")); n != 1 {
			t.Errorf("the counters were tried %d times", n)
		}
		if n := strings.Count(c.said(), "restart this one"); n != 1 {
			t.Errorf("said %d times: %s", n, c.said())
		}
	})
}
