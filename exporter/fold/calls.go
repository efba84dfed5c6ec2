package fold

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// calls is how the sequences of a window are of calls, and calls of requests that their callers tried more than once.
//
// The n sequences of one call share its id and its place in the caller's trace: they are one attempt. Calls of one trace
// whose prompts are equally long are attempts of one request: who tries again sends the same prompt, and the steps of an
// agent seldom have as many tokens. An engine that is called without a trace begins one for each sequence, so there only
// the id of the call tells. Attempts in two windows are two requests, and so are calls of one trace that began together,
// such as the prompts of a batch: no one tries again before there was a first.
type calls struct {
	attempts, logical uint64
	of                []attempt // of the window's spans, in their order
}

// attempt is what the call of a sequence is to its request.
type attempt struct {
	superseded bool    // a later one came
	waited     float64 // seconds for which the caller had waited when it began, since the first began
}

// together is the time within which calls began together, in seconds: what reading the clock for each of a batch takes.
const together = 1e-3

// calls sorts the window's own spans into calls.
func (g *sighting) calls() *calls {
	if g.grouped != nil {
		return g.grouped
	}
	order := make([]int32, len(g.own))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return compareCalls(g.own[a], g.own[b]) })
	c := &calls{of: make([]attempt, len(g.own))}
	for rest := order; len(rest) > 0; {
		n := leading(rest, func(a, b int32) bool { return sameRequest(g.own[a], g.own[b]) })
		c.group(g.own, rest[:n])
		rest = rest[n:]
	}
	g.grouped = c
	return c
}

// group tells the attempts of one request apart, or of several that began together, and counts both.
func (c *calls) group(own []*waitingSpan, sequences []int32) {
	first, last := own[sequences[0]].start(), own[sequences[0]].start()
	for _, i := range sequences {
		first, last = min(first, own[i].start()), max(last, own[i].start())
	}
	for len(sequences) > 0 {
		n := leading(sequences, func(a, b int32) bool { return compareCalls(own[a], own[b]) == 0 })
		began := own[sequences[0]].start()
		for _, i := range sequences[:n] {
			began = min(began, own[i].start())
		}
		a := attempt{superseded: began < last-together, waited: began - first}
		for _, i := range sequences[:n] {
			c.of[i] = a
		}
		sequences = sequences[n:]
		c.attempts++
		if !a.superseded {
			c.logical++
		}
	}
}

// leading is how many items from the first on belong together.
func leading(items []int32, same func(a, b int32) bool) int {
	n := 1
	for n < len(items) && same(items[0], items[n]) {
		n++
	}
	return n
}

func (w *waitingSpan) start() float64 { return w.End - w.E2E }

// traced reports whether the caller told what its call is part of.
func (w *waitingSpan) traced() bool { return w.parent != [8]byte{} && w.trace != [16]byte{} }

// compareCalls orders spans so that those of one request are together, and among them those of one call.
func compareCalls(a, b *waitingSpan) int {
	switch traced := a.traced(); {
	case traced != b.traced():
		if traced {
			return 1
		}
		return -1
	case traced:
		return cmp.Or(bytes.Compare(a.trace[:], b.trace[:]), cmp.Compare(a.PromptTokens, b.PromptTokens),
			bytes.Compare(a.parent[:], b.parent[:]), strings.Compare(a.call, b.call))
	case a.call != "" || b.call != "":
		return strings.Compare(a.call, b.call)
	}
	return cmp.Or(bytes.Compare(a.trace[:], b.trace[:]), bytes.Compare(a.id[:], b.id[:]))
}

// sameRequest reports whether two spans are of attempts of one request.
func sameRequest(a, b *waitingSpan) bool {
	if a.traced() && b.traced() {
		return a.trace == b.trace && a.PromptTokens == b.PromptTokens
	}
	return compareCalls(a, b) == 0
}
