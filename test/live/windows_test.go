package main

import (
	"testing"

	"github.com/goodput-exporter/goodput-exporter/test/live/load"
)

var chat = promise{"chat", 0.25, 0.025}

func TestJudgeWindows(t *testing.T) {
	for name, c := range map[string]struct {
		world      func(*world)
		window     window // 10 to 20 s
		n, good    [2]int
		client     int
		holds      bool
		countsWell bool
	}{
		"the engine's spans decide": {
			func(w *world) { w.witnessed(11, 0.2, 1, 41); w.witnessed(11, 0.3, 1, 41); w.witnessed(11, 0.2, 4, 41) },
			window{Sequences: 3, Lower: 1, Upper: 1}, [2]int{3, 3}, [2]int{1, 1}, 1, true, true,
		},
		"an interval above the truth": {
			func(w *world) { w.witnessed(11, 0.2, 1, 41) },
			window{Sequences: 1, Lower: 2, Upper: 3}, [2]int{1, 1}, [2]int{1, 1}, 1, false, true,
		},
		"an interval below the truth": {
			func(w *world) { w.witnessed(11, 0.2, 1, 41) },
			window{Sequences: 1}, [2]int{1, 1}, [2]int{1, 1}, 1, false, true,
		},
		"a client's clock sees a first token late that the engine sent in time": {
			func(w *world) { w.witnessed(11, 0.245, 1, 41) },
			window{Sequences: 1, Lower: 1, Upper: 1}, [2]int{1, 1}, [2]int{1, 1}, 0, true, true,
		},
		"one token passes every limit on the time per token": {
			func(w *world) { w.witnessed(11, 0.2, 0.2, 1) },
			window{Sequences: 1, Lower: 1, Upper: 1}, [2]int{1, 1}, [2]int{1, 1}, 1, true, true,
		},
		"what ended before the window is not in it": {
			func(w *world) { w.witnessed(8, 0.2, 1, 41); w.witnessed(20, 0.2, 1, 41) },
			window{}, [2]int{0, 0}, [2]int{0, 0}, 0, true, true,
		},
		"what ended while the last page was written may be on it": {
			func(w *world) { w.witnessed(19, 0.2, 1.01, 41) },
			window{Sequences: 1, Lower: 1, Upper: 1}, [2]int{0, 1}, [2]int{0, 1}, 0, true, true,
		},
		"without a span the client's word is taken for what it is worth": {
			func(w *world) { w.request(11, 0.25, 1, 41); w.request(11, 0.1, 1.1, 41) },
			window{Sequences: 2, Lower: 1, Upper: 1}, [2]int{2, 2}, [2]int{0, 2}, 1, true, true,
		},
		"a sequence that nobody saw": {
			func(w *world) { w.witnessed(11, 0.2, 1, 41) },
			window{Sequences: 2, Lower: 1, Upper: 1}, [2]int{1, 1}, [2]int{1, 1}, 1, true, false,
		},
		"an exporter that has every span has to know the number": {
			func(w *world) { w.witnessed(11, 0.2, 1, 41) },
			window{Sequences: 1, Lower: 0, Upper: 1, Spans: seen{Complete: true}}, [2]int{1, 1}, [2]int{1, 1}, 1, false, true,
		},
		"it need not where the page leaves open how many were cancelled": {
			func(w *world) { w.witnessed(11, 0.2, 1, 41) },
			window{Sequences: 1, Lower: 0, Upper: 1, Spans: seen{Complete: true}, Cancelled: count{0, 1, true}}, [2]int{1, 1}, [2]int{1, 1}, 1, true, true,
		},
		"one of two sequences has ended when the client hangs up": {
			func(w *world) {
				w.request(11, 0.2, 1, 41, cancelledAt(12))
				w.span(11, 0.2, 1, 41)
			},
			window{Sequences: 1, Lower: 1, Upper: 1}, [2]int{1, 1}, [2]int{1, 1}, 0, true, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := world{}
			c.world(&w)
			p := polled(0, 30)
			c.window.SLO, c.window.Start, c.window.End, c.window.Evidence, c.window.SequencesOK = "chat", 10, 20, "histogram", true
			p.Windows = []window{c.window}
			got := judgeWindows(w.truth(), p, []promise{chat})
			if len(got) != 1 {
				t.Fatalf("%d windows", len(got))
			}
			j := got[0]
			if j.n != c.n || j.good != c.good || j.byClient != c.client {
				t.Errorf("n %v, good %v, the client's %d; want %v, %v, %d", j.n, j.good, j.byClient, c.n, c.good, c.client)
			}
			if j.holds() != c.holds || j.counts() != c.countsWell {
				t.Errorf("holds %v and counts %v, want %v and %v", j.holds(), j.counts(), c.holds, c.countsWell)
			}
		})
	}
}

// TestANewProcessIsJudgedSinceItsBirth: requests came between the process's start and its first page.
func TestANewProcessIsJudgedSinceItsBirth(t *testing.T) {
	w := world{lives: []life{{Started: -100, Killed: 50.5}, {Started: 60}}}
	w.witnessed(98, 0.2, 1, 41)
	w.witnessed(101, 0.2, 1, 41)
	p := polled(0, 50)
	p.Polls = append(p.Polls, polled(100, 200).Polls...)
	p.Windows = []window{{SLO: "chat", Start: 100, End: 160}, {SLO: "chat", Start: 160, End: 200}}
	got := judgeWindows(w.truth(), p, []promise{chat})
	if got[0].n != [2]int{2, 2} || got[1].n != [2]int{0, 0} {
		t.Errorf("%v and %v sequences", got[0].n, got[1].n)
	}
}

func TestSpansOfOtherRequestsAreNotOurs(t *testing.T) {
	w := world{}
	w.request(10, 0.1, 1, 5)
	w.span(10, 0.1, 1, 5)
	w.requests[0].ID = "another"
	if tr := w.truth(); len(tr.told) != 0 || len(tr.sequences) != 1 || tr.sequences[0].fromEngine {
		t.Errorf("%d spans, %+v", len(tr.told), tr.sequences)
	}
	w.requests[0].Outcome = load.Broken
	w.requests[0].Sequences[0].Ended = false
	if tr := w.truth(); len(tr.sequences) != 0 {
		t.Errorf("%+v", tr.sequences)
	}
}
