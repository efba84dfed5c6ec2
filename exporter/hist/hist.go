// Package hist is the algebra of bucketed histograms: what their counts prove, and never more.
//
// It knows edges and counts, nothing of engines, requests, time or Prometheus. Every answer about values is an
// interval, because a bucket tells that a value lies in (lower edge, upper edge] and nothing else.
package hist

import (
	"fmt"
	"math"
	"slices"
)

// Histogram holds one histogram as flat slices.
//
// Edges are the finite upper bounds, strictly increasing; the overflow bucket (+Inf) is implied. Counts are per
// bucket, not cumulative, and hold len(Edges)+1 numbers. Sum is the sum of the observed values in the unit of the
// edges. The zero Histogram means that the histogram is absent.
//
// Edges are shared between histograms of one layout and are never written to after construction.
type Histogram struct {
	Edges  []float64
	Counts []uint64
	Sum    float64
}

// Known reports whether the histogram is present at all; a present histogram may be empty.
func (h Histogram) Known() bool { return len(h.Counts) > 0 }

// Count is the number of observations.
func (h Histogram) Count() uint64 {
	var n uint64
	for _, c := range h.Counts {
		n += c
	}
	return n
}

// Lower is the exclusive lower edge of bucket i: 0 for the first, since latencies and lengths are not negative.
func (h Histogram) Lower(i int) float64 {
	if i == 0 {
		return 0
	}
	return h.Edges[i-1]
}

// Upper is the inclusive upper edge of bucket i, +Inf for the overflow bucket.
func (h Histogram) Upper(i int) float64 {
	if i == len(h.Edges) {
		return math.Inf(1)
	}
	return h.Edges[i]
}

// Clone returns a histogram that shares nothing but the edges.
func (h Histogram) Clone() Histogram {
	h.Counts = slices.Clone(h.Counts)
	return h
}

// MaxExact is the largest count that a float64 on a page carries exactly, 2^53.
const MaxExact = 1 << 53

// FromCumulative builds a histogram from cumulative counts as a page prints them: one for each finite edge, and the
// last for +Inf. The errors name the edge at fault: edges not strictly increasing, negative or not finite, counts that
// fall as the edge grows, or counts that are not whole numbers in [0, 2^53].
func FromCumulative(edges, cumulative []float64, sum float64) (Histogram, error) {
	if len(cumulative) != len(edges)+1 {
		return Histogram{}, fmt.Errorf("%d cumulative counts for %d finite edges: the +Inf bucket is missing or repeated", len(cumulative), len(edges))
	}
	for i, e := range edges {
		if math.IsNaN(e) || math.IsInf(e, 0) {
			return Histogram{}, fmt.Errorf("edge %v is not finite", e)
		}
		if e < 0 {
			return Histogram{}, fmt.Errorf("edge %v is negative: latencies and lengths are not", e)
		}
		if i > 0 && e <= edges[i-1] {
			return Histogram{}, fmt.Errorf("edge %v follows %v: edges must increase", e, edges[i-1])
		}
	}
	counts := make([]uint64, len(cumulative))
	below := 0.0
	for i, c := range cumulative {
		if !(c >= 0 && c <= MaxExact) || c != math.Trunc(c) {
			return Histogram{}, fmt.Errorf("count %v at le=%v is not a whole number in [0, 2^53]", c, edgeName(edges, i))
		}
		if c < below {
			return Histogram{}, fmt.Errorf("count falls from %v to %v at le=%v: buckets are not cumulative", below, c, edgeName(edges, i))
		}
		counts[i] = uint64(c - below)
		below = c
	}
	return Histogram{Edges: edges, Counts: counts, Sum: sum}, nil
}

func edgeName(edges []float64, i int) any {
	if i == len(edges) {
		return "+Inf"
	}
	return edges[i]
}

// SameEdges reports whether two layouts are equal; layouts that share memory are recognised without a comparison.
func SameEdges(a, b []float64) bool {
	if len(a) != len(b) {
		return false
	}
	if len(a) == 0 || &a[0] == &b[0] {
		return true
	}
	return slices.Equal(a, b)
}

// SharedEdges returns the edges that both layouts have: the only ones at which their counts speak of the same set.
func SharedEdges(a, b []float64) []float64 {
	if SameEdges(a, b) {
		return a
	}
	var shared []float64
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			shared = append(shared, a[i])
			i++
			j++
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	return shared
}

// Coarsen re-buckets onto a subset of the histogram's own edges; counts stay exact because each dropped edge only
// joins two buckets. It panics when an edge of the subset is not the histogram's.
func (h Histogram) Coarsen(subset []float64) Histogram {
	if SameEdges(h.Edges, subset) {
		return h
	}
	counts := make([]uint64, len(subset)+1)
	k := 0
	for i, c := range h.Counts {
		counts[k] += c
		if i < len(h.Edges) && k < len(subset) && h.Edges[i] == subset[k] {
			k++
		}
	}
	if k != len(subset) {
		panic("hist: Coarsen onto edges that the histogram does not have")
	}
	return Histogram{Edges: subset, Counts: counts, Sum: h.Sum}
}

// Delta is what was observed between two readings of one process. Where the layouts differ it speaks at the shared
// edges only; where a reading is absent nothing is known, and so is the delta. ok is false when any count fell: then the
// two readings are not of one process, or one of them is wrong. The sum's difference may be negative (vLLM can observe
// negative intervals); the counts decide.
func Delta(before, after Histogram) (delta Histogram, ok bool) {
	if !before.Known() || !after.Known() {
		return Histogram{}, true
	}
	if !SameEdges(before.Edges, after.Edges) {
		shared := SharedEdges(before.Edges, after.Edges)
		before, after = before.Coarsen(shared), after.Coarsen(shared)
	}
	delta = Histogram{Edges: after.Edges, Counts: make([]uint64, len(after.Counts)), Sum: after.Sum - before.Sum}
	for i, c := range after.Counts {
		if c < before.Counts[i] {
			return Histogram{}, false
		}
		delta.Counts[i] = c - before.Counts[i]
	}
	return delta, true
}

// Accumulate adds counts of the same layout in place. An absent receiver becomes a copy; unequal layouts meet at the
// shared edges, so the result may be coarser but is never wrong.
func (h *Histogram) Accumulate(x Histogram) {
	switch {
	case !x.Known():
		return
	case !h.Known():
		*h = x.Clone()
		return
	case !SameEdges(h.Edges, x.Edges):
		shared := SharedEdges(h.Edges, x.Edges)
		*h, x = h.Coarsen(shared), x.Coarsen(shared)
	}
	for i, c := range x.Counts {
		h.Counts[i] += c
	}
	h.Sum += x.Sum
}

// CountAtMost bounds the number of observations <= x: lower counts the buckets that end at or below x, upper those
// that begin below it. The two are equal exactly when x is an edge (or no observation lies in x's bucket).
func (h Histogram) CountAtMost(x float64) (lower, upper uint64) {
	for i, c := range h.Counts {
		if h.Upper(i) <= x {
			lower += c
		}
		if h.Lower(i) < x || (i == 0 && x >= 0) {
			upper += c
		}
	}
	return lower, upper
}

// Neighbours returns the edges around x: equal to x twice when x is an edge, 0 below the first edge, +Inf above the
// last.
func Neighbours(edges []float64, x float64) (below, above float64) {
	i, found := slices.BinarySearch(edges, x)
	if found {
		return x, x
	}
	above = math.Inf(1)
	if i < len(edges) {
		above = edges[i]
	}
	if i > 0 {
		below = edges[i-1]
	}
	return below, above
}

// Quantile returns the bucket (lower, upper] that holds the order statistic of rank ceil(q*n), 0 < q <= 1: the first
// bucket whose cumulative count reaches the rank. ok is false when there are no observations.
//
// The bucket is all that the counts prove, and they prove it: fewer than rank observations lie at or below lower, at
// least rank at or below upper. (Nearest-rank definition; Hyndman and Fan 1996, type 1.)
func (h Histogram) Quantile(q float64) (lower, upper float64, ok bool) {
	n := h.Count()
	if n == 0 {
		return 0, 0, false
	}
	i := h.rankBucket(Rank(q, n))
	return h.Lower(i), h.Upper(i), true
}

// rankBucket is the bucket that holds the observation of a rank, 1 <= rank <= count.
func (h Histogram) rankBucket(rank uint64) int {
	var cumulative uint64
	for i, c := range h.Counts {
		if cumulative += c; cumulative >= rank {
			return i
		}
	}
	return len(h.Counts) - 1
}

// Rank is ceil(q*n), at least 1 and at most n, for 0 < q <= 1. A tolerance of two roundings, that of q and that of
// q*n, keeps 0.99 of 100 at the 99th observation, not the 100th; up to 2^50 observations it is less than one.
func Rank(q float64, n uint64) uint64 {
	x := q * float64(n)
	r := math.Ceil(x - math.Max(1e-9, x*4e-16))
	return uint64(math.Max(1, math.Min(r, float64(n))))
}
