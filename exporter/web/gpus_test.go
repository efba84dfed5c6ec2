package web

import (
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

const (
	cardA = "GPU-11111111-2222-3333-4444-555555555555"
	cardB = "GPU-66666666-7777-8888-9999-aaaaaaaaaaaa"
	cardC = "GPU-bbbbbbbb-cccc-dddd-eeee-ffffffffffff"
	partC = "MIG-cccccccc-dddd-eeee-ffff-000000000000"
)

// onGPUs is a node with two engines: one on two GPUs of its own, of which one is lost; one that shares a third; and a MIG
// instance that is nobody's.
func onGPUs() View {
	v := viewOf(engine("a", "llama-3", 0, steady, chat()), engine("b", "llama-3", 25, steady, chat()), engine("c", "llama-3", 12, steady, chat()))
	s := v.Snapshot
	v.Currency = "EUR"
	s.GPUSource = fold.GPUSource{
		Name: "dcgm", Up: true, At: now - 3, Driver: "570.124.06", Version: "libdcgm 4.6.0, engine 4.6.0",
		Missing: []fact.Missing{{Field: "profiling of " + cardC, Cost: "no SM, tensor or memory activity: another client profiles the card"}},
		Dropped: []fold.Tally{{Name: "blank", Count: 1234}, {Name: "out_of_range", Count: 2}},
		Claims:  fold.ClaimSource{Asked: true, At: now - 600, Detail: "/var/lib/kubelet/pod-resources/kubelet.sock: permission denied", Unresolved: []fold.Tally{{Name: "dra", Count: 1}}, Conflicts: 2},
	}
	busy := fact.GPU{
		UUID: cardA, Model: "NVIDIA H100 80GB HBM3", XIDsCounted: true, RecoveryHint: "drain and reset",
		Busy: fact.Known(1), SMActive: fact.Known(0.78), Tensor: fact.Known(0.31), DRAM: fact.Known(0.62), Engine: fact.Known(0.9),
		MemoryUsed: fact.Known(72 << 30), MemoryTotal: fact.Known(80 << 30), Power: fact.Known(688.4), PowerLimit: fact.Known(700), Temperature: fact.Known(71),
		Throttled: []fact.Throttle{{Reason: fact.ThrottleSWPower, Now: fact.Known(1)}, {Reason: fact.ThrottleHWThermal, Now: fact.Known(0)}},
	}
	s.GPUs = []fold.GPU{
		{GPU: busy, Up: true, Seen: now - 3, Since: now - 3600, Engines: []string{"a"}, Join: fold.JoinPod, Joules: fact.Known(2.2e6),
			Errors: []fact.XIDCount{{XID: 31, Count: 1}, {XID: 43, Count: 0}}, Throttled: []fold.Throttled{{Reason: fact.ThrottleSWPower, Seconds: 412}, {Reason: fact.ThrottleHWThermal}}},
		{GPU: fact.GPU{UUID: cardB, Model: "NVIDIA H100 80GB HBM3", Lost: true}, Seen: now - 240, Since: now - 3600, Engines: []string{"a"}, Join: fold.JoinPod, Errors: []fact.XIDCount{{XID: 79, Count: 1}}},
		{GPU: fact.GPU{UUID: cardC, Model: "NVIDIA A100", Busy: fact.Known(0.4), Power: fact.Known(120)}, Up: true, Seen: now - 3, Since: now - 3600, Engines: []string{"b", hostile}, Join: fold.JoinUUID, Shared: true,
			Throttled: []fold.Throttled{{Reason: fact.ThrottleThermal}}},
		{GPU: fact.GPU{UUID: partC, Card: cardC, Instance: "3", Profile: "1g.10gb", Engine: fact.Known(0.5)}, Up: true, Seen: now - 3, Since: now - 3600, Join: fold.JoinAmbiguous},
	}
	s.Engines[0].GPUs = fold.EngineGPUs{Join: fold.JoinPod, Since: now - 3000, UUIDs: []string{cardA, cardB}, Partial: "it runs on 2 nodes: the others' GPUs are not counted here", Joules: fact.Known(3.9e6), Cost: fact.Known(2.0833)}
	s.Engines[1].GPUs = fold.EngineGPUs{Join: fold.JoinUUID, Since: now - 3000, UUIDs: []string{cardC}, Shared: true}
	s.Engines[2].GPUs = fold.EngineGPUs{Join: fold.JoinUnmatched, Since: now - 3000, Why: "no claim is of its pod, and the configuration names none of its GPUs"}
	return v
}

func gpuPage(t *testing.T, v View, id string) string {
	t.Helper()
	m := maker(v, chat())
	m.root = "../"
	p, found := m.engine(id)
	if !found {
		t.Fatalf("engine %s has no page", id)
	}
	return render(t, "engine", p)
}

// TestNothingIsSaidOfGPUsWhereNoneAreAsked: pages of a node without GPUs are as they were.
func TestNothingIsSaidOfGPUsWhereNoneAreAsked(t *testing.T) {
	v := viewOf(engine("a", "llama-3", 0, steady, chat()))
	for name, html := range map[string]string{"overview": render(t, "overview", maker(v, chat()).overview()), "engine": gpuPage(t, v, "a")} {
		if strings.Contains(html, "GPU") {
			t.Errorf("%s speaks of GPUs", name)
		}
	}
}

func TestTheStateOfTheSourceIsSaid(t *testing.T) {
	for name, c := range map[string]struct {
		source fold.GPUSource
		row    string // value of the row GPUs
		alert  string // "": none
	}{
		"all is well":               {fold.GPUSource{Name: "dcgm", Up: true, At: now - 3}, "from dcgm, 3 s ago", ""},
		"auto has found nothing":    {fold.GPUSource{Name: "none", Reason: fact.ReasonNoSource, Detail: "nothing there"}, "none found", ""},
		"auto has lost what it had": {fold.GPUSource{Name: "none", Reason: fact.ReasonNoSource, At: now - 600, Detail: "nothing there"}, "not known now, since ", "are not known now: nothing there"},
		"the child is starting":     {fold.GPUSource{Name: "dcgm", Reason: fact.ReasonStarting}, "not known now", ""},
		"a page that is refused":    {fold.GPUSource{Name: "dcgm-exporter", Reason: fact.ReasonRefused}, "not known now", "are not known now: refused"},
	} {
		t.Run(name, func(t *testing.T) {
			v := viewOf(engine("a", "llama-3", 0, steady, chat()))
			v.Snapshot.GPUSource = c.source
			o := maker(v, chat()).overview()
			row, alert := "", ""
			for _, r := range o.Trust {
				if r.Name == "GPUs" {
					row = r.Value
				}
			}
			for _, a := range o.Alerts {
				if a.LinkText == "GPUs" {
					alert = a.Text
				}
			}
			if !strings.HasPrefix(strings.ReplaceAll(row, nbsp, " "), c.row) || alert != c.alert {
				t.Errorf("row %q, alert %q", row, alert)
			}
		})
	}
}

func TestWhyEnergyIsUnknownIsSaid(t *testing.T) {
	v := onGPUs()
	for id, want := range map[string]string{
		"a": "1.08\u00a0kWh", "b": "another holds one of its GPUs too, and nothing is divided", "c": "there is no GPU that is known to be its own",
	} {
		if !strings.Contains(gpuPage(t, v, id), want) {
			t.Errorf("the page of %s does not say %q", id, want)
		}
	}
}
