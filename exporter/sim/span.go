package sim

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// span is what a tracer keeps of something that has ended, until it is sent. Times are unix seconds.
type span struct {
	trace      [16]byte
	id, parent [8]byte // no parent: it began the trace
	remote     bool    // the parent is of another process
	start, end float64

	values spanValues
	call   string
	caller []Attribute // of the client, on the span

	other *otherSpan // nil: it is of a finished sequence
}

// spanValues is what vLLM puts on the span of a finished sequence. Seconds and tokens.
type spanValues struct {
	ttft, e2e, queue, prefill, decode, inference float64
	prompt, output, maxTokens                    int
}

// sequenceSpan ends the span of a finished sequence, if its trace is sampled.
func (e *endpoint) sequenceSpan(s *sequence) {
	t := e.tracerOf(s.request)
	if t == nil {
		return
	}
	out := span{
		start: e.world.config.Start + s.request.arrived, call: e.callID(s.request),
		values: spanValues{
			ttft: s.ttft(), e2e: s.e2e(), queue: s.queueTime(), prefill: s.prefillTime(), decode: s.decodeTime(), inference: s.inferenceTime(),
			prompt: s.prompt, output: s.generated, maxTokens: s.maxTokens,
		},
	}
	// The span ends when the front end has told of it: on real engines 1.0 ms after the sequence's end in the mean, and
	// up to 11 ms (testdata/recordings/vllm-0.32-day).
	out.end = e.world.Now() + min(0.0002+0.0008*t.rng.ExpFloat64(), 0.011)
	out.trace, out.id = newTrace(t.rng), spanID(t.rng.Uint64())
	sampled := sampledTrace(out.trace, t.config.Ratio)
	if c := s.request.clients.load.Caller; c != nil {
		out.trace, out.parent = e.world.callersTrace(s.request)
		out.remote, out.caller = true, c.Attributes
		sampled = sampledTrace(out.trace, c.ratio())
	}
	if sampled {
		t.add(out)
	}
}

// callID is the engine's name for a request. All sequences of one have it.
func (e *endpoint) callID(r *request) string {
	id := "r" + strconv.FormatUint(r.id, 10)
	if strings.HasSuffix(e.config.Handler, "/chat/completions") {
		return "chatcmpl-" + id
	}
	return "cmpl-" + id + "-0" // the index of the prompt
}

func newTrace(rng *rand.Rand) [16]byte {
	a, b := spanID(rng.Uint64()), spanID(rng.Uint64())
	return [16]byte(append(a[:], b[:]...))
}

func spanID(v uint64) (id [8]byte) {
	for i := range id {
		id[i] = byte(v >> (56 - 8*i))
	}
	return id
}

// callersTrace is the trace that a client began for a piece of work, and its span for this attempt at it. Both follow from
// the seed and the numbers alone, since several engines may come to see the same work.
func (w *World) callersTrace(r *request) (trace [16]byte, parent [8]byte) {
	return newTrace(w.random(5, r.logical)), spanID(w.random(6, r.id).Uint64())
}

// sampledTrace is OpenTelemetry's ratio sampler: a trace is kept when the lower half of its id lies below the ratio. So the
// whole trace is, wherever the question is asked.
func sampledTrace(id [16]byte, ratio float64) bool {
	low := uint64(0)
	for _, b := range id[8:] {
		low = low<<8 | uint64(b)
	}
	return ratio >= 1 || low < uint64(math.Ldexp(ratio, 64))
}

func (c *Caller) ratio() float64 {
	if c.Ratio == 0 {
		return 1
	}
	return c.Ratio
}
