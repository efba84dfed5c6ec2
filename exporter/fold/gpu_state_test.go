package fold

import (
	"fmt"
	"slices"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

func TestGPUSourceComesAndGoes(t *testing.T) {
	t.Run("where no GPUs are read, nothing is said of any", func(t *testing.T) {
		n := nodeWith(t, testOptions(90), at("a", page1)).round(100, reading(100, card("GPU-a", 0)), claimed(100))
		equal(t, "GPUs", len(n.last.GPUs), 0)
		equal(t, "source", n.last.GPUSource.Name, "")
		equal(t, "asked", n.last.GPUSource.Claims.Asked, false)
		equal(t, "join", n.engine("a").Join, "")
	})
	t.Run("a node without a source has nothing to be joined, and says why", func(t *testing.T) {
		n := nodeOf(t, at("a", page1)).round(100, &fact.GPUReading{Source: "none", At: 100, Reason: fact.ReasonNoSource, Detail: "no GPU"}, nil)
		equal(t, "up", n.last.GPUSource.Up, false)
		equal(t, "detail", n.last.GPUSource.Detail, "no GPU")
		equal(t, "join", n.engine("a").Join, "")
	})
	t.Run("a failed reading keeps the last good one until it is too old", func(t *testing.T) {
		n := nodeOf(t, at("a", page1)).read(100, card("GPU-a", 0)).fail(110)
		equal(t, "busy", n.gpu("GPU-a").Busy, fact.Known(0.9))
		equal(t, "up", n.last.GPUSource.Up, true)
		equal(t, "detail while it is up", n.last.GPUSource.Detail, "the child ended")
		n.fail(116)
		if n.last.GPUs != nil || n.last.GPUSource.Up {
			t.Errorf("%d GPUs of a source that is down", len(n.last.GPUs))
		}
		equal(t, "at", n.last.GPUSource.At, 100)
		equal(t, "reason", n.last.GPUSource.Reason, fact.ReasonExited)
		equal(t, "join", n.engine("a").Join, JoinUnmatched)
		equal(t, "why", n.engine("a").Why, "the GPUs are not known now; the child ended")
		equal(t, "joules", n.engine("a").Joules.Known, false)
		equal(t, "again", n.read(120, card("GPU-a", 10)).gpu("GPU-a").Up, true)
	})
	t.Run("a source that hangs is down, and stale", func(t *testing.T) {
		n := nodeOf(t).read(100, card("GPU-a", 0)).round(116, nil, nil)
		equal(t, "reason", n.last.GPUSource.Reason, fact.ReasonStale)
		equal(t, "GPUs", len(n.last.GPUs), 0)
	})
	t.Run("a reading that comes after a newer one changes nothing", func(t *testing.T) {
		n := nodeOf(t).read(100, card("GPU-a", 0)).round(102, reading(99, card("GPU-b", 0)), nil)
		equal(t, "GPU-b", n.has("GPU-b"), false)
		equal(t, "at", n.last.GPUSource.At, 100)
	})
	t.Run("when the clock is set back readings go on", func(t *testing.T) {
		n := nodeOf(t).read(1000, card("GPU-a", 1000)).read(100, card("GPU-a", 2000))
		equal(t, "at", n.last.GPUSource.At, 100)
		equal(t, "joules", n.gpu("GPU-a").Joules, fact.Known(1000))
	})
	t.Run("what sources did not believe is added up, and what the reducer does not", func(t *testing.T) {
		one, two := reading(100, card("GPU-a", 1e6)), reading(105, card("GPU-a", 9e9))
		one.Dropped = []fact.ReasonCount{{Reason: "blank", Count: 2}}
		two.Dropped = []fact.ReasonCount{{Reason: "blank", Count: 1}}
		n := nodeOf(t).round(100, one, nil).round(105, two, nil).round(106, two, nil)
		again := *two
		n.round(107, &again, nil)
		if got := n.last.GPUSource.Dropped; !slices.Equal(got, []Tally{{"blank", 3}, {DroppedEnergy, 1}}) {
			t.Errorf("dropped %v", got)
		}
	})
}

func TestGPULife(t *testing.T) {
	a, b := card("GPU-a", 0), card("GPU-b", 0)
	for name, next := range map[string][]fact.GPU{
		"missing": {a},
		"lost":    {a, lost(b)},
	} {
		t.Run("a GPU that is "+name+" stays without values until it returns", func(t *testing.T) {
			n := nodeOf(t, at("e", page1)).read(100, a, b).read(105, next...)
			g := n.gpu("GPU-b")
			if g.Up || g.Busy.Known || g.Energy.Known || g.Model == "" || g.Lost != (name == "lost") {
				t.Errorf("%+v", g)
			}
			equal(t, "seen", g.Seen, 100)
			equal(t, "still the engine's", fmt.Sprint(g.Engines), "[e]")
			equal(t, "the other", n.gpu("GPU-a").Up, true)
			equal(t, "joules go on for a while", n.engine("e").Joules.Known, true)
			n.read(121, next...)
			equal(t, "joules", n.engine("e").Joules.Known, false)
			equal(t, "why", n.engine("e").Why, "GPU-b does not answer")
			equal(t, "returned", n.read(126, a, b).gpu("GPU-b").Up, true)
			equal(t, "since", n.gpu("GPU-b").Since, 100)
		})
		t.Run("a GPU that is "+name+" is not told of after a day", func(t *testing.T) {
			n := nodeOf(t).read(100, a, b).read(100+24*3600, next...)
			equal(t, "a day", n.has("GPU-b"), true)
			equal(t, "and a bit", n.read(105+24*3600, next...).has("GPU-b"), false)
			equal(t, "ever", n.read(500+48*3600, next...).has("GPU-b"), false)
			equal(t, "returned", n.read(505+48*3600, a, b).gpu("GPU-b").Up, true)
		})
	}
	t.Run("a GPU that was never there but lost is told of", func(t *testing.T) {
		g := nodeOf(t).read(100, a, lost(b)).gpu("GPU-b")
		if g.Up || !g.Lost || g.Seen != 0 || g.Model == "" {
			t.Errorf("%+v", g)
		}
	})
	t.Run("a source that has no GPU any more has not gone", func(t *testing.T) {
		n := nodeOf(t).read(100, a).read(105)
		equal(t, "up", n.last.GPUSource.Up, true)
		equal(t, "GPU", n.gpu("GPU-a").Up, false)
	})
	t.Run("values that were sampled too long ago are not told", func(t *testing.T) {
		stuck := a
		stuck.SampledAt = 100
		n := nodeOf(t).read(110, stuck)
		equal(t, "young enough", n.gpu("GPU-a").Up, true)
		g := n.read(120, stuck).gpu("GPU-a")
		equal(t, "up", g.Up, false)
		equal(t, "seen", g.Seen, 100)
	})
	t.Run("instances of a card that was divided anew are gone at once", func(t *testing.T) {
		n := nodeOf(t).read(100, a, part("MIG-1", "GPU-a", "1"), part("MIG-2", "GPU-a", "2"))
		n.read(105, a, part("MIG-2", "GPU-a", "2"), part("MIG-7", "GPU-a", "7"))
		equal(t, "replaced", n.has("MIG-1"), false)
		equal(t, "order", fmt.Sprint(n.last.GPUs[0].UUID, n.last.GPUs[1].UUID, n.last.GPUs[2].UUID), "GPU-aMIG-2MIG-7")
	})
	t.Run("instances of a card that is lost are missing with it", func(t *testing.T) {
		n := nodeOf(t).read(100, a, part("MIG-1", "GPU-a", "1")).read(105, lost(a))
		equal(t, "card", n.gpu("GPU-a").Up, false)
		equal(t, "instance", n.gpu("MIG-1").Up, false)
	})
	t.Run("a source that invents GPUs fills no memory", func(t *testing.T) {
		n := nodeOf(t)
		for i := range 3 {
			gpus := []fact.GPU{a}
			for j := range 900 {
				gpus = append(gpus, card(fmt.Sprintf("GPU-%d-%d", i, j), 0))
			}
			n.read(100+float64(5*i), gpus...)
		}
		equal(t, "remembered", len(n.state.gpus.known), maxGPUs)
		equal(t, "the newest are", n.gpu("GPU-a").Up, true)
	})
	t.Run("a snapshot does not change after it was made", func(t *testing.T) {
		n := nodeOf(t, at("e", page1)).read(100, counting(a, 31, 1), b)
		before, was := n.last, fmt.Sprintf("%+v", n.last.GPUs)
		n.read(105, counting(card("GPU-a", 500), 31, 3), lost(b)).read(110)
		equal(t, "GPUs", fmt.Sprintf("%+v", before.GPUs), was)
	})
}

func counting(g fact.GPU, xid int, count uint64) fact.GPU {
	g.XIDs = append(slices.Clone(g.XIDs), fact.XIDCount{XID: xid, Count: count})
	return g
}

func TestGPUThrottling(t *testing.T) {
	held := func(seconds, now float64) fact.GPU {
		g, row := card("GPU-a", 0), fact.Throttle{Reason: fact.ThrottleSWPower}
		if seconds >= 0 {
			row.Seconds = fact.Known(seconds)
		}
		if now >= 0 {
			row.Now = fact.Known(now)
		}
		g.Throttled = []fact.Throttle{row}
		return g
	}
	const no = -1
	for name, c := range map[string]struct {
		readings []fact.GPU // five seconds apart
		want     string
	}{
		"the driver's account":                            {[]fact.GPU{held(1000, no), held(1003, no), held(1004, no)}, "[{sw_power_cap 4 false}]"},
		"the driver's account goes before readings":       {[]fact.GPU{held(1000, 1), held(1003, 1), held(no, 1), held(1006, 1)}, "[{sw_power_cap 6 false}]"},
		"the driver's account starts anew":                {[]fact.GPU{held(1000, no), held(2, no), held(5, no)}, "[{sw_power_cap 5 false}]"},
		"the driver says what cannot be":                  {[]fact.GPU{held(1000, no), held(5000, no), held(1008, no)}, "[{sw_power_cap 8 false}]"},
		"readings in which it held":                       {[]fact.GPU{held(no, 1), held(no, 0), held(no, 1), held(no, 1)}, "[{sw_power_cap 10 true}]"},
		"a reading after a loss counts for nothing":       {[]fact.GPU{held(no, 1), lost(held(no, no)), lost(held(no, no)), lost(held(no, no)), held(no, 1)}, "[{sw_power_cap 0 true}]"},
		"a source that tells nothing of it has no row":    {[]fact.GPU{held(no, no), held(no, no)}, "[]"},
		"a reason that never held has been told of as 0 ": {[]fact.GPU{held(no, 0), held(no, 0)}, "[{sw_power_cap 0 true}]"},
	} {
		t.Run(name, func(t *testing.T) {
			n := nodeOf(t)
			for i, g := range c.readings {
				n.read(100+float64(5*i), g)
			}
			equal(t, "throttled", fmt.Sprint(n.gpu("GPU-a").Throttled), c.want)
		})
	}
}
