package fold

import (
	"cmp"
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// maxWaiting is how many spans of one engine wait for their windows: 16 MiB. At 100 sequences a second an open window
// and its grace hold 7,000.
const maxWaiting = 1 << 16

// maxWaitingInAll is how many spans of all engines together wait: 64 MiB. At most four engines are at the limit of one at
// once, and 37 finish 100 sequences a second each. Without it whoever may send could fill as many engines as there are
// with spans that name them, and the memory with that.
const maxWaitingInAll = 1 << 18

// expectedFor is for how long after the newest span of an engine its windows wait for more, in seconds.
const expectedFor = 3600

// spanID tells spans apart. One whose sender gave it none is taken for a repetition of another such, and counts as
// unseen, which is no harm beside counting one sequence twice.
type spanID struct {
	trace [16]byte
	id    [8]byte
}

// waitingSpan is what is kept of a span until the window that it belongs to is committed.
type waitingSpan struct {
	fact.Request
	spanID
	parent     [8]byte
	received   float64
	call       string
	attributes []fact.Attribute
}

// engineSpans is what an engine's spans have said. The counters in counts up to OneToken move when a span comes; but for
// Outside, they and the rest move when a window is committed.
type engineSpans struct {
	counts  EngineSpans // but for Expected, Matched and Histograms
	matched [len(hows)]uint64
	on      bool    // spans are taken in, and were when the newest came
	settled float64 // up to here windows have been committed: what ended before is late

	waiting []waitingSpan // in the order in which they came
	known   map[spanID]struct{}

	spent   [2]map[spanID]struct{} // of spans that wait no more, or never did; the newer ones first
	renewed float64                // when the newer ones began

	histograms [fact.NumFamilies]spanHistogram
}

// hows are the ways of matching, in the order in which they are tried.
var hows = [...]string{ByEngine, ByPod, ByInstance, ByAddress, ByOnly}

// whys are the reasons for not matching.
var whys = [...]string{UnmatchedEngine, UnmatchedPod, UnmatchedAmbiguous, UnmatchedNothing, UnmatchedNoTarget}

// intake takes spans in for all engines.
type intake struct {
	matcher   Matcher
	targets   []fact.Target // of this round, in no order
	leaving   []fact.Target // that have gone and whose spans may still be of use, likewise
	unmatched [len(whys)]uint64
	last      [len(whys)]UnmatchedOrigin
}

// takeSpans gives spans to the engines that they are of. It is called in every round, spans or not, once the round's
// targets are known, for what was learnt of a target ends with it.
func (s *State) takeSpans(spans []fact.Span, at float64) {
	if !s.opts.Spans {
		return
	}
	in := &s.intake
	in.targets, in.leaving = in.targets[:0], in.leaving[:0]
	for _, e := range s.engines {
		switch {
		case !e.gone:
			in.targets = append(in.targets, e.target)
		case len(e.pending) > 0 || at-e.goneAt < s.opts.Grace:
			// Its last windows wait for spans that its process, or a Collector, may only be about to send.
			in.leaving = append(in.leaving, e.target)
		}
	}
	in.matcher.know(in.targets, in.leaving, at)
	if len(spans) == 0 {
		return
	}
	var (
		room    = s.roomToWait()
		nowhere fact.Origin // of a span that came without one
		edges   = thresholdsOf(s.opts.Objectives)
		before  *fact.Origin
		e       *engine
		place   int // in hows or whys
	)
	for i := range spans {
		span := &spans[i]
		origin := cmp.Or(span.Origin, &nowhere)
		if origin != before {
			// The spans of one message share it, and what it was matched to.
			before = origin
			target, how, why := in.matcher.match(origin, at)
			if how == "" {
				e, place = nil, slices.Index(whys[:], why)
			} else {
				e, place = s.engines[target], slices.Index(hows[:], how)
				e.spans.countAt(edges, at)
			}
		}
		if e == nil {
			in.unmatched[place]++
			if last := &in.last[place]; span.Received >= last.At {
				*last = UnmatchedOrigin{Reason: whys[place], Origin: *origin, At: span.Received}
			}
			continue
		}
		e.spans.matched[place]++
		if e.spans.take(span, edges, at, room > 0) {
			room--
		}
	}
}

// roomToWait is how many spans more may wait, of whatever engine. It is counted anew for each round that brings some, from
// what there is: between two of them spans are let go of in many ways.
func (s *State) roomToWait() int {
	room := maxWaitingInAll
	for _, e := range s.engines {
		room -= len(e.spans.waiting)
	}
	return room
}

// take takes in a span of the engine, and has it wait while there is room. It reports whether it waits.
func (s *engineSpans) take(span *fact.Span, edges *spanEdges, at float64, room bool) (waits bool) {
	s.on = true
	s.counts.Last = max(s.counts.Last, span.Received)
	key := spanID{span.Trace, span.ID}
	if s.cameBefore(key) {
		s.counts.Duplicate++
		return false
	}
	s.observe(span, edges, at)
	if span.OutputTokens <= 1 {
		s.counts.OneToken++
	}
	switch {
	case span.End < s.settled:
		s.counts.Late++
		s.spend(key)
	case !room || len(s.waiting) >= maxWaiting:
		s.counts.Dropped++
		s.spend(key)
	default:
		if s.known == nil {
			s.known = map[spanID]struct{}{}
		}
		s.known[key] = struct{}{}
		s.waiting = append(s.waiting, waitingSpan{span.Request, key, span.Parent, span.Received, span.Call, span.Attributes})
		return true
	}
	return false
}

func (s *engineSpans) cameBefore(id spanID) bool {
	for _, ids := range [...]map[spanID]struct{}{s.known, s.spent[0], s.spent[1]} {
		if _, came := ids[id]; came {
			return true
		}
	}
	return false
}

// spend remembers a span that waits no more for as long as a sender that got no answer may send it again, or until
// maxWaiting others have come.
func (s *engineSpans) spend(id spanID) {
	if now := s.counts.Last; s.spent[0] == nil || len(s.spent[0]) >= maxWaiting || now-s.renewed > lingering {
		s.spent, s.renewed = [2]map[spanID]struct{}{{}, s.spent[0]}, now
	}
	s.spent[0][id] = struct{}{}
}

// release lets go of the waiting spans that are done with, asking about each once, in the order in which they came. The
// others stay in that order, but not where they were in memory. Room that a burst took and that the spans since have not needed is given back.
func (s *engineSpans) release(done func(*waitingSpan) bool) {
	most, kept := len(s.waiting), s.waiting[:0]
	for i := range s.waiting {
		if w := &s.waiting[i]; done(w) {
			delete(s.known, w.spanID)
			s.spend(w.spanID)
		} else {
			kept = append(kept, *w)
		}
	}
	clear(s.waiting[len(kept):]) // of their strings
	s.waiting = kept
	if cap(kept) > 1<<13 && most < cap(kept)/8 {
		s.waiting = slices.Clone(kept)
		s.known = make(map[spanID]struct{}, len(kept))
		for i := range kept {
			s.known[kept[i].spanID] = struct{}{}
		}
	}
}

// spansExpected reports whether the engine's windows wait for spans: one came not long ago.
func (e *engine) spansExpected(at float64) bool {
	return e.spans.on && at-e.spans.counts.Last <= expectedFor
}

// publishSpans copies what the engine's spans say.
func (e *engine) publishSpans(at float64) EngineSpans {
	out := e.spans.counts
	out.Expected = e.spansExpected(at)
	out.Matched = countsOf(hows[:], e.spans.matched[:])
	for f := range e.spans.histograms {
		out.Histograms[f] = e.spans.histograms[f].publish()
	}
	return out
}

// publishUnmatched copies what is known of spans of which the engine is not.
func (s *State) publishUnmatched() Unmatched {
	out := Unmatched{Counts: countsOf(whys[:], s.intake.unmatched[:])}
	for i, n := range s.intake.unmatched {
		if n > 0 {
			out.Last = append(out.Last, s.intake.last[i])
		}
	}
	slices.SortFunc(out.Last, func(a, b UnmatchedOrigin) int { return cmp.Compare(a.Reason, b.Reason) })
	return out
}

// countsOf lists what was counted at all, by name.
func countsOf(names []string, counts []uint64) []Tally {
	var out []Tally
	for i, n := range counts {
		if n > 0 {
			out = append(out, Tally{Name: names[i], Count: n})
		}
	}
	slices.SortFunc(out, func(a, b Tally) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
