package sim

import (
	"fmt"
	"math"
	"testing"
)

// worlds is over how many random worlds the properties are held.
const worlds = 12

// auditor holds a world's state against the laws of the scheduler after every single thing that happens.
type auditor struct {
	t         *testing.T
	w         *World
	truth     *told
	placed    map[*sequence]bool // has reached a rank
	scheduled map[*sequence]bool
	newest    map[*rank]float64 // when the sequence that was first scheduled last had been queued
}

// TestNothingIsLostOrInvented runs random worlds event by event and audits the whole state after each.
func TestNothingIsLostOrInvented(t *testing.T) {
	preemptions := 0.0
	for seed := range uint64(worlds) {
		t.Run(fmt.Sprintf("world %d", seed), func(t *testing.T) {
			c := anyWorld(seed)
			truth := listen(&c)
			a := &auditor{t: t, w: build(t, c), truth: truth, placed: map[*sequence]bool{}, scheduled: map[*sequence]bool{}, newest: map[*rank]float64{}}
			for a.w.advance(400) && !t.Failed() {
				a.audit()
			}
			if !a.w.idle() {
				t.Error("requests are still in flight when all should have drained")
			}
			if len(truth.requests) < 50 {
				t.Errorf("only %d requests: the world proves nothing", len(truth.requests))
			}
			for _, e := range a.w.endpoints {
				for _, r := range e.ranks {
					if free := r.free + r.evictable(); free != e.config.Blocks {
						t.Errorf("idle, and %d blocks of %d are free or cached", free, e.config.Blocks)
					}
					preemptions += r.stats.preemptions
				}
			}
			a.once()
		})
	}
	if preemptions == 0 {
		t.Error("no world preempted anybody: the laws of preemption were not tried")
	}
}

// once: every request that was ever made is told at its end, once.
func (a *auditor) once() {
	seen := map[uint64]int{}
	for _, r := range a.truth.requests {
		seen[r.ID]++
		if seen[r.ID] > 1 || r.ID == 0 || r.ID > a.w.requests {
			a.t.Errorf("request %d of %d is told for the %d. time", r.ID, a.w.requests, seen[r.ID])
		}
		if r.Ended < r.Arrived {
			a.t.Errorf("request %d ended before it arrived", r.ID)
		}
	}
	if uint64(len(seen)) != a.w.requests {
		a.t.Errorf("%d requests were made, %d are told", a.w.requests, len(seen))
	}
	for _, s := range a.truth.sequences {
		const rounding = 1e-9
		v := s.Values
		if v.Queue < 0 || v.Prefill <= 0 || v.Decode < 0 || v.Queue+v.Prefill > v.TTFT+rounding || v.Queue+v.Prefill+v.Decode > v.E2E+rounding || math.Abs(v.TTFT+v.Decode-v.E2E) > rounding {
			a.t.Fatalf("the parts of a sequence do not fit together: %+v", v)
		}
	}
}

func (a *auditor) audit() {
	inFlight := 0
	for _, e := range a.w.endpoints {
		if e.up {
			inFlight += len(e.inFlight)
		}
		where := map[*sequence]int{}
		for _, r := range e.ranks {
			if e.up {
				a.rank(r, where)
			}
		}
		if e.up && !e.dead {
			a.members(e, where)
		}
	}
	if got := uint64(len(a.truth.requests) + inFlight); got != a.w.requests {
		a.t.Errorf("at %.4f s: %d requests were made, %d have ended or are in flight", a.w.now, a.w.requests, got)
	}
}

// rank audits a scheduler: its memory, its limits and its order.
func (a *auditor) rank(r *rank, where map[*sequence]int) {
	c := r.endpoint.config
	held, planned, users := 0, 0, map[*prefix]int{}
	for _, s := range r.running {
		where[s]++
		held += s.blocks
		planned += s.chunk
		room := s.blocks
		if s.sharing {
			users[s.prefix]++
			room += s.prefix.blocks
		}
		if s.computed+s.chunk > room*c.BlockSize || s.computed+s.chunk > s.known() || s.generated >= s.want {
			a.t.Errorf("at %.4f s: a running sequence has computed %d+%d of %d tokens in %d blocks", a.w.now, s.computed, s.chunk, s.known(), room)
		}
		if !a.scheduled[s] {
			a.scheduled[s] = true
			if s.queued < a.newest[r] {
				a.t.Errorf("at %.4f s: a sequence that was queued at %.4f was overtaken by one of %.4f", a.w.now, s.queued, a.newest[r])
			}
			a.newest[r] = s.queued
		}
	}
	for _, s := range r.waiting.items[r.waiting.head:] {
		where[s]++
		if s.blocks != 0 || s.sharing || s.prefix != nil || s.computed != 0 {
			a.t.Errorf("at %.4f s: a waiting sequence holds memory", a.w.now)
		}
	}
	for _, s := range r.inbox {
		where[s]++
	}
	cached := 0
	for _, p := range r.prefixes {
		cached += p.blocks
		if p.users != users[p] || (p.users > 0 && p.blocks == 0) {
			a.t.Errorf("at %.4f s: a prefix of %d blocks has %d users, and says %d", a.w.now, p.blocks, users[p], p.users)
		}
	}
	if r.free < 0 || r.free+held+cached != c.Blocks {
		a.t.Errorf("at %.4f s: %d free + %d held + %d cached blocks are not %d", a.w.now, r.free, held, cached, c.Blocks)
	}
	stepping := !math.IsInf(r.end, 1)
	if stepping && (planned > c.TokenBudget || planned != r.load.prefill+r.load.decodes || planned == 0) {
		a.t.Errorf("at %.4f s: %d tokens are planned for a step of %+v under a budget of %d", a.w.now, planned, r.load, c.TokenBudget)
	}
	if len(r.running) > c.MaxSeqs {
		a.t.Errorf("at %.4f s: %d sequences in a batch of %d", a.w.now, len(r.running), c.MaxSeqs)
	}
	if !stepping && !r.endpoint.dead && len(r.running)+r.queued() > 0 {
		a.t.Errorf("at %.4f s: %d sequences run and %d wait in an engine that stands still", a.w.now, len(r.running), r.queued())
	}
}

// members: a sequence that has reached a rank is in one place until it ends.
func (a *auditor) members(e *endpoint, where map[*sequence]int) {
	for s, n := range where {
		a.placed[s] = true
		if n > 1 {
			a.t.Errorf("at %.4f s: a sequence is in %d places", a.w.now, n)
		}
		if !s.aborted && e.inFlight[s.request.id] == nil {
			a.t.Errorf("at %.4f s: a sequence of a request that has ended goes on", a.w.now)
		}
	}
	for _, r := range e.inFlight {
		if r.settled {
			continue
		}
		for _, s := range r.sequences {
			if a.placed[s] && where[s] == 0 && s.generated < s.want {
				a.t.Errorf("at %.4f s: a sequence with %d of %d tokens is lost", a.w.now, s.generated, s.want)
			}
			// The front end has it for 4 ms on average, spread lognormally: half a second is beyond anything.
			if !a.placed[s] && a.w.now-r.arrived > 0.5 {
				a.t.Errorf("at %.4f s: a request has not reached a rank", a.w.now)
			}
		}
	}
}
