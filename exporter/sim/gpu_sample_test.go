package sim

import (
	"bytes"
	"math"
	"regexp"
	"slices"
	"testing"
)

// TestGPUPageIsOld: between two samples the page stays as it is, for as long as the interval says; looking changes nothing.
func TestGPUPageIsOld(t *testing.T) {
	for _, interval := range []float64{0, 1, 7} {
		s, _ := ScenarioNamed("steady")
		c := s.Config(1, start)
		c.GPUExporter.Interval = interval
		w := build(t, c)
		want := interval
		if want == 0 {
			want = 30
		}
		var changes []float64
		before := w.GPUPage(GPURegime48)
		for at := 0.05; at < 200; at += 0.05 {
			w.Run(start + at)
			page := w.GPUPage(GPURegime48)
			if !bytes.Equal(page, before) {
				changes = append(changes, at)
			}
			before = page
		}
		if len(changes) < 5 {
			t.Fatalf("%d changes", len(changes))
		}
		for i := 1; i < len(changes); i++ {
			if got := changes[i] - changes[i-1]; math.Abs(got-want) > 0.051 {
				t.Errorf("samples are %.2f s apart, want %v", got, want)
			}
		}
	}
}

// TestGPUCounters: what is shown is what the exporter was told to show.
func TestGPUCounters(t *testing.T) {
	c := Config{Start: start, Engines: []Engine{{ID: "a", Model: "m", Step: H100}}}
	for counters, want := range map[GPUCounters]map[string]bool{
		DefaultCounters: {"DCGM_FI_DEV_GPU_UTIL": true, "DCGM_FI_PROF_DRAM_ACTIVE": true, "DCGM_FI_PROF_SM_ACTIVE": false, "DCGM_FI_DEV_THERMAL_VIOLATION": false},
		PlainCounters:   {"DCGM_FI_DEV_GPU_UTIL": true, "DCGM_FI_PROF_DRAM_ACTIVE": false, "DCGM_FI_PROF_SM_ACTIVE": false, "DCGM_FI_DEV_THERMAL_VIOLATION": false},
		AllCounters:     {"DCGM_FI_DEV_GPU_UTIL": true, "DCGM_FI_PROF_DRAM_ACTIVE": true, "DCGM_FI_PROF_SM_ACTIVE": true, "DCGM_FI_DEV_THERMAL_VIOLATION": true},
	} {
		c.GPUExporter.Counters = counters
		page := readGPUs(t, build(t, c).GPUPage(GPURegime48))
		for family, shown := range want {
			if (len(page[family]) > 0) != shown {
				t.Errorf("counters %d: %s is shown: %v", counters, family, !shown)
			}
		}
		if len(page["DCGM_FI_DEV_XID_ERRORS"]) > 0 {
			t.Error("an error is shown where there was none")
		}
	}
}

// TestGPUsHaveUUIDs: each card has one of its own, which its seed decides and nothing else.
func TestGPUsHaveUUIDs(t *testing.T) {
	ids := func(seed uint64, change func(*Config)) (out []string) {
		c := Config{Seed: seed, Start: start, Engines: []Engine{{ID: "a", Model: "m", Step: H100, Ranks: 2, GPU: GPUModel{Count: 4}}, {ID: "b", Model: "m", Step: H100}}}
		change(&c)
		for _, g := range build(t, c).GPUs() {
			out = append(out, g.UUID)
		}
		return out
	}
	plain := ids(1, func(*Config) {})
	if got := slices.Compact(slices.Sorted(slices.Values(plain))); len(got) != 9 {
		t.Errorf("%d UUIDs of 9 cards", len(got))
	}
	for _, id := range plain {
		if !regexp.MustCompile(`^GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`).MatchString(id) {
			t.Errorf("%q is no UUID", id)
		}
	}
	if got := ids(1, func(c *Config) { c.Engines[0].GPU.MaxWatts = 300; c.GPUExporter.Interval = 5 }); !slices.Equal(got, plain) {
		t.Errorf("%v, and with other settings %v", plain, got)
	}
	if slices.Equal(ids(2, func(*Config) {}), plain) {
		t.Error("two seeds give the same cards")
	}
}

// TestWorldsDoNotHearOfTheirGPUPage: how often and what the dcgm-exporter looks at leaves the engines alone.
func TestWorldsDoNotHearOfTheirGPUPage(t *testing.T) {
	for seed := range uint64(6) {
		c := anyWorld(seed)
		at := func(e GPUExporter) string {
			c.GPUExporter = e
			w := run(t, c, 70)
			return string(pages(w))
		}
		if at(GPUExporter{}) != at(GPUExporter{Interval: 0.3, Counters: AllCounters, Hostname: "other"}) {
			t.Errorf("world %d is another when it is looked at more often", seed)
		}
	}
}

// TestEnergyBeganBeforeTheWorld: each card's driver has been loaded for a time of its own, up to a month.
func TestEnergyBeganBeforeTheWorld(t *testing.T) {
	c := Config{Start: start, Engines: []Engine{{ID: "a", Model: "m", Step: H100, GPU: GPUModel{Count: 8}}}}
	var all []float64
	for _, v := range readGPUs(t, build(t, c).GPUPage(GPURegime49))["DCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL"] {
		all = append(all, v)
	}
	slices.Sort(all)
	if len(slices.Compact(all)) != 8 || all[0] <= 0 || all[7] > 75*30*86400 || all[7] < 75*86400 {
		t.Errorf("%v J", all)
	}
}
