package fold

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// listener is a state that takes spans in, without pages.
func listener(objectives ...slo.Objective) *State {
	o := testOptions(0)
	o.Spans = true
	if len(objectives) > 0 {
		o.Objectives = objectives
	}
	return New(o)
}

// arrive is what a round does with spans.
func (s *State) arrive(at float64, targets []fact.Target, spans ...fact.Span) {
	s.meet(Round{At: at, Targets: targets})
	s.takeSpans(spans, at)
}

// spanOf is a span with a trace and an id of their own, of a sequence of 11 tokens that took 1.2 s: 0.2 s to the first
// token and 0.1 s for each token after it.
func spanOf(id int, end float64, o *fact.Origin) fact.Span {
	s := fact.Span{
		Request:  fact.Request{End: end, TTFT: 0.2, E2E: 1.2, Queue: 0.05, Prefill: 0.15, Decode: 1, PromptTokens: 40, OutputTokens: 11},
		Received: end + 3, Call: fmt.Sprint("cmpl-", id), Origin: o,
	}
	binary.BigEndian.PutUint64(s.Trace[8:], uint64(id))
	binary.BigEndian.PutUint64(s.ID[:], uint64(id))
	return s
}

var (
	fromA = &fact.Origin{Instance: "ia", Peer: "10.0.0.1"}
	fromB = &fact.Origin{Instance: "ib", Peer: "10.0.0.2"}
)

func (s *State) spans(id string, at float64) EngineSpans { return s.engines[id].publishSpans(at) }

func TestASpanWaitsAtItsEngine(t *testing.T) {
	s := listener()
	span := spanOf(1, 100, fromB)
	span.Attributes = []fact.Attribute{{Key: "tier", Value: "gold"}}
	s.arrive(104, two, spanOf(2, 101, fromA), span)
	want := waitingSpan{span.Request, spanID{span.Trace, span.ID}, span.Parent, 103, "cmpl-1", span.Attributes}
	if got := s.engines["b"].spans.waiting; len(got) != 1 || !reflect.DeepEqual(got[0], want) {
		t.Errorf("waiting at b: %+v, want %+v", got, want)
	}
	b := s.spans("b", 104)
	if !slices.Equal(b.Matched, []Tally{{ByAddress, 1}}) || b.Last != 103 || !b.Expected {
		t.Errorf("b says %+v", b)
	}
	equal(t, "waiting at a", len(s.engines["a"].spans.waiting), 1)
}

func TestWhatBecomesOfASpan(t *testing.T) {
	type counts struct{ waiting, late, duplicate, oneToken, observed int }
	one := spanOf(1, 100, fromA)
	again := one
	again.Received = 110
	short, empty := spanOf(2, 100, fromA), spanOf(3, 100, fromA)
	short.OutputTokens, short.Decode, empty.OutputTokens, empty.Decode = 1, 0, 0, 0
	sameTrace, anonymous := spanOf(4, 100, fromA), spanOf(0, 100, fromA)
	sameTrace.Trace = one.Trace
	for name, c := range map[string]struct {
		settled float64
		spans   []fact.Span
		want    counts
	}{
		"one of an open window waits":                             {0, []fact.Span{one}, counts{waiting: 1, observed: 1}},
		"one that comes twice counts once":                        {0, []fact.Span{one, again}, counts{waiting: 1, duplicate: 1, observed: 1}},
		"two of one trace are two":                                {0, []fact.Span{one, sameTrace}, counts{waiting: 2, observed: 2}},
		"two that cannot be told apart count once":                {0, []fact.Span{anonymous, anonymous}, counts{waiting: 1, duplicate: 1, observed: 1}},
		"one of a settled window is late, and its latency counts": {100.5, []fact.Span{one}, counts{late: 1, observed: 1}},
		"a late one that comes twice counts once":                 {100.5, []fact.Span{one, again}, counts{late: 1, duplicate: 1, observed: 1}},
		"one that ends where the settled windows do is in time":   {100, []fact.Span{one}, counts{waiting: 1, observed: 1}},
		"sequences of at most one token are counted":              {0, []fact.Span{short, empty, one}, counts{waiting: 3, oneToken: 2, observed: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			s := listener()
			s.meet(Round{At: 1, Targets: two})
			s.engines["a"].spans.settled = c.settled
			s.arrive(111, two, c.spans...)
			a := s.spans("a", 111)
			got := counts{len(s.engines["a"].spans.waiting), int(a.Late), int(a.Duplicate), int(a.OneToken), int(a.Histograms[fact.E2E].Native.Count)}
			if got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
			if tpots := got.observed - got.oneToken; tpots > 0 && int(a.Histograms[fact.TPOT].Native.Count) != tpots {
				t.Errorf("%d values of TPOT, want %d", a.Histograms[fact.TPOT].Native.Count, tpots)
			}
			equal(t, "known by their ids", len(s.engines["a"].spans.known), got.waiting)
		})
	}
}

func TestReleasedSpansMakeRoom(t *testing.T) {
	s := listener()
	for id := range 6 {
		s.arrive(101, two, spanOf(id+1, 100+float64(id), fromA))
	}
	spans := &s.engines["a"].spans
	spans.release(func(w *waitingSpan) bool { return w.End < 103 || w.End == 104 })
	var left []float64
	for _, w := range spans.waiting {
		left = append(left, w.End)
	}
	if !slices.Equal(left, []float64{103, 105}) {
		t.Errorf("left are those that end at %v", left)
	}
	s.arrive(112, two, spanOf(1, 100, fromA), spanOf(4, 103, fromA), spanOf(7, 106, fromA))
	if a := s.spans("a", 112); a.Duplicate != 2 || len(spans.waiting) != 3 || a.Histograms[fact.E2E].Native.Count != 7 {
		t.Errorf("a span that was let go, one that waits and a new one: %d duplicates, %d waiting, %d counted", a.Duplicate, len(spans.waiting), a.Histograms[fact.E2E].Native.Count)
	}
}

// TestNoMoreSpansWaitThanFit: what is over the limit is counted as dropped, and its latency counts; there is room again
// when a window has let go of its spans.
func TestNoMoreSpansWaitThanFit(t *testing.T) {
	s := listener()
	for id := 1; id <= maxWaiting+10; id++ {
		s.arrive(101, two, spanOf(id, 100, fromA))
	}
	spans := &s.engines["a"].spans
	if a := s.spans("a", 101); a.Dropped != 10 || len(spans.waiting) != maxWaiting || len(spans.known) != maxWaiting || a.Histograms[fact.TTFT].Native.Count != maxWaiting+10 {
		t.Errorf("%d dropped, %d waiting, %d known", a.Dropped, len(spans.waiting), len(spans.known))
	}
	first := spans.waiting[0]
	spans.release(func(w *waitingSpan) bool { return w.spanID != first.spanID })
	spans.release(func(w *waitingSpan) bool { return false }) // a quiet window later
	s.arrive(102, two, spanOf(1, 101, fromA), spanOf(maxWaiting+11, 101, fromA))
	if a := s.spans("a", 102); a.Dropped != 10 || a.Duplicate != 1 || len(spans.waiting) != 2 || len(spans.known) != 2 || cap(spans.waiting) > 1<<10 {
		t.Errorf("afterwards %d dropped, %d duplicates, %d waiting in room for %d, %d known", a.Dropped, a.Duplicate, len(spans.waiting), cap(spans.waiting), len(spans.known))
	}
}

// TestNoMoreSpansOfAllEnginesWaitThanFit: whatever comes for whichever engine, and however they are let go of, the spans
// that wait are as many as fit in all, and none is dropped while there is room for it.
func TestNoMoreSpansOfAllEnginesWaitThanFit(t *testing.T) {
	rng := rand.New(rand.NewPCG(54, 1))
	var targets []fact.Target
	for i := range 12 {
		targets = append(targets, at(fmt.Sprint(i), fmt.Sprintf("http://10.0.1.%d:8000/metrics", i)))
	}
	s := listener()
	id, full, over := 0, 0, uint64(0)
	for round := range 150 {
		now := 1000 + float64(100*round)
		present := targets[:1+rng.IntN(len(targets))] // the others go, and are deleted with what they hold a window later
		s.meet(Round{At: now, Targets: present})
		before := s.totals()
		name := present[rng.IntN(len(present))].ID
		mine := len(s.engines[name].spans.waiting)
		spans := make([]fact.Span, rng.IntN(40000))
		for i := range spans {
			id++
			spans[i] = spanOf(id, now, &fact.Origin{Engine: name})
		}
		s.takeSpans(spans, now)
		after := s.totals()
		taken := min(len(spans), maxWaitingInAll-before.waiting, maxWaiting-mine)
		if after.waiting != before.waiting+taken || after.dropped != before.dropped+uint64(len(spans)-taken) || after.waiting > maxWaitingInAll {
			t.Fatalf("round %d: %d came while %d waited, %d of them at their engine: now %d wait, and %d were dropped", round, len(spans), before.waiting, mine, after.waiting, after.dropped-before.dropped)
		}
		if after.waiting == maxWaitingInAll {
			full++
			over += after.dropped - before.dropped
		}
		switch e := s.engines[name]; rng.IntN(6) {
		case 0:
			e.spans.release(func(*waitingSpan) bool { return rng.IntN(2) == 0 })
		case 1:
			off := s.opts
			off.Spans = false
			s.Reconfigure(off)
			off.Spans = true
			s.Reconfigure(off)
		}
	}
	if full < 5 || over == 0 {
		t.Errorf("full after %d rounds, and %d were dropped then: too seldom to tell", full, over)
	}
}

// waits is how many spans wait and were dropped, of all engines.
type waits struct {
	waiting int
	dropped uint64
}

func (s *State) totals() (n waits) {
	for _, e := range s.engines {
		n.waiting += len(e.spans.waiting)
		n.dropped += e.spans.counts.Dropped
	}
	return n
}

func TestWindowsWaitWhileSpansCome(t *testing.T) {
	s := listener()
	s.meet(Round{At: 100, Targets: two})
	e := s.engines["a"]
	equal(t, "before the first", e.spansExpected(100), false)
	s.arrive(104, two, spanOf(1, 100, fromA)) // received at 103
	equal(t, "after one", e.spansExpected(104), true)
	equal(t, "another engine's", s.engines["b"].spansExpected(104), false)
	s.arrive(105, two, spanOf(3, 90, fromA)) // received at 93, taken in later
	equal(t, "for an hour", e.spansExpected(3703), true)
	equal(t, "no longer", e.spansExpected(3703.5), false)
	off := s.opts
	off.Spans = false
	e.spans.reconfigure(&off, 105)
	equal(t, "when they are not taken in any more", e.spansExpected(105), false)
	s.arrive(106, two, spanOf(2, 100, fromA))
	equal(t, "when they are taken in again", e.spansExpected(106), true)
}

func TestNothingIsTakenInUnlessItIsToBe(t *testing.T) {
	s := New(testOptions(0))
	s.arrive(104, two, spanOf(1, 100, fromA), spanOf(2, 100, &fact.Origin{}))
	if a, un := s.spans("a", 104), s.publishUnmatched(); !reflect.DeepEqual(a, EngineSpans{}) || !reflect.DeepEqual(un, Unmatched{}) {
		t.Errorf("spans: %+v; unmatched: %+v", a, un)
	}
}

// TestUnmatchedSpansAreCountedByReason, with the newest origin of each, whichever comes last.
func TestUnmatchedSpansAreCountedByReason(t *testing.T) {
	s := listener()
	older, newer, pod := &fact.Origin{Engine: "x", Peer: "1.1.1.1"}, &fact.Origin{Engine: "y", Peer: "2.2.2.2"}, &fact.Origin{PodName: "p", Instance: "i"}
	s.arrive(111, pods, spanOf(1, 100, older), spanOf(2, 102, newer), spanOf(3, 101, older), spanOf(4, 103, pod), spanOf(5, 103, nil))
	got := s.publishUnmatched()
	want := Unmatched{
		Counts: []Tally{{UnmatchedEngine, 3}, {UnmatchedNothing, 1}, {UnmatchedPod, 1}},
		Last:   []UnmatchedOrigin{{UnmatchedEngine, *newer, 105}, {UnmatchedNothing, fact.Origin{}, 106}, {UnmatchedPod, *pod, 106}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	for _, e := range s.engines {
		equal(t, "waiting at "+e.target.ID, len(e.spans.waiting), 0)
	}
}

func TestAnEngineThatIsGoneGetsNoSpans(t *testing.T) {
	s := listener()
	s.arrive(104, two, spanOf(1, 100, fromA))
	s.arrive(106, two[1:], spanOf(2, 101, fromA), spanOf(3, 101, fromB))
	equal(t, "waiting at the one that is gone", len(s.engines["a"].spans.waiting), 1)
	equal(t, "waiting at the other", len(s.engines["b"].spans.waiting), 1)
	if un := s.publishUnmatched(); !slices.Equal(un.Counts, []Tally{{UnmatchedNothing, 1}}) {
		t.Errorf("unmatched: %+v", un.Counts)
	}
}

// TestEverySpanIsAccountedFor: whatever comes from wherever, a span waits at one engine, or is late, a duplicate or
// dropped there, or unmatched for one reason; and every one but the duplicates is in its engine's histograms.
func TestEverySpanIsAccountedFor(t *testing.T) {
	rng := rand.New(rand.NewPCG(52, 1))
	origins := []*fact.Origin{
		fromA, fromB, {Peer: "10.0.0.9"}, {Instance: "ia", Peer: "10.0.0.9"}, {Engine: "a"}, {Engine: "x"}, {PodUID: "u2"}, {PodUID: "u9"}, {PodName: "vllm-0"}, nil,
	}
	worlds := [][]fact.Target{two, pods, shared, namesakes, two[:1], nil}
	for range 300 {
		s := listener()
		s.opts.Grace = 200 * rng.Float64() // spans of one that has just gone are its own
		s.opts.JudgementWindow = 1e6       // an engine that is gone takes its counts along, a window later
		sent, matched, accounted := 0, uint64(0), uint64(0)
		at := 1000.0
		for range 8 {
			at += rng.Float64() * 100
			var spans []fact.Span
			for range rng.IntN(30) {
				spans = append(spans, spanOf(rng.IntN(100), at-rng.Float64()*20, origins[rng.IntN(len(origins))]))
			}
			sent += len(spans)
			s.arrive(at, worlds[rng.IntN(len(worlds))], spans...)
			for _, e := range s.engines {
				if rng.IntN(3) == 0 { // a window is committed
					e.spans.settled = at - 5
					e.spans.release(func(w *waitingSpan) bool {
						if w.End < e.spans.settled {
							accounted++
							return true
						}
						return false
					})
				}
				if len(e.spans.waiting) != len(e.spans.known) {
					t.Fatalf("%d spans wait and %d are known", len(e.spans.waiting), len(e.spans.known))
				}
			}
		}
		for id, e := range s.engines {
			out, here := s.spans(id, at), uint64(0)
			for _, n := range out.Matched {
				here += n.Count
			}
			matched += here
			accounted += uint64(len(e.spans.waiting)) + out.Late + out.Duplicate + out.Dropped
			if h := out.Histograms[fact.E2E]; h != nil {
				counted := uint64(0)
				for _, n := range h.Counts {
					counted += n
				}
				if h.Native.Count != here-out.Duplicate || counted != h.Native.Count {
					t.Fatalf("%d matched, %d of them duplicates; %d in native buckets, %d at the thresholds", here, out.Duplicate, h.Native.Count, counted)
				}
			}
		}
		unmatched := uint64(0)
		for _, n := range s.publishUnmatched().Counts {
			unmatched += n.Count
		}
		if matched != accounted || matched+unmatched != uint64(sent) {
			t.Fatalf("%d sent: %d matched, %d unmatched; %d accounted for", sent, matched, unmatched, accounted)
		}
	}
}

// TestASpanIsKnownForAWhile: for as long as its sender may send it again, and no longer than maxWaiting others take.
func TestASpanIsKnownForAWhile(t *testing.T) {
	s := listener()
	s.meet(Round{At: 1, Targets: two})
	spans := &s.engines["a"].spans
	come := func(id int, at float64) uint64 {
		span := spanOf(id, 100, fromA)
		span.Received = at
		s.arrive(at, two, span)
		spans.release(func(*waitingSpan) bool { return true })
		return s.spans("a", at).Duplicate
	}
	come(1, 1000)
	come(2, 1290)
	equal(t, "after five minutes", come(1, 1300), 1)
	come(3, 1301)
	come(4, 1602)
	equal(t, "after ten", come(1, 1603), 1)
	for id := range 3*maxWaiting + 10 {
		spans.spend(spanID{id: [8]byte{byte(id), byte(id >> 8), byte(id >> 16), 1}})
	}
	if n := len(spans.spent[0]) + len(spans.spent[1]); n > 2*maxWaiting {
		t.Errorf("%d are remembered", n)
	}
}

// BenchmarkTakeSpans takes in spans of eight engines as they come, 512 a message, and lets go of them a window at a time.
func BenchmarkTakeSpans(b *testing.B) {
	const engines, message = 8, 512
	s := listener()
	targets := make([]fact.Target, engines)
	batches := make([][]fact.Span, engines)
	rng := rand.New(rand.NewPCG(53, 1))
	for i := range targets {
		host := fmt.Sprint("10.0.1.", i)
		targets[i] = at(fmt.Sprint(i), "http://"+host+":8000/metrics")
		origin := &fact.Origin{Instance: host, Peer: host}
		for range message {
			span := spanOf(0, 100, origin)
			span.TTFT, span.Decode = rng.ExpFloat64(), rng.ExpFloat64()
			span.E2E = span.TTFT + span.Decode
			batches[i] = append(batches[i], span)
		}
	}
	s.meet(Round{At: 100, Targets: targets})
	n, id := 0, uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		spans := batches[n%engines]
		for i := range spans {
			id++
			binary.BigEndian.PutUint64(spans[i].Trace[:], id*0x9e3779b97f4a7c15)
			binary.BigEndian.PutUint64(spans[i].ID[:], id)
		}
		s.takeSpans(spans, 100)
		if e := s.engines[targets[n%engines].ID]; len(e.spans.waiting) >= 16*message {
			e.spans.release(func(*waitingSpan) bool { return true })
		}
		n++
	}
	b.ReportMetric(float64(n*message)/b.Elapsed().Seconds(), "spans/s")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n*message), "ns/span")
}
