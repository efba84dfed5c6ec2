package fold

import (
	"slices"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// throttle is for how long one reason held the clocks of a card down.
type throttle struct {
	reason  fact.ThrottleReason
	driver  meter   // the driver's own account
	sampled float64 // seconds between readings of which the later found it holding
	shown   bool    // some of it is sampled
}

// A reason holds for no longer than time passes; the rest is for clocks that do not agree.
const throttlePerSecond = 1.1

// takeThrottles takes what a reading tells of throttling, dt seconds after the reading before it; 0 where that was too
// long ago, or where there was none. It returns how many values were not believed.
func (g *gpu) takeThrottles(told []fact.Throttle, at, dt float64) (refused uint64) {
	for _, now := range told {
		if !now.Seconds.Known && !now.Now.Known {
			continue
		}
		t := g.throttleOf(now.Reason)
		switch {
		case now.Seconds.Known:
			if _, _, odd := t.driver.read(now.Seconds.V, at, throttlePerSecond); odd {
				refused++
			}
		case t.driver.known: // what is between two values of its account is in the second
		default:
			t.shown = true
			if now.Now.V > 0 {
				t.sampled += dt
			}
		}
	}
	return refused
}

// throttleOf finds or adds the row of a reason.
func (g *gpu) throttleOf(reason fact.ThrottleReason) *throttle {
	i, found := slices.BinarySearchFunc(g.throttles, reason, func(t *throttle, r fact.ThrottleReason) int { return strings.Compare(string(t.reason), string(r)) })
	if !found {
		g.throttles = slices.Insert(g.throttles, i, &throttle{reason: reason})
	}
	return g.throttles[i]
}

func (g *gpu) publishThrottles() []Throttled {
	out := make([]Throttled, len(g.throttles))
	for i, t := range g.throttles {
		out[i] = Throttled{Reason: t.reason, Seconds: t.driver.total + t.sampled, Sampled: t.shown}
	}
	return out
}
