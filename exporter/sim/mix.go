package sim

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
)

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

// drawn is what one request asks for; a retry asks for the same.
type drawn struct {
	class                     string
	prompt, output, maxTokens int  // tokens
	stops                     bool // by itself, before maxTokens
	prefix                    shared
}

// shared names a beginning that several prompts have in common.
type shared struct {
	name   string
	tokens int
}

func (c *Class) validate(load string) error {
	var errs []error
	need := func(ok bool, what string) {
		if !ok {
			errs = append(errs, fmt.Errorf("load %q: class %q: %s", load, c.Name, what))
		}
	}
	need(c.Weight > 0 && c.Prompt >= 1 && c.Output >= 1, "weight, prompt and output must be positive")
	need(c.PromptCV >= 0 && c.OutputCV >= 0, "spreads must not be negative")
	need(math.Abs(c.Correlation) <= 1, "Correlation lies between -1 and 1")
	need(c.Stop >= 0 && c.Stop <= 1 && c.One >= 0 && c.One <= 1, "Stop and One are shares, from 0 to 1")
	need(c.Prefixes >= 0 && (c.PrefixLen > 0) == (c.Prefixes > 0), "Prefixes and PrefixLen go together")
	return errors.Join(errs...)
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
	one := rng.Float64() < c.One
	if one {
		d.output = 1
	}
	d.maxTokens = d.output
	if rng.Float64() < c.Stop && !one {
		d.stops, d.maxTokens = true, 2*d.output+16
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
