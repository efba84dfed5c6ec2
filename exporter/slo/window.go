package slo

import (
	"math"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
)

// Slice is what one accepted page added to the page before it, for one rank. Lo and Hi bound when: from the sending
// of the earlier request to the receipt of the later page, unix seconds.
type Slice struct {
	Lo, Hi float64
	Took   float64 // seconds that the later page took to be served

	FirstTokens uint64 // observations of TTFT
	Finished    uint64 // observations of the finish-time families, all equal on an untorn page
	Aborted     uint64 // of Finished: with finish reason abort, which may have had no first token; they never qualify

	Running, Waiting fact.Number // at the later page
	Preempted        bool        // the preemption counter moved, or there is none

	Histograms [fact.NumFamilies]hist.Histogram
}

// Unlimited is a capacity that binds nothing.
const Unlimited = math.MaxInt32

// leastJitter is the least allowance, in seconds, for what two clocks tell of the time between a sequence's first and
// last token: the engine core's (the decode histogram) and the front end's (the polls, and e2e minus TTFT), which notes
// tokens when its event loop gets to them. On recorded engines the two differed by up to 48 ms while pages were served
// in up to 0.1 s, and by up to 0.28 s while pages took up to 0.55 s: the same loop serves the pages. So the allowance
// is the longest that a page of the window or its look-back took, and this much at least, for a loop that is late
// between polls only.
const leastJitter = 0.15

// Window is one judgement window of one rank with the slices before it that may still matter: a sequence that
// finishes in the window may have had its first token earlier.
type Window struct {
	Slices []Slice // in time order, without a gap; look-back first
	First  int     // index of the window's first slice
	// Old bounds the sequences that were in flight when Slices[0] began and whose first token is in no slice:
	// 0 for a process judged since its birth, Unlimited when nothing is known.
	Old uint64
}

// own are the slices of the window itself, without the look-back.
func (w Window) own() []Slice { return w.Slices[w.First:] }

// Method says how an interval was obtained.
type Method string

// The methods, best first.
const (
	MethodExplain  Method = "explain"  // the explain network, intersected with the pair bounds
	MethodFinish   Method = "finish"   // every clause is judged at the finish: Fréchet bounds per slice; nothing better exists
	MethodPairs    Method = "pairs"    // the pair bounds alone
	MethodMarginal Method = "marginal" // from [0, fewest that pass one finish-time clause]
)

// Bounds is the number of sequences of a window that meet all clauses: Lower <= truth <= Upper.
//
// Without a Method the window cannot be judged at all: Note says why, and the interval is what holds without evidence.
type Bounds struct {
	Lower, Upper uint64
	Method       Method
	Note         string // why a better method was not used; "" when the best was
}

// The notes, beside "no <family> histogram": a closed set, so that they can be counted by name.
const (
	NoteNoLatency     = "clause on something that is not a latency of a sequence"
	NoteTorn          = "histograms of one page count different numbers of sequences"
	NoteContradiction = "the first tokens on the pages cannot explain every finished sequence"
	NoteDisjoint      = "the two methods exclude each other"
	NoteTooLarge      = "too many slices for the network"
)
