package fold

import (
	"fmt"
	"math"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

func near(t *testing.T, what string, got fact.Number, want float64) {
	t.Helper()
	if !got.Known || math.Abs(got.V-want) > 1e-6*math.Max(1, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestGPUEnergyOfAnEngine(t *testing.T) {
	p0, p1 := engineIn("a", "p0"), engineIn("b", "p1")
	pair := func(a, b float64) []fact.GPU { return []fact.GPU{card("GPU-a", a), card("GPU-b", b)} }
	t.Run("what its GPUs use, from when it was seen to have them", func(t *testing.T) {
		n := nodeOf(t, p0).round(100, reading(100, pair(1e6, 2e6)...), claimed(100, claim("p0", "GPU-a"), claim("p0", "GPU-b")))
		near(t, "at first", n.engine("a").Joules, 0)
		equal(t, "since", n.engine("a").Since, 100)
		n.read(110, pair(1e6+5000, 2e6+3000)...).read(120, pair(1e6+6000, 2e6+3000)...)
		near(t, "joules", n.engine("a").Joules, 9000)
		near(t, "GPU-a", n.gpu("GPU-a").Joules, 6000)
	})
	t.Run("over a gap in readings as long as it keeps its GPUs", func(t *testing.T) {
		n := nodeOf(t, p0).round(100, reading(100, pair(0, 0)...), claimed(100, claim("p0", "GPU-a"))).fail(150)
		equal(t, "in the gap", n.engine("a").Joules.Known, false)
		n.round(3000, nil, claimed(3000, claim("p0", "GPU-a"))).fail(4000).read(4005, pair(2e6, 1e6)...)
		near(t, "joules", n.engine("a").Joules, 2e6)
	})
	t.Run("what was used while the GPU changed hands is nobody's", func(t *testing.T) {
		n := nodeOf(t, p0, p1).round(100, reading(100, pair(0, 0)...), claimed(100, claim("p0", "GPU-a"), claim("p1", "GPU-b"))).read(110, pair(5000, 100)...)
		n.round(112, nil, claimed(112, claim("p0", "GPU-b"), claim("p1", "GPU-a"))).round(114, nil, claimed(114, claim("p0", "GPU-a"), claim("p1", "GPU-b")))
		n.read(120, pair(9000, 200)...)
		near(t, "a", n.engine("a").Joules, 5000)
		near(t, "b", n.engine("b").Joules, 100)
		n.read(130, pair(9500, 500)...)
		near(t, "a goes on", n.engine("a").Joules, 5500)
		near(t, "b goes on", n.engine("b").Joules, 400)
		near(t, "the card's has all", n.gpu("GPU-a").Joules, 9500)
	})
	t.Run("not while another has the GPU too, and then on from there", func(t *testing.T) {
		slice := func(pods ...string) (out []fact.DeviceClaim) {
			for i, p := range pods {
				out = append(out, replica(claim(p, "GPU-a"), fmt.Sprint(i)))
			}
			return out
		}
		n := nodeOf(t, p0).round(100, reading(100, pair(0, 0)...), claimed(100, slice("p0")...)).read(110, pair(5000, 0)...)
		n.round(120, reading(120, pair(9000, 0)...), claimed(120, slice("p0", "p1")...))
		equal(t, "shared", n.engine("a").Joules.Known, false)
		n.round(130, reading(130, pair(12000, 0)...), claimed(130, slice("p0")...)).read(140, pair(12500, 0)...)
		near(t, "joules", n.engine("a").Joules, 5500)
	})
	t.Run("a GPU that does not tell its energy makes the sum unknown, not low", func(t *testing.T) {
		mute := card("GPU-b", 0)
		mute.Energy = fact.Number{}
		n := nodeOf(t, at("a", page1)).read(100, card("GPU-a", 0), mute).read(110, card("GPU-a", 500), mute)
		equal(t, "joules", n.engine("a").Joules.Known, false)
		equal(t, "why", n.engine("a").Why, "GPU-b does not tell how much energy it uses")
		equal(t, "GPU-b", n.gpu("GPU-b").Joules.Known, false)
	})
	t.Run("a driver that starts anew, and a value that cannot be", func(t *testing.T) {
		n := nodeOf(t, at("a", page1))
		for i, joules := range []float64{5e6, 5e6 + 1000, 300, 900, 7e9, 1400} {
			n.read(100+float64(5*i), card("GPU-a", joules))
		}
		near(t, "joules", n.engine("a").Joules, 2400)
		equal(t, "dropped", fmt.Sprint(n.last.GPUSource.Dropped), "[{energy 2}]")
	})
	t.Run("a card without a limit is held to what no card draws", func(t *testing.T) {
		free := func(joules float64) fact.GPU {
			g := card("GPU-a", joules)
			g.PowerLimit = fact.Number{}
			return g
		}
		n := nodeOf(t).read(100, free(0)).read(110, free(2000*(10+meterLag))).read(120, free(1e6))
		near(t, "joules", n.gpu("GPU-a").Joules, 140000)
	})
	t.Run("a limit that was lowered since does not make what was used untrue", func(t *testing.T) {
		low := card("GPU-a", 0.8*700*3600)
		low.PowerLimit = fact.Known(200)
		near(t, "joules", nodeOf(t).read(100, card("GPU-a", 0)).read(3700, low).gpu("GPU-a").Joules, 0.8*700*3600)
	})
	t.Run("what a GPU used while it was not told of is nobody's", func(t *testing.T) {
		const day = 24 * 3600
		gone := lost(card("GPU-a", 0))
		n := nodeOf(t, at("a", page1)).read(100, card("GPU-a", 0), card("GPU-b", 0))
		n.read(day, gone, card("GPU-b", 0)).read(day+200, gone, card("GPU-b", 0)).read(day+210, card("GPU-a", 1e6), card("GPU-b", 700))
		near(t, "joules", n.engine("a").Joules, 700)
		near(t, "the card's", n.gpu("GPU-a").Joules, 1e6)
	})
	t.Run("an engine that went keeps its last account as long as it is told of", func(t *testing.T) {
		n := nodeOf(t, p0).round(100, reading(100, pair(0, 0)...), claimed(100, claim("p0", "GPU-a"))).read(110, pair(5000, 0)...)
		n.targets = nil
		n.read(112, pair(6000, 0)...)
		near(t, "joules", n.engine("a").Joules, 5000)
		equal(t, "joined", n.told(), "a unmatched; GPU-a unmatched; GPU-b unmatched")
		n.targets = []fact.Target{p0}
		n.read(120, pair(7000, 0)...).read(130, pair(7100, 0)...)
		near(t, "back", n.engine("a").Joules, 5100)
	})
}

func TestGPUCost(t *testing.T) {
	priced := func(hour, kwh float64) Options {
		o := gpuOptions()
		o.Cost = Cost{Currency: "EUR", PerGPUHour: hour, PerKWhour: kwh}
		return o
	}
	for name, c := range map[string]struct{ hour, kwh, want float64 }{
		"by the hour":  {hour: 3, want: 3},
		"by energy":    {kwh: 0.4, want: 0.6},
		"by both ways": {hour: 3, kwh: 0.4, want: 3.6},
	} {
		t.Run("an engine costs "+name, func(t *testing.T) {
			n := nodeWith(t, priced(c.hour, c.kwh), at("a", page1))
			// Two GPUs for half an hour: 1 kWh and 0.5 kWh.
			for s := 0.0; s <= 1800; s += 5 {
				a, b := card("GPU-a", s*2000), card("GPU-b", s*1000)
				a.PowerLimit, b.PowerLimit = fact.Known(2000), fact.Known(2000)
				n.read(1000+s, a, b)
			}
			near(t, "cost", n.engine("a").Cost, c.want)
		})
	}
	t.Run("without a price nothing costs", func(t *testing.T) {
		equal(t, "cost", nodeOf(t, at("a", page1)).read(100, card("GPU-a", 0)).read(110, card("GPU-a", 900)).engine("a").Cost.Known, false)
	})
	t.Run("the hours of a GPU that does not tell its energy are known, the money for its energy is not", func(t *testing.T) {
		for _, c := range []struct {
			kwh   float64
			known bool
		}{{0, true}, {0.4, false}} {
			n := nodeWith(t, priced(3, c.kwh), at("a", page1)).read(100, fact.GPU{UUID: "GPU-a"}).read(110, fact.GPU{UUID: "GPU-a"})
			equal(t, "known", n.engine("a").Cost.Known, c.known)
		}
	})
	t.Run("what is shared or a part of a card has no price", func(t *testing.T) {
		n := nodeWith(t, priced(3, 0), at("a", page1)).read(100, card("GPU-a", 0), part("MIG-1", "GPU-a", "1")).read(110, card("GPU-a", 0), part("MIG-1", "GPU-a", "1"))
		equal(t, "known", n.engine("a").Cost.Known, false)
	})
	t.Run("an hour in which its source was down is paid for all the same", func(t *testing.T) {
		n := nodeWith(t, priced(3, 0), at("a", page1)).read(100, card("GPU-a", 0)).fail(1900)
		equal(t, "meanwhile", n.engine("a").Cost.Known, false)
		near(t, "cost", n.read(3700, card("GPU-a", 0)).engine("a").Cost, 3)
	})
	t.Run("a new price holds from then on, and another currency is counted anew", func(t *testing.T) {
		o := priced(3, 0)
		n := nodeWith(t, o, at("a", page1)).read(100, card("GPU-a", 0)).read(3700, card("GPU-a", 0))
		o.Cost.PerGPUHour = 6
		n.state.Reconfigure(o)
		near(t, "cost", n.read(5500, card("GPU-a", 0)).engine("a").Cost, 6)
		o.Cost.Currency = "USD"
		n.state.Reconfigure(o)
		near(t, "cost", n.read(5500+1800, card("GPU-a", 0)).engine("a").Cost, 3)
	})
	t.Run("the configuration can name GPUs, and give GPUs up, while it runs", func(t *testing.T) {
		o := gpuOptions()
		n := nodeWith(t, o, two...).read(100, card("GPU-a", 0), card("GPU-b", 0))
		o.EngineGPUs = map[string][]string{"a": {"GPU-a"}, "b": {"GPU-b"}}
		n.state.Reconfigure(o)
		equal(t, "named", n.read(105, card("GPU-a", 0), card("GPU-b", 0)).told(), "a uuid GPU-a; b uuid GPU-b; GPU-a uuid a; GPU-b uuid b")
		o.GPUStale = 0
		n.state.Reconfigure(o)
		n.read(110, card("GPU-a", 10))
		equal(t, "given up", n.told(), "a ; b ")
		o.GPUStale = 15
		n.state.Reconfigure(o)
		n.read(115, card("GPU-a", 1e6), card("GPU-b", 0)).read(120, card("GPU-a", 1e6+500), card("GPU-b", 0))
		near(t, "taken up again, counters go on from there", n.engine("a").Joules, 500)
	})
}
