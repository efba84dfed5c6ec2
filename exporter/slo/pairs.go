package slo

import (
	"cmp"
	"math"
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// ending is one decode bucket of one finish slice: count sequences that had their first token at reach or later.
type ending struct {
	reach float64
	count uint64
}

// pairs bounds the window without asking who fits whom: in the strict world from below, in the lenient from above.
// It pairs each suspect with a finisher on its own, in time proportional to slices and buckets.
//
// Lower: a finisher that passes the finish-time clauses but does not qualify is slow, or it was aborted before its
// first token. Slow ones number at most possiblySlow in each slice, and altogether at most the slow first tokens of the
// window plus those of earlier slices that are carried into it. So lower = passed - min(of the two).
//
// Upper: whoever qualifies passes, has queue and prefill buckets that begin below the threshold, is not certainlySlow,
// and had its first token in time within the window or was carried into it.
//
// Carried: a finisher with an earlier first token has a decode bucket that reaches back to it. Buckets that reach back
// to an old slice reach back to all younger ones too, so taking the oldest slices first, each from what reaches it and
// is still free, is the greatest matching (nested sets).
func (j *Judge) pairs() uint64 {
	v := &j.view
	var perSlice, within uint64
	for i := range j.w.own() {
		s := &j.w.own()[i]
		if v.world == strict {
			perSlice += min(v.passing[i], possiblySlow(s, v.leastEdge, j.past.jitter))
			within += s.Aborted
		} else {
			quick := min(startsBelow(s, fact.Queue, v.greatestEdge), startsBelow(s, fact.Prefill, v.greatestEdge))
			perSlice += min(v.passing[i], quick, s.Finished-certainlySlow(s, v.greatestEdge))
		}
	}
	for k := range v.sources {
		if s := &v.sources[k]; s.first >= j.w.First {
			within += v.of(s)
		}
	}
	suspects := min(perSlice, within+j.carried())
	if v.world == strict {
		return v.passed - min(v.passed, suspects)
	}
	return suspects
}

// of is a source's first tokens of the type that the world doubts: slow ones against the lower bound, those in time
// for the upper.
func (v *view) of(s *source) uint64 {
	if v.world == strict {
		return s.slow
	}
	return s.good
}

// startsBelow counts a slice's finishers whose bucket begins below x; all of them without the histogram.
func startsBelow(s *Slice, f fact.Family, x float64) uint64 {
	h := &s.Histograms[f]
	if !h.Known() {
		return s.Finished
	}
	var n uint64
	for i, c := range h.Counts {
		if i > 0 && h.Lower(i) >= x {
			break
		}
		n += c
	}
	return n
}

// carried is the most finishers of the window whose first token, of the type that the world doubts, came before it.
func (j *Judge) carried() uint64 {
	j.endings = j.endings[:0]
	for i := range j.w.own() {
		s := &j.w.own()[i]
		h := &s.Histograms[fact.Decode]
		if !h.Known() {
			j.endings = append(j.endings, ending{math.Inf(-1), s.Finished})
		}
		r := refine(*h, s.Aborted)
		for k, c := range h.Counts {
			if c > 0 {
				_, upper := r.bucket(k)
				j.endings = append(j.endings, ending{s.Lo - upper - j.past.jitter, c})
			}
		}
	}
	slices.SortFunc(j.endings, func(a, b ending) int { return cmp.Compare(a.reach, b.reach) })
	var free, carried uint64
	next := 0
	take := func(most uint64, until float64) {
		for ; next < len(j.endings) && j.endings[next].reach <= until; next++ {
			free += j.endings[next].count
		}
		most = min(most, free)
		free, carried = free-most, carried+most
	}
	// Old first tokens were on the page before Slices[0], which had been received when the next one was.
	take(j.past.old, j.w.Slices[0].Hi)
	for k := range j.view.sources {
		if s := &j.view.sources[k]; s.first < j.w.First {
			take(j.view.of(s), s.hi)
		}
	}
	return carried
}
