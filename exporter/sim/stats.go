package sim

import "slices"

// histogram counts observations as prometheus_client does: a value on an edge is in the bucket below it.
type histogram struct {
	edges  []float64
	counts []uint64 // by bucket, not cumulative; the last is the overflow
	sum    float64
}

func newHistogram(edges []float64) *histogram {
	return &histogram{edges: edges, counts: make([]uint64, len(edges)+1)}
}

func (h *histogram) observe(v float64) { h.observeN(v, 1) }

func (h *histogram) observeN(v float64, n int) {
	if n == 0 {
		return
	}
	i, _ := slices.BinarySearch(h.edges, v)
	h.counts[i] += uint64(n)
	h.sum += v * float64(n)
}

// Finish reasons, in the order of the page.
var reasons = [...]string{"stop", "length", "abort", "error", "repetition"}

// Rows of finishFamilies that some dialects count in another way.
const (
	outputRow = 1
	queueRow  = 7
)

// stats is what one rank's front-end logger has counted since the process began.
type stats struct {
	running, waiting, usage float64

	queries, hits, preemptions   float64
	promptTokens, computedTokens float64
	cachedTokens, outputTokens   float64
	success                      [len(reasons)]float64

	ttft, gaps, tpot, e2e, queue, inference, prefill, decode *histogram
	prompt, output, iteration, longest, params, maxTokens    *histogram
	preempts, kvComputed                                     *histogram

	finishing []finishFamily
	dialect   Dialect

	// latest are the sequences that ended last, all in one step: on a page that is rendered amid an update they are in
	// some families and not yet in others.
	latest []*sequence
}

// vLLM's histogram edges: vllm/v1/metrics/loggers.py of 0.32.
var (
	ttftEdges      = []float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}
	gapEdges       = []float64{0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	latencyEdges   = []float64{0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
	iterationEdges = []float64{1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}
	paramsEdges    = []float64{1, 2, 5, 10, 20}
	// with CUDA graphs switched off; the slip of the pen at the end is the engine's
	v0IterationEdges = []float64{1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8096}
	preemptEdges     = []float64{1, 2, 3, 4, 5, 10, 20}
)

// lengthEdges is 1, 2, 5, 10, ... up to the longest sequence that the model takes.
func lengthEdges(longest int) (edges []float64) {
	for decade := 1; ; decade *= 10 {
		for _, m := range []int{1, 2, 5} {
			if m*decade > longest {
				return edges
			}
			edges = append(edges, float64(m*decade))
		}
	}
}

func newStats(e *Engine) *stats {
	or := func(custom, standard []float64) []float64 {
		if custom != nil {
			return custom
		}
		return standard
	}
	gaps, latency := or(e.Buckets.Gaps, gapEdges), or(e.Buckets.Latency, latencyEdges)
	lengths, iteration, first := lengthEdges(e.MaxModelLen), iterationEdges, ttftEdges
	switch e.Dialect {
	case Rust: // whatever the model takes
		lengths = append(lengthEdges(100000), 131072)
	case V0: // the edges of before 0.8.4
		first, iteration = ttftEdges[:16], v0IterationEdges
		gaps, latency = or(e.Buckets.Gaps, gapEdges[:13]), or(e.Buckets.Latency, latencyEdges[:15])
	}
	return &stats{
		finishing: e.Dialect.finishing(), dialect: e.Dialect,
		ttft: newHistogram(or(e.Buckets.TTFT, first)),
		gaps: newHistogram(gaps), tpot: newHistogram(gaps),
		e2e: newHistogram(latency), queue: newHistogram(latency), inference: newHistogram(latency), prefill: newHistogram(latency), decode: newHistogram(latency),
		prompt: newHistogram(lengths), output: newHistogram(lengths), longest: newHistogram(lengths), maxTokens: newHistogram(lengths), kvComputed: newHistogram(lengths),
		iteration: newHistogram(iteration), params: newHistogram(paramsEdges), preempts: newHistogram(preemptEdges),
	}
}

// looked notes a look into the prefix cache; vLLM counts no second one after a preemption.
func (s *stats) looked(tokens, hit int) {
	s.queries += float64(tokens)
	s.hits += float64(hit)
}

// firstToken notes a prefill that has ended: prompt tokens are counted then.
func (s *stats) firstToken(q *sequence) {
	if s.dialect == Simulator {
		s.ttft.observe(q.prefillTime())
	} else {
		s.ttft.observe(q.ttft())
	}
	s.promptTokens += float64(q.prompt)
	s.computedTokens += float64(q.prompt - q.cached)
	s.cachedTokens += float64(q.cached)
}

// step notes an engine step, and the gap since the one before. A step that only computed a part of a prompt has no outputs
// and is not seen by the front end, which counts a prompt's computed tokens with its first output.
func (s *stats) step(out output, gap float64) {
	if out.tokens == 0 {
		return
	}
	s.gaps.observeN(gap, out.steady)
	s.outputTokens += float64(out.tokens)
	s.iteration.observe(float64(out.prompts + out.tokens))
}

// finished notes a sequence that has come to its end, in all families of finished sequences.
func (s *stats) finished(q *sequence) {
	if len(s.latest) > 0 && s.latest[0].last != q.last {
		s.latest = s.latest[:0]
	}
	s.latest = append(s.latest, q)
	s.success[slices.Index(reasons[:], q.reason)]++
	for _, f := range s.finishing {
		if f.counts(q) {
			f.histogram(s).observe(f.value(q))
		}
	}
}

// again notes the first output of a sequence that was computed once more after a preemption: the V0 engine takes it for a
// first token, after a wait since the last one, and counts its prompt again.
func (s *stats) again(q *sequence, wait float64) {
	s.ttft.observe(wait)
	s.promptTokens += float64(q.prompt)
}

// finishFamily is a histogram of finished sequences, and what a sequence adds to it.
type finishFamily struct {
	histogram  func(*stats) *histogram
	value      func(*sequence) float64
	perRequest bool                 // observed once for a request, with its last sequence
	only       func(*sequence) bool // nil: for all
}

func (f *finishFamily) counts(q *sequence) bool {
	return (!f.perRequest || q.closes) && (f.only == nil || f.only(q))
}

// finishFamilies are those of V1, in the order of the page.
var finishFamilies = [...]finishFamily{
	{histogram: func(s *stats) *histogram { return s.prompt }, value: func(q *sequence) float64 { return float64(q.prompt) }},
	{histogram: func(s *stats) *histogram { return s.output }, value: func(q *sequence) float64 { return float64(q.generated) }},
	{histogram: func(s *stats) *histogram { return s.longest }, value: func(q *sequence) float64 { return float64(q.request.longest()) }, perRequest: true},
	{histogram: func(s *stats) *histogram { return s.params }, value: func(q *sequence) float64 { return float64(q.request.n) }, perRequest: true},
	{histogram: func(s *stats) *histogram { return s.maxTokens }, value: func(q *sequence) float64 { return float64(q.maxTokens) }},
	{histogram: func(s *stats) *histogram { return s.tpot }, value: (*sequence).tpot},
	{histogram: func(s *stats) *histogram { return s.e2e }, value: (*sequence).e2e},
	{histogram: func(s *stats) *histogram { return s.queue }, value: (*sequence).queueTime},
	{histogram: func(s *stats) *histogram { return s.inference }, value: (*sequence).inferenceTime},
	{histogram: func(s *stats) *histogram { return s.prefill }, value: (*sequence).prefillTime},
	{histogram: func(s *stats) *histogram { return s.decode }, value: (*sequence).decodeTime},
	{histogram: func(s *stats) *histogram { return s.preempts }, value: func(q *sequence) float64 { return float64(q.preempted) }},
	{histogram: func(s *stats) *histogram { return s.kvComputed }, value: func(q *sequence) float64 { return float64(q.prompt - q.cached) }},
}

// longest is the longest output of a request's sequences, tokens.
func (r *request) longest() int {
	longest := 0
	for _, s := range r.sequences {
		longest = max(longest, s.generated)
	}
	return longest
}
