package slo

import (
	"math"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// past is what a window remembers of the time before it and of the sequences in flight.
type past struct {
	start  int     // first slice that may hold the first token of a finisher of the window
	jitter float64 // seconds; how far the two clocks may be apart: see leastJitter

	// old is how many finishers may have had their first token before Slices[0] ended but in no slice at all.
	old uint64

	// decoding bounds, by slice, the sequences that had their first token by its end and finish after it.
	decoding []uint64
}

// remember sets j.past. It cuts the window where its history cannot be read, at the last slice without a TTFT
// histogram: any number may have had their first token up to there and be in flight. Nothing of the window finished by
// then, or lacks would have said so.
func (j *Judge) remember() {
	for i := len(j.w.Slices) - 1; i >= 0; i-- {
		if !j.w.Slices[i].Histograms[fact.TTFT].Known() {
			j.w = Window{Slices: j.w.Slices[i+1:], First: max(0, j.w.First-i-1), Old: Unlimited}
			break
		}
	}
	p := &j.past
	p.reach(j.w)
	p.old = 0
	if p.start == 0 {
		p.old = j.w.Old
	}
	p.follow(j.w)
}

// reach finds how far back the window's finishers reach, and the jitter of that time.
func (p *past) reach(w Window) {
	longest := 0.0
	p.jitter = leastJitter
	for i := range w.own() {
		s := &w.own()[i]
		longest, p.jitter = max(longest, longestDecode(s)), max(p.jitter, s.Took)
	}
	p.start = w.First
	for p.start > 0 && w.Slices[p.start-1].Hi >= w.own()[0].Lo-longest-p.jitter {
		p.start--
		p.jitter = max(p.jitter, w.Slices[p.start].Took)
	}
}

// longestDecode is what no finisher of the slice decoded longer than, +Inf without the histogram.
func longestDecode(s *Slice) float64 {
	h := s.Histograms[fact.Decode]
	if s.Finished > 0 && !h.Known() {
		return math.Inf(1)
	}
	r := refine(h, s.Aborted)
	return r.longest()
}

// follow bounds the number of sequences between first token and finish at each page, by the smaller of two counts.
//
// The ledger: those at the page before, plus first tokens, minus finishes. An aborted finisher may never have had a
// first token, so it is no sure departure; a sequence that leaves without being counted only makes the truth smaller.
//
// The gauge: running, plus waiting when a preemption may have sent one back to the queue since the engine was last
// idle. Gauges lag the counters by an engine step, so first tokens of the slice before and finishes of the slice after
// the page may be missing from it, and a preemption may be counted in the slice after; the last page has no slice after
// it and is not bounded that way.
func (p *past) follow(w Window) {
	p.decoding = p.decoding[:0]
	c, requeued := w.Old, w.Old > 0
	for k := range w.Slices {
		s := &w.Slices[k]
		requeued = requeued || s.Preempted
		if c < Unlimited {
			sure := s.Finished - min(s.Finished, s.Aborted)
			c = c + s.FirstTokens - min(c+s.FirstTokens, sure)
		}
		if k+1 < len(w.Slices) {
			next := &w.Slices[k+1]
			if gauge, ok := s.inFlight(requeued || next.Preempted); ok {
				c = min(c, gauge+s.FirstTokens+next.Finished)
			}
		}
		p.decoding = append(p.decoding, min(c, Unlimited))
		if s.idle() {
			requeued = s.Preempted
		}
	}
}

// idle reports whether the page says that nothing was in flight.
func (s *Slice) idle() bool {
	return s.Running.Known && s.Waiting.Known && s.Running.V == 0 && s.Waiting.V == 0
}

// inFlight is the running gauge, with the waiting one when wanted; ok is false when the page has no such number.
func (s *Slice) inFlight(waiting bool) (n uint64, ok bool) {
	v := s.Running.V
	ok = s.Running.Known
	if waiting {
		v, ok = v+s.Waiting.V, ok && s.Waiting.Known
	}
	if !ok || !(v >= 0 && v < Unlimited) {
		return 0, false
	}
	return uint64(math.Ceil(v)), true
}

// source is a run of adjacent slices whose first tokens are told apart by type only: in time for the TTFT clause, or
// slow. A sequence finishes in the slice of its first token or in a later one.
type source struct {
	lo, hi      float64
	first, last int // slices
	good, slow  uint64
}

// view is a window as one world sees it.
type view struct {
	world   world
	passing []uint64 // by slice of the window: finishers that meet all finish-time clauses
	passed  uint64   // their sum
	sources []source // where first tokens came from, oldest first

	// The edges that stand for the TTFT threshold, over all first tokens: layouts may differ from slice to slice.
	// Every slow one took longer than leastEdge, every good one at most greatestEdge.
	leastEdge, greatestEdge float64
}

// see takes the window into a world.
func (j *Judge) see(w world, clauses []Clause) {
	v := &j.view
	v.count(j.w, w, clauses)
	v.sources = v.sources[:0]
	v.leastEdge, v.greatestEdge = math.Inf(1), 0
	if j.past.old > 0 { // told apart at the threshold itself: their layout is unknown
		v.leastEdge, v.greatestEdge = j.ttft, j.ttft
	}
	fine := j.w.First-j.past.start <= exactSlices
	for i := j.past.start; i < len(j.w.Slices); i++ {
		s := &j.w.Slices[i]
		edge, good := w.at(s.Histograms[fact.TTFT], j.ttft)
		if s.FirstTokens > 0 {
			v.leastEdge, v.greatestEdge = min(v.leastEdge, edge), max(v.greatestEdge, edge)
		}
		good = min(good, s.FirstTokens)
		if last := len(v.sources) - 1; last >= 0 && !fine && i < j.w.First && v.sources[last].joins(s, j.w.own()[0].Lo) {
			v.sources[last].add(s, good)
			continue
		}
		v.sources = append(v.sources, source{lo: s.Lo, hi: s.Hi, first: i, last: i, good: good, slow: s.FirstTokens - good})
	}
}

// count fills in what finishers of the window's own slices pass.
func (v *view) count(w Window, in world, clauses []Clause) {
	v.world, v.passed, v.passing = in, 0, v.passing[:0]
	for i := range w.own() {
		b := in.passing(&w.own()[i], clauses)
		v.passing, v.passed = append(v.passing, b), v.passed+b
	}
}

// exactSlices is the length of look-back up to which every slice is a source of its own. In a longer one, neighbours
// far back are joined: that is valid for any run, as if polls between them had been missed, and it costs little when
// the run is short against its age, for most decode buckets of that age are far wider.
const exactSlices = 128

// joinShare is the length of a joined run as a share of its age: 180 runs reach back from half a minute to two hours.
const joinShare = 1.0 / 32

// joins reports whether the next slice may be added to a source before a window that begins at start.
func (s *source) joins(next *Slice, start float64) bool {
	return next.Hi-s.lo <= joinShare*(start-next.Hi)
}

func (s *source) add(next *Slice, good uint64) {
	s.hi, s.last = next.Hi, s.last+1
	s.good, s.slow = s.good+good, s.slow+next.FirstTokens-good
}
