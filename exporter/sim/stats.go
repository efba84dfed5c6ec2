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

// forget takes an observation back.
func (h *histogram) forget(v float64) {
	i, _ := slices.BinarySearch(h.edges, v)
	h.counts[i]--
	h.sum -= v
}

func (h *histogram) count() uint64 {
	var n uint64
	for _, c := range h.counts {
		n += c
	}
	return n
}

// Finish reasons, in the order of the page.
var reasons = [...]string{"stop", "length", "abort", "error", "repetition"}

// stats is what one rank's front-end logger has counted since the process began.
type stats struct {
	running, waiting, usage float64

	queries, hits, preemptions   float64
	promptTokens, computedTokens float64
	cachedTokens, outputTokens   float64
	success                      [len(reasons)]float64

	ttft, gaps, tpot, e2e, queue, inference, prefill, decode *histogram
	prompt, output, iteration, longest, params, asked        *histogram
	preempts, kvComputed                                     *histogram

	// unsettled are the sequences of the last step: on a page that is rendered amid an update they are in some families
	// and not yet in others.
	unsettled []*sequence
}

// vLLM's histogram edges: vllm/v1/metrics/loggers.py of 0.32.
var (
	ttftEdges      = []float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}
	gapEdges       = []float64{0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	latencyEdges   = []float64{0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
	iterationEdges = []float64{1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}
	paramsEdges    = []float64{1, 2, 5, 10, 20}
	preemptEdges   = []float64{1, 2, 3, 4, 5, 10, 20}
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
	lengths := lengthEdges(e.MaxModelLen)
	return &stats{
		ttft: newHistogram(or(e.Buckets.TTFT, ttftEdges)),
		gaps: newHistogram(gaps), tpot: newHistogram(gaps),
		e2e: newHistogram(latency), queue: newHistogram(latency), inference: newHistogram(latency), prefill: newHistogram(latency), decode: newHistogram(latency),
		prompt: newHistogram(lengths), output: newHistogram(lengths), longest: newHistogram(lengths), asked: newHistogram(lengths), kvComputed: newHistogram(lengths),
		iteration: newHistogram(iterationEdges), params: newHistogram(paramsEdges), preempts: newHistogram(preemptEdges),
	}
}

// looked notes a look into the prefix cache; those of preempted sequences are not counted, as in vLLM.
func (s *stats) looked(tokens, hit int) {
	s.queries += float64(tokens)
	s.hits += float64(hit)
}

// firstToken notes a prefill that has ended: prompt tokens are counted then.
func (s *stats) firstToken(q *sequence, now float64) {
	s.ttft.observe(q.ttft())
	s.promptTokens += float64(q.prompt)
	s.computedTokens += float64(q.prompt - q.cached)
	s.cachedTokens += float64(q.cached)
}

// step notes an engine step. One that only computed a part of a prompt has no outputs and is not seen by the front end,
// which counts a prompt's computed tokens with its first output.
func (s *stats) step(prompts, outputs int) {
	if outputs == 0 {
		return
	}
	s.outputTokens += float64(outputs)
	s.iteration.observe(float64(prompts + outputs))
}

// finished notes a sequence that has come to its end, in all families of finished sequences.
func (s *stats) finished(q *sequence) {
	s.unsettled = append(s.unsettled, q)
	s.success[slices.Index(reasons[:], q.reason)]++
	s.prompt.observe(float64(q.prompt))
	s.output.observe(float64(q.generated))
	s.asked.observe(float64(q.asked))
	s.kvComputed.observe(float64(q.prompt - q.cached))
	s.preempts.observe(float64(q.preempted))
	for f, h := range s.finishTimes() {
		h.observe(q.times()[f])
	}
}

// finishTimes are the latency histograms of finished sequences, in the order of the page.
func (s *stats) finishTimes() [6]*histogram {
	return [6]*histogram{s.tpot, s.e2e, s.queue, s.inference, s.prefill, s.decode}
}

// times are a finished sequence's values for them, in the same order, seconds.
func (q *sequence) times() [6]float64 {
	return [6]float64{q.tpot(), q.e2e(), q.scheduled - q.queued, q.last - q.scheduled, q.first - q.scheduled, q.last - q.first}
}

// ttft is from the arrival at the front end to the first token, seconds.
func (q *sequence) ttft() float64 { return q.first - q.request.arrived }

// e2e is from the arrival at the front end to the last token, seconds.
func (q *sequence) e2e() float64 { return q.last - q.request.arrived }

// tpot is seconds per output token after the first; vLLM observes 0 for a sequence of one.
func (q *sequence) tpot() float64 {
	if q.generated <= 1 {
		return 0
	}
	return (q.last - q.first) / float64(q.generated-1)
}
