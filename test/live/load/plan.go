// Package load asks an OpenAI-compatible engine for completions as a crowd of independent clients would, and keeps what
// each of them saw. It knows nothing of the exporter, so that what it says may be held against what the exporter says.
package load

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"
)

// Step is a stretch of time with one kind of traffic. Clients arrive whether or not earlier ones have their answer, so
// the load does not slow down with the engine.
type Step struct {
	Name   string
	Length time.Duration
	Rate   float64 // requests per second, on average; the gaps are exponential
	Shapes []Shape
	Early  float64 // share of the clients that hang up before or at the first token
	Late   float64 // share that hangs up in the middle of the answer
	Bad    float64 // share that the engine has to refuse
	Pairs  float64 // share that asks for two sequences (n=2)
}

// Shape is one kind of request. Lengths in tokens are spread evenly over half to one and a half times their mean.
type Shape struct {
	Share          float64
	Prompt, Output int
}

// Ask is one request as it was drawn.
type Ask struct {
	ID             string
	Step           int
	Prompt, Output int // tokens
	N              int
	Fault          string        // key of faults; "" for a good request
	HangUpAfter    time.Duration // hang up then, or at the first token if it comes first; 0: do not
	HangUpAt       int           // hang up when so many chunks have come; 0: do not
}

// faults are the ways in which a request is bad: what is changed in it.
var faults = map[string]func(body map[string]any){
	"length": func(body map[string]any) { body["max_tokens"] = -1 },
	"model":  func(body map[string]any) { body["model"] = "nobody-serves-this" },
}

// patience is the longest time after which an early client hangs up. A lightly loaded engine takes about as long until
// the first token, so that some hang up before it and some at it.
const patience = 40 * time.Millisecond

// vocabulary is how many words the prompts are made of. The engine's tokenizer has at least these: w0 to w899.
const vocabulary = 900

// Validate says what makes a plan one that cannot be carried out.
func Validate(steps []Step) error {
	for i, s := range steps {
		switch {
		case s.Length <= 0:
			return fmt.Errorf("step %d (%s): its length is %v, want more than 0", i, s.Name, s.Length)
		case s.Rate <= 0:
			return fmt.Errorf("step %d (%s): its rate is %v requests per second, want more than 0", i, s.Name, s.Rate)
		case len(s.Shapes) == 0:
			return fmt.Errorf("step %d (%s): it has no shapes, so there is nothing to ask for", i, s.Name)
		case min(s.Early, s.Late, s.Bad, s.Pairs) < 0 || s.Early+s.Late+s.Bad > 1 || s.Pairs > 1:
			return fmt.Errorf("step %d (%s): its shares have to lie between 0 and 1, and early, late and bad together as well", i, s.Name)
		}
		for _, shape := range s.Shapes {
			if shape.Share <= 0 || shape.Prompt < 1 || shape.Output < 1 {
				return fmt.Errorf("step %d (%s): the shape %+v has to have a share, a prompt and an output above 0", i, s.Name, shape)
			}
		}
	}
	return nil
}

// gap draws the time until the next arrival.
func (s *Step) gap(rng *rand.Rand) time.Duration {
	return time.Duration(rng.ExpFloat64() / s.Rate * float64(time.Second))
}

// draw makes up one request of the step.
func (s *Step) draw(rng *rand.Rand) Ask {
	shape := s.pick(rng)
	a := Ask{Prompt: around(rng, shape.Prompt), Output: around(rng, shape.Output), N: 1}
	if rng.Float64() < s.Pairs {
		a.N = 2
	}
	switch x := rng.Float64(); {
	case x < s.Early:
		a.HangUpAfter = 1 + time.Duration(rng.Float64()*float64(patience))
	case x < s.Early+s.Late:
		a.HangUpAt = 1 + rng.IntN(max(1, a.Output*a.N/2))
	case x < s.Early+s.Late+s.Bad:
		a.Fault = "length"
		if rng.IntN(2) == 0 {
			a.Fault = "model"
		}
	}
	return a
}

func (s *Step) pick(rng *rand.Rand) Shape {
	total := 0.0
	for _, shape := range s.Shapes {
		total += shape.Share
	}
	x := rng.Float64() * total
	for _, shape := range s.Shapes {
		if x -= shape.Share; x < 0 {
			return shape
		}
	}
	return s.Shapes[len(s.Shapes)-1]
}

// around draws a length from half to one and a half times the mean; 1 stays 1, so that answers of a single token, which
// have no time per output token, can be asked for.
func around(rng *rand.Rand, mean int) int {
	if mean == 1 {
		return 1
	}
	return max(1, int(math.Round(float64(mean)*(0.5+rng.Float64()))))
}

// words is a prompt of so many tokens. Random words find nothing in a prefix cache.
func words(rng *rand.Rand, n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "w%d", rng.IntN(vocabulary))
	}
	return b.String()
}
