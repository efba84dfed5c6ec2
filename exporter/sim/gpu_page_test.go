package sim

import (
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// gpuSheet is a dcgm-exporter's page, read by hand: what each family says of each row, by the row's UUID and what tells it
// apart from others of the card.
type gpuSheet map[string]map[string]float64

var gpuLabel = regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)

func readGPUs(t testing.TB, page []byte) gpuSheet {
	t.Helper()
	sheet := gpuSheet{}
	for line := range strings.Lines(string(page)) {
		if line[0] == '#' {
			continue
		}
		name, rest, _ := strings.Cut(line, "{")
		text, number, ok := strings.Cut(rest, "} ")
		v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if !ok || err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		labels := map[string]string{}
		for _, m := range gpuLabel.FindAllStringSubmatch(text, -1) {
			labels[m[1]] = m[2]
		}
		key := labels["UUID"]
		if id := labels["GPU_I_ID"]; id != "" {
			key += "/" + id
		}
		if user := labels["vgpu"]; user != "" {
			key += "::" + user
		}
		if sheet[name] == nil {
			sheet[name] = map[string]float64{}
		}
		if _, twice := sheet[name][key]; twice {
			t.Fatalf("%s of %s is there twice", name, key)
		}
		sheet[name][key] = v
	}
	return sheet
}

// rows are the keys of a family, sorted.
func (s gpuSheet) rows(family string) (keys []string) {
	for k := range s[family] {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// atSamples runs a world from one look of its dcgm-exporter to the next, up to a time in seconds since the start. Unix
// seconds are too coarse to hit a sample's instant.
func atSamples(w *World, until float64, look func()) {
	for w.gpuPage.due() <= until {
		at := w.gpuPage.due()
		for w.advance(at) {
		}
		w.gpuPage.until(at)
		w.now = at
		look()
	}
}

// TestGPUPageIsTheTruth: what the page says when it is fresh is what the cards did, in both regimes, to the digits that
// the page has.
func TestGPUPageIsTheTruth(t *testing.T) {
	for _, regime := range []struct {
		name                      GPURegime
		energy, power, busy, used string
		joule, percent, memory    float64 // units of the page, in base units
		engine, tensor, dram      string
	}{
		{GPURegime48, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_FB_USED", 1e-3, 0.01, 1 << 20,
			"DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "DCGM_FI_PROF_DRAM_ACTIVE"},
		{GPURegime49, "DCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL", "DCGM_FI_DEV_BOARD_POWER_WATTS", "DCGM_FI_DEV_GPU_UTIL_RATIO", "DCGM_FI_DEV_FB_USED_BYTES", 1, 1, 1,
			"DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO", "DCGM_FI_PROF_TENSOR_UTIL_RATIO", "DCGM_FI_PROF_DRAM_UTIL_RATIO"},
	} {
		t.Run(string(regime.name), func(t *testing.T) {
			s, _ := ScenarioNamed("fleet")
			c := s.Config(1, start)
			c.Engines = slices.Clone(c.Engines)
			c.Engines[0].GPU.Count = 2
			c.GPUExporter.Counters = AllCounters
			w := build(t, c)
			first, firstTruth := readGPUs(t, w.GPUPage(regime.name)), w.GPUs()
			before, last, worked := firstTruth, 0.0, 0
			atSamples(w, 300, func() {
				page, truth := readGPUs(t, w.GPUPage(regime.name)), w.GPUs()
				for i, g := range truth {
					b, seconds := before[i], w.now-last
					check := func(family string, unit, want float64) {
						t.Helper()
						got, has := page[family][g.UUID]
						digit := unit // whole numbers
						if unit == 1 {
							digit = 1e-6
						}
						if !has || math.Abs(got*unit-want) > digit*1.001 {
							t.Fatalf("at %.1f s %s of %s is %v (shown: %v), the truth is %v", w.now, family, g.UUID, got, has, want)
						}
					}
					check(regime.power, 1, g.PowerWatts)
					check(regime.used, regime.memory, g.MemoryBytes)
					if grown := (page[regime.energy][g.UUID] - first[regime.energy][g.UUID]) * regime.joule; math.Abs(grown-(g.EnergyJoules-firstTruth[i].EnergyJoules)) > 2*regime.joule {
						t.Fatalf("energy has grown by %v J, in truth by %v", grown, g.EnergyJoules-firstTruth[i].EnergyJoules)
					}
					check(regime.busy, regime.percent, (g.ActiveSeconds-b.ActiveSeconds)/seconds)
					check(regime.engine, 1, (g.ActiveSeconds-b.ActiveSeconds)/seconds)
					check(regime.tensor, 1, (g.TensorSeconds-b.TensorSeconds)/seconds)
					check(regime.dram, 1, (g.DRAMSeconds-b.DRAMSeconds)/seconds)
					if g.ActiveSeconds > b.ActiveSeconds {
						worked++
					}
				}
				before, last = truth, w.now
			})
			if worked < 40 || len(before) != 6 {
				t.Errorf("%d comparisons of %d cards", worked, len(before))
			}
		})
	}
}

// TestGPUPagesOfBothRegimesAgree: the same sample in other names and units, family by family.
func TestGPUPagesOfBothRegimesAgree(t *testing.T) {
	s, _ := ScenarioNamed("throttled")
	c := s.Config(2, start)
	c.GPUExporter.Counters = AllCounters
	c.GPUEvents = append(slices.Clone(c.GPUEvents), GPUEvent{Engine: "a", After: 10, XID: 31})
	w := run(t, c, 400)
	old, now := readGPUs(t, w.GPUPage(GPURegime48)), readGPUs(t, w.GPUPage(GPURegime49))
	if len(old) != len(gpuFamilies) || len(now) != len(gpuFamilies) {
		t.Fatalf("%d and %d families of %d", len(old), len(now), len(gpuFamilies))
	}
	for _, f := range gpuFamilies {
		for key, v := range old[f.old.name] {
			a, b, step := v/f.old.scale, now[f.new.name][key]/f.new.scale, 1e-6
			if f.old.whole {
				step = max(step, 1/f.old.scale)
			}
			if f.new.whole {
				step = max(step, 1/f.new.scale)
			}
			if math.Abs(a-b) > step {
				t.Errorf("%s of %s is %v, %s is %v", f.old.name, key, a, f.new.name, b)
			}
		}
	}
	if w.GPUPage("5.0") != nil {
		t.Error("a regime that does not exist has a page")
	}
}

// TestGPUPageIsLikeTheSample: families, help texts, types, the order of families and labels, and how numbers are written are
// those of a real 4.8's page, and of the page made by hand for 4.9.
func TestGPUPageIsLikeTheSample(t *testing.T) {
	c := Config{Seed: 1, Start: start, Engines: []Engine{{ID: "a", Model: "m", Step: H100}}, GPUEvents: []GPUEvent{{Engine: "a", XID: 31}}, GPUExporter: GPUExporter{Hostname: "vm", Counters: AllCounters}}
	w := run(t, c, 100)
	shape := regexp.MustCompile(`gpu="\d+"|GPU-[0-9a-f-]{36}|00000000:[0-9A-F]{2}|nvidia\d+|\d+`)
	digits := regexp.MustCompile(`\d`)
	for regime, file := range map[GPURegime]string{GPURegime48: "dcgm-exporter-4.8.prom", GPURegime49: "dcgm-exporter-4.9-synthetic.prom"} {
		sample, err := os.ReadFile("../../collectors/gpu/testdata/samples/" + file)
		if err != nil {
			t.Fatal(err)
		}
		lines := func(page []byte) (out []string) {
			for line := range strings.Lines(string(page)) {
				if line[0] != '#' {
					head, value, _ := strings.Cut(line, "} ")
					line = shape.ReplaceAllString(head, "0") + "} " + digits.ReplaceAllString(strings.TrimLeft(value, "0123456789"), "0")
				} else if strings.HasPrefix(line, "# Made") || strings.HasPrefix(line, "# and of") {
					continue
				}
				if len(out) == 0 || out[len(out)-1] != line {
					out = append(out, line)
				}
			}
			return out
		}
		ours := lines(w.GPUPage(regime))
		at := -1
		for _, line := range lines(sample) {
			i := slices.Index(ours, line)
			if i <= at {
				t.Errorf("%s: line %d, not behind %d: %s", regime, i, at, line)
			}
			at = i
		}
	}
}
