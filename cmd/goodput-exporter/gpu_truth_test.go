package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu"
	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
	"github.com/goodput-exporter/goodput-exporter/exporter/sim"
)

// gpuLedger is what a world's GPUs truly did, from reading to reading.
type gpuLedger struct {
	world *sim.World
	last  []sim.GPU
	at    float64

	joules, slack  map[string]float64 // by engine: used while its cards answered; used in steps in which one of them came or went
	hours          map[string]float64 // by engine: of all its GPUs
	power, thermal map[string]float64 // by card, seconds that its clocks were held down
	model          string             // of all engines
}

func newGPULedger(world *sim.World) *gpuLedger {
	return &gpuLedger{
		world: world, model: gpuNode().Engines[0].Model,
		joules: map[string]float64{}, slack: map[string]float64{}, hours: map[string]float64{}, power: map[string]float64{}, thermal: map[string]float64{},
	}
}

// note adds what was used since the last reading.
func (l *gpuLedger) note(at float64) {
	now := l.world.GPUs()
	for i, g := range now {
		if l.last == nil {
			break
		}
		before := l.last[i]
		used := g.EnergyJoules - before.EnergyJoules
		l.hours[g.Engine] += (at - l.at) / 3600
		l.power[g.UUID] = g.PowerSeconds
		l.thermal[g.UUID] = g.ThermalSeconds
		switch {
		case !g.Lost && !before.Lost:
			l.joules[g.Engine] += used
		case g.Lost != before.Lost:
			l.slack[g.Engine] += used
		}
	}
	l.last, l.at = now, at
}

const (
	wayWatts = 700 // of each card at most
	// wayReload is how long before the driver under pair is loaded anew the last reading is, seconds.
	wayReload = 1
	// wayRound is how long after a reading a round may end, seconds.
	wayRound = 0.2
	// wayCards is how many cards an engine has at most.
	wayCards = 2
)

// energyBound is by how many joules an engine's account may differ from the truth where what is read may be so old, in seconds:
// it is at the beginning and at the end, which is to some extent the same. Of a counter that starts anew, what was used since the
// last sample before is nobody's.
func (l *gpuLedger) energyBound(engine string, age float64) float64 {
	bound := l.slack[engine]
	for _, g := range l.last {
		if g.Engine == engine {
			bound += age*wayWatts + 4
			if engine == "pair" {
				bound += (wayReload + age) * wayWatts
			}
		}
	}
	return bound
}

// wrong lists what of the energy and the money of engines in series is not the truth. of is whose truth an engine is held to.
func (l *gpuLedger) wrong(series map[string]float64, of map[string]string, age float64) (wrong []string) {
	for engine := range l.hours {
		joules, has := series[catalog.EngineEnergy+"{engine="+engine+",model="+l.model+"}"]
		cost, priced := series[catalog.EngineCost+"{currency=EUR,engine="+engine+",model="+l.model+"}"]
		truth := of[engine]
		if truth == "" {
			if has || priced {
				wrong = append(wrong, fmt.Sprintf("%s: %v J, %v EUR of what is not its own", engine, joules, cost))
			}
			continue
		}
		if off := joules - l.joules[truth]; !has || math.Abs(off) > l.energyBound(truth, age) {
			wrong = append(wrong, fmt.Sprintf("%s used %.0f J, in truth %.0f, within %.0f", engine, joules, l.joules[truth], l.energyBound(truth, age)))
		}
		// Its GPUs cost by the hour whether or not they answer.
		want := 2*l.hours[truth] + joules/3.6e6*0.25
		if !priced || math.Abs(cost-want) > 2*wayCards*wayRound/3600 {
			wrong = append(wrong, fmt.Sprintf("%s cost %v EUR, in truth %v", engine, cost, want))
		}
	}
	return wrong
}

// hold holds what a way says at the end against the truth: energy and money of engines, errors of cards, and for how long their
// clocks were held down. Another engine's energy must be found wrong, else nothing could be.
func (l *gpuLedger) hold(t *testing.T, w *gpuWay, series map[string]float64) {
	t.Helper()
	for _, text := range l.wrong(series, map[string]string{"pair": "pair", "hot": "hot", "fallen": "fallen"}, w.age) {
		t.Errorf("%s: %s", w.name, text)
	}
	if wrong := l.wrong(series, map[string]string{"pair": "hot", "hot": "pair", "fallen": "fallen"}, w.age); len(wrong) != 4 {
		t.Errorf("%s: with the energy of another engine only %q is found wrong", w.name, wrong)
	}
	for _, engine := range []string{"pair", "hot", "fallen"} {
		off := series[catalog.EngineEnergy+"{engine="+engine+",model="+l.model+"}"] - l.joules[engine]
		t.Logf("%s: the energy of %s is off by %+.0f of %.0f J; the bound is %.0f", w.name, engine, off, l.joules[engine], l.energyBound(engine, w.age))
	}
	l.holdErrors(t, w, series)
	if w.age == defaultAge {
		return // throttling is not among the default counters
	}
	for card, seconds := range l.thermal {
		for reason, want := range map[string]float64{"thermal": seconds, "sw_power_cap": l.power[card]} {
			got, has := series[catalog.GPUThrottle+"{gpu="+card+",reason="+reason+"}"]
			if !has || math.Abs(got-want) > waySample {
				t.Errorf("%s: %s was held down (%s) for %v s, in truth %v", w.name, card, reason, got, want)
			}
		}
	}
}

// wayErrors are the errors of gpuNode, by the first card of an engine: all of them, and those that a page shows when they are
// new. What follows a lost card is not among those, and of two in a row of one number the second is not.
var wayErrors = []struct {
	engine    string
	xid       int
	all, page float64
}{
	{"hot", 31, 2, 1}, {"hot", 13, 1, 1}, {"part-1", 94, 1, 1}, {"fallen", 79, 1, 0},
}

func (l *gpuLedger) holdErrors(t *testing.T, w *gpuWay, series map[string]float64) {
	t.Helper()
	sums, rows := map[string]float64{}, 0
	for _, e := range wayErrors {
		card := l.last[slices.IndexFunc(l.last, func(g sim.GPU) bool { return g.Engine == e.engine })].UUID
		want := e.page
		if w.source == gpu.NameChild {
			want = e.all
		}
		got, has := series[fmt.Sprintf("%s{gpu=%s,xid=%d}", catalog.GPUXIDErrors, card, e.xid)]
		if got != want || has != (want > 0) {
			t.Errorf("%s: %v errors with XID %d under %s (%v), in truth %v are told", w.name, got, e.xid, e.engine, has, want)
		}
		if sums[card] += want; want > 0 {
			rows++
		}
	}
	for name, got := range series {
		switch {
		case strings.HasPrefix(name, catalog.GPUXIDErrors+"{"):
			rows--
		case strings.HasPrefix(name, catalog.GPUErrors+"{"):
			card := strings.TrimSuffix(strings.TrimPrefix(name, catalog.GPUErrors+"{gpu="), "}")
			if got != sums[card] {
				t.Errorf("%s: %v errors of %s, want %v", w.name, got, card, sums[card])
			}
			delete(sums, card)
		}
	}
	for card, want := range sums {
		if want > 0 {
			t.Errorf("%s: the %v errors of %s are not added up", w.name, want, card)
		}
	}
	if rows != 0 {
		t.Errorf("%s: %d kinds of errors more are told than there were", w.name, -rows)
	}
}
