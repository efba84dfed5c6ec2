package slo

import (
	"math"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// Judge bounds how many sequences of a window met an objective. It keeps scratch memory between calls, so a warm Judge
// allocates nothing; the zero value is ready. Not for concurrent use.
type Judge struct {
	w    Window
	n    uint64  // finishers of the window
	ttft float64 // threshold of the TTFT clause

	past    past
	view    view
	endings []ending
	build   builder
}

// Window bounds the sequences that finished in the window's own slices, did not fail, and meet all clauses together.
//
// unsuccessful is how many of the finishers are known not to qualify because of their finish reason, aborted ones
// among them: an aborted sequence never qualifies. Which of the others met the clauses is unknown, so they leave the
// lower bound one by one and cap the upper bound at what they leave over.
//
// Clauses: at most one on TTFT, any number on finish-time families. A histogram that a clause needs and a slice with
// traffic lacks makes the window unanswerable: see Bounds.
//
// The proof that Lower <= truth <= Upper stands at explain and pairs. It rests on these facts of the engine, which
// hold for vLLM 0.11 to 0.32: a sequence is counted under TTFT before it is counted as finished; the time between the
// two is its decode time up to a jitter, see leastJitter; queue + prefill <= TTFT; a sequence with its first token
// behind it is in the running gauge of an engine step near the page or, once preempted, in the waiting gauge.
func (j *Judge) Window(w Window, clauses []Clause, unsuccessful uint64) Bounds {
	b := j.judge(w, clauses)
	var aborted uint64
	for i := range w.own() {
		aborted += w.own()[i].Aborted
	}
	unsuccessful = max(unsuccessful, aborted)
	leaving := unsuccessful
	if b.Method == MethodExplain || b.Method == MethodPairs {
		leaving -= aborted // these do not count aborted ones as good
	}
	b.Upper = min(b.Upper, j.n-min(j.n, unsuccessful))
	b.Lower = min(b.Upper, b.Lower-min(b.Lower, leaving))
	return b
}

func (j *Judge) judge(w Window, clauses []Clause) Bounds {
	j.w, j.n, j.ttft = w, 0, math.Inf(1)
	for i := range w.own() {
		j.n += w.own()[i].Finished
	}
	timed := false
	for _, c := range clauses {
		if c.Metric == fact.TTFT {
			j.ttft, timed = min(j.ttft, c.Threshold), true
		}
		if note := w.lacks(c.Metric); note != "" {
			return Bounds{Upper: j.n, Note: note}
		}
	}
	if w.torn() {
		return Bounds{Upper: j.n, Method: MethodMarginal, Note: NoteTorn}
	}
	if !timed {
		j.view.count(w, strict, clauses)
		lower := j.view.passed
		j.view.count(w, lenient, clauses)
		return Bounds{Lower: lower, Upper: j.view.passed, Method: MethodFinish}
	}
	if j.n == 0 {
		return Bounds{Method: MethodExplain}
	}
	j.remember()
	return j.joint(clauses)
}

// lacks says why a clause on a family cannot be judged over the window, "" when it can. A slice in which nothing
// finished needs no finish-time histogram, for some front ends show a family only once it has been used. A slice
// without TTFT may have had first tokens nevertheless, so nothing may have finished up to it either: see remember.
func (w Window) lacks(f fact.Family) string {
	if f < fact.TTFT || f > fact.Inference {
		return NoteNoLatency
	}
	finished := uint64(0)
	for i := range w.own() {
		s := &w.own()[i]
		if f != fact.TTFT {
			finished = 0
		}
		if finished += s.Finished; finished > 0 && !s.Histograms[f].Known() {
			return "no " + f.String() + " histogram"
		}
	}
	return ""
}

// torn reports whether a histogram that the window has counts another number of sequences than its slice does: the
// page was read while it changed, and its counts do not describe one set.
func (w Window) torn() bool {
	for i := range w.own() {
		s := &w.own()[i]
		for f := fact.TTFT; f <= fact.Inference; f++ {
			expect := s.Finished
			if f == fact.TTFT {
				expect = s.FirstTokens
			}
			if h := &s.Histograms[f]; h.Known() && h.Count() != expect {
				return true
			}
		}
	}
	return false
}

// joint intersects the pair bounds with the explain network's.
func (j *Judge) joint(clauses []Clause) Bounds {
	j.see(strict, clauses)
	lower := j.pairs()
	flow, whole, fits := j.explain()
	if fits {
		lower = max(lower, j.n-flow)
	}
	j.see(lenient, clauses)
	upper, passed := j.pairs(), j.view.passed
	if fits && whole {
		flow, whole, fits = j.explain()
	}
	switch {
	case fits && !whole:
		return Bounds{Upper: passed, Method: MethodMarginal, Note: NoteContradiction}
	case fits: // then flow >= n - passed, for only arcs into passed are withheld
		upper = min(upper, passed+flow-j.n)
	}
	switch {
	case lower > upper:
		return Bounds{Upper: passed, Method: MethodMarginal, Note: NoteDisjoint}
	case !fits:
		return Bounds{Lower: lower, Upper: upper, Method: MethodPairs, Note: NoteTooLarge}
	}
	return Bounds{Lower: lower, Upper: upper, Method: MethodExplain}
}
