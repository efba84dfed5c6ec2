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

	FirstTokens uint64 // observations of TTFT
	Finished    uint64 // observations of the finish-time families, all equal on an untorn page
	Aborted     uint64 // of Finished: with finish reason abort, which may have had no first token

	Running, Waiting fact.Number // at the later page
	Preempted        bool        // the preemption counter moved

	Histograms [fact.NumFamilies]hist.Histogram
}

// Unlimited is a capacity that binds nothing.
const Unlimited = math.MaxInt32

// Window is one judgement window of one rank with the slices before it that may still matter: a sequence that
// finishes in the window may have had its first token earlier.
type Window struct {
	Slices []Slice // in time order, without a gap; look-back first
	First  int     // index of the window's first slice
	// Old bounds the sequences that were in flight when Slices[0] began and whose first token is in no slice:
	// 0 for a process judged since its birth, Unlimited when nothing is known.
	Old uint64
}

// Method says how an interval was obtained.
type Method string

// The methods, best first.
const (
	MethodExplain  Method = "explain"  // the explain network, intersected with the pair bounds
	MethodPairs    Method = "pairs"    // the pair bounds alone
	MethodMarginal Method = "marginal" // from [0, fewest that pass one finish-time clause]
)

// Bounds is the number of sequences of a window that meet all clauses: Lower <= truth <= Upper.
type Bounds struct {
	Lower, Upper uint64
	Method       Method
	Note         string // why a better method was not used; "" when the best was
}
