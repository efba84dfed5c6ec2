package sim

import (
	"errors"
	"fmt"
	"math"
)

// Engine describes one vLLM server: a front end, and one scheduler for each data-parallel rank.
type Engine struct {
	ID, Model string
	Dialect   Dialect
	// Prefix stands on the page in the place of "vllm:", as KServe, Ray and some pipelines have it; "" is vLLM's own.
	Prefix string
	Ranks  int // data-parallel size; 1 by default
	// MultiProcess: several API servers share the port, and the page is that of prometheus_client's multiprocess mode:
	// no created timestamps, no process, another order. vLLM's default under data parallelism.
	MultiProcess bool

	Step        StepCost
	MaxSeqs     int // sequences in a batch, of each rank: --max-num-seqs
	TokenBudget int // tokens in a step: --max-num-batched-tokens
	BlockSize   int // tokens in a KV block
	Blocks      int // KV blocks of each rank
	MaxModelLen int // tokens of prompt and output together
	MaxQueued   int // waiting sequences above which requests are refused: --max-num-queued-reqs; 0: no limit
	// NoPrefixCache switches prefix caching off.
	NoPrefixCache bool

	Overhead float64 // mean seconds that the front end takes before a request is queued: tokenising, IPC
	Torn     float64 // share of a busy engine's pages that are rendered amid an update, which real ones are now and then
	Handler  string  // path that requests are sent to; "/v1/chat/completions" by default
	Buckets  Buckets
	GPU      GPUModel
	Tracing  *Tracing // nil: no spans
}

// StepCost is the time of one engine step: Base + Prefill x prompt tokens + Sequence x decoding sequences + KV x tokens
// in the decoding sequences' context. Seconds. The linear law is that of published batch-time models and was seen on
// real engines (docs/sim.md).
type StepCost struct {
	Base, Prefill, Sequence, KV float64
	Noise                       float64 // sigma of a lognormal factor with mean 1
}

// Buckets are custom histogram edges, as --custom-histogram-buckets sets them; nil is vLLM's default.
type Buckets struct {
	TTFT    []float64 // time_to_first_token
	Gaps    []float64 // inter_token_latency: token gaps and time per output token
	Latency []float64 // request_latency: e2e, queue, inference, prefill, decode
}

func (e *Engine) validate() error {
	var errs []error
	need := func(ok bool, what string) {
		if !ok {
			errs = append(errs, fmt.Errorf("engine %q: %s", e.ID, what))
		}
	}
	need(e.ID != "" && e.Model != "", "id and model must be given")
	need(e.Step.Base > 0, "a step must take time: Step.Base")
	need(e.Step.Prefill >= 0 && e.Step.Sequence >= 0 && e.Step.KV >= 0 && e.Step.Noise >= 0, "step costs must not be negative")
	need(min(e.Ranks, e.MaxSeqs, e.TokenBudget, e.BlockSize, e.Blocks, e.MaxModelLen, e.MaxQueued) >= 0, "limits must not be negative")
	need(e.Overhead >= 0, "Overhead must not be negative")
	need(e.Torn >= 0 && e.Torn <= 1, "Torn is a share, from 0 to 1")
	need(ascending(e.Buckets.TTFT) && ascending(e.Buckets.Gaps) && ascending(e.Buckets.Latency), "bucket edges must be positive, finite and strictly increasing")
	return errors.Join(append(errs, e.validateDialect(), e.validateTracing(), e.GPU.validate(e.ID))...)
}

func ascending(edges []float64) bool {
	previous := 0.0
	for _, e := range edges {
		if !(e > previous) || math.IsInf(e, 1) {
			return false
		}
		previous = e
	}
	return true
}

// withDefaults fills in what was left out: the limits of a plain `vllm serve` on one data-centre GPU.
func (e Engine) withDefaults() Engine {
	fill := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	fill(&e.Ranks, 1)
	fill(&e.MaxSeqs, 256)
	fill(&e.TokenBudget, 8192)
	fill(&e.BlockSize, 16)
	fill(&e.Blocks, 20000)
	fill(&e.MaxModelLen, 32768)
	if e.Handler == "" {
		e.Handler = "/v1/chat/completions"
	}
	if e.Overhead == 0 {
		e.Overhead = 0.004
	}
	e.GPU = e.GPU.withDefaults()
	if e.Tracing != nil {
		t := e.Tracing.withDefaults()
		e.Tracing = &t
	}
	return e
}

// H100 is a step cost of the order of an 8-billion-parameter model on one current data-centre card: an example, not a
// measurement of one.
var H100 = StepCost{Base: 0.0065, Prefill: 45e-6, Sequence: 18e-6, KV: 4e-8, Noise: 0.08}
