package sim

import (
	"errors"
	"fmt"
	"math"
)

// Load is a population of clients. Exactly one of Rate, Closed and Trace says when they send.
type Load struct {
	Name    string
	Engines []string // each request goes to one of them, chosen at random

	Rate   Rate    // open loop: requests per second, whatever becomes of them
	Burst  *Burst  // modulates Rate
	Closed *Closed // closed loop: a client sends when its last answer has come
	Trace  []Sent  // replayed

	Mix    Mix
	Habits Habits
	Caller *Caller // nil: they say nothing of traces
}

// Rate is an arrival rate over time, linear between its points and constant before and after them.
type Rate struct {
	Points []Point
	Period float64 // seconds after which it repeats; 0: never
}

// Point is the rate at a time since the start of the world.
type Point struct{ At, PerSecond float64 }

// Constant is a rate that never changes: a Poisson process.
func Constant(perSecond float64) Rate { return Rate{Points: []Point{{0, perSecond}}} }

// Diurnal is a rate that swings around a mean like the days' traffic; swing is the share of the mean, below 1.
func Diurnal(mean, swing, period float64) Rate {
	r := Rate{Period: period}
	const steps = 48
	for i := range steps + 1 {
		x := float64(i) / steps
		r.Points = append(r.Points, Point{x * period, mean * (1 - swing*math.Cos(2*math.Pi*x))})
	}
	return r
}

// Ramp goes from one rate to another between two times, seconds since the start.
func Ramp(from, to, begin, end float64) Rate {
	return Rate{Points: []Point{{begin, from}, {end, to}}}
}

// at is the rate at a time since the start.
func (r *Rate) at(t float64) float64 {
	if r.Period > 0 {
		t = math.Mod(t, r.Period)
	}
	p := r.Points
	if t <= p[0].At {
		return p[0].PerSecond
	}
	for i := 1; i < len(p); i++ {
		if t < p[i].At {
			share := (t - p[i-1].At) / (p[i].At - p[i-1].At)
			return p[i-1].PerSecond + share*(p[i].PerSecond-p[i-1].PerSecond)
		}
	}
	return p[len(p)-1].PerSecond
}

// over reports whether the rate is 0 from a time on.
func (r *Rate) over(t float64) bool {
	last := r.Points[len(r.Points)-1]
	return r.Period == 0 && last.PerSecond == 0 && t >= last.At
}

func (r *Rate) peak() float64 {
	peak := 0.0
	for _, p := range r.Points {
		peak = max(peak, p.PerSecond)
	}
	return peak
}

// Burst switches between two factors on the rate, for exponentially distributed times.
type Burst struct {
	High, Low   float64 // factors on the rate
	HighS, LowS float64 // mean seconds in each
}

// Closed is a fixed number of clients that think between answer and next request: offered load falls when the engine
// slows down, so it hides overload.
type Closed struct {
	Clients int
	Think   float64 // mean seconds, exponentially distributed
}

// Sent is one request of a trace.
type Sent struct {
	At             float64 // seconds since the start
	Prompt, Output int     // tokens
	N              int     // sequences; 0 is 1
	CancelAfter    float64 // seconds; 0: never
	Bad            bool    // will be refused with a 4xx
}

// Habits are what clients do beside waiting for answers. Shares are of requests, 0 to 1.
type Habits struct {
	Cancel      float64 // share that is given up after CancelAfter, if it is not done by then
	CancelAfter float64 // mean seconds, exponentially distributed
	Patience    float64 // mean seconds that a client waits for the first token, lognormal; 0: for ever
	Retries     int     // attempts after a failure, a refusal or lost patience
	Backoff     float64 // mean seconds before the first of them; doubles each time
	Bad         float64 // share of bad requests: 4xx
	Error       float64 // share of sequences that end in an error of the engine
	Two         float64 // share of requests with n=2
	Whole       float64 // share that wants its answer in one piece, not streamed
}

func (l *Load) validate() error {
	var errs []error
	need := func(ok bool, what string) {
		if !ok {
			errs = append(errs, fmt.Errorf("load %q: %s", l.Name, what))
		}
	}
	kinds := 0
	for _, given := range []bool{len(l.Rate.Points) > 0, l.Closed != nil, l.Trace != nil} {
		if given {
			kinds++
		}
	}
	need(kinds == 1, "exactly one of Rate, Closed and Trace must be given")
	need(len(l.Engines) > 0, "no engine is named")
	need(l.Trace != nil || len(l.Mix) > 0, "Mix is empty")
	need(l.Closed == nil || (l.Closed.Clients > 0 && l.Closed.Think >= 0), "a closed loop needs clients and a think time")
	need(l.Burst == nil || len(l.Rate.Points) > 0, "Burst modulates a Rate, and there is none")
	if b := l.Burst; b != nil {
		need(min(b.High, b.Low) >= 0 && max(b.High, b.Low) > 0, "a burst's factors must not be negative, nor both 0")
		need(b.HighS > 0 && b.LowS > 0, "a burst's times must be positive")
	}
	for i, s := range l.Trace {
		need(s.Prompt >= 1 && s.Output >= 1 && s.N >= 0 && s.CancelAfter >= 0, fmt.Sprintf("request %d of the trace: prompt and output must be positive, the rest not negative", i))
		need(s.At >= 0 && (i == 0 || s.At >= l.Trace[i-1].At), fmt.Sprintf("request %d of the trace is out of order", i))
	}
	if c := l.Caller; c != nil {
		need(c.Ratio >= 0 && c.Ratio <= 1, "Caller.Ratio is a share, from 0 to 1")
		need(legible(c.Attributes), "Caller.Attributes must be UTF-8")
	}
	errs = append(errs, l.Rate.validate(l.Name), l.Habits.validate(l.Name))
	for i := range l.Mix {
		errs = append(errs, l.Mix[i].validate(l.Name))
	}
	return errors.Join(errs...)
}

func (r *Rate) validate(load string) error {
	if len(r.Points) == 0 {
		return nil
	}
	var errs []error
	need := func(ok bool, what string) {
		if !ok {
			errs = append(errs, fmt.Errorf("load %q: %s", load, what))
		}
	}
	for i, p := range r.Points {
		need(p.PerSecond >= 0 && !math.IsInf(p.PerSecond, 1), "rates must be finite and not negative")
		need(i == 0 || p.At >= r.Points[i-1].At, "points of a rate must be in order")
	}
	need(r.peak() > 0, "the rate is 0 for ever")
	need(r.Period == 0 || (r.Points[0].At >= 0 && r.Points[len(r.Points)-1].At <= r.Period), "points of a rate must lie within its period")
	return errors.Join(errs...)
}

func (h *Habits) validate(load string) error {
	var errs []error
	for _, s := range []struct {
		name  string
		share float64
	}{{"Cancel", h.Cancel}, {"Bad", h.Bad}, {"Error", h.Error}, {"Two", h.Two}, {"Whole", h.Whole}} {
		if !(s.share >= 0 && s.share <= 1) {
			errs = append(errs, fmt.Errorf("load %q: Habits.%s is a share, from 0 to 1", load, s.name))
		}
	}
	if !(h.CancelAfter >= 0 && h.Patience >= 0 && h.Retries >= 0 && h.Backoff >= 0) {
		errs = append(errs, fmt.Errorf("load %q: Habits must not be negative", load))
	}
	return errors.Join(errs...)
}
