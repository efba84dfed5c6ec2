package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// measured is what can be read off the first half without a simulator.
type measured struct {
	lone     int     // sequences that had the engine to themselves until their first token
	overhead float64 // seconds, mean
	noise    float64 // sigma of a step's logarithm
}

// measure reads overhead and noise off the sequences that found the engine idle and had it to themselves until their first
// token. Of TTFT, queue and prefill time an engine records, the rest of TTFT is the front end's then: an arrival at a busy
// engine would also wait for the step under way. And their prefill is a single step without decoding sequences, so its
// time is a straight line in the prompt's tokens, times the noise of one step.
func measure(r *recording, finished []outcome) (measured, error) {
	var alone []outcome
	for _, o := range finished {
		if r.alone(o) {
			alone = append(alone, o)
		}
	}
	m := measured{lone: len(alone)}
	if m.lone < 10 {
		return m, errors.New("fewer than ten sequences had the engine to themselves: overhead and noise cannot be measured")
	}
	for _, o := range alone {
		m.overhead += (o.ttft - o.queue - o.prefill) / float64(m.lone)
	}
	line := newSystem(2)
	for _, o := range alone { // relative errors: a long step's are larger
		line.add(1/(o.prefill*o.prefill), o.prefill, 1, float64(o.prompt))
	}
	x := line.solve()
	if x[0] <= 0 || x[1] <= 0 {
		return m, fmt.Errorf("the prefill times of lone sequences are no rising line: %v s + %v s a token", x[0], x[1])
	}
	for _, o := range alone {
		d := math.Log(o.prefill / (x[0] + x[1]*float64(o.prompt)))
		m.noise += d * d / float64(m.lone)
	}
	m.noise = math.Sqrt(m.noise)
	return m, nil
}

// alone reports whether no other request was there between a little before a sequence's arrival and its first token. The
// margin, 10 ms, is more than clocks of client and engine differ.
func (r *recording) alone(o outcome) bool {
	const margin = 0.01
	return r.asked[o.request].N == 1 && !slices.ContainsFunc(r.asked, func(a asked) bool {
		return a.ID != r.asked[o.request].ID && a.At < o.arrived+o.ttft+margin && r.left(a) > o.arrived-margin
	})
}
