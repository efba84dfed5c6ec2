package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu"
	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/sim"
	"github.com/goodput-exporter/goodput-exporter/internal/dcgmdouble"
)

// doubleInterval is how often the child on the double brings a frame. Three of it without one would be a hang.
const doubleInterval = 400 * time.Millisecond

// doubledGPUs reads a world's GPUs through the real child, on a double of libdcgm that says what the world's DCGM holds. The
// child runs on the real clock and the world does not, so a reading is dated anew.
type doubledGPUs struct {
	t      *testing.T
	script string
	source *gpu.Child
	logs   *lockedBuffer
	step   int
	seen   map[string]int64 // when an error was first in the script, microseconds since 1970
}

func newDoubledGPUs(t *testing.T, world *sim.World) *doubledGPUs {
	t.Helper()
	if why := dcgmdouble.Missing(); why != "" {
		if os.Getenv("GOODPUT_REQUIRE_CGO") != "" {
			t.Fatalf("%s, and GOODPUT_REQUIRE_CGO is set", why)
		}
		t.Skipf("%s, so that neither the child nor the double of libdcgm can be built", why)
	}
	dir := t.TempDir()
	child, library := filepath.Join(dir, gpu.ChildName), filepath.Join(dir, "library")
	if err := dcgmdouble.Child(child); err != nil {
		t.Fatal(err)
	}
	if err := dcgmdouble.Library(library); err != nil {
		t.Fatal(err)
	}
	d := &doubledGPUs{t: t, script: filepath.Join(dir, "script"), logs: newLockedBuffer(), seen: map[string]int64{}}
	d.write(world)
	var err error
	d.source, err = gpu.NewChild(gpu.ChildConfig{
		Path: child, Address: "localhost:5555", Interval: doubleInterval, Env: []string{"LD_LIBRARY_PATH=" + library, "DCGM_DOUBLE_SCRIPT=" + d.script},
		Logger: slog.New(slog.NewTextHandler(d.logs, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.source.Close() })
	return d
}

// marker is a field of which a world knows nothing: its value is the number of the script, so that a reading tells which one
// it is of.
const marker = frame.FieldPCIeReplays

// write makes the double say what the world's DCGM holds now.
func (d *doubledGPUs) write(world *sim.World) {
	d.t.Helper()
	d.step++
	var b strings.Builder
	for _, e := range world.DCGM() {
		d.entity(&b, &e)
	}
	if err := os.WriteFile(d.script+".new", []byte(b.String()), 0o600); err != nil {
		d.t.Fatal(err)
	}
	if err := os.Rename(d.script+".new", d.script); err != nil {
		d.t.Fatal(err)
	}
}

// instancesPerCard keeps the entity ids of instances apart: DCGM counts them over all cards.
const instancesPerCard = 8

func (d *doubledGPUs) entity(b *strings.Builder, e *sim.DCGMEntity) {
	what, id := "card", e.Card
	if e.Instance > 0 {
		what, id = "instance", e.Card*instancesPerCard+e.Instance
		fmt.Fprintf(b, "instance %d of %d gi %d\n", id, e.Card, e.Instance)
	} else {
		fmt.Fprintf(b, "card %d\nprofiling %d 1001 1002 1003 1004 1005\nvalue card %d %d i %d\n", id, id, id, marker, d.step)
	}
	if e.Lost {
		fmt.Fprintf(b, "state %d 4\n", id)
	}
	for _, v := range e.Values {
		switch {
		case v.Text != "":
			fmt.Fprintf(b, "value %s %d %d s %s\n", what, id, v.Field, v.Text)
		case v.Whole:
			fmt.Fprintf(b, "value %s %d %d i %.0f\n", what, id, v.Field, v.V)
		default:
			fmt.Fprintf(b, "value %s %d %d d %.17g\n", what, id, v.Field, v.V)
		}
	}
	for _, err := range e.Errors {
		key := fmt.Sprint(id, err)
		if d.seen[key] == 0 {
			d.seen[key] = time.Now().UnixMicro()
		}
		fmt.Fprintf(b, "xid card %d %d %d\n", id, err.XID, d.seen[key])
	}
}

// patienceOfDouble bounds the wait for a frame, on machines that are busy too.
const patienceOfDouble = time.Minute

// read is what the child makes of the world as it is now, dated at.
func (d *doubledGPUs) read(world *sim.World, at float64) fact.GPUReading {
	d.t.Helper()
	d.write(world)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(patienceOfDouble); ; {
		select {
		case <-tick.C:
		case <-late:
			d.t.Fatalf("no frame of script %d within %s: %s", d.step, patienceOfDouble, d.logs)
		}
		if strings.Contains(d.logs.String(), "level=WARN") {
			d.t.Fatalf("the child was restarted, so that errors may not be counted: is the machine too busy for a frame each %s? %s", doubleInterval, d.logs)
		}
		r := d.source.Read(context.Background())
		current := false
		r.GPUs = slices.Clone(r.GPUs) // the source serves it to others too
		for i := range r.GPUs {
			g := &r.GPUs[i]
			current = current || g.PCIeReplays == fact.Known(float64(d.step))
			g.PCIeReplays = fact.Number{}
			if g.SampledAt > 0 {
				g.SampledAt = at
			}
		}
		if r.At = at; current {
			return r
		}
	}
}
