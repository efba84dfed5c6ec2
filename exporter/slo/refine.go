package slo

import (
	"math"

	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
)

// refined tells the range of one observation by its bucket and by the sum over all: the others lie within their own
// buckets, so what the sum leaves over for this one is bounded too. A single observation is known exactly, and a long
// one among short ones nearly so, where vLLM's default buckets are 10 s wide and more.
type refined struct {
	h           hist.Histogram
	least, most float64 // sums of the lower edges, and of the finite upper edges
	open        uint64  // observations in the overflow bucket
	off         bool    // the sum says nothing
}

// sumError is what rounding may have done to the difference of two sums on pages, seconds: sums of years of decode
// time still resolve a microsecond.
const sumError = 1e-4

// refine prepares a histogram of values that are not negative. An aborted sequence may carry any value, so where there
// are some only the buckets speak; and so they do where the sum contradicts them.
func refine(h hist.Histogram, aborted uint64) refined {
	r := refined{h: h, off: aborted > 0}
	for i, c := range h.Counts {
		r.least += float64(c) * h.Lower(i)
		if i == len(h.Edges) {
			r.open = c
		} else {
			r.most += float64(c) * h.Upper(i)
		}
	}
	if !(h.Sum >= r.least-sumError) || r.open == 0 && h.Sum > r.most+sumError {
		r.off = true
	}
	return r
}

// bucket is the range of an observation in bucket i, which must not be empty.
func (r *refined) bucket(i int) (lower, upper float64) {
	lower, upper = r.h.Lower(i), r.h.Upper(i)
	if r.off {
		return lower, upper
	}
	others := r.most // the most that all others can hold
	switch open := i == len(r.h.Edges); {
	case open && r.open > 1 || !open && r.open > 0:
		others = math.Inf(1)
	case !open:
		others -= upper
	}
	return max(lower, r.h.Sum-others-sumError), min(upper, r.h.Sum-(r.least-lower)+sumError)
}

// longest is what no observation exceeds; 0 when there is none.
func (r *refined) longest() float64 {
	for i := len(r.h.Counts) - 1; i >= 0; i-- {
		if r.h.Counts[i] > 0 {
			_, upper := r.bucket(i)
			return upper
		}
	}
	return 0
}
