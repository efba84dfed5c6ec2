package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// watchGPUs is a world with one engine and everything on its dcgm-exporter's page, looked at every second.
func watchGPUs(change func(*Config)) Config {
	c := Config{Seed: 3, Start: start, Engines: []Engine{{ID: "a", Model: "m", Step: H100}}, GPUExporter: GPUExporter{Interval: 1, Counters: AllCounters}}
	c.Loads = []Load{{Name: "l", Engines: []string{"a"}, Rate: Constant(6), Mix: fixed(300, 100)}}
	change(&c)
	return c
}

// TestThrottledGPU: while a card's clocks are held down its page says so and why, steps take longer, it draws less, and
// what it used above idle for the same work is the same; afterwards all is as before.
func TestThrottledGPU(t *testing.T) {
	for why, want := range map[Throttle]struct {
		bits   float64
		family string
		other  string
	}{
		PowerCap:        {4, "DCGM_FI_DEV_POWER_VIOLATION", "DCGM_FI_DEV_THERMAL_VIOLATION"},
		SoftwareThermal: {32, "DCGM_FI_DEV_THERMAL_VIOLATION", "DCGM_FI_DEV_POWER_VIOLATION"},
		HardwareThermal: {64 + 8, "DCGM_FI_DEV_THERMAL_VIOLATION", "DCGM_FI_DEV_POWER_VIOLATION"},
	} {
		c := watchGPUs(func(c *Config) {
			c.GPUEvents = []GPUEvent{{Engine: "a", After: 100, Throttle: why, For: 50, Slow: 2}}
			c.Loads[0].Rate, c.Loads[0].Closed = Rate{}, &Closed{Clients: 8}
		})
		w := build(t, c)
		id := w.GPUs()[0].UUID
		at := map[float64]map[string]float64{}
		atSamples(w, 200, func() {
			row := map[string]float64{}
			for family, rows := range readGPUs(t, w.GPUPage(GPURegime48)) {
				row[family] = rows[id]
			}
			at[math.Floor(w.now)] = row
		})
		held := 1e-9 * at[140][want.family]
		if held < 40 || held > 41 || at[99][want.family] != 0 || 1e-9*at[190][want.family] != 50 || at[190][want.other] != 0 {
			t.Errorf("%s: held for %v s at 140 s, and %v ns at 190 s; the other counter %v", why, held, at[190][want.family], at[190][want.other])
		}
		if g := w.GPUs()[0]; g.PowerSeconds+g.ThermalSeconds != 50 || (g.PowerSeconds > 0) != (why == PowerCap) {
			t.Errorf("%s: the truth is %v s and %v s", why, g.PowerSeconds, g.ThermalSeconds)
		}
		for _, second := range []float64{99, 140, 190} {
			slow, bits := 1.0, 0.0
			if second == 140 {
				slow, bits = 2, want.bits
			}
			row := at[second]
			if row["DCGM_FI_DEV_SM_CLOCK"] != math.Floor(1755/slow) || row["DCGM_FI_DEV_CLOCK_THROTTLE_REASONS"] != bits {
				t.Errorf("%s, at %v s: %v MHz, reasons %v", why, second, row["DCGM_FI_DEV_SM_CLOCK"], row["DCGM_FI_DEV_CLOCK_THROTTLE_REASONS"])
			}
			if hot := row["DCGM_FI_DEV_GPU_TEMP"] == 87; hot != (second == 140 && why != PowerCap) || row["DCGM_FI_DEV_MEMORY_TEMP"] != row["DCGM_FI_DEV_GPU_TEMP"]+8 {
				t.Errorf("%s, at %v s: %v degrees, memory %v", why, second, row["DCGM_FI_DEV_GPU_TEMP"], row["DCGM_FI_DEV_MEMORY_TEMP"])
			}
			if ratio := (row["DCGM_FI_DEV_POWER_USAGE"] - 75) / (at[99]["DCGM_FI_DEV_POWER_USAGE"] - 75); !near(ratio*slow, 1, 0.25) {
				t.Errorf("%s, at %v s: %.2f of the power above idle", why, second, ratio)
			}
		}
	}
}

// TestStepsOfAThrottledGPU: a step takes exactly as many times longer as the slowest of the rank's cards says, and its energy
// above idle and what it asks of the units are those of the step at full speed.
func TestStepsOfAThrottledGPU(t *testing.T) {
	work := func(events ...GPUEvent) (prefill, decode float64, g GPU) {
		c := watchGPUs(func(c *Config) {
			c.Engines[0].GPU, c.Engines[0].Step.Noise = GPUModel{Count: 2}, 0
			c.Loads = []Load{{Engines: []string{"a"}, Trace: []Sent{{At: 10, Prompt: 500, Output: 200}}}}
			c.GPUEvents = events
		})
		truth := listen(&c)
		w := run(t, c, 60)
		s := truth.sequences[0].Values
		return s.Prefill, s.Decode, w.GPUs()[0]
	}
	prefill, decode, g := work()
	for name, events := range map[string][]GPUEvent{
		"the second card alone is hot":    {{Engine: "a", Index: 1, Throttle: PowerCap, For: 50, Slow: 3}},
		"two holds at once do not add up": {{Engine: "a", Throttle: PowerCap, For: 50, Slow: 2}, {Engine: "a", Index: 1, Throttle: SoftwareThermal, For: 50, Slow: 3}},
		"a hold inside another":           {{Engine: "a", Throttle: PowerCap, For: 50, Slow: 3}, {Engine: "a", After: 5, Throttle: PowerCap, For: 40, Slow: 2}},
	} {
		slowPrefill, slowDecode, slow := work(events...)
		if !near(slowPrefill, 3*prefill, 1e-6) || !near(slowDecode, 3*decode, 1e-6) || !near(slow.ActiveSeconds, 3*g.ActiveSeconds, 1e-6) {
			t.Errorf("%s: prefill %v s and decode %v s, without %v and %v", name, slowPrefill, slowDecode, prefill, decode)
		}
		if !near(slow.EnergyJoules, g.EnergyJoules, 1e-6) || !near(slow.TensorSeconds, g.TensorSeconds, 1e-6) || !near(slow.DRAMSeconds, g.DRAMSeconds, 1e-6) {
			t.Errorf("%s: %+v for the same work as %+v", name, slow, g)
		}
	}
}

// TestHoldsCountOnce: time for which several events hold a card's clocks down for one reason counts once.
func TestHoldsCountOnce(t *testing.T) {
	hold := func(after, seconds, every float64) GPUEvent {
		return GPUEvent{Engine: "a", After: after, Throttle: PowerCap, For: seconds, Every: every, Slow: 2}
	}
	for name, test := range map[string]struct {
		events []GPUEvent
		at     map[float64]float64 // seconds held, by time
	}{
		"one inside another":      {[]GPUEvent{hold(10, 30, 0), hold(20, 5, 0)}, map[float64]float64{9: 0, 15: 5, 22: 12, 30: 20, 60: 30}},
		"one after another":       {[]GPUEvent{hold(10, 10, 0), hold(30, 5, 0)}, map[float64]float64{25: 10, 32: 12, 60: 15}},
		"one beyond another":      {[]GPUEvent{hold(10, 10, 0), hold(15, 15, 0)}, map[float64]float64{18: 8, 25: 15, 60: 20}},
		"two of the same":         {[]GPUEvent{hold(10, 10, 0), hold(10, 10, 0)}, map[float64]float64{15: 5, 60: 10}},
		"one again and again":     {[]GPUEvent{hold(10, 5, 20)}, map[float64]float64{12: 2, 20: 5, 31: 6, 60: 15}},
		"of which one is to come": {[]GPUEvent{hold(90, 5, 0)}, map[float64]float64{60: 0}},
	} {
		for at, want := range test.at {
			w := run(t, watchGPUs(func(c *Config) { c.GPUEvents = test.events }), at)
			if got := w.GPUs()[0].PowerSeconds; got < want-1e-6 || got > want+1e-6 {
				t.Errorf("%s: held for %v s at %v s, want %v", name, got, at, want)
			}
		}
	}
}

// TestXIDs: the page has the last error, from the next sample on and for good; where there was none, no row.
func TestXIDs(t *testing.T) {
	c := watchGPUs(func(c *Config) {
		c.Engines[0].GPU.Count = 2
		c.GPUEvents = []GPUEvent{{Engine: "a", After: 20, XID: 31}, {Engine: "a", After: 40, XID: 94}}
	})
	w := build(t, c)
	first := w.GPUs()[0].UUID
	for _, step := range []struct {
		at, want float64
		text     string
	}{{19, 0, ""}, {22, 31, `err_code="31",err_msg="GPU memory page fault"} 31`}, {39, 31, ""}, {60, 94, `err_code="94",err_msg="Contained memory error"} 94`}} {
		w.Run(start + step.at)
		page := w.GPUPage(GPURegime48)
		rows := readGPUs(t, page)["DCGM_FI_DEV_XID_ERRORS"]
		if rows[first] != step.want || (len(rows) > 0) != (step.want > 0) || !strings.Contains(string(page), step.text) || w.GPUs()[0].XID != int(step.want) {
			t.Errorf("at %v s: %v, the truth is %d", step.at, rows, w.GPUs()[0].XID)
		}
	}
}

// TestLostGPU: a card that falls off the bus takes its engine with it, and its rows, and no others; when it is back its
// counters begin anew.
func TestLostGPU(t *testing.T) {
	c := watchGPUs(func(c *Config) {
		c.Engines[0].GPU.Count = 2
		c.Outages = []Outage{{Engine: "a", After: 50, Down: 30, Crash: true, Lost: true}}
		c.GPUEvents = []GPUEvent{{Engine: "a", Throttle: PowerCap, For: 200, Slow: 1.5}, {Engine: "a", After: 55, Throttle: PowerCap, For: 20, Slow: 2}, {Engine: "a", After: 55, XID: 31}}
	})
	w := build(t, c)
	gpus := w.GPUs()
	lost, other := gpus[0].UUID, gpus[1].UUID
	energy := func() (map[string]float64, bool) {
		rows := readGPUs(t, w.GPUPage(GPURegime49))["DCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL"]
		_, there := rows[lost]
		return rows, there
	}
	w.Run(start + 49)
	before, there := energy()
	if !there || before[lost] < 1000 {
		t.Fatalf("before: %v", before)
	}
	w.Run(start + 50.1)
	if g := w.GPUs(); !w.Up("a") || !g[0].Lost || g[0].MemoryBytes != 0 || g[1].MemoryBytes == 0 {
		t.Errorf("before the front end notices: %+v", g)
	}
	w.Run(start + 60)
	rows, there := energy()
	if g := w.GPUs(); there || rows[other] < before[other] || w.Up("a") || !g[0].Lost || g[1].Lost || g[0].MemoryBytes != 0 || g[0].XID != 79 {
		t.Errorf("while it is gone: rows %v, the engine is up: %v, %+v", rows, w.Up("a"), g[0])
	}
	w.Run(start + 90)
	rows, there = energy()
	if g := w.GPUs(); !there || rows[lost] > 8*700 || rows[other] < before[other] || !w.Up("a") || g[0].Lost || g[0].XID != 0 {
		t.Errorf("afterwards: rows %v, the engine is up: %v, %+v", rows, w.Up("a"), g[0])
	}
	if g := w.GPUs(); !near(g[0].PowerSeconds, 50, 1e-9) || g[0].EnergyJoules < 90*75 {
		t.Errorf("the truth forgets: %+v", g[0])
	}
}

// TestDriverReload: all counters of the engine's cards begin anew, and of no others, such as one
// whose engine is replaced and nothing else; the truth goes on.
func TestDriverReload(t *testing.T) {
	c := watchGPUs(func(c *Config) {
		c.Engines = append(c.Engines, Engine{ID: "b", Model: "m", Step: H100})
		c.Outages = []Outage{{Engine: "a", After: 50, Down: 20, Reload: true}, {Engine: "b", After: 50, Down: 20}}
		c.GPUEvents = []GPUEvent{{Engine: "a", After: 10, Throttle: SoftwareThermal, For: 20, Slow: 1.2}, {Engine: "a", After: 10, Throttle: PowerCap, For: 20, Slow: 1.2}, {Engine: "a", After: 5, XID: 13}}
	})
	w := build(t, c)
	gpus := w.GPUs()
	w.Run(start + 49)
	before, truth := readGPUs(t, w.GPUPage(GPURegime49)), w.GPUs()
	w.Run(start + 55)
	after := readGPUs(t, w.GPUPage(GPURegime49))
	for i, g := range gpus {
		for _, family := range []string{"DCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL", "DCGM_FI_DEV_GPU_THERMAL_THROTTLE_SECONDS_TOTAL", "DCGM_FI_DEV_GPU_POWER_THROTTLE_SECONDS_TOTAL", "DCGM_FI_DEV_XID_ERROR"} {
			was, is := before[family][g.UUID], after[family][g.UUID]
			if fell := is < was; fell != (i == 0) || i == 0 && is > 5*75+1 {
				t.Errorf("%s of %s's card: %v, then %v", family, g.Engine, was, is)
			}
		}
	}
	if now := w.GPUs()[0]; now.ThermalSeconds != 20 || now.EnergyJoules <= truth[0].EnergyJoules {
		t.Errorf("the truth forgets: %+v", now)
	}
}

// troubled adds to a world what can happen to its cards.
func troubled(c Config, seed uint64) Config {
	dice := rand.New(rand.NewPCG(seed, 7))
	for i := range c.Engines {
		e := &c.Engines[i]
		e.GPU.Count = 1 + dice.IntN(3)
		for range dice.IntN(4) {
			g := GPUEvent{Engine: e.ID, Rank: dice.IntN(max(1, e.Ranks)), Index: dice.IntN(e.GPU.Count), After: 60 * dice.Float64(), Every: float64(20 * dice.IntN(2))}
			if g.XID = 31; dice.IntN(3) > 0 {
				g.XID, g.Throttle, g.For, g.Slow = 0, throttles[dice.IntN(len(throttles))], 1+15*dice.Float64(), 1+2*dice.Float64()
			}
			c.GPUEvents = append(c.GPUEvents, g)
		}
	}
	for i := range c.Outages {
		c.Outages[i].Lost = c.Outages[i].Crash && dice.IntN(2) == 0
		c.Outages[i].Reload = !c.Outages[i].Lost && dice.IntN(2) == 0
	}
	c.GPUExporter = GPUExporter{Interval: 0.5 + 3*dice.Float64(), Counters: AllCounters}
	return c
}

// TestPagesOfTroubledGPUs: whatever happens, shares are shares, a card is shown unless it is lost, and counters fall only
// where the driver was loaded again, to no more than what was used since.
func TestPagesOfTroubledGPUs(t *testing.T) {
	falls, absent := 0, 0
	for seed := range uint64(worlds) {
		t.Run(fmt.Sprintf("world %d", seed), func(t *testing.T) {
			w := build(t, troubled(anyWorld(seed), seed))
			before := map[string]float64{}
			last := 0.0
			atSamples(w, 80, func() {
				page := readGPUs(t, w.GPUPage(GPURegime49))
				for _, family := range []string{"DCGM_FI_DEV_GPU_UTIL_RATIO", "DCGM_FI_PROF_SM_UTIL_RATIO", "DCGM_FI_PROF_TENSOR_UTIL_RATIO", "DCGM_FI_PROF_DRAM_UTIL_RATIO"} {
					for key, v := range page[family] {
						if v < 0 || v > 1 {
							t.Fatalf("%s of %s is %v", family, key, v)
						}
					}
				}
				energy := page["DCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL"]
				for _, g := range w.GPUs() {
					v, shown := energy[g.UUID]
					if shown == g.Lost {
						t.Fatalf("a card is shown: %v, and lost: %v", shown, g.Lost)
					}
					b, known := before[g.UUID]
					most := 700*(w.now-last) + 1
					switch {
					case g.Lost:
						absent++
						delete(before, g.UUID)
						continue
					case known && v < b:
						if falls++; v > most {
							t.Fatalf("energy fell to %v J within %v s", v, w.now-last)
						}
					case known && v-b > most:
						t.Fatalf("energy grew by %v J within %v s", v-b, w.now-last)
					}
					before[g.UUID] = v
				}
				last = w.now
			})
		})
	}
	if falls == 0 || absent == 0 {
		t.Errorf("%d falls and %d cards away: nothing was tried", falls, absent)
	}
}
