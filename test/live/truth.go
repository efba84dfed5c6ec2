package main

import (
	"math"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/test/live/load"
	"github.com/goodput-exporter/goodput-exporter/test/live/otlp"
)

// The distance between the client's clock and the engine's, as testdata/README.md states it: the client sees a first
// token up to firstLate seconds after the engine, and its time per output token differs by a few percent.
const (
	firstLate = 0.06
	tpotApart = 0.03
	endLate   = 0.1 // how much later a client may see the end
)

// sequence is one sequence that the engine finished, by the best witness that there is: the engine's own span, or the
// client where the span is missing, such as those that a killed engine had not sent yet.
type sequence struct {
	id         string
	end        float64 // unix seconds
	ttft, e2e  float64
	tpot       float64
	hasTPOT    bool
	fromEngine bool
	span       *otlp.Span // nil unless fromEngine
}

// life is one process of the engine: when it was started, and when it was killed, unix seconds; Killed is 0 for one that
// lived on. It may go on for a moment after that: what comes before the next one's start is its doing.
type life struct{ Started, Killed float64 }

// deathOf is the last page of the process that was at work at a moment, and when the next process began; false if that
// process was not killed.
func (t *truth) deathOf(p *published, at float64) (last poll, next float64, died bool) {
	for i, l := range t.lives {
		if l.Killed == 0 || at < l.Started {
			continue
		}
		next = math.Inf(1)
		if i+1 < len(t.lives) {
			next = t.lives[i+1].Started
		}
		if at < next {
			last, died = p.lastBefore(next)
			return last, next, died
		}
	}
	return poll{}, 0, false
}

// truth is what became of all requests.
type truth struct {
	requests  []load.Seen
	sequences []sequence // finished ones
	lives     []life
	told      map[string]int // sequences of a request that the engine's spans tell of
}

// tell joins what the clients saw with what the engine says.
func tell(requests []load.Seen, spans []otlp.Span, lives []life) *truth {
	t := &truth{requests: requests, lives: lives, told: map[string]int{}}
	asked := map[string]bool{}
	for i := range requests {
		asked[requests[i].ID] = true
	}
	for i := range spans {
		s := &spans[i]
		id := requestID(s.ID)
		if !asked[id] {
			continue // a request from before the exporter came
		}
		t.told[id]++
		tpot, has := s.TPOT()
		t.sequences = append(t.sequences, sequence{id: id, end: s.End, ttft: s.TTFT, e2e: s.E2E, tpot: tpot, hasTPOT: has, fromEngine: true, span: s})
	}
	for i := range requests {
		r := &requests[i]
		witnessed := t.told[r.ID]
		for _, q := range r.Sequences {
			if !q.Ended {
				continue
			}
			if witnessed > 0 {
				witnessed--
				continue
			}
			tpot, has := r.TPOT(q)
			t.sequences = append(t.sequences, sequence{id: r.ID, end: q.Last, ttft: r.TTFT(q), e2e: r.E2E(q), tpot: tpot, hasTPOT: has})
		}
	}
	return t
}

// requestID is the id that the client gave: the engine writes cmpl-ID-0.
func requestID(span string) string {
	id := strings.TrimPrefix(span, "cmpl-")
	if i := strings.LastIndexByte(id, '-'); i >= 0 {
		id = id[:i]
	}
	return id
}

// promise is an SLO with the two clauses that this comparison is about, seconds.
type promise struct {
	name       string
	ttft, tpot float64
}

// keeps says whether a sequence certainly, and whether it possibly, met the promise.
func (s *sequence) keeps(p promise) (certainly, possibly bool) {
	if s.fromEngine {
		met := s.ttft <= p.ttft && (!s.hasTPOT || s.tpot <= p.tpot)
		return met, met
	}
	certainly = s.ttft <= p.ttft && (!s.hasTPOT || s.tpot <= p.tpot*(1-tpotApart))
	possibly = s.ttft <= p.ttft+firstLate && (!s.hasTPOT || s.tpot <= p.tpot*(1+tpotApart))
	return certainly, possibly
}

// within says whether a sequence certainly, and whether it possibly, ended between two pages: each shows the engine at
// some moment from when it was asked for to when it had come.
func (s *sequence) within(from, to poll) (certainly, possibly bool) {
	early, late := s.end, s.end
	if !s.fromEngine {
		early -= endLate
	}
	// A sequence that has ended is on the page once the engine's front end has taken note, an engine step later.
	late += step
	certainly = early > from.Received && late <= to.Sent
	possibly = late > from.Sent && early <= to.Received
	return certainly, possibly
}

// step is an engine step and what follows it, seconds: by so much the counters may lag behind a sequence's end.
const step = 0.05
