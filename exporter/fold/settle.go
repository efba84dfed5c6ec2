package fold

import (
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// pending is a window that has ended and is not committed yet: spans of sequences in it may still come. Nothing of it is
// published before everything is.
type pending struct {
	start, end float64
	received   float64 // when its last page had come
	life       int     // of which process
	expected   bool    // it waits for spans

	comparable bool        // what the page counts is what a span stands for
	output     fact.Number // output tokens of its finished sequences

	judged    []*judged
	past      PastWindow
	ledger    Ledger // committed up to its end
	latency   []LatencyPoint
	quantiles []RankQuantile
}

// await commits a window that waits for nothing at once; others in their order once they have waited for long enough.
func (s *State) await(e *engine, p *pending) {
	if !p.expected && len(e.pending) == 0 {
		s.settle(e, p)
		return
	}
	e.pending = append(e.pending, p)
}

// settleDue commits the windows that have waited for their spans; all of them at the end of a recording.
func (s *State) settleDue(e *engine, all bool) {
	for len(e.pending) > 0 {
		p := e.pending[0]
		if wait := p.expected && s.opts.Spans; wait && !all && s.at < p.received+s.opts.Grace {
			return
		}
		e.pending = slices.Delete(e.pending, 0, 1)
		s.settle(e, p)
	}
}

// settle commits a window: all counters that tell of it move together.
func (s *State) settle(e *engine, p *pending) {
	g := s.sight(e, p)
	conflict := g.conflict
	for _, j := range p.judged {
		if !slices.Contains(e.objectives, j.of) {
			continue // another promise holds now, or none
		}
		conflict = s.commit(e, p, j, g) || conflict
		s.windows = append(s.windows, j.out)
		p.past.Verdicts = append(p.past.Verdicts, j.verdict())
	}
	e.countSpans(p, g, conflict)
	if s.opts.History > 0 {
		e.past.windows = append(e.past.windows, p.past)
		e.past.latency = append(e.past.latency, p.latency...)
	}
	s.quantiles = append(s.quantiles, p.quantiles...)
	e.committedLedger, e.committed, e.committedAt = p.ledger, true, s.at
	s.letGo(e, p, g)
}

// sight finds the window's spans among those that wait.
func (s *State) sight(e *engine, p *pending) *sighting {
	g := &s.sighting
	*g = sighting{order: g.order, ends: g.ends, done: g.done[:0], decode: g.decode, prefill: g.prefill, own: g.own[:0]}
	if len(e.spans.waiting) == 0 && !p.expected {
		return g
	}
	marks, n, ok := e.marksOf(p)
	if !ok {
		return g
	}
	g.locate(marks, n, e.cut == p.life, e.spans.waiting)
	g.known = p.expected && p.comparable && g.finished == p.past.Sequences.N
	return g
}

// letGo drops what no later window needs: the spans of this window and before it, and its marks.
func (s *State) letGo(e *engine, p *pending, g *sighting) {
	e.forgetMarks(p)
	if len(g.done) != len(e.spans.waiting) { // it is not known which pages have counted which
		g.settled = p.end - farMargin
		g.done = g.done[:0]
		for i := range e.spans.waiting {
			g.done = append(g.done, e.spans.waiting[i].End < g.settled)
		}
	}
	for i := range e.spans.waiting {
		// One that is here since before the window and ends after it is from a clock that nothing can be made of.
		if !g.done[i] && e.spans.waiting[i].received < p.start {
			g.done[i] = true
			e.spans.counts.Outside++
		}
	}
	e.spans.settled = max(e.spans.settled, g.settled, p.end-farMargin)
	if p.life != e.begun {
		e.spans.counts.Outside += g.outside
		e.begun = p.life
	}
	e.cut = 0
	if g.cut {
		e.cut = p.life
	}
	e.release(g.done)
}

// release drops spans that wait by their place.
func (e *engine) release(done []bool) {
	if !slices.Contains(done, true) {
		return
	}
	at := -1
	e.spans.release(func(*waitingSpan) bool {
		at++
		return done[at]
	})
}

// expire drops spans that no window can be about any more: no page has told for long whether there is a process.
func (s *State) expire(e *engine) {
	if len(e.spans.waiting) == 0 || len(e.pending) > 0 || e.last != nil && !e.dead {
		return
	}
	limit := s.at - 2*s.opts.JudgementWindow - s.opts.Grace
	e.spans.release(func(w *waitingSpan) bool {
		if w.End >= limit {
			return false
		}
		e.spans.counts.Outside++
		return true
	})
	e.spans.settled = max(e.spans.settled, limit)
}

// countSpans counts what spans say of the window, whatever is promised.
func (e *engine) countSpans(p *pending, g *sighting, conflict bool) {
	if !g.known {
		return
	}
	c := &e.spans.counts
	c.Windows++
	c.Finished += g.finished
	c.Seen += g.seen
	c.Completeness = fact.Number{}
	if g.finished > 0 {
		c.Completeness = fact.Known(float64(g.seen) / float64(g.finished))
	}
	if g.complete {
		c.Exact++
	}
	if conflict {
		c.Conflicts++
	}
	calls := g.calls()
	c.Attempts += calls.attempts
	c.Logical += calls.logical
}

// commit gives a closed window its interval from all evidence, and moves the objective's counters by it. It reports whether
// the evidence contradicts itself.
func (s *State) commit(e *engine, p *pending, j *judged, g *sighting) (conflict bool) {
	o, out := j.of, &j.out
	out.Spans.Expected = p.expected
	interval := slo.Interval{Lower: j.lower, Upper: j.upper}
	evidence, absent, denominator := EvidenceHistogram, j.absent, j.denominator
	if g.known && j.whole && out.SequencesOK && (absent == "" || j.unanswering) {
		out.Spans = WindowSpans{Expected: true, Seen: g.seen, Unsure: g.seen - uint64(len(g.own)), Complete: g.complete, Conflict: g.conflict}
		x := s.examine(p, j, g)
		if absent == "" {
			both, ok := x.Regrouped(interval, x.less).And(x.Qualified())
			if !ok {
				x, conflict = s.examine(p, j, &sighting{finished: g.finished}), true
				out.Spans.Conflict = true
			} else if interval = both; g.complete || len(g.own) > 0 {
				evidence = EvidenceBoth
			}
			if g.complete && len(g.own) > 0 && !conflict {
				j.violations = x.refine(j.violations)
			}
		} else {
			interval, evidence, absent = x.Qualified(), EvidenceSpans, ""
			out.Method, out.Note, j.violations = "", "", x.violations
		}
		out.Spans.Conflict = out.Spans.Conflict || x.conflict
		conflict = conflict || x.conflict
		denominator -= min(denominator, x.leaving(j.uncounted))
		out.Tokens, out.Classes = x.tokens, x.classes
	}
	for _, note := range j.fallbacks {
		e.fallbacks[note]++
		if note == slo.NoteContradiction || note == slo.NoteDisjoint {
			e.conflicts++
		}
	}
	out.Requests = denominator
	if o.absent = absent; absent != "" {
		out.Reason, out.Method, out.Note = absent, "", ""
		return conflict
	}
	// Outcomes that are bad only at the upper end of what is known of them widen the interval.
	out.Upper = min(interval.Upper+j.doubt, denominator)
	out.Lower = min(interval.Lower, out.Upper)
	out.Evidence, out.Violations = evidence, j.violations
	o.add(out)
	return conflict
}

// add moves the counters by a window.
func (o *objective) add(w *Window) {
	o.judged = true
	o.requests += w.Requests
	o.lower += w.Lower
	o.upper += w.Upper
	if o.violations == nil {
		o.violations = make([]Violation, len(w.Violations))
	}
	for i, v := range w.Violations {
		o.violations[i].Metric = v.Metric
		o.violations[i].Lower += v.Lower
		o.violations[i].Upper += v.Upper
	}
	o.tokens.Add(w.Tokens)
	if o.classes == nil {
		o.classes = slices.Clone(w.Classes)
		return
	}
	for i := range w.Classes {
		o.classes[i].Add(&w.Classes[i])
	}
}

// verdict is what is remembered of a committed window.
func (j *judged) verdict() Verdict {
	w := &j.out
	return Verdict{
		FirstTokens: j.firstTokens,
		Objective:   j.of.Objective, Judged: w.Evidence != "", Reason: w.Reason, Requests: Number{w.Requests, w.RequestsOK},
		Lower: w.Lower, Upper: w.Upper, Violations: w.Violations, Sequences: Number{w.Sequences, w.SequencesOK}, Method: w.Method, Note: w.Note,
		Evidence: w.Evidence, Spans: w.Spans, Tokens: w.Tokens, Classes: w.Classes,
	}
}
