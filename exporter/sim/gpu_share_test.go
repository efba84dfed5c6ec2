package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// sharing are two engines on one card.
func sharing(one, two GPUModel) Config {
	c := Config{Seed: 4, Start: start, Engines: []Engine{{ID: "a", Model: "m", Step: H100, GPU: one}, {ID: "b", Model: "m", Step: H100, GPU: two}}, GPUExporter: GPUExporter{Interval: 10}}
	for _, e := range c.Engines {
		c.Loads = append(c.Loads, Load{Name: e.ID, Engines: []string{e.ID}, Rate: Constant(4), Mix: fixed(300, 100)})
	}
	return c
}

// TestSharedInTime: two engines on one card have a row each, which both say the same: the card's values, which are the sum
// of what the engines used.
func TestSharedInTime(t *testing.T) {
	w := build(t, sharing(GPUModel{Card: "one", MemoryBytes: 30e9, IdleWatts: 70, MaxWatts: 700}, GPUModel{Card: "one", MemoryBytes: 40e9, IdleWatts: 70, MaxWatts: 700}))
	first := w.GPUs()
	begun := readGPUs(t, w.GPUPage(GPURegime49))
	looks, before, last := 0, first, 0.0
	atSamples(w, 200, func() {
		looks++
		body := string(w.GPUPage(GPURegime49))
		page, gpus := readGPUs(t, []byte(body)), w.GPUs()
		keys := []string{gpus[0].UUID + "::0", gpus[0].UUID + "::1"}
		if gpus[0].UUID != gpus[1].UUID || gpus[0].MIG != "" {
			t.Fatalf("%+v", gpus)
		}
		for family, rows := range page {
			if !slices.Equal(page.rows(family), keys) || rows[keys[0]] != rows[keys[1]] {
				t.Fatalf("%s: %v", family, rows)
			}
		}
		if !strings.Contains(body, `,container="vllm",namespace="default",pod="a",vgpu="0"} `) || !strings.Contains(body, `,pod="b",vgpu="1"} `) {
			t.Fatal("the pods are not named")
		}
		if watts := page["DCGM_FI_DEV_BOARD_POWER_WATTS"][keys[0]]; !near(watts, gpus[0].PowerWatts+gpus[1].PowerWatts, 1e-6) || watts < 70 || watts > 700 {
			t.Fatalf("%v W, the parts are %v and %v", watts, gpus[0].PowerWatts, gpus[1].PowerWatts)
		}
		if used := page["DCGM_FI_DEV_FB_USED_BYTES"][keys[0]]; used != 70e9 {
			t.Fatalf("%v bytes", used)
		}
		grew := func(of func(GPU) float64) (a, b float64) {
			return (of(gpus[0]) - of(before[0])) / (w.now - last), (of(gpus[1]) - of(before[1])) / (w.now - last)
		}
		for family, want := range map[string]float64{
			"DCGM_FI_DEV_GPU_UTIL_RATIO":     func(a, b float64) float64 { return a + b - a*b }(grew(func(g GPU) float64 { return g.ActiveSeconds })),
			"DCGM_FI_PROF_TENSOR_UTIL_RATIO": func(a, b float64) float64 { return (a + b) / 2 }(grew(func(g GPU) float64 { return g.TensorSeconds })),
			"DCGM_FI_PROF_DRAM_UTIL_RATIO":   func(a, b float64) float64 { return (a + b) / 2 }(grew(func(g GPU) float64 { return g.DRAMSeconds })),
		} {
			if got := page[family][keys[0]]; got < want-1e-6 || got > want+1e-6 {
				t.Fatalf("%s is %v, in truth %v", family, got, want)
			}
		}
		before, last = gpus, w.now
		const joules = "DCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL"
		grown, parts := page[joules][keys[0]]-begun[joules][keys[0]], gpus[0].EnergyJoules+gpus[1].EnergyJoules-first[0].EnergyJoules-first[1].EnergyJoules
		if grown < parts-1 || grown > parts+1 || gpus[0].EnergyJoules == gpus[1].EnergyJoules {
			t.Fatalf("%v J, the parts are %v", grown, parts)
		}
	})
	if looks < 15 {
		t.Errorf("%d looks", looks)
	}
}

// TestMIG: each instance has its own activity and memory; what the card alone has is repeated on all of them, as
// dcgm-exporter does; there is no row of the card, and no busy time.
func TestMIG(t *testing.T) {
	w := build(t, sharing(GPUModel{Card: "one", MIG: "4g.40gb"}, GPUModel{Card: "one", MIG: "3g.40gb"}))
	last := w.GPUs()
	at := 0.0
	atSamples(w, 200, func() {
		body := string(w.GPUPage(GPURegime48))
		page, gpus := readGPUs(t, []byte(body)), w.GPUs()
		if !strings.Contains(body, `,GPU_I_PROFILE="4g.40gb",GPU_I_ID="1",hostname=`) || !strings.Contains(body, `,GPU_I_PROFILE="3g.40gb",GPU_I_ID="2",hostname=`) || len(page["DCGM_FI_DEV_GPU_UTIL"]) > 0 || len(page["DCGM_FI_DEV_FB_RESERVED"]) > 0 {
			t.Fatalf("the page is\n%s", body)
		}
		if gpus[0].UUID != gpus[1].UUID || gpus[0].MIG == gpus[1].MIG || !strings.HasPrefix(gpus[0].MIG, "MIG-") {
			t.Fatalf("%+v", gpus)
		}
		for i, g := range gpus {
			key := fmt.Sprintf("%s/%d", g.UUID, i+1)
			if got, want := page["DCGM_FI_PROF_GR_ENGINE_ACTIVE"][key], (g.ActiveSeconds-last[i].ActiveSeconds)/(w.now-at); got < want-1e-6 || got > want+1e-6 {
				t.Fatalf("instance %d is active %v, in truth %v", i+1, got, want)
			}
			if got := page["DCGM_FI_DEV_POWER_USAGE"][key]; !near(got, gpus[0].PowerWatts+gpus[1].PowerWatts, 1e-6) || got > 700 {
				t.Fatalf("instance %d repeats %v W, the parts are %v and %v", i+1, got, gpus[0].PowerWatts, gpus[1].PowerWatts)
			}
			if used, free := page["DCGM_FI_DEV_FB_USED"][key], page["DCGM_FI_DEV_FB_FREE"][key]; used != 34e9/(1<<20)-float64(int(34e9)%(1<<20))/(1<<20) || used+free < 40e9/(1<<20)-2 || used+free > 40e9/(1<<20) {
				t.Fatalf("instance %d uses %v MiB, and has %v free", i+1, used, free)
			}
		}
		last, at = gpus, w.now
	})
	if at < 150 {
		t.Errorf("looked at last after %v s", at)
	}
}

// TestMistakesAboutCards are named like all others.
func TestMistakesAboutCards(t *testing.T) {
	for _, test := range []struct {
		mistake func(*Config)
		want    string
	}{
		{func(c *Config) { c.Engines[0].GPU = GPUModel{Count: 2, Card: "x"} }, `sim: engine "a": several GPUs of one rank cannot be parts of a card: GPU.Card and GPU.MIG`},
		{func(c *Config) { c.Engines[0].GPU = GPUModel{MIG: "half"} }, `sim: engine "a": GPU.MIG is a profile such as 3g.40gb, not "half"`},
		{func(c *Config) { c.Engines[0].GPU = GPUModel{MIG: "8g.80gb"} }, `sim: engine "a": GPU.MIG is a profile such as 3g.40gb, not "8g.80gb"`},
		{func(c *Config) { c.Engines[0].GPU = GPUModel{MemoryBytes: 2, CapacityBytes: 1} }, `sim: engine "a": a GPU holds at most GPU.CapacityBytes: GPU.MemoryBytes`},
		{func(c *Config) {
			c.Engines[0].GPU, c.Engines[1].GPU = GPUModel{Card: "x"}, GPUModel{Card: "x", MIG: "1g.10gb"}
		}, `sim: engine "b": GPU.Card "x" is another card under engine "a": both must say the same of it`},
		{func(c *Config) {
			c.Engines[0].GPU, c.Engines[1].GPU = GPUModel{Card: "x"}, GPUModel{Card: "x", MaxWatts: 300}
		}, `sim: engine "b": GPU.Card "x" is another card under engine "a": both must say the same of it`},
		{func(c *Config) { c.Engines[0].GPU, c.Engines[0].Ranks = GPUModel{Card: "x", MIG: "4g.40gb"}, 2 }, `sim: engine "a": the MIG instances of GPU.Card "x" take 8 sevenths of it`},
		{func(c *Config) { c.Outages[0].Lost = true }, `sim: outage of engine "a": an engine core does not outlive a card: Lost goes with Crash, and without Reload`},
		{func(c *Config) { c.Outages[0].Reload, c.Engines[0].GPU.Card = true, "x" }, `sim: outage of engine "a": its GPU.Card "x" may be others' too: Lost and Reload`},
		{func(c *Config) { c.GPUEvents = []GPUEvent{{Engine: "z", XID: 1}} }, `sim: a GPU event is of engine "z", which does not exist`},
		{func(c *Config) { c.GPUEvents = []GPUEvent{{Engine: "a", Index: 1, XID: 1}} }, `sim: GPU event of engine "a": the engine has no GPU 1 of rank 0: Rank and Index`},
		{func(c *Config) { c.GPUEvents = []GPUEvent{{Engine: "a", Rank: 1, XID: 1}} }, `sim: GPU event of engine "a": the engine has no GPU 0 of rank 1: Rank and Index`},
		{func(c *Config) { c.GPUEvents = []GPUEvent{{Engine: "a"}} }, `sim: GPU event of engine "a": exactly one of XID and Throttle must be given`},
		{func(c *Config) { c.GPUEvents = []GPUEvent{{Engine: "a", XID: 1, After: -1}} }, `sim: GPU event of engine "a": After and Every must not be negative`},
		{func(c *Config) { c.GPUEvents = []GPUEvent{{Engine: "a", Throttle: "tired", For: 1, Slow: 2}} }, `sim: GPU event of engine "a": "tired" is no reason for Throttle`},
		{func(c *Config) {
			c.GPUEvents = []GPUEvent{{Engine: "a", Throttle: PowerCap, For: 5, Every: 5, Slow: 2}}
		}, `sim: GPU event of engine "a": it must last, and end before it comes again: For and Every`},
		{func(c *Config) { c.GPUEvents = []GPUEvent{{Engine: "a", Throttle: PowerCap, For: 5, Slow: 0.5}} }, `sim: GPU event of engine "a": clocks that are held down make steps longer: Slow is at least 1`},
		{func(c *Config) { c.GPUExporter.Interval = -1 }, `sim: GPUExporter.Interval must be finite and not negative`},
		{func(c *Config) { c.GPUExporter.Counters = 3 }, `sim: GPUExporter.Counters is no set of counters`},
		{func(c *Config) { c.GPUExporter.Hostname = "\xff" }, `sim: GPUExporter.Hostname and GPUExporter.Driver must be UTF-8`},
	} {
		c := sound()
		test.mistake(&c)
		if w, err := New(c); err == nil || w != nil || err.Error() != test.want {
			t.Errorf("got  %v\nwant %s", err, test.want)
		}
	}
}
