package sim

import (
	"errors"
	"fmt"
	"slices"
)

// GPUEvent is something that happens to one card, again and again: an error of the driver, or clocks that are held down.
// Cards that fall off the bus, and drivers that are loaded anew, take their engine with them: see Outage.
type GPUEvent struct {
	Engine      string
	Rank, Index int     // which card: of which rank, and within it
	After       float64 // seconds from the start of the world to the first
	Every       float64 // seconds from one to the next; 0: once

	XID int // an error of this number; it harms nobody by itself

	Throttle Throttle // the card's clocks are held down for this reason; "": they are not
	For      float64  // seconds
	Slow     float64  // meanwhile steps take as many times longer, above 1. The other cards of the rank wait for this one.
}

// Throttle is a reason to hold clocks down.
type Throttle string

// The reasons. A real card's power limit holds it down under load only; here an event lasts as long as it says.
const (
	PowerCap        Throttle = "power_cap"
	SoftwareThermal Throttle = "software_thermal"
	HardwareThermal Throttle = "hardware_thermal"
)

var throttles = []Throttle{PowerCap, SoftwareThermal, HardwareThermal}

// lostXID is what the driver says of a card that has fallen off the bus.
const lostXID = 79

func (g *GPUEvent) validate(engines []Engine) error {
	at := slices.IndexFunc(engines, func(e Engine) bool { return e.ID == g.Engine })
	if at < 0 {
		return fmt.Errorf("a GPU event is of engine %q, which does not exist", g.Engine)
	}
	var errs []error
	need := func(ok bool, what string) {
		if !ok {
			errs = append(errs, fmt.Errorf("GPU event of engine %q: %s", g.Engine, what))
		}
	}
	e := engines[at].withDefaults()
	need(g.Rank >= 0 && g.Rank < e.Ranks && g.Index >= 0 && g.Index < e.GPU.Count, fmt.Sprintf("the engine has no GPU %d of rank %d: Rank and Index", g.Index, g.Rank))
	need(g.After >= 0 && g.Every >= 0, "After and Every must not be negative")
	need((g.XID > 0) != (g.Throttle != ""), "exactly one of XID and Throttle must be given")
	if g.Throttle != "" {
		need(slices.Contains(throttles, g.Throttle), fmt.Sprintf("%q is no reason for Throttle", g.Throttle))
		need(g.For > 0 && (g.Every == 0 || g.Every > g.For), "it must last, and end before it comes again: For and Every")
		need(g.Slow >= 1, "clocks that are held down make steps longer: Slow is at least 1")
	}
	return errors.Join(errs...)
}

// hold is one event that holds a card's clocks down.
type hold struct {
	why  Throttle
	slow float64
	from float64 // seconds since the start
}

// planGPU lets an event happen.
func (w *World) planGPU(g GPUEvent) {
	c := w.byID[g.Engine].ranks[g.Rank].seats[g.Index].card
	w.at(g.After, func() {
		if g.Every > 0 {
			again := g
			again.After = w.now + g.Every
			w.planGPU(again)
		}
		if c.lost {
			return // nobody hears of it
		}
		if g.XID > 0 {
			c.err(g.XID, w.now)
			return
		}
		h := hold{g.Throttle, g.Slow, w.now}
		c.holds = append(c.holds, h)
		w.after(g.For, func() {
			at := slices.Index(c.holds, h)
			if at < 0 {
				return // the card fell off the bus meanwhile
			}
			before := c.held(h.why, w.now)
			c.holds = slices.Delete(c.holds, at, at+1)
			c.total[h.why] += before - c.held(h.why, w.now)
		})
	})
}

// held is for how long the card's clocks have been held down for a reason, seconds; several holds at once count once.
func (c *card) held(why Throttle, now float64) float64 {
	seconds, since := c.total[why], now
	for _, h := range c.holds {
		if h.why == why {
			since = min(since, h.from)
		}
	}
	return seconds + (now - since)
}

// holding reports whether the card's clocks are held down for a reason.
func (c *card) holding(why Throttle) bool {
	return slices.ContainsFunc(c.holds, func(h hold) bool { return h.why == why })
}

// slow is the factor on the time of a step: that of the slowest card.
func (r *rank) slow() float64 {
	slow := 1.0
	for _, s := range r.seats {
		slow = max(slow, s.card.slow())
	}
	return slow
}

// slow is the strongest hold's factor.
func (c *card) slow() float64 {
	slow := 1.0
	for _, h := range c.holds {
		slow = max(slow, h.slow)
	}
	return slow
}

// fallOff is a card that does not answer any more.
func (c *card) fallOff(now float64) {
	for _, why := range throttles {
		c.total[why] = c.held(why, now)
	}
	c.holds, c.lost = nil, true
	c.err(lostXID, now)
}
