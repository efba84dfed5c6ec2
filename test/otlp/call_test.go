// Package otlp sends spans to the real binary with the senders that people have: OpenTelemetry's exporters for Go and
// Python and its Collector. It is a module of its own, so that they are no dependency of the exporter. It has tests
// only, and knows of the exporter what is on its page.
package otlp

import (
	"fmt"
	"math/rand/v2"
	"time"

	"go.opentelemetry.io/otel/attribute"
)

// The objective of the tests. Its thresholds are edges of the stand-in's histograms.
const (
	ttftLimit = 0.25
	tpotLimit = 0.025
)

// call is one finished sequence of an engine, in seconds.
type call struct {
	id                     string
	after                  time.Duration // from the begin of the load to its arrival
	queue, prefill, decode float64
	prompt, output         int
}

func (c *call) ttft() float64 { return c.queue + c.prefill }
func (c *call) e2e() float64  { return c.ttft() + c.decode }

// tpot is the time per output token after the first, 0 for a single token.
func (c *call) tpot() float64 {
	if c.output < 2 {
		return 0
	}
	return c.decode / float64(c.output-1)
}

func (c *call) qualifies() bool { return c.ttft() <= ttftLimit && c.tpot() <= tpotLimit }

// calls makes up a load of so many sequences that arrive evenly over a time. About half of them qualify, and of those
// that do not some miss one clause, some the other and some both.
func calls(seed uint64, n int, over time.Duration) []call {
	dice := rand.New(rand.NewPCG(seed, 1))
	out := make([]call, n)
	for i := range out {
		c := &out[i]
		c.id = fmt.Sprintf("cmpl-%d-%d-0", seed, i)
		c.after = time.Duration(float64(over) * float64(i) / float64(n))
		c.queue, c.prefill = 0.18*dice.Float64(), 0.02+0.13*dice.Float64()
		c.prompt, c.output = 10+dice.IntN(2000), 1+dice.IntN(60)
		c.decode = float64(c.output-1) * (0.005 + 0.03*dice.Float64())
	}
	return out
}

// qualified counts the sequences that keep the promise.
func qualified(all []call) (n int) {
	for i := range all {
		if all[i].qualifies() {
			n++
		}
	}
	return n
}

// attributes are what vLLM writes on a span.
func (c *call) attributes() []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.Float64("gen_ai.latency.time_to_first_token", c.ttft()),
		attribute.Float64("gen_ai.latency.e2e", c.e2e()),
		attribute.Float64("gen_ai.latency.time_in_queue", c.queue),
		attribute.Int("gen_ai.usage.prompt_tokens", c.prompt),
		attribute.Int("gen_ai.usage.completion_tokens", c.output),
		attribute.Float64("gen_ai.latency.time_in_model_prefill", c.prefill),
		attribute.Float64("gen_ai.latency.time_in_model_decode", c.decode),
		attribute.Float64("gen_ai.latency.time_in_model_inference", c.prefill+c.decode),
		attribute.String("gen_ai.request.id", c.id),
		attribute.Int("gen_ai.request.max_tokens", c.output),
		attribute.Float64("gen_ai.request.top_p", 1),
		attribute.Float64("gen_ai.request.temperature", 1),
		attribute.Int("gen_ai.request.n", 1),
	}
}
