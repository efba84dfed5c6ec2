//go:build linux && cgo

package main

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// TestTheParentUnderstandsTheChild runs the real child under the exporter's supervision: what a double of libdcgm says is
// read in base units, and what becomes of the child is survived.
func TestTheParentUnderstandsTheChild(t *testing.T) {
	needsCompiler(t)
	script := append(node(2), "value card * 155 d 412.5", "value card * 156 i 5000000", "value card * 203 i 87", "value card 0 150 i NOT_SUPPORTED")
	w := newWorld(t, double(t), script...)
	source, err := gpu.NewChild(gpu.ChildConfig{
		Path: built, Embedded: true, Interval: 200 * time.Millisecond,
		Env: []string{"LD_LIBRARY_PATH=" + w.library, "DCGM_DOUBLE_SCRIPT=" + w.script, "DCGM_DOUBLE_CALLS=" + w.calls},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	until := func(what string, wanted func(fact.GPUReading) bool) fact.GPUReading {
		t.Helper()
		late, tick := time.After(patienceOfTests), time.NewTicker(20*time.Millisecond)
		defer tick.Stop()
		var r fact.GPUReading
		for {
			select {
			case <-tick.C:
				if r = source.Read(context.Background()); wanted(r) {
					return r
				}
			case <-late:
				t.Fatalf("%s: not within %s; last: %+v", what, patienceOfTests, r)
			}
		}
	}

	r := until("two cards", func(r fact.GPUReading) bool { return len(r.GPUs) == 2 })
	g := r.GPUs[0]
	if g.UUID != "GPU-00000000-0000-0000-0000-000000000000" || g.Power != fact.Known(412.5) || g.Energy != fact.Known(5000) || g.Busy != fact.Known(0.87) || g.Temperature.Known {
		t.Errorf("%+v", g)
	}
	if r.Version != "libdcgm 4.6.1, engine 4.6.1" || r.Driver != "580.65.06" {
		t.Errorf("version %q, driver %q", r.Version, r.Driver)
	}
	w.is(append(script, fmt.Sprintf("xid card 1 79 %d", time.Now().UnixMicro()), "state 1 4")...)
	r = until("a lost card with its error", func(r fact.GPUReading) bool {
		return len(r.GPUs) == 2 && r.GPUs[1].Lost && len(r.GPUs[1].XIDs) == 1
	})
	if g := r.GPUs[1]; g.UUID != "GPU-00000001-0000-0000-0000-000000000000" || g.Power.Known || g.XIDs[0] != (fact.XIDCount{XID: 79, Count: 1}) {
		t.Errorf("the lost card: %+v", g)
	}
	w.is(append(script, "fail * -21")...)
	until("nothing", func(r fact.GPUReading) bool { return r.GPUs == nil && r.Reason != "" })
	w.is(script...)
	until("both cards again, from a new child", func(r fact.GPUReading) bool { return len(r.GPUs) == 2 && !r.GPUs[1].Lost })
}
