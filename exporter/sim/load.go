package sim

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
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

// Mix is what is asked for.
type Mix []Class

// Class is one kind of request. Lengths are lognormal, in tokens.
type Class struct {
	Name                string
	Weight              float64
	Prompt, PromptCV    float64 // mean, and standard deviation over mean
	Output, OutputCV    float64
	Correlation         float64 // of the logarithms of both
	Stop                float64 // share that ends by itself; the rest ends at max_tokens
	One                 float64 // share that asks for a single token
	Prefixes, PrefixLen int     // number of shared beginnings, and their length in tokens; part of the prompt
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
	need(l.Burst == nil || len(l.Rate.Points) > 0, "Burst modulates a Rate, and there is none")
	need(len(l.Engines) > 0, "no engine is named")
	need(l.Trace != nil || len(l.Mix) > 0, "Mix is empty")
	need(l.Closed == nil || (l.Closed.Clients > 0 && l.Closed.Think >= 0), "a closed loop needs clients and a think time")
	for i, p := range l.Rate.Points {
		need(p.PerSecond >= 0, "rates must not be negative")
		need(i == 0 || p.At >= l.Rate.Points[i-1].At, "points of a rate must be in order")
	}
	need(len(l.Rate.Points) == 0 || l.Rate.peak() > 0, "the rate is 0 for ever")
	for _, c := range l.Mix {
		need(c.Weight > 0 && c.Prompt >= 1 && c.Output >= 1, fmt.Sprintf("class %q: weight, prompt and output must be positive", c.Name))
	}
	return errors.Join(errs...)
}

// The mixes. Means and spreads are of the order that public traces of such services show; they are examples, not
// measurements of anybody's traffic.
var (
	Chat         = Mix{{Name: "chat", Weight: 1, Prompt: 600, PromptCV: 1.2, Output: 220, OutputCV: 1, Correlation: 0.2, Stop: 0.9, Prefixes: 4, PrefixLen: 256}}
	RAG          = Mix{{Name: "rag", Weight: 1, Prompt: 4000, PromptCV: 0.6, Output: 180, OutputCV: 0.8, Stop: 0.95, Prefixes: 2, PrefixLen: 512}}
	LongDocument = Mix{{Name: "long-document", Weight: 1, Prompt: 12000, PromptCV: 0.5, Output: 400, OutputCV: 0.7, Correlation: 0.3, Stop: 0.8}}
	CodeAgent    = Mix{
		{Name: "code-agent", Weight: 0.8, Prompt: 9000, PromptCV: 0.5, Output: 150, OutputCV: 1, Stop: 0.95, Prefixes: 12, PrefixLen: 6000},
		{Name: "code-complete", Weight: 0.2, Prompt: 1500, PromptCV: 0.8, Output: 40, OutputCV: 0.8, Stop: 0.7, One: 0.1},
	}
	Reasoning = Mix{{Name: "reasoning", Weight: 1, Prompt: 400, PromptCV: 1, Output: 1800, OutputCV: 0.8, Stop: 0.9}}
)

// drawn is one request's lengths.
type drawn struct {
	class                 string
	prompt, output, asked int
	stops                 bool
	prefix                shared
}

// shared names a beginning that several prompts have in common.
type shared struct {
	name   string
	tokens int
}

// draw picks a class and lengths.
func (m Mix) draw(rng *rand.Rand) drawn {
	total := 0.0
	for i := range m {
		total += m[i].Weight
	}
	u := rng.Float64() * total
	c := &m[len(m)-1]
	for i := range m {
		if u -= m[i].Weight; u < 0 {
			c = &m[i]
			break
		}
	}
	a, b := rng.NormFloat64(), rng.NormFloat64()
	b = c.Correlation*a + math.Sqrt(1-c.Correlation*c.Correlation)*b
	d := drawn{class: c.Name, prompt: lognormal(c.Prompt, c.PromptCV, a), output: lognormal(c.Output, c.OutputCV, b)}
	if rng.Float64() < c.One {
		d.output = 1
	}
	d.asked = d.output
	if rng.Float64() < c.Stop {
		d.stops, d.asked = true, 2*d.output+16
	}
	if c.Prefixes > 0 && d.prompt > c.PrefixLen {
		d.prefix = shared{name: fmt.Sprintf("%s/%d", c.Name, rng.IntN(c.Prefixes)), tokens: c.PrefixLen}
	}
	return d
}

// lognormal is a length of at least one token with a mean and a coefficient of variation, from a standard normal draw.
func lognormal(mean, cv, z float64) int {
	s2 := math.Log(1 + cv*cv)
	return max(1, int(math.Round(math.Exp(math.Log(mean)-s2/2+math.Sqrt(s2)*z))))
}
