package fold

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// rig is a seeded node: cards that use energy, are lost, are divided and joined again; a source that fails, repeats and
// corrupts; pods that come, go and are listed for too long.
type rig struct {
	rng   *rand.Rand
	cards []*rigCard
	pods  int
}

type rigCard struct {
	uuid                string
	counter, used, held float64 // the driver's, since it was loaded; all since the rig began; seconds of throttling
	divided             int     // generation of its instances; 0 none
	lost                bool
}

func (r *rig) step(dt float64) {
	for _, c := range r.cards {
		joules := r.rng.Float64() * 700 * dt
		c.counter += joules
		c.used += joules
		c.held += r.rng.Float64() * dt
		switch r.rng.IntN(60) {
		case 0:
			c.counter, c.held = 0, 0 // the driver is loaded anew
		case 1:
			c.lost = !c.lost
		case 2:
			c.divided = r.rng.IntN(4)
		}
	}
}

func (r *rig) reading(at float64) *fact.GPUReading {
	out := &fact.GPUReading{Source: []string{"dcgm", "dcgm", "dcgm", "dcgm-exporter"}[r.rng.IntN(4)], At: at}
	switch r.rng.IntN(20) {
	case 0:
		out.Reason = fact.ReasonTimeout
		return out
	case 1:
		out.At -= 20 // one that comes too late
	}
	for _, c := range r.cards {
		if r.rng.IntN(30) == 0 {
			continue
		}
		g := card(c.uuid, c.counter)
		g.Throttled = []fact.Throttle{{Reason: fact.ThrottleSWPower, Seconds: fact.Known(c.held)}, {Reason: fact.ThrottleHWThermal, Now: fact.Known(float64(r.rng.IntN(2)))}}
		g.XIDs, g.XIDsCounted = []fact.XIDCount{{XID: 31, Count: r.rng.Uint64N(5)}}, r.rng.IntN(5) > 0
		switch r.rng.IntN(30) {
		case 0:
			g.Energy = fact.Known(r.rng.Float64() * 1e10)
		case 1:
			g.Energy = fact.Number{}
		case 2:
			g.Energy = fact.Known(0)
		}
		if c.lost {
			g = lost(g)
		}
		out.GPUs = append(out.GPUs, g)
		for i := range c.divided {
			out.GPUs = append(out.GPUs, part(fmt.Sprintf("MIG-%s-%d", c.uuid, i), c.uuid, fmt.Sprint(i)))
		}
	}
	return out
}

func (r *rig) claims(at float64) *fact.DeviceClaims {
	if r.rng.IntN(6) == 0 {
		return &fact.DeviceClaims{At: at, Reason: fact.ReasonTimeout}
	}
	out := &fact.DeviceClaims{At: at}
	for _, c := range r.cards {
		device := c.uuid
		if c.divided > 0 {
			device = fmt.Sprintf("MIG-%s-0", c.uuid)
		}
		for range r.rng.IntN(3) {
			next := claim(fmt.Sprintf("p%d", r.rng.IntN(r.pods)), device)
			if r.rng.IntN(4) == 0 {
				next.Replica = fmt.Sprint(r.rng.IntN(4))
			}
			out.Claims = append(out.Claims, next)
		}
	}
	return out
}

// gpuCounters lists all that must never fall, by name.
func gpuCounters(s *Snapshot) map[string]float64 {
	out := map[string]float64{}
	put := func(name string, v float64) { out[name] = v }
	for _, g := range s.GPUs {
		id := fmt.Sprintf("%s since %v ", g.UUID, g.Since)
		if g.Joules.Known {
			put(id+"joules", g.Joules.V)
		}
		for _, x := range g.Errors {
			put(fmt.Sprint(id, "xid ", x.XID), float64(x.Count))
		}
		for _, x := range g.Throttled {
			put(fmt.Sprint(id, x.Reason), x.Seconds)
		}
	}
	for _, e := range s.Engines {
		id := fmt.Sprintf("%s since %v ", e.ID, e.GPUs.Since)
		if e.GPUs.Joules.Known {
			put(id+"joules", e.GPUs.Joules.V)
		}
		if e.GPUs.Cost.Known {
			put(id+"cost", e.GPUs.Cost.V)
		}
	}
	for _, d := range s.GPUSource.Dropped {
		put("dropped "+d.Name, float64(d.Count))
	}
	return out
}

// TestGPUCountersNeverFallAndNothingIsCountedTwice: over whatever a node does, no counter falls; the GPUs' joules are at
// most what was used, and the engines' at most the GPUs'; an engine's joules are known only where it has whole cards alone.
func TestGPUCountersNeverFallAndNothingIsCountedTwice(t *testing.T) {
	known, kinds := 0, map[string]int{}
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 8))
		r := &rig{rng: rng, pods: 1 + rng.IntN(4)}
		for i := range 1 + rng.IntN(4) {
			r.cards = append(r.cards, &rigCard{uuid: fmt.Sprintf("GPU-%d", i), counter: rng.Float64() * 1e9})
		}
		o := gpuOptions()
		o.Cost = Cost{Currency: "EUR", PerGPUHour: 2, PerKWhour: 0.3}
		if rng.IntN(3) == 0 {
			o.EngineGPUs = map[string][]string{"e0": {"GPU-0"}}
		}
		state, last, now := New(o), map[string]float64{}, 1000.0
		var targets []fact.Target
		claims := rng.IntN(4) > 0
		for range 300 {
			dt := 1 + 9*rng.Float64()
			if rng.IntN(80) == 0 {
				dt = 4000
			}
			now += dt
			r.step(dt)
			round := Round{At: now}
			if rng.IntN(20) == 0 || targets == nil {
				targets = targets[:0:0]
				for i := range r.pods {
					if rng.IntN(4) > 0 {
						targets = append(targets, engineIn(fmt.Sprintf("e%d", i), fmt.Sprintf("p%d", i)))
					}
				}
			}
			round.Targets = targets
			if rng.IntN(4) > 0 {
				round.GPUs = r.reading(now)
			}
			if claims && rng.IntN(15) == 0 {
				round.Claims = r.claims(now)
			}
			s := state.Apply(round)
			next := gpuCounters(s)
			for name, v := range next {
				if v < last[name] || v < 0 || math.IsNaN(v) {
					t.Fatalf("seed %d at %v: %s fell from %v to %v", seed, now, name, last[name], v)
				}
				last[name] = v
			}
			checkShares(t, seed, s)
			for _, e := range s.Engines {
				kinds[e.GPUs.Join]++
				if e.GPUs.Joules.Known && e.GPUs.Joules.V > 0 {
					known++
				}
			}
		}
		used, told, engines := 0.0, 0.0, 0.0
		for _, c := range r.cards {
			used += c.used
			if g := state.gpus.known[c.uuid]; g != nil {
				told += g.energy.total
			}
		}
		for _, e := range state.engines {
			engines += e.gpus.joules
		}
		if engines > told*(1+1e-9) || told > used+1e-3*used {
			t.Errorf("seed %d: %v J used, %v told of GPUs, %v of engines", seed, used, told, engines)
		}
	}
	if known < 1000 || kinds[JoinUUID] == 0 || kinds[JoinPod] == 0 || kinds[JoinOnly] == 0 || kinds[JoinAmbiguous] == 0 {
		t.Errorf("too little happened: %d engines with energy, joins %v", known, kinds)
	}
}

// checkShares holds a snapshot to it that nothing is divided, and that both sides of the join say the same.
func checkShares(t *testing.T, seed uint64, s *Snapshot) {
	t.Helper()
	gpus := map[string]*GPU{}
	for i := range s.GPUs {
		gpus[s.GPUs[i].UUID] = &s.GPUs[i]
	}
	pairs := 0
	for _, e := range s.Engines {
		for _, uuid := range e.GPUs.UUIDs {
			g := gpus[uuid]
			if g == nil || !slices.Contains(g.Engines, e.ID) {
				t.Fatalf("seed %d: %s has %s, which does not know it", seed, e.ID, uuid)
			}
			pairs++
			if e.GPUs.Joules.Known && (g.Shared || g.Card != "" || len(g.Engines) != 1 || !g.Joules.Known) {
				t.Fatalf("seed %d: the energy of %s is told with %+v", seed, e.ID, g)
			}
			if g.Shared && !e.GPUs.Shared {
				t.Fatalf("seed %d: %s does not say that %s is shared", seed, e.ID, uuid)
			}
		}
		if len(e.GPUs.UUIDs) == 0 && !e.Gone && (e.GPUs.Joules.Known || e.GPUs.Cost.Known) {
			t.Fatalf("seed %d: %s has no GPU that is known, and uses %v", seed, e.ID, e.GPUs.Joules)
		}
		if (len(e.GPUs.UUIDs) == 0) != (joinRank(e.GPUs.Join) < 0) || len(e.GPUs.UUIDs) == 0 && e.GPUs.Why == "" && e.GPUs.Join != "" {
			t.Fatalf("seed %d: %s is joined %+v", seed, e.ID, e.GPUs)
		}
	}
	for _, g := range s.GPUs {
		pairs -= len(g.Engines)
		if !g.Up && (g.Power.Known || g.Busy.Known) {
			t.Fatalf("seed %d: values of %s, which is not up", seed, g.UUID)
		}
	}
	if pairs != 0 {
		t.Fatalf("seed %d: GPUs know %d engines that do not know them", seed, -pairs)
	}
}

// BenchmarkGPURound folds one reading of eight cards that eight engines hold, without engine pages.
func BenchmarkGPURound(b *testing.B) {
	var gpus []fact.GPU
	var claims []fact.DeviceClaim
	var targets []fact.Target
	for i := range 8 {
		g := card(fmt.Sprintf("GPU-%d", i), 0)
		g.XIDs = []fact.XIDCount{{XID: 31, Count: 2}}
		for _, r := range []fact.ThrottleReason{fact.ThrottleHWSlowdown, fact.ThrottleHWThermal, fact.ThrottleSWPower} {
			g.Throttled = append(g.Throttled, fact.Throttle{Reason: r, Seconds: fact.Known(1)})
		}
		gpus = append(gpus, g)
		targets = append(targets, engineIn(fmt.Sprintf("e%d", i), fmt.Sprintf("p%d", i)))
		claims = append(claims, claim(fmt.Sprintf("p%d", i), g.UUID))
	}
	for _, c := range []struct {
		name  string
		stale float64
	}{{"none", 0}, {"eight", 15}} {
		b.Run("gpus="+c.name, func(b *testing.B) {
			o := testOptions(90)
			o.GPUStale = c.stale
			state, at := New(o), 100.0
			state.Apply(Round{At: at, Targets: targets, Claims: claimed(at, claims...)})
			b.ReportAllocs()
			for b.Loop() {
				at += 2
				state.gpus.claims, state.gpus.claimed = claimed(at, claims...), claimed(at, claims...)
				state.Apply(Round{At: at, Targets: targets, GPUs: reading(at, gpus...)})
			}
		})
	}
}
