package sim

import (
	"math"
	"math/rand/v2"
)

// clients is a load at work.
type clients struct {
	world *World
	load  *Load
	rng   *rand.Rand // when and what is asked
	mood  *rand.Rand // what becomes of it: apart, so that an engine's slowness does not change the questions

	clock  float64 // open loop: the last arrival that was thought of, seconds since the start
	high   bool    // in a burst
	change float64 // when that ends
	next   int     // of the trace
}

func newClients(w *World, l *Load, rng *rand.Rand) *clients {
	return &clients{world: w, load: l, rng: rng, mood: rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64()))}
}

func (c *clients) start() {
	switch l := c.load; {
	case l.Closed != nil:
		for range l.Closed.Clients {
			c.think(c.rng.Float64())
		}
	case l.Trace != nil:
		c.replay()
	default:
		if b := l.Burst; b != nil {
			c.change = c.rng.ExpFloat64() * b.LowS
		}
		c.arrive()
	}
}

// arrive plans the next arrival of a Poisson process whose rate changes, by thinning: candidates come at the highest
// rate that there can be, and are kept with the probability of the rate at their time.
func (c *clients) arrive() {
	peak := c.load.Rate.peak()
	if b := c.load.Burst; b != nil {
		peak *= max(b.High, b.Low)
	}
	for {
		c.clock += c.rng.ExpFloat64() / peak
		if c.rng.Float64()*peak < c.load.Rate.at(c.clock)*c.factor(c.clock) {
			break
		}
	}
	c.world.at(c.clock, func() {
		if c.world.over() {
			return
		}
		c.send(c.load.Mix.draw(c.rng))
		c.arrive()
	})
}

// factor is the burst's factor at a time; times come in order.
func (c *clients) factor(t float64) float64 {
	b := c.load.Burst
	if b == nil {
		return 1
	}
	for t > c.change {
		c.high = !c.high
		mean := b.LowS
		if c.high {
			mean = b.HighS
		}
		c.change += c.rng.ExpFloat64() * mean
	}
	if c.high {
		return b.High
	}
	return b.Low
}

// think lets a client of a closed loop send after a while.
func (c *clients) think(share float64) {
	c.world.after(share*c.load.Closed.Think, func() {
		if !c.world.over() {
			c.send(c.load.Mix.draw(c.rng))
		}
	})
}

// replay plans the next request of a trace.
func (c *clients) replay() {
	if c.next == len(c.load.Trace) {
		return
	}
	s := c.load.Trace[c.next]
	c.next++
	c.world.at(s.At, func() {
		q := c.question(drawn{class: c.load.Name, prompt: s.Prompt, output: s.Output, asked: s.Output}, max(1, s.N))
		q.request.stream = true
		q.bad = s.Bad
		q.cancelAfter = math.Inf(1)
		if s.CancelAfter > 0 {
			q.cancelAfter = s.CancelAfter
		}
		c.ask(q)
		c.replay()
	})
}

// question is a request with what its client will do about it.
type question struct {
	request     *request
	bad         bool
	cancelAfter float64 // seconds; +Inf: never
	patience    float64 // seconds until the first token; +Inf: any
}

// send asks what the mix says, with the load's habits.
func (c *clients) send(d drawn) {
	h := &c.load.Habits
	n := 1
	if c.rng.Float64() < h.Two {
		n = 2
	}
	q := c.question(d, n)
	q.request.stream = c.rng.Float64() >= h.Whole
	q.bad = c.rng.Float64() < h.Bad
	if c.rng.Float64() < h.Cancel {
		q.cancelAfter = c.rng.ExpFloat64() * h.CancelAfter
	}
	if h.Patience > 0 {
		const sigma = 0.5
		q.patience = h.Patience * math.Exp(sigma*c.rng.NormFloat64()-sigma*sigma/2)
	}
	for _, s := range q.request.sequences {
		if c.rng.Float64() < h.Error {
			s.want, s.reason = 1+c.rng.IntN(s.want), "error"
		}
	}
	c.ask(q)
}

// question makes a request and gives it its number.
func (c *clients) question(d drawn, n int) *question {
	c.world.requests++
	r := &request{clients: c, id: c.world.requests, logical: c.world.requests, attempt: 1, class: d.class, n: n, prefix: d.prefix, left: n}
	for range n {
		s := &sequence{request: r, prompt: d.prompt, want: d.output, asked: d.asked, reason: "length"}
		if d.stops {
			s.reason = "stop"
		}
		r.sequences = append(r.sequences, s)
	}
	return &question{request: r, cancelAfter: math.Inf(1), patience: math.Inf(1)}
}

// ask sends a request to one of the load's engines.
func (c *clients) ask(q *question) {
	w, r := c.world, q.request
	e := w.byID[c.load.Engines[c.rng.IntN(len(c.load.Engines))]]
	if !e.up {
		r.arrived = w.now
		if t := w.config.Truth.Request; t != nil {
			t(Request{
				ID: r.id, Logical: r.logical, Attempt: r.attempt, Class: r.class, Engine: e.config.ID,
				Arrived: w.Now(), Ended: w.Now(), Outcome: Refused, Sequences: r.n,
			})
		}
		c.ended(r, Refused)
		return
	}
	e.receive(r, q.bad)
	if !math.IsInf(q.cancelAfter, 1) {
		w.after(q.cancelAfter, func() { e.cancel(r) })
	}
	if !math.IsInf(q.patience, 1) {
		w.after(q.patience, func() {
			if !r.answered {
				e.cancel(r)
			}
		})
	}
}

// ended hears what became of a request: it may be tried again, and a client of a closed loop goes on.
func (c *clients) ended(r *request, o Outcome) {
	h := &c.load.Habits
	again := o == Failed || o == RejectedAdmission || o == Lost || o == Refused || (o == Cancelled && !r.answered && h.Patience > 0)
	switch {
	case again && r.attempt <= h.Retries:
		wait := h.Backoff * math.Pow(2, float64(r.attempt-1)) * (0.5 + c.mood.Float64())
		c.world.after(wait, func() { c.retry(r) })
	case c.load.Closed != nil:
		c.think(c.mood.ExpFloat64())
	}
}

// retry asks the same again: another request for the engine, the same work for its client.
func (c *clients) retry(r *request) {
	first := r.sequences[0]
	d := drawn{class: r.class, prompt: first.prompt, output: first.want, asked: first.asked, stops: first.reason == "stop", prefix: r.prefix}
	q := c.question(d, r.n)
	q.request.logical, q.request.attempt, q.request.stream = r.logical, r.attempt+1, r.stream
	if h := &c.load.Habits; h.Patience > 0 {
		q.patience = h.Patience * (0.5 + c.mood.Float64())
	}
	c.ask(q)
}
