package sim

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// endpoint is one server: a front end that takes HTTP requests, and its ranks.
type endpoint struct {
	world  *World
	config Engine
	rng    *rand.Rand
	tears  uint64 // seed for which pages are torn: with it their times alone decide, however many are looked at
	ranks  []*rank

	up       bool // the port answers
	dead     bool // the engine core is gone, and the front end has not noticed
	process  int  // from 1
	booted   float64
	inFlight map[uint64]*request
	http     *httpStats
	refusals float64 // admission refusals of this process
	page     *page

	tracing *rand.Rand // dice of spans, apart from all others
	tracers []*tracer  // of this process
}

func newEndpoint(w *World, c Engine, index uint64) *endpoint {
	rng := w.random(1, index)
	e := &endpoint{world: w, config: c.withDefaults(), rng: rng, tears: w.random(3, index).Uint64(), tracing: w.random(4, index)}
	for i := range e.config.Ranks {
		e.ranks = append(e.ranks, newRank(e, i, rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64()))))
	}
	return e
}

// boot starts a process: all counters are 0.
func (e *endpoint) boot() {
	e.up, e.dead, e.booted = true, false, e.world.now
	e.process++
	e.inFlight, e.http, e.refusals, e.page = map[uint64]*request{}, newHTTPStats(), 0, nil
	for _, r := range e.ranks {
		r.boot(newStats(&e.config))
	}
	e.bootTracers()
}

// request is one HTTP request.
type request struct {
	clients   *clients
	id        uint64
	logical   uint64
	attempt   int
	drawn     drawn
	n         int // sequences
	stream    bool
	arrived   float64
	status    int
	process   int
	sequences []*sequence
	left      int // sequences that have not ended
	failed    bool
	answered  bool // a first token came
	impatient bool // its client gave up for want of one
	settled   bool // its outcome is decided; only its response may still be on the way
	outcome   Outcome
}

// streaming says that the response has begun with a 200, so that whatever follows cannot change the status.
func (r *request) streaming() bool { return r.stream && r.answered }

// receive takes a request in.
func (e *endpoint) receive(r *request, bad bool) {
	w := e.world
	r.arrived, r.process = w.now, e.process
	bad = bad || e.config.Dialect == Rust && r.n > 1
	r.stream = r.stream || e.config.Dialect == Rust
	e.inFlight[r.id] = r
	switch longest := r.drawn.prompt + r.drawn.maxTokens; {
	// vLLM lowers max_model_len to what its KV cache can hold.
	case bad, longest > e.config.MaxModelLen, longest > e.config.Blocks*e.config.BlockSize:
		r.settled, r.outcome = true, RejectedClient
		w.after(0.001+0.003*e.rng.Float64(), e.alive(func() { e.answer(r, 400, RejectedClient) }))
	case e.config.MaxQueued > 0 && e.queued() >= e.config.MaxQueued:
		e.refusals++
		r.settled, r.outcome = true, RejectedAdmission
		status := 503
		if e.rng.Float64() < streamedRefusals {
			status = 200 // it passed a first check, and was refused after the headers had been sent
		}
		w.after(0.002+0.004*e.rng.Float64(), e.alive(func() { e.answer(r, status, RejectedAdmission) }))
	default:
		if e.config.Dialect == Rust {
			w.after(headers, e.alive(func() { e.http.count(r, 200, w.now) }))
		}
		w.after(e.overhead(), e.alive(func() {
			if e.dead || r.settled && e.config.Dialect != Simulator {
				return
			}
			for _, s := range r.sequences {
				e.leastLoaded().add(s) // each sequence is balanced by itself
			}
		}))
	}
}

// alive guards what is planned for a process that may be gone by then.
func (e *endpoint) alive(f func()) func() {
	process := e.process
	return func() {
		if e.up && e.process == process {
			f()
		}
	}
}

// streamedRefusals is the share of admission refusals that come inside a 200: 16 of 150 on a real engine at 20 requests a
// second (docs/sim.md).
const streamedRefusals = 0.107

// overhead is what the front end takes before it queues a request, seconds.
func (e *endpoint) overhead() float64 {
	const sigma = 0.5
	return e.config.Overhead * math.Exp(sigma*e.rng.NormFloat64()-sigma*sigma/2)
}

func (e *endpoint) queued() int {
	n := 0
	for _, r := range e.ranks {
		n += r.queued()
	}
	return n
}

// leastLoaded is the rank that vLLM's balancer would choose: a waiting sequence weighs four running ones.
func (e *endpoint) leastLoaded() *rank {
	return slices.MinFunc(e.ranks, func(a, b *rank) int {
		return cmp.Compare(4*a.queued()+len(a.running), 4*b.queued()+len(b.running))
	})
}

// firstToken hears that a sequence has begun to answer.
func (e *endpoint) firstToken(r *rank, s *sequence) {
	s.request.answered = true
	if t := e.world.config.Truth.FirstToken; t != nil {
		t(FirstToken{Request: s.request.id, Engine: e.config.ID, Rank: r.index, Process: e.process, At: e.world.Now(), TTFT: s.ttft()})
	}
}

// sequenceDone hears that a sequence has ended. The request ends with its last one.
func (e *endpoint) sequenceDone(r *rank, s *sequence) {
	q := s.request
	e.tell(r, s)
	e.sequenceSpan(s)
	q.failed = q.failed || s.reason == "error"
	if q.left > 0 || q.settled { // a simulator's sequence goes on when its client has gone
		return
	}
	status := 200
	q.settled, q.outcome = true, Finished
	if q.failed {
		q.outcome = Failed
		if !q.stream {
			status = 500
		}
	}
	e.world.after(e.lag(), e.alive(func() { e.answer(q, status, q.outcome) }))
}

// tell tells the truth of a sequence that has ended.
func (e *endpoint) tell(r *rank, s *sequence) {
	if t := e.world.config.Truth.Sequence; t != nil {
		t(Sequence{
			Request: s.request.id, Engine: e.config.ID, Rank: r.index, Process: e.process, Reason: s.reason,
			Values: fact.Request{
				End: e.world.Now(), TTFT: s.ttft(), E2E: s.e2e(), Queue: s.queueTime(), Prefill: s.prefillTime(), Decode: s.decodeTime(),
				PromptTokens: s.prompt, OutputTokens: s.generated,
			},
		})
	}
}

// lag is from the end of the work to the end of its response, seconds: the counter of responses moves then.
func (e *endpoint) lag() float64 { return min(0.0005+0.001*e.rng.ExpFloat64(), 0.01) }

// cancel hears that the client has closed the connection. vLLM forgets the request at once, counts its response as 2xx
// whether or not it had begun, and no other counter shows it.
func (e *endpoint) cancel(r *request) {
	if r.settled || !e.up || r.process != e.process {
		return
	}
	r.settled, r.outcome = true, Cancelled
	if e.config.Dialect == Simulator {
		e.world.after(e.lag(), e.alive(func() { e.answer(r, 200, Cancelled) }))
		return
	}
	for _, s := range r.sequences {
		if s.generated < s.want {
			s.aborted = true
		}
	}
	if e.config.Dialect == Rust && !e.dead {
		e.abortCounts(r)
	}
	if !e.dead {
		for _, k := range e.ranks {
			k.abort()
		}
	}
	e.world.after(e.lag(), e.alive(func() { e.answer(r, 200, Cancelled) }))
}

// abortCounts counts a cancelled request's sequence as finished.
func (e *endpoint) abortCounts(r *request) {
	k := e.ranks[0]
	for _, s := range r.sequences {
		s.reason, s.left, s.closes = "abort", e.world.now, true
		k.stats.finished(s)
		e.tell(k, s)
	}
}

// headers is from the arrival to the beginning of a response, seconds: 1.3 ms in the mean of 983 on a real Rust front end.
const headers = 0.0013

// answer is the end of a response, when a Python front end counts it. A Rust front end counts a stream at its beginning.
func (e *endpoint) answer(r *request, status int, o Outcome) {
	r.status = status
	e.responseSpans(r, status, o)
	if e.config.Dialect != Rust || status >= 400 {
		e.http.count(r, status, e.world.now)
	}
	e.leave(r, o)
}

// leave is the end of a request, whatever it was.
func (e *endpoint) leave(r *request, o Outcome) {
	r.settled = true
	delete(e.inFlight, r.id)
	if t := e.world.config.Truth.Request; t != nil {
		t(Request{
			ID: r.id, Logical: r.logical, Attempt: r.attempt, Class: r.drawn.class, Engine: e.config.ID, Process: r.process,
			Arrived: e.world.config.Start + r.arrived, Ended: e.world.Now(), Status: r.status, Outcome: o, Sequences: r.n,
		})
	}
	r.clients.ended(r, o)
}
