package main

import (
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/sim"
)

// gpuWorlds are worlds in which cards are whole, several under an engine, shared in time, parts of a card, and in trouble.
var gpuWorlds = map[string]func(*sim.Config){
	"cards": func(*sim.Config) {},
	"tensor parallel": func(c *sim.Config) {
		c.Engines[0].GPU.Count = 4
	},
	"instances": func(c *sim.Config) {
		c.Engines[0].GPU, c.Engines[1].GPU = sim.GPUModel{Card: "x", MIG: "3g.40gb"}, sim.GPUModel{Card: "x", MIG: "4g.40gb"}
	},
	"shared in time": func(c *sim.Config) {
		c.Engines[0].GPU, c.Engines[1].GPU = sim.GPUModel{Card: "x", MemoryBytes: 20e9}, sim.GPUModel{Card: "x", MemoryBytes: 30e9}
	},
	"hot, and with an error": func(c *sim.Config) {
		c.GPUEvents = []sim.GPUEvent{{Engine: "chat-1", After: 100, Throttle: sim.HardwareThermal, For: 1000, Slow: 1.5}, {Engine: "chat-1", After: 50, XID: 31}}
	},
	"a lost card": func(c *sim.Config) {
		c.Engines[0].GPU.Count = 2
		c.Outages = []sim.Outage{{Engine: "chat-1", After: 100, Down: 1000, Crash: true, Lost: true}}
	},
}

// TestGPUPageIsReadAsTheTruth: what the exporter's source reads from the page of a world's GPUs is what the world knows of
// them, in either regime: cards, instances, users of a shared card.
func TestGPUPageIsReadAsTheTruth(t *testing.T) {
	computes(t)
	for name, change := range gpuWorlds {
		for _, regime := range []sim.GPURegime{sim.GPURegime48, sim.GPURegime49} {
			t.Run(name+"/"+string(regime), func(t *testing.T) {
				s, _ := sim.ScenarioNamed("fleet")
				c := s.Config(1, simStart)
				c.Engines = slices.Clone(c.Engines)
				c.GPUExporter = sim.GPUExporter{Interval: 0.001, Counters: sim.AllCounters}
				change(&c)
				world, err := sim.New(c)
				if err != nil {
					t.Fatal(err)
				}
				world.Run(simStart + 200)
				r := gpu.NewDecoder("", 0).Decode(world.GPUPage(regime), simStart+200)
				if r.Reason != "" || len(r.Warnings) > 0 || len(r.Dropped) > 0 {
					t.Fatalf("reason %q, %s, warnings %q, dropped %v", r.Reason, r.Detail, r.Warnings, r.Dropped)
				}
				holdGPUs(t, world.GPUs(), r.GPUs)
			})
		}
	}
}

// holdGPUs holds what was read against the truth. Samples are a millisecond apart, so that only power, which changes with the
// steps, may differ.
func holdGPUs(t *testing.T, truth []sim.GPU, read []fact.GPU) {
	t.Helper()
	cards := map[string]*fact.GPU{}
	instances := map[string][]*fact.GPU{}
	for i := range read {
		if g := &read[i]; g.Card == "" {
			cards[g.UUID] = g
		} else {
			instances[g.Card] = append(instances[g.Card], g)
		}
	}
	used, parts, there := map[string]float64{}, map[string]int{}, map[string]bool{}
	for _, g := range truth {
		used[g.UUID] += g.MemoryBytes
		there[g.UUID] = !g.Lost
		if g.MIG != "" {
			if parts[g.UUID]++; len(instances[g.UUID]) < parts[g.UUID] || math.Abs(instances[g.UUID][parts[g.UUID]-1].MemoryUsed.V-g.MemoryBytes) > 1<<20 {
				t.Errorf("instance %s of %s is missing, or holds something else", g.MIG, g.UUID)
			}
		}
		c := cards[g.UUID]
		if (c != nil) == g.Lost {
			t.Errorf("card %s is read: %v, and lost: %v", g.UUID, c != nil, g.Lost)
		}
		if c == nil {
			continue
		}
		if len(c.XIDs) > 0 != (g.XID > 0) || g.XID > 0 && c.XIDs[0].XID != g.XID {
			t.Errorf("card %s: XIDs %v, the truth is %d", g.UUID, c.XIDs, g.XID)
		}
		heat := fact.Number{}
		for _, h := range c.Throttled {
			if h.Reason == fact.ThrottleThermal {
				heat = h.Seconds
			}
			if h.Reason == fact.ThrottleHWThermal && (h.Now.V == 1) != (g.ThermalSeconds > 0) {
				t.Errorf("card %s: too hot: %v, for %v s in truth", g.UUID, h.Now, g.ThermalSeconds)
			}
		}
		if !heat.Known || math.Abs(heat.V-g.ThermalSeconds) > 0.01 {
			t.Errorf("card %s: throttled by heat for %v s, in truth %v", g.UUID, heat, g.ThermalSeconds)
		}
		if !c.Power.Known || c.Power.V > c.PowerLimit.V || !c.Energy.Known || c.Energy.V < g.EnergyJoules/8 {
			t.Errorf("card %s: %v W of %v, %v J", g.UUID, c.Power, c.PowerLimit, c.Energy)
		}
	}
	for id, bytes := range used {
		if there[id] && parts[id] == 0 && math.Abs(cards[id].MemoryUsed.V-bytes) > 1<<20 {
			t.Errorf("card %s holds %v bytes, in truth %v", id, cards[id].MemoryUsed, bytes)
		}
	}
	if len(cards)+len(instances) == 0 {
		t.Error("nothing was read")
	}
}

// TestFleetServesTheGPUs: the page is at a port of its own, as dcgm-exporter's, and stays there when an engine is down.
func TestFleetServesTheGPUs(t *testing.T) {
	s, _ := sim.ScenarioNamed("steady")
	world, err := sim.New(s.Config(1, unix(time.Now())))
	if err != nil {
		t.Fatal(err)
	}
	f, err := newFleet(world)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	if err := f.engines[0].set(false); err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get(f.gpus.url())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != sim.GPUContentType {
		t.Fatalf("status %d, type %q, %v", resp.StatusCode, resp.Header.Get("Content-Type"), err)
	}
	if r := gpu.NewDecoder("", 0).Decode(body, unix(time.Now())); len(r.GPUs) != 1 || r.GPUs[0].UUID != world.GPUs()[0].UUID {
		t.Errorf("it says %+v", r)
	}
	url := f.gpus.url()
	f.close()
	if resp, err := http.Get(url); err == nil {
		resp.Body.Close()
		t.Error("the port is open after the fleet was closed")
	}
}

// TestDemoReadsItsGPUs: the demo's exporter finds the page of the fleet's GPUs, and knows which engine is on which of them.
func TestDemoReadsItsGPUs(t *testing.T) {
	d := startDemo(t, demoOptions{Scenario: "gpu-lost", Listen: "127.0.0.1:0"})
	want := []string{`goodput_gpu_source_up{source="dcgm-exporter"} 1`, `goodput_engine_gpus{engine="a",join="uuid",`, `goodput_engine_cost_total{currency="EUR",engine="a"`}
	var page string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		_, page = fetch(t, d.url+"/metrics")
		if !slices.ContainsFunc(want, func(s string) bool { return !strings.Contains(page, s) }) {
			break
		}
	}
	for _, s := range want {
		if !strings.Contains(page, s) {
			t.Errorf("the page lacks %s", s)
		}
	}
	if n := strings.Count(page, "\ngoodput_gpu_info{"); n != 2 {
		t.Errorf("%d GPUs of 2", n)
	}
	if err := d.stop(); err != nil {
		t.Error(err)
	}
}
