package sim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Outage is a process that dies.
type Outage struct {
	Engine string
	After  float64 // seconds from the start of the world to the first death
	Every  float64 // seconds from one death to the next; 0: once
	Down   float64 // seconds from the end of the old process until the new one answers
	// Crash: the engine core dies first, and its front end goes on answering, with frozen numbers, until it notices after
	// a second or two. Otherwise the whole process is gone at once, with all that it was working on.
	Crash bool
	// Lost: the engine's first card falls off the bus, which the engine core does not outlive, and is back with the next
	// process, after a reset that makes its counters start anew. So it is a Crash.
	Lost bool
	// Reload: the driver is loaded anew while the engine is down: the counters of its cards start anew.
	Reload bool
}

// maxNoticed is the longest time, in seconds, that a front end takes to notice that its engine core is dead.
const maxNoticed = 2

func (o *Outage) validate() error {
	var errs []error
	need := func(ok bool, what string) {
		if !ok {
			errs = append(errs, fmt.Errorf("outage of engine %q: %s", o.Engine, what))
		}
	}
	need(o.After >= 0 && o.Every >= 0, "After and Every must not be negative")
	// Otherwise the new process would have started before the old one died.
	need(o.Down >= loading+1, fmt.Sprintf("a process needs %d s to come up: Down", loading+1))
	need(!(o.Every > 0) || o.Every > o.Down+maxNoticed, fmt.Sprintf("the process must be up again before the next outage: Every must exceed Down by %d s", maxNoticed))
	need(!o.Lost || o.Crash && !o.Reload, "an engine core does not outlive a card: Lost goes with Crash, and without Reload")
	return errors.Join(errs...)
}

// validateLost finds outages that would harm engines that are not theirs.
func (c *Config) validateLost() error {
	var errs []error
	for _, o := range c.Outages {
		for _, e := range c.Engines {
			if e.ID == o.Engine && e.GPU.Card != "" && (o.Lost || o.Reload) {
				errs = append(errs, fmt.Errorf("outage of engine %q: its GPU.Card %q may be others' too: Lost and Reload", o.Engine, e.GPU.Card))
			}
		}
	}
	return errors.Join(errs...)
}

// plan lets an outage happen.
func (w *World) plan(o Outage) {
	e := w.byID[o.Engine]
	w.at(o.After, func() {
		if o.Every > 0 {
			again := o
			again.After = w.now + o.Every
			w.plan(again)
		}
		if !e.up || e.dead {
			return
		}
		if !o.Crash {
			e.exit(o.Down)
			e.unload(o)
			return
		}
		if o.Lost {
			e.ranks[0].seats[0].card.fallOff(w.now)
		}
		e.dead = true
		for _, r := range e.ranks {
			r.halt()
		}
		w.after(0.5+(maxNoticed-0.5)*e.rng.Float64(), func() {
			e.flush()
			e.exit(o.Down)
			e.unload(o)
		})
	})
}

// unload is what an outage does to the engine's cards while nobody uses them.
func (e *endpoint) unload(o Outage) {
	w := e.world
	if o.Lost {
		c := e.ranks[0].seats[0].card
		w.after(o.Down, func() { c.unload(w.now); c.lost = false })
		return
	}
	for _, r := range e.ranks {
		for _, s := range r.seats {
			if o.Reload {
				s.card.unload(w.now)
			}
		}
	}
}

// exit ends the process and everything in it. What a front end still sends when it goes down, an error inside a 200 or a
// 500, comes after its last page, so that no counter ever shows it.
func (e *endpoint) exit(down float64) {
	e.up = false
	for _, r := range e.ranks {
		r.halt()
	}
	for _, id := range slices.Sorted(maps.Keys(e.inFlight)) {
		r := e.inFlight[id]
		if r.settled { // its work was done, and counted; only the response is cut off
			e.leave(r, r.outcome)
			continue
		}
		r.status = 500
		if r.streaming() {
			r.status = 200
		}
		e.leave(r, Lost)
	}
	e.world.after(down, e.boot)
}
