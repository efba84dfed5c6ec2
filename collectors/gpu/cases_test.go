package gpu

import (
	"reflect"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// The cases are known ways in which GPU telemetry misleads, each with the name that it has in our collection.

// GPU-01: on MIG each instance row repeats the whole card's power and energy.
func TestGPU01InstancesRepeatTheCard(t *testing.T) {
	var page strings.Builder
	for _, id := range []string{"3", "4", "5", "6"} {
		labels := `{gpu="0",UUID="GPU-aaaa",GPU_I_PROFILE="1g.10gb",GPU_I_ID="` + id + `"} `
		page.WriteString("DCGM_FI_DEV_POWER_USAGE" + labels + "52.6\nDCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION" + labels + "5000\n" +
			"DCGM_FI_DEV_GPU_TEMP" + labels + "40\nDCGM_FI_DEV_SM_CLOCK" + labels + "1410\nDCGM_FI_DEV_FB_USED" + labels + id + "\n")
	}
	r := decodePage([]byte(page.String()), "")
	if len(r.GPUs) != 5 {
		t.Fatalf("%s", shown(t, r))
	}
	card := r.GPUs[0]
	want := fact.GPU{UUID: "GPU-aaaa", Power: fact.Known(52.6), Energy: fact.Known(5), Temperature: fact.Known(40), SMClock: fact.Known(1.41e9)}
	if !reflect.DeepEqual(card, want) {
		t.Errorf("card %+v, want %+v", card, want)
	}
	for i, g := range r.GPUs[1:] {
		id := string(rune('3' + i))
		want := fact.GPU{UUID: "GPU-aaaa/" + id, Card: "GPU-aaaa", Instance: id, Profile: "1g.10gb", MemoryUsed: fact.Known(float64(3+i) * (1 << 20))}
		if !reflect.DeepEqual(g, want) {
			t.Errorf("instance %+v, want %+v", g, want)
		}
	}
}

// GPU-03: under time-slicing a card is listed once per sharing pod, each time with the card's value.
func TestGPU03OneCardOnceHoweverManyPods(t *testing.T) {
	r := decodePage([]byte(`DCGM_FI_DEV_POWER_USAGE{UUID="GPU-aaaa",vgpu="0",pod="acme-0"} 70
DCGM_FI_DEV_POWER_USAGE{UUID="GPU-aaaa",vgpu="1",pod="beta-0"} 70
DCGM_FI_DEV_FB_USED{UUID="GPU-aaaa",vgpu="0",pod="acme-0"} 100
DCGM_FI_DEV_FB_USED{UUID="GPU-aaaa",vgpu="1",pod="beta-0"} 300
`), "")
	// Memory was split by process: neither row is the card's, and their sum leaves out what no pod holds.
	if g := only(t, r); g.Power != fact.Known(70) || g.MemoryUsed.Known || dropped(r, dropDisagree) != 1 {
		t.Errorf("got %s", shown(t, r))
	}
}

// GPU-05: busy time is missing or 0 on MIG instances, so that a busy instance looks idle.
func TestGPU05BusyTimeIsNotToldOfInstances(t *testing.T) {
	r := decodePage([]byte(`DCGM_FI_DEV_GPU_UTIL{UUID="GPU-aaaa",GPU_I_ID="1"} 0
DCGM_FI_PROF_GR_ENGINE_ACTIVE{UUID="GPU-aaaa",GPU_I_ID="1"} 0.87
`), "")
	for _, g := range r.GPUs {
		if g.Busy.Known {
			t.Errorf("%s claims to be idle", g.UUID)
		}
	}
	if g := r.GPUs[1]; g.UUID != "GPU-aaaa/1" || g.Engine != fact.Known(0.87) {
		t.Errorf("got %+v", g)
	}
}

// GPU-07: rare corrupted readings far outside the physical range.
func TestGPU07CorruptReadingsAreDroppedAndCounted(t *testing.T) {
	var busy, degrees []fact.Number
	lost := uint64(0)
	for i := range 4 {
		page := "DCGM_FI_DEV_GPU_UTIL{UUID=\"GPU-aaaa\"} " + []string{"97", "98", "4294967295", "98"}[i] + "\n" +
			"DCGM_FI_DEV_GPU_TEMP{UUID=\"GPU-bbbb\"} " + []string{"61", "82505", "62", "62"}[i] + "\n"
		r := decodePage([]byte(page), "")
		busy, degrees = append(busy, r.GPUs[0].Busy), append(degrees, r.GPUs[1].Temperature)
		lost += dropped(r, dropRange)
	}
	none := fact.Number{}
	if want := []fact.Number{fact.Known(0.97), fact.Known(0.98), none, fact.Known(0.98)}; !reflect.DeepEqual(busy, want) {
		t.Errorf("busy %v, want %v", busy, want)
	}
	if want := []fact.Number{fact.Known(61), none, fact.Known(62), fact.Known(62)}; !reflect.DeepEqual(degrees, want) {
		t.Errorf("degrees %v, want %v", degrees, want)
	}
	if lost != 2 {
		t.Errorf("%d counted", lost)
	}
}

// GPU-09: after an XID the profiling fields read 0 while the card works.
func TestGPU09ProfilingThatContradictsTheCardIsNotTrusted(t *testing.T) {
	const card, peer = `{UUID="GPU-aaaa"} `, `{UUID="GPU-bbbb"} `
	r := decodePage([]byte("DCGM_FI_DEV_GPU_UTIL"+card+"100\nDCGM_FI_PROF_GR_ENGINE_ACTIVE"+card+"0\nDCGM_FI_PROF_PIPE_TENSOR_ACTIVE"+card+"0\n"+
		"DCGM_FI_DEV_GPU_UTIL"+peer+"99\nDCGM_FI_PROF_GR_ENGINE_ACTIVE"+peer+"0.97\nDCGM_FI_PROF_PIPE_TENSOR_ACTIVE"+peer+"0\n"), "")
	a, b := r.GPUs[0], r.GPUs[1]
	if a.Engine.Known || a.Tensor.Known || a.Busy != fact.Known(1) {
		t.Errorf("believed: %+v", a)
	}
	if b.Engine != fact.Known(0.97) || b.Tensor != fact.Known(0) {
		t.Errorf("its peer lost values: %+v", b)
	}
	if dropped(r, dropConflict) != 2 || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "GPU-aaaa") {
		t.Errorf("dropped %+v, warned %q", r.Dropped, r.Warnings)
	}
	idle := decodePage([]byte("DCGM_FI_DEV_GPU_UTIL"+card+"0\nDCGM_FI_PROF_GR_ENGINE_ACTIVE"+card+"0\n"), "")
	if g := only(t, idle); g.Engine != fact.Known(0) {
		t.Errorf("an idle card lost its 0: %+v", g)
	}
	spin := decodePage([]byte("DCGM_FI_DEV_GPU_UTIL"+card+"100\nDCGM_FI_PROF_PIPE_TENSOR_ACTIVE"+card+"0\n"), "")
	if g := only(t, spin); g.Tensor != fact.Known(0) {
		t.Errorf("a card that is busy without its tensor cores lost their 0: %+v", g)
	}
}

// JON-01: dcgm-exporter renamed its label Hostname to hostname.
func TestJON01TheNodeUnderEitherName(t *testing.T) {
	for sentence, c := range map[string]struct{ labels, node string }{
		"old":                 {`gpu="0",UUID="GPU-aaaa",Hostname="node-a"`, "node-a"},
		"new":                 {`gpu="0",UUID="GPU-bbbb",hostname="node-b"`, "node-b"},
		"without":             {`gpu="0",UUID="GPU-cccc"`, "own-node"},
		"there and empty":     {`gpu="0",UUID="GPU-cccc",hostname=""`, "own-node"},
		"both, one is empty":  {`UUID="GPU-cccc",hostname="",Hostname="node-c"`, "node-c"},
		"old names otherwise": {`uuid="GPU-cccc",Hostname="node-d",pod_name="p"`, "node-d"},
	} {
		r := decodePage([]byte("DCGM_FI_DEV_GPU_UTIL{"+c.labels+"} 80\n"), "own-node")
		if g := only(t, r); g.Node != c.node || g.Busy != fact.Known(0.8) {
			t.Errorf("%s: got %+v", sentence, g)
		}
	}
}
