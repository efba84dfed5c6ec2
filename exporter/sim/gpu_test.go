package sim

import (
	"fmt"
	"math"
	"testing"
)

// TestEnergy: through random worlds, outages included, each GPU's numbers only grow, keep within what time and power allow,
// and energy is that of idling plus that of work.
func TestEnergy(t *testing.T) {
	for seed := range uint64(worlds) {
		t.Run(fmt.Sprintf("world %d", seed), func(t *testing.T) {
			c := anyWorld(seed)
			c.Engines[0].GPU = GPUModel{Count: 2, IdleWatts: 60, MaxWatts: 400, MemoryBytes: 1e9}
			w := build(t, c)
			before := w.GPUs()
			last := 0.0
			work := make([]float64, len(before)) // joules above idle, by summing power over time
			for w.advance(150) {
				now := w.GPUs()
				for i, g := range now {
					idle, most := w.endpoints[0].config.GPU.IdleWatts, 400.0
					if g.Engine != c.Engines[0].ID {
						idle, most = 75, 700
					}
					b := before[i]
					work[i] += (b.PowerWatts - idle) * (w.now - last)
					if g.PowerWatts < idle || g.PowerWatts > most {
						t.Fatalf("%v W outside [%v, %v]", g.PowerWatts, idle, most)
					}
					if g.EnergyJoules < b.EnergyJoules || g.ActiveSeconds < b.ActiveSeconds || g.TensorSeconds < b.TensorSeconds || g.DRAMSeconds < b.DRAMSeconds {
						t.Fatalf("a counter fell: %+v, then %+v", b, g)
					}
					if g.ActiveSeconds > w.now+1e-9 || g.TensorSeconds > g.ActiveSeconds || g.DRAMSeconds > g.ActiveSeconds {
						t.Fatalf("busier than time allows: %+v after %v s", g, w.now)
					}
					if want := idle*w.now + work[i]; !near(g.EnergyJoules, want, 1e-9) {
						t.Fatalf("%v J after %v s: idling is %v, work %v", g.EnergyJoules, w.now, idle*w.now, work[i])
					}
				}
				before, last = now, w.now
			}
		})
	}
}

// TestIdleGPU: without work a GPU draws its idle power, whether its engine is up or not; memory goes with the process.
func TestIdleGPU(t *testing.T) {
	c := Config{Start: start, Engines: []Engine{{ID: "a", Model: "m", Step: H100, Ranks: 2, GPU: GPUModel{Count: 2, IdleWatts: 50, MaxWatts: 300, MemoryBytes: 8e9}}}, Outages: []Outage{{Engine: "a", After: 100, Down: 10}}}
	for at, memory := range map[float64]float64{50: 8e9, 105: 0, 120: 8e9} {
		w := build(t, c)
		w.Run(start + at)
		gpus := w.GPUs()
		if len(gpus) != 4 {
			t.Fatalf("%d GPUs under two ranks of two", len(gpus))
		}
		for i, g := range gpus {
			if want := (GPU{Engine: "a", Rank: i / 2, Index: i % 2, PowerWatts: 50, EnergyJoules: 50 * at, MemoryBytes: memory, UUID: g.UUID}); g != want {
				t.Errorf("at %v s: %+v, want %+v", at, g, want)
			}
		}
	}
}

// TestPrefillIsComputeBound: reading prompts keeps the tensor cores busy, writing tokens the memory; reading draws more.
func TestPrefillIsComputeBound(t *testing.T) {
	work := func(prompt, output int) (tensor, dram, watts float64) {
		c := Config{Start: start, Engines: []Engine{{ID: "a", Model: "m", Step: H100}}, Loads: []Load{{Engines: []string{"a"}, Trace: []Sent{{At: 0, Prompt: prompt, Output: output}}}}}
		g := run(t, c, 100).GPUs()[0]
		return g.TensorSeconds / g.ActiveSeconds, g.DRAMSeconds / g.ActiveSeconds, (g.EnergyJoules - 75*100) / g.ActiveSeconds
	}
	tensor, dram, watts := work(8000, 1)
	slowTensor, slowDRAM, slowWatts := work(1, 8000)
	if tensor < 0.7 || slowTensor > 0.2 || dram > 0.5 || slowDRAM < 0.7 || watts <= slowWatts || slowWatts <= 0 || math.IsNaN(watts) {
		t.Errorf("reading: tensor %.2f, memory %.2f, %.0f W; writing: %.2f, %.2f, %.0f W", tensor, dram, watts, slowTensor, slowDRAM, slowWatts)
	}
}
