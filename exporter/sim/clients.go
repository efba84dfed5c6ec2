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
	// reactions is for what follows an answer. It is apart, so that an engine's slowness does not change what is asked.
	reactions *rand.Rand

	clock  float64 // open loop: the last arrival that was thought of, seconds since the start
	high   bool    // in a burst
	change float64 // when that ends
	next   int     // of the trace
}

func newClients(w *World, l *Load, rng *rand.Rand) *clients {
	return &clients{world: w, load: l, rng: rng, reactions: rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64()))}
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
		if c.load.Rate.over(c.clock) {
			return
		}
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
		q := c.question(drawn{class: c.load.Name, prompt: s.Prompt, output: s.Output, maxTokens: s.Output}, max(1, s.N))
		q.request.stream = true
		q.bad = s.Bad
		if s.CancelAfter > 0 {
			q.cancelAfter = s.CancelAfter
		}
		c.ask(q, c.rng)
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

// send asks for what the mix says, in the manner of the load's habits.
func (c *clients) send(d drawn) {
	h := &c.load.Habits
	n := 1
	if c.rng.Float64() < h.Two {
		n = 2
	}
	q := c.question(d, n)
	q.request.stream = c.rng.Float64() >= h.Whole
	q.bad = c.rng.Float64() < h.Bad
	c.fate(q, c.rng)
	c.ask(q, c.rng)
}

// fate decides how long the client waits for this attempt, and whether the engine fails at it.
func (c *clients) fate(q *question, dice *rand.Rand) {
	h := &c.load.Habits
	if dice.Float64() < h.Cancel {
		q.cancelAfter = dice.ExpFloat64() * h.CancelAfter
	}
	if h.Patience > 0 {
		const sigma = 0.5
		q.patience = h.Patience * math.Exp(sigma*dice.NormFloat64()-sigma*sigma/2)
	}
	for _, s := range q.request.sequences {
		if dice.Float64() < h.Error {
			s.want, s.reason = 1+dice.IntN(s.want), "error"
		}
	}
}

// question makes a request and gives it its number.
func (c *clients) question(d drawn, n int) *question {
	c.world.requests++
	r := &request{clients: c, id: c.world.requests, logical: c.world.requests, attempt: 1, drawn: d, n: n, left: n}
	for range n {
		s := &sequence{request: r, prompt: d.prompt, want: d.output, maxTokens: d.maxTokens, reason: "length"}
		if d.stops {
			s.reason = "stop"
		}
		r.sequences = append(r.sequences, s)
	}
	return &question{request: r, cancelAfter: math.Inf(1), patience: math.Inf(1)}
}

// ask sends a request to one of the load's engines.
func (c *clients) ask(q *question, dice *rand.Rand) {
	w, r := c.world, q.request
	e := w.byID[c.load.Engines[dice.IntN(len(c.load.Engines))]]
	if !e.up {
		if t := w.config.Truth.Request; t != nil {
			t(Request{
				ID: r.id, Logical: r.logical, Attempt: r.attempt, Class: r.drawn.class, Engine: e.config.ID,
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
			if !r.answered && !r.settled {
				r.impatient = true
				e.cancel(r)
			}
		})
	}
}

// ended hears what became of a request: it may be tried again, and a client of a closed loop goes on. Who gave up because
// the answer was no longer wanted does not try again.
func (c *clients) ended(r *request, o Outcome) {
	h := &c.load.Habits
	again := o == Failed || o == RejectedAdmission || o == Lost || o == Refused || (o == Cancelled && r.impatient)
	switch {
	case again && r.attempt <= h.Retries:
		wait := h.Backoff * math.Pow(2, float64(r.attempt-1)) * (0.5 + c.reactions.Float64())
		c.world.after(wait, func() { c.retry(r) })
	case c.load.Closed != nil:
		c.think(c.reactions.ExpFloat64())
	}
}

// retry asks the same again: another request for the engine, the same work for its client.
func (c *clients) retry(r *request) {
	q := c.question(r.drawn, r.n)
	q.request.logical, q.request.attempt, q.request.stream = r.logical, r.attempt+1, r.stream
	c.fate(q, c.reactions)
	c.ask(q, c.reactions)
}
