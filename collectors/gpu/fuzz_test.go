package gpu

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// sound holds a reading against what no source may break, whatever it says.
func sound(t *testing.T, r fact.GPUReading) {
	t.Helper()
	if (r.GPUs == nil) == (r.Reason == "") {
		t.Fatalf("%d GPUs and reason %q", len(r.GPUs), r.Reason)
	}
	if len(r.GPUs) > maxEntities || len(r.Warnings) > maxWarnings || !slices.IsSortedFunc(r.GPUs, byCard) {
		t.Fatalf("%d GPUs, %d warnings, or not sorted", len(r.GPUs), len(r.Warnings))
	}
	seen := map[string]bool{}
	for i := range r.GPUs {
		g := &r.GPUs[i]
		card, _, _ := strings.Cut(g.UUID, "/")
		if g.Card != "" {
			card = g.Card
		}
		if !validUUID(card) || seen[g.UUID] || (g.Card == "") != (g.Instance == "") || len(g.Model)+len(g.Node)+len(g.Bus)+len(g.Profile) > 4*128 {
			t.Fatalf("no identity: %+v", g)
		}
		seen[g.UUID] = true
		if h := g.Holder; h != (fact.Holder{}) && (g.Card == "" || h.Namespace == "" || h.Pod == "" || h.Container == "" || len(h.Namespace)+len(h.Pod)+len(h.Container) > 3*maxHolder) {
			t.Fatalf("%s is held by %+v", g.UUID, h)
		}
		for _, q := range quantities {
			n := *q.of(g)
			if n.Known && !(n.V >= q.min && n.V <= q.max) || !n.Known && n.V != 0 {
				t.Fatalf("%s has %s = %v", g.UUID, q.name, n)
			}
			if n.Known && g.Card != "" && !q.instance {
				t.Fatalf("instance %s repeats the card's %s", g.UUID, q.name)
			}
		}
		for _, h := range g.Throttled {
			if h.Now.V != 0 && h.Now.V != 1 || h.Seconds.V < 0 || h.Seconds.V > maxHeld {
				t.Fatalf("%s is throttled %+v", g.UUID, h)
			}
		}
		for _, x := range g.XIDs {
			if x.XID < 1 || x.XID > maxXID {
				t.Fatalf("%s has XID %+v", g.UUID, x)
			}
		}
	}
}

func FuzzPage(f *testing.F) {
	f.Add(read(f, page48))
	f.Add(read(f, page49))
	f.Add([]byte("DCGM_FI_DEV_POWER_USAGE{UUID=\"GPU-a\",GPU_I_PROFILE=\"1g.10gb\",GPU_I_ID=\"3\",dra_mig_device_uuid=\"MIG-b\"} 52.6\nDCGM_FI_DEV_FB_USED{UUID=\"GPU-a\",GPU_I_ID=\"3\",vgpu=\"1\"} 5 1\n"))
	f.Add([]byte("DCGM_FI_DEV_FB_USED{UUID=\"GPU-a\",GPU_I_ID=\"3\",namespace=\"ml\",pod=\"acme-0\",container=\"vllm\"} 5\nDCGM_FI_DEV_FB_FREE{UUID=\"GPU-a\",GPU_I_ID=\"3\",namespace=\"ml\",pod=\"beta-0\",container=\"vllm\"} 5\n"))
	f.Add([]byte("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{UUID=\"GPU-a\",modelName=\"a \"b\" c\"} 255\nDCGM_EXP_XID_ERRORS_TOTAL{UUID=\"GPU-a\",xid=\"31\"} 3\nDCGM_FI_DEV_GPU_UTIL_RATIO{UUID=\"GPU-a\"} NaN"))
	f.Fuzz(func(t *testing.T, page []byte) {
		d := NewDecoder("node", 0)
		for _, at := range []float64{0, 1000} {
			sound(t, d.Decode(page, at))
		}
	})
}

func FuzzFrame(f *testing.F) {
	add := func(frames ...*frame.Frame) {
		var b bytes.Buffer
		for _, fr := range frames {
			if err := frame.Write(&b, fr); err != nil {
				f.Fatal(err)
			}
		}
		f.Add(b.Bytes())
	}
	mig := frame.Entity{Kind: frame.Instance, Card: 1, Instance: 7, Values: []frame.Value{frame.Integer(frame.FieldMemoryUsed, 0, nowUS, 100), frame.Real(frame.FieldPower, 0, nowUS, 100)}}
	events := tick(h100(0))
	events.Events = []frame.Event{{Kind: frame.Card, Field: frame.FieldXID, Time: nowUS, Int: 31}}
	add(tick(h100(0), h100(1), mig), events)
	add(tick(), tick(frame.Entity{Kind: frame.Card, State: "lost"}))
	f.Fuzz(func(t *testing.T, in []byte) {
		frames, j := frame.NewReader(bytes.NewReader(in)), newJudge("node")
		for {
			fr, err := frames.Next()
			if err != nil {
				return
			}
			sound(t, j.reading(fr))
		}
	})
}
