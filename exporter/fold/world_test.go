package fold

import (
	"math"
	"math/rand/v2"
	"sort"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
)

// world is a seeded population of requests on one endpoint, each with its truth, and the pages that the endpoint would
// have shown at any instant. It knows nothing of the reducer but the vocabulary.
type world struct {
	rng    *rand.Rand
	traits fact.Traits
	ranks  int
	edges  [fact.NumFamilies][]float64

	requests []request
	restarts []float64 // times at which the process ended; all in flight is lost
	down     float64   // seconds until the next process is born
	shows    evidence
}

// evidence is what the page says about its process.
type evidence struct{ start, created bool }

type outcome int

const (
	finishes outcome = iota
	cancelled
	clientError
	refused503
	refusedInStream
)

// request is one HTTP request with its sequences.
type request struct {
	arrival   float64
	outcome   outcome
	ends      float64 // when the response ends
	sequences []sequence
}

// sequence is one stream. first and end are +Inf when they never come.
type sequence struct {
	rank                         int
	queue, prefill, ttft, decode float64
	first, end, e2e              float64
	prompt, output               int
	aborted                      bool
	reason                       string
}

func (s sequence) tpot() float64 {
	if s.output <= 1 {
		return 0
	}
	return s.decode / float64(s.output-1)
}

var latencyEdges = []float64{.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120}

func defaultEdges() (e [fact.NumFamilies][]float64) {
	e[fact.TTFT] = []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20}
	e[fact.TPOT] = []float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, 1}
	e[fact.TokenGap] = e[fact.TPOT]
	for _, f := range []fact.Family{fact.E2E, fact.Queue, fact.Prefill, fact.Decode, fact.Inference} {
		e[f] = latencyEdges
	}
	e[fact.PromptTokens] = []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}
	e[fact.OutputTokens] = e[fact.PromptTokens]
	return e
}

// newWorld makes a population over length seconds.
func newWorld(seed uint64, length float64) *world {
	rng := rand.New(rand.NewPCG(seed, 17))
	w := &world{rng: rng, ranks: 1 + rng.IntN(2), edges: defaultEdges(), down: 5 + 30*rng.Float64(), shows: evidence{true, true}}
	if rng.IntN(4) == 0 {
		w.traits = fact.Traits{AbortsFinish: true, HTTPAtStart: true}
		w.shows = evidence{}
	}
	if rng.IntN(3) == 0 {
		w.restarts = []float64{length * (0.3 + 0.4*rng.Float64())}
	}
	rate, at := 0.5+4*rng.Float64(), 0.0
	slow := 0.2 + 2*rng.Float64() // how loaded the engine is
	for at < length {
		gap := rng.ExpFloat64() / rate
		if rng.IntN(10) == 0 {
			gap = 0 // a burst
		}
		at += gap
		w.requests = append(w.requests, w.request(at, slow))
	}
	return w
}

func (w *world) request(at, slow float64) request {
	r := request{arrival: at}
	switch dice := w.rng.Float64(); {
	case dice < 0.03:
		r.outcome, r.ends = clientError, at+0.002
		return r
	case dice < 0.05:
		r.outcome, r.ends = refused503, at+0.003
		return r
	case dice < 0.06 && !w.traits.HTTPAtStart:
		r.outcome, r.ends = refusedInStream, at+0.004
		return r
	case dice < 0.13:
		r.outcome = cancelled
	}
	n := 1
	if w.rng.IntN(12) == 0 && !w.traits.AbortsFinish {
		n = 2
	}
	for range n {
		r.sequences = append(r.sequences, w.sequence(at, slow))
	}
	if r.outcome == cancelled {
		w.cancel(&r)
		return r
	}
	for _, s := range r.sequences {
		r.ends = math.Max(r.ends, s.end+0.001)
	}
	return r
}

func (w *world) sequence(at, slow float64) sequence {
	rng := w.rng
	s := sequence{rank: rng.IntN(w.ranks), prompt: 1 + rng.IntN(600), output: 1 + rng.IntN(80), reason: "stop"}
	if rng.IntN(8) == 0 {
		s.output = 1
	}
	if rng.IntN(3) == 0 {
		s.reason = "length"
	}
	s.queue = slow * rng.ExpFloat64() * 0.2
	s.prefill = 0.02 + rng.Float64()*0.2*slow
	s.ttft = s.queue + s.prefill + 0.02*rng.Float64()
	if s.output > 1 {
		s.decode = float64(s.output-1) * (0.004 + 0.03*rng.Float64()*slow)
	}
	s.e2e = math.Max(s.ttft, s.ttft+s.decode-0.015+0.045*rng.Float64())
	s.first, s.end = at+s.ttft, at+s.e2e
	return s
}

// cancel ends a request before it has finished, before or after its first token.
func (w *world) cancel(r *request) {
	earliest := math.Inf(1)
	for _, s := range r.sequences {
		earliest = math.Min(earliest, s.end)
	}
	r.ends = r.arrival + (earliest-r.arrival)*w.rng.Float64()*0.99
	for i := range r.sequences {
		s := &r.sequences[i]
		share := 0.0
		if s.first <= r.ends {
			share = (r.ends - s.first) / (s.end - s.first)
		} else {
			s.first, s.ttft = math.Inf(1), 0
		}
		s.output = int(share * float64(s.output))
		s.decode *= share
		s.end = math.Inf(1)
		if w.traits.AbortsFinish {
			s.aborted, s.reason, s.end, s.e2e = true, "abort", r.ends, r.ends-r.arrival
			if math.IsInf(s.first, 1) {
				s.output, s.decode, s.queue, s.prefill = 0, 0, 0, 0
			} else {
				s.output = max(1, s.output)
			}
		}
	}
}

// process is the life of a process: [born, died).
func (w *world) process(t float64) (born, died float64) {
	died = math.Inf(1)
	for _, r := range w.restarts {
		if t >= r+w.down {
			born = r + w.down
		} else if t < r {
			return born, r
		} else {
			return r, r // down
		}
	}
	return born, died
}

// page is what the endpoint shows at t, or nil while it is down. Gauges lag by up to 50 ms.
func (w *world) page(t float64) *fact.EngineSample {
	born, died := w.process(t)
	if born == died {
		return nil
	}
	s := &fact.EngineSample{Dialect: "world", Traits: w.traits, HTTPKnown: true, Admission: fact.Known(0)}
	if w.shows.start {
		s.ProcessStart = 1000 + born
	}
	for i := range w.ranks {
		r := fact.Rank{Name: string(rune('0' + i)), Model: "m", Requests: fact.Known(0), PromptTokens: fact.Known(0), OutputTokens: fact.Known(0), Preemptions: fact.Known(0)}
		if w.shows.created {
			r.Created = 1000 + born
		}
		for f := range r.Histograms {
			r.Histograms[f] = hist.Histogram{Edges: w.edges[f], Counts: make([]uint64, len(w.edges[f])+1)}
		}
		s.Ranks = append(s.Ranks, r)
	}
	b := pageBuilder{s: s, reasons: make([]map[string]uint64, w.ranks), http: map[string]uint64{}, t: t, lag: t - 0.05*w.rng.Float64()}
	for i := range b.reasons {
		b.reasons[i] = map[string]uint64{"stop": 0, "length": 0}
	}
	for i := range w.requests {
		if q := &w.requests[i]; q.arrival >= born && q.arrival <= t {
			b.add(q)
		}
	}
	return b.finish()
}

var classes = [...]string{finishes: "2xx", cancelled: "2xx", clientError: "4xx", refused503: "5xx", refusedInStream: "2xx"}

type pageBuilder struct {
	s       *fact.EngineSample
	reasons []map[string]uint64
	http    map[string]uint64
	t, lag  float64
	flight  [2][2]float64
}

func (b *pageBuilder) add(q *request) {
	if b.s.Traits.HTTPAtStart || q.ends <= b.t {
		b.http[classes[q.outcome]]++
	}
	if q.outcome == refused503 || q.outcome == refusedInStream {
		b.s.Admission.V++
	}
	if len(q.sequences) > 0 && q.ends <= b.t && (q.outcome == finishes || b.s.Traits.AbortsFinish) {
		b.s.Ranks[q.sequences[0].rank].Requests.V++
	}
	for i := range q.sequences {
		b.sequence(q, &q.sequences[i])
	}
}

func (b *pageBuilder) sequence(q *request, s *sequence) {
	r := &b.s.Ranks[s.rank]
	observe := func(f fact.Family, v float64) {
		h := &r.Histograms[f]
		h.Counts[sort.SearchFloat64s(h.Edges, v)]++
		h.Sum += v
	}
	if s.first <= b.t {
		observe(fact.TTFT, s.ttft)
		r.PromptTokens.V += float64(s.prompt)
		r.OutputTokens.V++
	}
	if over := math.Min(s.end, q.ends); q.arrival <= b.lag && over > b.lag {
		if s.first <= b.lag {
			b.flight[s.rank][0]++
		} else {
			b.flight[s.rank][1]++
		}
	}
	if s.end > b.t {
		return
	}
	b.reasons[s.rank][s.reason]++
	r.OutputTokens.V += float64(max(0, s.output-1))
	observe(fact.TPOT, s.tpot())
	observe(fact.E2E, s.e2e)
	observe(fact.Queue, s.queue)
	observe(fact.Prefill, s.prefill)
	observe(fact.Decode, s.decode)
	observe(fact.Inference, s.prefill+s.decode)
	observe(fact.PromptTokens, float64(s.prompt))
	observe(fact.OutputTokens, float64(s.output))
}

func (b *pageBuilder) finish() *fact.EngineSample {
	for i := range b.s.Ranks {
		r := &b.s.Ranks[i]
		for reason, n := range b.reasons[i] {
			r.Finished = append(r.Finished, fact.ReasonCount{Reason: reason, Count: n})
		}
		sort.Slice(r.Finished, func(a, c int) bool { return r.Finished[a].Reason < r.Finished[c].Reason })
		r.Running, r.Waiting = fact.Known(b.flight[i][0]), fact.Known(b.flight[i][1])
	}
	for _, class := range []string{"2xx", "4xx", "5xx"} {
		b.s.HTTP = append(b.s.HTTP, fact.HTTPCount{Handler: "/v1/completions", Method: "POST", Class: class, Count: b.http[class]})
	}
	return b.s
}
