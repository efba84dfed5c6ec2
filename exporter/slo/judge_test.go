package slo

import (
	"math"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// chat is the objective of the handmade windows: TTFT <= 250 ms and TPOT <= 25 ms.
var chat = []Clause{{fact.TTFT, 0.25}, {fact.TPOT, 0.025}}

// made is a slice of one second on default edges, in which first tokens came and sequences finished.
func made(second float64, ttfts []float64, ended ...fact.Request) Slice {
	s := Slice{Lo: second, Hi: second + 1, Took: 0.25, FirstTokens: uint64(len(ttfts)), Finished: uint64(len(ended))}
	var values [fact.NumFamilies][]float64
	values[fact.TTFT] = ttfts
	for _, r := range ended {
		x := sequence{Request: r}
		x.observe(&values)
	}
	l := layout(defaultTTFT, defaultTPOT, defaultLat)
	for f := fact.TTFT; f <= fact.Inference; f++ {
		s.Histograms[f] = tally(l[f], values[f])
	}
	return s
}

// answer is a sequence of 11 tokens: 10 gaps.
func answer(ttft, gap float64) fact.Request {
	return fact.Request{TTFT: ttft, Queue: ttft / 8, Prefill: ttft / 2, Decode: 10 * gap, E2E: ttft + 10*gap, OutputTokens: 11}
}

func without(s Slice, f fact.Family) Slice {
	s.Histograms[f].Counts = nil
	s.Histograms[f].Edges = nil
	return s
}

func with(s Slice, changes ...func(*Slice)) Slice {
	for _, change := range changes {
		change(&s)
	}
	return s
}

func preempted(s *Slice) { s.Preempted = true }

func gauges(running, waiting float64) func(*Slice) {
	return func(s *Slice) { s.Running, s.Waiting = fact.Known(running), fact.Known(waiting) }
}

func TestWindow(t *testing.T) {
	quick, dragging := answer(0.09, 0.02), answer(0.09, 0.04)
	slow := answer(0.4, 0.02)
	waited := answer(0.09, 0.2) // decodes for 2 s
	for name, c := range map[string]struct {
		window       Window
		clauses      []Clause
		unsuccessful uint64
		want         Bounds
	}{
		"an empty window has nothing that qualifies": {
			window: Window{Slices: []Slice{made(0, nil)}}, clauses: chat,
			want: Bounds{0, 0, MethodExplain, ""},
		},
		"nor has a window of no slices": {
			window: Window{Slices: []Slice{made(0, nil)}, First: 1}, clauses: chat, unsuccessful: 2,
			want: Bounds{0, 0, MethodExplain, ""},
		},
		"where all pass one clause the other decides, exactly": {
			window:  Window{Slices: []Slice{made(0, []float64{.09, .09, .4}, quick, dragging, dragging)}},
			clauses: chat[:1],
			want:    Bounds{2, 2, MethodExplain, ""},
		},
		"two violations in one slice may be one sequence or two": {
			window:  Window{Slices: []Slice{made(0, []float64{.09, .09, .4}, quick, quick, dragging)}},
			clauses: chat,
			want:    Bounds{1, 2, MethodExplain, ""},
		},
		"a quick answer has no first token of long ago": {
			window: Window{Slices: []Slice{
				made(0, []float64{.4}), made(1, nil), made(2, nil), made(3, nil), made(4, []float64{.09}, quick),
			}, First: 4},
			clauses: chat,
			want:    Bounds{1, 1, MethodExplain, ""},
		},
		"clauses that are all judged at the finish need no network": {
			window:  Window{Slices: []Slice{made(0, nil, quick, quick, dragging)}},
			clauses: []Clause{{fact.TPOT, .025}, {fact.E2E, .3}},
			want:    Bounds{1, 2, MethodFinish, ""},
		},
		"a threshold inside a bucket leaves its whole bucket open": {
			window:  Window{Slices: []Slice{made(0, nil, quick, dragging)}},
			clauses: []Clause{{fact.TPOT, .045}},
			want:    Bounds{1, 2, MethodFinish, ""},
		},
		"a threshold beyond all edges is certain of nothing in the overflow bucket": {
			window:  Window{Slices: []Slice{made(0, nil, quick, answer(.1, 1000))}},
			clauses: []Clause{{fact.TPOT, 500}},
			want:    Bounds{1, 2, MethodFinish, ""},
		},
		"failures leave both bounds": {
			window:  Window{Slices: []Slice{made(0, []float64{.09, .09, .09}, quick, quick, quick)}},
			clauses: chat, unsuccessful: 1,
			want: Bounds{2, 2, MethodExplain, ""},
		},
		"more failures than finishers leave nothing": {
			window:  Window{Slices: []Slice{made(0, []float64{.09}, quick)}},
			clauses: chat, unsuccessful: 5,
			want: Bounds{0, 0, MethodExplain, ""},
		},
		"a family that a clause needs and the page lacks leaves the window unanswered": {
			window:  Window{Slices: []Slice{made(0, []float64{.09}), without(made(1, nil, quick), fact.TPOT)}},
			clauses: chat,
			want:    Bounds{0, 1, "", "no tpot histogram"},
		},
		"a page without TTFT leaves the window unanswered": {
			window:  Window{Slices: []Slice{without(made(0, nil, quick), fact.TTFT)}},
			clauses: chat,
			want:    Bounds{0, 1, "", "no ttft histogram"},
		},
		"a finish-time family may be missing while nothing finishes": {
			window:  Window{Slices: []Slice{without(made(0, nil), fact.TPOT), made(1, []float64{.09}, quick)}},
			clauses: chat,
			want:    Bounds{1, 1, MethodExplain, ""},
		},
		"first tokens may have been missed while there was no TTFT": {
			window:  Window{Slices: []Slice{without(made(0, nil), fact.TTFT), made(1, []float64{.09}, quick)}},
			clauses: chat,
			want:    Bounds{0, 1, MethodExplain, ""},
		},
		"but not by what finished too long after": {
			window:  Window{Slices: []Slice{without(made(0, nil), fact.TTFT), made(1, nil), made(2, nil), made(3, []float64{.09}, quick)}},
			clauses: chat,
			want:    Bounds{1, 1, MethodExplain, ""},
		},
		"TTFT that goes missing after something finished leaves the window unanswered": {
			window:  Window{Slices: []Slice{made(0, []float64{.09}, quick), without(made(1, nil), fact.TTFT)}},
			clauses: chat,
			want:    Bounds{0, 1, "", "no ttft histogram"},
		},
		"a window in which nothing finished needs no histograms": {
			window:  Window{Slices: []Slice{without(without(made(0, nil), fact.TTFT), fact.TPOT)}},
			clauses: chat,
			want:    Bounds{0, 0, MethodExplain, ""},
		},
		"without a decode histogram any time to decode is possible": {
			window: Window{Slices: []Slice{
				made(0, []float64{.4}), made(10, nil), without(made(20, []float64{.09, .09}, quick, quick), fact.Decode),
			}, First: 2},
			clauses: chat,
			want:    Bounds{1, 2, MethodExplain, ""},
		},
		"queue and prefill histograms are not needed": {
			window: Window{Slices: []Slice{
				without(without(made(0, []float64{.09, .4}, quick, slow), fact.Queue), fact.Prefill),
			}},
			clauses: chat,
			want:    Bounds{1, 1, MethodExplain, ""},
		},
		"a clause on token gaps is no clause on sequences": {
			window:  Window{Slices: []Slice{made(0, nil, quick)}},
			clauses: []Clause{{fact.TokenGap, .1}},
			want:    Bounds{0, 1, "", "clause on something that is not a latency of a sequence"},
		},
		"a histogram that counts fewer than finished is a torn page": {
			window:  Window{Slices: []Slice{with(made(0, []float64{.09}, quick), func(s *Slice) { s.Finished++ })}},
			clauses: chat,
			want:    Bounds{0, 2, MethodMarginal, NoteTorn},
		},
		"a finisher without a first token contradicts the model": {
			window:  Window{Slices: []Slice{made(0, []float64{.09}, quick, quick)}},
			clauses: chat,
			want:    Bounds{0, 2, MethodMarginal, NoteContradiction},
		},
		"unless it may have been aborted before it": {
			window:  Window{Slices: []Slice{with(made(0, []float64{.09}, quick, quick), func(s *Slice) { s.Aborted = 1 })}},
			clauses: chat, unsuccessful: 1,
			want: Bounds{1, 1, MethodExplain, ""},
		},
		"an aborted sequence never qualifies, reported as unsuccessful or not": {
			window:  Window{Slices: []Slice{with(made(0, []float64{.09, .09}, quick, quick), func(s *Slice) { s.Aborted = 1 })}},
			clauses: chat,
			want:    Bounds{1, 1, MethodExplain, ""},
		},
		"nor under clauses that are judged at the finish": {
			window:  Window{Slices: []Slice{with(made(0, nil, quick, quick), func(s *Slice) { s.Aborted = 1 })}},
			clauses: chat[1:],
			want:    Bounds{1, 1, MethodFinish, ""},
		},
		"or was in flight when the history began": {
			window:  Window{Slices: []Slice{made(0, []float64{.09}, quick, quick)}, Old: 1},
			clauses: chat,
			want:    Bounds{1, 2, MethodExplain, ""},
		},
		"which may be all that finishes, with a threshold off the edges too": {
			window:  Window{Slices: []Slice{made(0, nil, quick)}, Old: 1},
			clauses: []Clause{{fact.TTFT, 0.24}},
			want:    Bounds{0, 1, MethodExplain, ""},
		},
		"but what was old cannot finish after decoding for less than its age": {
			window: Window{Slices: []Slice{
				made(0, nil), made(1, nil), made(2, nil), made(3, []float64{.09}, quick),
			}, First: 3, Old: Unlimited},
			clauses: chat,
			want:    Bounds{1, 1, MethodExplain, ""},
		},
		"a history that lacks TTFT is forgotten, with everything in flight": {
			window: Window{Slices: []Slice{
				made(0, []float64{.4, .4}), without(made(1, []float64{.09}), fact.TTFT), made(2, nil, answer(.09, .09)),
			}, First: 2},
			clauses: []Clause{{fact.TTFT, .25}},
			want:    Bounds{0, 1, MethodExplain, ""},
		},
		"a finisher may have either of two first tokens": {
			window: Window{Slices: []Slice{
				made(0, []float64{.4}), made(1, nil), made(2, []float64{.09}), made(3, nil, waited),
			}, First: 3},
			clauses: chat[:1],
			want:    Bounds{0, 1, MethodExplain, ""},
		},
		"a single finisher tells its decode time, and so which of the two": {
			window: Window{Slices: []Slice{
				made(0, []float64{.4}), made(1, nil), made(2, []float64{.09}), made(3, nil, answer(.09, .24)),
			}, First: 3},
			clauses: chat[:1],
			want:    Bounds{0, 0, MethodExplain, ""},
		},
		"unless the front end may have been late to note either": {
			window: Window{Slices: []Slice{
				with(made(0, []float64{.4}), func(s *Slice) { s.Took = 0.5 }), made(1, nil), made(2, []float64{.09}), made(3, nil, answer(.09, .24)),
			}, First: 3},
			clauses: chat[:1],
			want:    Bounds{0, 1, MethodExplain, ""},
		},
		"but not the earlier one when nothing was in flight in between": {
			window: Window{Slices: []Slice{
				made(0, []float64{.4}), with(made(1, nil), gauges(0, 0)), made(2, []float64{.09}), made(3, nil, waited),
			}, First: 3},
			clauses: chat[:1],
			want:    Bounds{1, 1, MethodExplain, ""},
		},
		"nor when one that was in flight had no first token yet": {
			window: Window{Slices: []Slice{
				made(0, []float64{.4}), with(made(1, nil), gauges(0, 1)), made(2, []float64{.09}), made(3, nil, waited),
			}, First: 3},
			clauses: chat[:1],
			want:    Bounds{1, 1, MethodExplain, ""},
		},
		"but one that waits may have had it before a preemption": {
			window: Window{Slices: []Slice{
				with(made(0, []float64{.4}), preempted), with(made(1, nil), gauges(0, 1)), made(2, []float64{.09}), made(3, nil, waited),
			}, First: 3},
			clauses: chat[:1],
			want:    Bounds{0, 1, MethodExplain, ""},
		},
		"or before a preemption that is counted one page later": {
			window: Window{Slices: []Slice{
				made(0, []float64{.4}), with(made(1, nil), gauges(0, 1)), with(made(2, []float64{.09}), preempted), made(3, nil, waited),
			}, First: 3},
			clauses: chat[:1],
			want:    Bounds{0, 1, MethodExplain, ""},
		},
		"or before a preemption after the gauges of its page were written": {
			window: Window{Slices: []Slice{
				with(made(0, []float64{.4}), preempted, gauges(0, 0)), with(made(1, nil), gauges(0, 1)), made(2, []float64{.09}), made(3, nil, waited),
			}, First: 3},
			clauses: chat[:1],
			want:    Bounds{0, 1, MethodExplain, ""},
		},
		"or before a preemption that is older than the history": {
			window: Window{Slices: []Slice{
				with(made(0, nil), gauges(0, 1)), with(made(1, nil), gauges(0, 1)), made(2, []float64{.09}), made(3, nil, waited),
			}, First: 3, Old: 1},
			clauses: chat[:1],
			want:    Bounds{0, 1, MethodExplain, ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var j Judge
			for range 2 { // a used Judge answers as a new one
				if got := j.Window(c.window, c.clauses, c.unsuccessful); got != c.want {
					t.Errorf("got %+v, want %+v", got, c.want)
				}
			}
		})
	}
}

// TestWindowTooLarge: a window of very many slices, each with a finisher whose decode time says nothing, is left to
// the pair bounds.
func TestWindowTooLarge(t *testing.T) {
	var w Window
	for i := range 700 {
		r := answer(.09, 2000)
		w.Slices = append(w.Slices, without(made(float64(i), []float64{.09}, r), fact.Decode))
	}
	var j Judge
	b := j.Window(w, chat[:1], 0)
	if want := (Bounds{700, 700, MethodPairs, NoteTooLarge}); b != want {
		t.Errorf("got %+v, want %+v", b, want)
	}
}

// TestJoinedLookBack: a long look-back becomes fewer sources that span all of its time and hold all of its tokens.
func TestJoinedLookBack(t *testing.T) {
	var w Window
	for i := range 1000 {
		w.Slices = append(w.Slices, made(float64(i), []float64{.09, .4}))
	}
	w.First = len(w.Slices)
	w.Slices = append(w.Slices, made(1000, nil, answer(.09, 150)))
	var j Judge
	j.judge(w, chat)
	sources := j.view.sources
	if n := len(sources); n < 20 || n > 300 {
		t.Errorf("%d sources of %d slices", n, len(w.Slices))
	}
	var tokens uint64
	for i, s := range sources {
		tokens += s.good + s.slow
		if s.lo != w.Slices[s.first].Lo || s.hi != w.Slices[s.last].Hi {
			t.Errorf("source %d of slices %d to %d spans (%v, %v]", i, s.first, s.last, s.lo, s.hi)
		}
		if i > 0 && s.first != sources[i-1].last+1 {
			t.Errorf("source %d begins at slice %d, after %d", i, s.first, sources[i-1].last)
		}
		if age := 1000 - s.hi; s.last > s.first && s.hi-s.lo > age/32 {
			t.Errorf("source %d spans %v s at an age of %v s", i, s.hi-s.lo, age)
		}
	}
	if sources[0].first != 0 || tokens != 2000 {
		t.Errorf("the sources begin at slice %d and hold %d first tokens, want 0 and 2000", sources[0].first, tokens)
	}
}

func TestRefusals(t *testing.T) {
	edges := func(f fact.Family) ([]float64, bool) {
		switch f {
		case fact.TTFT:
			return []float64{0.1, 0.25, 0.5, 2.3}, true
		case fact.E2E:
			return nil, true
		}
		return nil, false
	}
	for name, c := range map[string]struct {
		clause Clause
		want   string // all of it; "" when the clause is answered
	}{
		"an edge is answered":                  {Clause{fact.TTFT, 0.25}, ""},
		"an edge but for rounding is answered": {Clause{fact.TTFT, 2 + 0.3*(1+1e-10)}, ""},
		"inside a bucket": {Clause{fact.TTFT, 0.3},
			"ttft <= 300ms: the threshold lies inside a bucket, between the engine's edges 250ms and 500ms; use one of them, give the engine an edge at the threshold (--custom-histogram-buckets)"},
		"just beside an edge": {Clause{fact.TTFT, 0.2500001},
			"ttft <= 250.0001ms: the threshold lies inside a bucket, between the engine's edges 250ms and 500ms; use one of them, give the engine an edge at the threshold (--custom-histogram-buckets)"},
		"below the first edge": {Clause{fact.TTFT, 0.02},
			"ttft <= 20ms: the threshold lies below the engine's first bucket edge 100ms; use that edge, give the engine an edge at the threshold (--custom-histogram-buckets)"},
		"above the last edge": {Clause{fact.TTFT, 120},
			"ttft <= 2m0s: the threshold lies above the engine's last bucket edge 2.3s; use that edge, give the engine an edge at the threshold (--custom-histogram-buckets)"},
		"no edges": {Clause{fact.E2E, 1},
			"e2e <= 1s: the engine's e2e histogram has no edges; give the engine an edge at the threshold (--custom-histogram-buckets)"},
		"missing": {Clause{fact.TPOT, 0.025},
			"tpot <= 25ms: the engine has no tpot histogram; remove the clause, or leave this engine out of the objective by match"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Refusals([]Clause{c.clause}, edges)
			if c.want == "" {
				if len(got) != 0 {
					t.Fatalf("refused: %s", got[0])
				}
				return
			}
			if len(got) != 1 {
				t.Fatalf("%d refusals, want 1", len(got))
			}
			if s := got[0].String(); s != c.want {
				t.Errorf("says\n%s, want\n%s", s, c.want)
			}
		})
	}
	got := Refusals([]Clause{{fact.TPOT, 1}, {fact.TTFT, .25}, {fact.TTFT, .3}}, edges)
	if len(got) != 2 || !got[0].Missing || got[1].Missing || got[1].Below != .25 || got[1].Above != .5 {
		t.Errorf("got %+v: want the missing family, then the bucket from 0.25 to 0.5", got)
	}
	if !strings.Contains(seconds(math.Inf(1)), "Inf") {
		t.Error("a threshold without end is printed as a duration")
	}
}
