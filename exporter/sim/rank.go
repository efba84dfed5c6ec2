package sim

import (
	"math"
	"math/rand/v2"
	"slices"
)

// rank is one scheduler with its batch: an engine core.
type rank struct {
	endpoint *endpoint
	index    int
	rng      *rand.Rand
	cost     StepCost

	inbox   []*sequence // come during the step under way: the core takes them in between two steps
	waiting queue
	running []*sequence
	aborts  bool // some sequence is aborted

	free     int // KV blocks
	prefixes map[string]*prefix

	began, end float64 // of the step under way; end is +Inf when there is none
	previous   float64 // end of the step before
	load       stepLoad
	stats      *stats
	gpu        meter
	seats      []*seat
}

// stepLoad is what one step works on.
type stepLoad struct {
	prefill int // prompt tokens
	decodes int // sequences that get another token
	context int // tokens in their context
}

func newRank(e *endpoint, index int, rng *rand.Rand) *rank {
	r := &rank{endpoint: e, index: index, rng: rng, cost: e.config.Step, end: math.Inf(1), previous: -1}
	r.gpu.model, r.gpu.slow = e.config.GPU, 1
	return r
}

// boot is a new process: nothing cached, nothing running, nothing counted.
func (r *rank) boot(stats *stats) {
	r.inbox, r.waiting, r.running, r.aborts = nil, queue{}, nil, false
	r.free, r.prefixes = r.endpoint.config.Blocks, map[string]*prefix{}
	r.end, r.previous, r.stats = math.Inf(1), -1, stats
}

// halt stops the core in the middle of what it is doing.
func (r *rank) halt() {
	if !math.IsInf(r.end, 1) {
		r.gpu.add(r.load, r.cost, r.began, r.endpoint.world.now)
	}
	r.end = math.Inf(1)
}

// add hands a sequence to the core.
func (r *rank) add(s *sequence) {
	r.inbox = append(r.inbox, s)
	if math.IsInf(r.end, 1) {
		r.startStep()
	}
}

// takeIn queues what has come since the last step. vLLM's core reads its input between two steps only, and its queue time
// begins then: what a request waits for the step before is in its TTFT and in none of its parts.
func (r *rank) takeIn() {
	for _, s := range r.inbox {
		if s.aborted {
			continue
		}
		s.queued, s.scheduled = r.endpoint.world.now, -1
		r.waiting.push(s)
	}
	clear(r.inbox)
	r.inbox = r.inbox[:0]
}

// queued is the number of sequences that wait for their turn, those included that the core has not looked at.
func (r *rank) queued() int { return len(r.inbox) + r.waiting.len() }

// abort says that there are aborted sequences. Their blocks are given back when the next step is planned.
func (r *rank) abort() {
	r.aborts = true
	if math.IsInf(r.end, 1) {
		r.startStep()
	}
}

// startStep plans a step, running sequences first, then those that wait, in the order of their arrival, under the token
// budget. Without work there is none.
func (r *rank) startStep() {
	r.sweep()
	r.takeIn()
	r.load = stepLoad{}
	budget := r.endpoint.config.TokenBudget
	preempted := false
	for i := 0; i < len(r.running); i++ {
		s := r.running[i]
		s.chunk = 0
		n := min(s.known()-s.computed, budget)
		for n > 0 && !r.allocate(s, s.computed+n) {
			preempted = true
			victim := r.running[len(r.running)-1]
			r.preempt(victim)
			if victim == s {
				n = 0
			}
		}
		budget -= n
		r.work(s, n)
	}
	if !preempted { // a queue does not move while there is no room for those that run
		r.admit(budget)
	}
	if r.load == (stepLoad{}) {
		r.publish()
		return
	}
	noise := 1.0
	if sigma := r.cost.Noise; sigma > 0 {
		noise = math.Exp(sigma*r.rng.NormFloat64() - sigma*sigma/2)
	}
	r.began, r.gpu.slow = r.endpoint.world.now, r.slow()
	r.end = r.began + r.gpu.slow*noise*(r.cost.Base+r.cost.Prefill*float64(r.load.prefill)+r.cost.Sequence*float64(r.load.decodes)+r.cost.KV*float64(r.load.context))
}

// work puts n tokens of a sequence into the step.
func (r *rank) work(s *sequence, n int) {
	s.chunk = n
	if s.prefix != nil && !s.sharing && s.computed+n >= s.prefix.tokens {
		r.share(s)
	}
	switch {
	case n == 0:
	case s.generated > 0 && s.computed+1 == s.known():
		r.load.decodes++
		r.load.context += s.known()
	default:
		r.load.prefill += n
	}
}

// admit takes sequences from the queue while there is room.
func (r *rank) admit(budget int) {
	for budget > 0 && len(r.running) < r.endpoint.config.MaxSeqs && r.waiting.len() > 0 {
		s := r.waiting.front()
		hit := r.lookup(s)
		n := min(s.known()-hit, budget)
		if !r.allocate(s, hit+n) {
			r.decline(s) // those behind it wait too, whatever they need: first come, first served
			return
		}
		r.waiting.pop()
		if s.scheduled < 0 {
			s.scheduled, s.cached = r.endpoint.world.now, hit
			if !r.endpoint.config.NoPrefixCache {
				r.stats.looked(s.prompt, hit)
			}
		}
		s.computed = hit
		budget -= n
		r.work(s, n)
		r.running = append(r.running, s)
	}
}

// preempt takes a running sequence's blocks away; it will compute them anew. It goes to the front of the queue.
func (r *rank) preempt(s *sequence) {
	r.running = r.running[:len(r.running)-1]
	r.release(s)
	s.computed, s.chunk = 0, 0
	s.preempted++
	s.again = s.generated > 0
	r.stats.preemptions++
	r.waiting.unshift(s)
}

// sweep forgets the aborted sequences.
func (r *rank) sweep() {
	if !r.aborts {
		return
	}
	r.aborts = false
	for _, s := range r.running {
		if s.aborted {
			r.release(s)
		}
	}
	r.running = slices.DeleteFunc(r.running, func(s *sequence) bool { return s.aborted })
	r.waiting.sweep()
}

// output is what a step brought out.
type output struct {
	tokens  int // output tokens
	prompts int // prompt tokens computed for those that got their first one
	steady  int // sequences that got one in the step before, too
}

// finishStep is the end of a step: tokens come out, the front end takes note of them, and the next step begins.
func (r *rank) finishStep() {
	now := r.endpoint.world.now
	r.gpu.add(r.load, r.cost, r.began, now)
	var out output
	finished := false
	for _, s := range r.running {
		s.computed += s.chunk
		if s.chunk == 0 || s.computed < s.known() || s.aborted {
			continue
		}
		r.emit(s, &out)
		if s.generated == s.want {
			finished = true
			r.finish(s)
		}
	}
	if finished {
		r.running = slices.DeleteFunc(r.running, func(s *sequence) bool { return s.generated == s.want })
	}
	r.stats.step(out, now-r.previous)
	r.previous, r.end = now, math.Inf(1)
	r.publish()
	r.startStep()
}

// finish ends a sequence; finishStep takes it out of the batch.
func (r *rank) finish(s *sequence) {
	r.release(s)
	s.request.left--
	s.closes = s.request.left == 0
	r.stats.finished(s)
	r.endpoint.sequenceDone(r, s)
}

// emit brings out a sequence's next token.
func (r *rank) emit(s *sequence, out *output) {
	now := r.endpoint.world.now
	s.generated++
	out.tokens++
	switch {
	case s.generated == 1:
		out.prompts += s.prompt - s.cached
		s.first = now
		r.stats.firstToken(s)
		r.endpoint.firstToken(r, s)
	case s.again && r.stats.dialect == V0:
		r.stats.again(s, now-s.last)
	case s.last == r.previous:
		out.steady++ // most sequences get a token in every step, so they share one gap
	default:
		r.stats.gaps.observe(now - s.last)
	}
	s.last, s.again = now, false
}

// publish sets the gauges: the front end hears of them with the outputs of a step, so between two steps they lag.
func (r *rank) publish() {
	r.stats.running, r.stats.waiting = float64(len(r.running)), float64(r.waiting.len())
	r.stats.usage = r.usage()
}

// working reports whether a step is under way.
func (r *rank) working() bool { return !math.IsInf(r.end, 1) }
