package main

import (
	"fmt"

	"github.com/goodput-exporter/goodput-exporter/test/live/load"
	"github.com/goodput-exporter/goodput-exporter/test/live/otlp"
)

// world makes up requests on one clock. The exporter reads a page each whole second, which takes 20 ms.
type world struct {
	requests []load.Seen
	spans    []otlp.Span
	lives    []life
}

// request adds one of which the client sees the first token and the end 10 ms after the engine; tokens are even.
func (w *world) request(start, ttft, e2e float64, output int, change ...func(*load.Seen)) {
	r := load.Seen{Ask: load.Ask{ID: fmt.Sprintf("r%d", len(w.requests)), Output: output, N: 1}, Start: start, End: start + e2e + 0.01, Status: 200, Outcome: load.Finished}
	r.Sequences = []load.Sequence{{First: start + ttft + 0.01, Last: start + e2e + 0.01, Ended: true}}
	for _, c := range change {
		c(&r)
	}
	w.requests = append(w.requests, r)
}

// witnessed adds a request with its span.
func (w *world) witnessed(start, ttft, e2e float64, output int) {
	w.request(start, ttft, e2e, output)
	w.span(start, ttft, e2e, output)
}

// span tells of a sequence of the last request.
func (w *world) span(start, ttft, e2e float64, output int) {
	id := w.requests[len(w.requests)-1].ID
	w.spans = append(w.spans, otlp.Span{ID: "cmpl-" + id + "-0", Start: start, End: start + e2e, TTFT: ttft, E2E: e2e, Queue: 0, Prefill: ttft, Decode: e2e - ttft, Completion: output, Received: start + e2e + 2})
}

func (w *world) truth() *truth {
	if len(w.lives) == 0 {
		w.lives = []life{{Started: -100}}
	}
	return tell(w.requests, w.spans, w.lives)
}

// polled is an exporter that read a page each second from one time to another.
func polled(from, to int) *published {
	p := &published{}
	for s := from; s <= to; s++ {
		p.Polls = append(p.Polls, poll{float64(s), float64(s) + 0.02})
	}
	return p
}

// The changes of a request.
func cancelledAt(end float64) func(*load.Seen) {
	return func(r *load.Seen) {
		r.Outcome, r.End, r.Sequences[0].Ended = load.Cancelled, end, false
	}
}

func cancelledUnseen(r *load.Seen) {
	r.Outcome, r.Status, r.Sequences = load.Cancelled, 0, nil
}

func refusedWith(status int, inside bool) func(*load.Seen) {
	return func(r *load.Seen) {
		r.Outcome, r.Status, r.Inside, r.Sequences = load.Refused, status, inside, nil
	}
}

func ended(o load.Outcome) func(*load.Seen) {
	return func(r *load.Seen) { r.Outcome, r.Sequences[0].Ended = o, false }
}
