package main

import (
	"maps"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/test/live/load"
)

// TestTheClientsLedger: the process is killed at 50.5, its last page was read from 50 to 50.02, the next process
// answers from 100 on.
func TestTheClientsLedger(t *testing.T) {
	for name, c := range map[string]struct {
		world func(*world)
		want  map[string][3]int // all, lower, upper
	}{
		"what ends long before the last page is on it": {
			func(w *world) { w.request(10, 0.1, 1, 5); w.request(10, 0.1, 1, 5, cancelledAt(10.5)) },
			map[string][3]int{arrived: {2, 2, 2}, finished: {1, 1, 1}, cancelled: {1, 1, 1}, shed: {1, 1, 1}},
		},
		"the engine has all tokens before it notices that the client hung up": {
			func(w *world) { w.request(10, 0.1, 0.1, 1, cancelledAt(10.11)); w.span(10, 0.1, 0.1, 1) },
			map[string][3]int{arrived: {1, 1, 1}, cancelled: {1, 0, 0}, shed: {1, 0, 0}, finished: {0, 1, 1}},
		},
		"refusals by their kind": {
			func(w *world) {
				w.request(10, 0, 0, 5, refusedWith(400, false))
				w.request(10, 0, 0, 5, refusedWith(503, false))
				w.request(10, 0, 0, 5, refusedWith(200, true))
			},
			map[string][3]int{arrived: {3, 3, 3}, client4xx: {1, 1, 1}, admission: {2, 2, 2}, shed: {2, 2, 2}},
		},
		"an engine may not have heard of a client that hung up before it got any answer": {
			func(w *world) { w.request(10, 0, 0, 5, cancelledUnseen) },
			map[string][3]int{arrived: {1, 0, 1}, cancelled: {1, 0, 1}, shed: {1, 0, 1}},
		},
		"a full queue may have refused a client that did not wait to hear of it": {
			func(w *world) {
				w.request(10, 0, 0, 5, cancelledUnseen)
				w.request(10.4, 0, 0, 5, refusedWith(503, false))
				w.request(30, 0, 0, 5, cancelledUnseen)
				w.request(30.5, 0.1, 1, 5, cancelledAt(30.7))
			},
			map[string][3]int{arrived: {4, 2, 4}, cancelled: {3, 1, 3}, admission: {1, 1, 2}, shed: {4, 2, 4}},
		},
		"a process that was killed may take a moment to be gone": {
			func(w *world) { w.request(50.6, 0, 0.1, 5, ended(load.Broken)) },
			map[string][3]int{arrived: {1, 0, 0}, failed: {1, 0, 0}},
		},
		"what is in flight on the last page is lost, however the client fared": {
			func(w *world) { w.request(49, 0.1, 1.3, 5); w.request(49, 0.1, 1.5, 5, ended(load.Broken)) },
			map[string][3]int{arrived: {2, 2, 2}, lost: {0, 2, 2}, finished: {1, 0, 0}, failed: {1, 0, 0}},
		},
		"what ends with the last page is finished or lost": {
			func(w *world) { w.request(49, 0.1, 1, 5) },
			map[string][3]int{arrived: {1, 0, 1}, finished: {1, 0, 1}, lost: {0, 0, 1}},
		},
		"what begins after the last page is on none": {
			func(w *world) { w.request(50.3, 0.1, 0.2, 5, ended(load.Broken)) },
			map[string][3]int{arrived: {1, 0, 0}, failed: {1, 0, 0}},
		},
		"nobody listens": {
			func(w *world) { w.request(60, 0.1, 0.2, 5, ended(load.Unreached)) },
			map[string][3]int{},
		},
		"the next process has its own pages": {
			func(w *world) { w.request(101, 0.1, 1, 5) },
			map[string][3]int{arrived: {1, 1, 1}, finished: {1, 1, 1}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := world{lives: []life{{Started: -100, Killed: 50.5}, {Started: 60}}}
			c.world(&w)
			p := polled(0, 50)
			p.Polls = append(p.Polls, polled(100, 150).Polls...)
			got := map[string][3]int{}
			for name, v := range ledgerOf(w.truth(), p) {
				got[name] = *v
			}
			if !maps.Equal(got, c.want) {
				t.Errorf("got  %v\nwant %v", got, c.want)
			}
		})
	}
}

func TestLedgerLines(t *testing.T) {
	samples := page(`# TYPE goodput_requests_arrived_total counter
goodput_requests_arrived_total{engine="live",model="tiny"} 12
goodput_requests_rejected_total{by="client_error",engine="live"} 2
goodput_requests_rejected_total{by="admission",engine="live"} 3
goodput_requests_lost_total{engine="live"} 5
`)
	a := account{arrived: {12, 12, 12}, admission: {4, 4, 4}, client4xx: {2, 2, 2}, lost: {0, 3, 5}}
	want := map[string]bool{arrived: true, client4xx: true, admission: false, lost: true, finished: false, "unexplained": false}
	for _, e := range compareLedger(samples, a) {
		if holds, asked := want[e.name]; asked && e.holds() != holds {
			t.Errorf("%s: holds is %v", e, e.holds())
		}
	}
}
