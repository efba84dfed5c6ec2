// Package sim is a world of clients, vLLM engines and GPUs on a virtual clock, in which every request's fate is known.
// An engine shows of itself what a real one would: its metrics page, byte for byte in the manner of vLLM V1. What the
// page cannot tell is told to whoever asks for the truth. Pure and seeded: the same configuration gives the same world,
// however often it is looked at. It does not know how pages are read.
package sim

import (
	"container/heap"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Config describes a world.
type Config struct {
	Seed    uint64
	Start   float64 // unix seconds; all times given to and by the world are unix seconds
	Engines []Engine
	Loads   []Load
	Outages []Outage
	// GPUEvents happen to single cards. GPUExporter is what the node shows of all of them.
	GPUEvents   []GPUEvent
	GPUExporter GPUExporter
	Stop        float64 // seconds from the start after which no client sends anything new; 0: never
	Truth       Truth
	Spans       func(Message) // is told of every message that engines with a Tracing send, as it comes; nil: nobody listens
}

// World is a running world. Not for concurrent use.
type World struct {
	config    Config
	now       float64 // seconds since the start
	events    eventQueue
	serial    uint64 // of events, so that those of one instant happen in the order in which they were planned
	requests  uint64 // ids given out
	endpoints []*endpoint
	byID      map[string]*endpoint
	encoder   encoder

	cards   []*card
	seats   []*seat // in the order of engines, ranks and their GPUs
	gpuPage *gpuSampler
}

// New builds a world at its start, or says everything that is wrong with the configuration.
func New(c Config) (*World, error) {
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	w := &World{config: c, byID: map[string]*endpoint{}}
	for i := range c.Engines {
		e := newEndpoint(w, c.Engines[i], uint64(i))
		w.endpoints = append(w.endpoints, e)
		w.byID[e.config.ID] = e
		e.boot()
	}
	w.seat()
	for i := range c.Loads {
		newClients(w, &c.Loads[i], w.random(2, uint64(i))).start()
	}
	for _, o := range c.Outages {
		w.plan(o)
	}
	for _, g := range c.GPUEvents {
		w.planGPU(g)
	}
	w.gpuPage = newGPUSampler(w)
	return w, nil
}

func (c *Config) validate() error {
	var errs []error
	ids := map[string]bool{}
	for i := range c.Engines {
		e := &c.Engines[i]
		if ids[e.ID] {
			errs = append(errs, fmt.Errorf("two engines are called %q", e.ID))
		}
		ids[e.ID] = true
		errs = append(errs, e.validate())
	}
	for i := range c.Loads {
		l := &c.Loads[i]
		errs = append(errs, l.validate())
		for _, id := range l.Engines {
			at := slices.IndexFunc(c.Engines, func(e Engine) bool { return e.ID == id })
			if at < 0 {
				errs = append(errs, fmt.Errorf("load %q is for engine %q, which does not exist", l.Name, id))
			} else if d := c.Engines[at].Dialect; l.Habits.Error > 0 && !d.failing() {
				errs = append(errs, fmt.Errorf("load %q has sequences that fail, which the page of engine %q, of kind %s, cannot tell", l.Name, id, d))
			}
		}
	}
	for _, o := range c.Outages {
		if !ids[o.Engine] {
			errs = append(errs, fmt.Errorf("an outage is of engine %q, which does not exist", o.Engine))
		}
		errs = append(errs, o.validate())
	}
	errs = append(errs, c.validateCards(), c.validateLost(), c.GPUExporter.validate())
	for i := range c.GPUEvents {
		errs = append(errs, c.GPUEvents[i].validate(c.Engines))
	}
	return errors.Join(errs...)
}

// random is a source of its own for each part of the world, so that a change to one part leaves the others' dice alone.
func (w *World) random(part, index uint64) *rand.Rand {
	return rand.New(rand.NewPCG(w.config.Seed, part<<32|index))
}

// Now is the world's time, unix seconds.
func (w *World) Now() float64 { return w.config.Start + w.now }

// Run lets everything happen that happens up to and including a time. A time that has passed changes nothing.
func (w *World) Run(until float64) {
	until -= w.config.Start
	for w.advance(until) {
	}
	w.gpuPage.until(until)
	w.now = max(w.now, until)
}

// advance lets the next thing happen, an event or the end of an engine step, and reports false when nothing does until
// then, in seconds since the start.
func (w *World) advance(until float64) bool {
	r, end := w.nextStep()
	next := math.Inf(1)
	if len(w.events) > 0 {
		next = w.events[0].at
	}
	if min(next, end) > until {
		return false
	}
	w.gpuPage.until(min(next, end))
	switch {
	case next <= end:
		e := heap.Pop(&w.events).(event)
		w.now = e.at
		e.happen()
	default:
		w.now = end
		r.finishStep()
	}
	return true
}

// nextStep is the engine step that ends first, of a handful of ranks.
func (w *World) nextStep() (first *rank, end float64) {
	end = math.Inf(1)
	for _, e := range w.endpoints {
		for _, r := range e.ranks {
			if r.end < end {
				first, end = r, r.end
			}
		}
	}
	return first, end
}

// Engines lists the ids of all engines, in the configuration's order.
func (w *World) Engines() (ids []string) {
	for _, e := range w.endpoints {
		ids = append(ids, e.config.ID)
	}
	return ids
}

// Up reports whether an engine's port answers.
func (w *World) Up(engine string) bool { return w.byID[engine].up }

// Process is the number of an engine's process, from 1; while it is down, that of the last one.
func (w *World) Process(engine string) int { return w.byID[engine].process }

// over reports whether clients have stopped sending.
func (w *World) over() bool { return w.config.Stop > 0 && w.now > w.config.Stop }

// at plans something for a time in seconds since the start, which has not passed.
func (w *World) at(t float64, happen func()) {
	w.serial++
	heap.Push(&w.events, event{at: t, serial: w.serial, happen: happen})
}

// after plans something for a number of seconds from now.
func (w *World) after(seconds float64, happen func()) { w.at(w.now+seconds, happen) }

// event is something that is going to happen.
type event struct {
	at     float64
	serial uint64
	happen func()
}

// eventQueue is a heap: the earliest event first.
type eventQueue []event

func (e eventQueue) Len() int { return len(e) }
func (e eventQueue) Less(i, j int) bool {
	return e[i].at < e[j].at || (e[i].at == e[j].at && e[i].serial < e[j].serial)
}
func (e eventQueue) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *eventQueue) Push(x any)   { *e = append(*e, x.(event)) }
func (e *eventQueue) Pop() any {
	old := *e
	last := old[len(old)-1]
	old[len(old)-1] = event{}
	*e = old[:len(old)-1]
	return last
}
