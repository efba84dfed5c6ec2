package hist

import (
	"fmt"
	"math"
	"slices"
)

// Native is a histogram of the values themselves on Prometheus's exponential buckets: bucket i of schema s holds the
// values in (base^(i-1), base^i] with base = 2^(2^-s). The zero Native counts nothing; NewNative makes one that does.
//
// Source: the native histogram specification of Prometheus, https://prometheus.io/docs/specs/native_histograms/.
type Native struct {
	Schema        int32
	ZeroThreshold float64 // values up to it are counted in Zero
	Zero          uint64
	First         int32    // index of Buckets[0]
	Buckets       []uint64 // not cumulative
	Sum           float64
	Count         uint64
}

// The one layout that is made here. Schema 3 has eight buckets for each doubling, so a bucket's edges are 9 % apart:
// what client_golang takes for a bucket factor of 1.1. What is shorter than a microsecond is 0, for that is the grain
// of the clocks from whose readings a latency is the difference; what is longer than a million seconds, 11 days, is no
// latency. Between the two lie 320 buckets, so no observation can make a histogram larger than that.
const (
	nativeSchema = 3
	nativeZero   = 1e-6
	nativeMost   = 1e6
)

// nativeEdges are the upper edges of the buckets of schema 3 in (0.5, 1], each shifted by one place: the edge below a
// bucket is its own entry's predecessor. They are Prometheus's numbers to the last bit, which is not everywhere the
// nearest to a power of two, for a value on an edge must fall into the bucket that others put it in.
//
// Source: nativeHistogramBounds in prometheus/histogram.go of client_golang 1.25.0, exponentialBounds of Prometheus.
var nativeEdges = [1 << nativeSchema]float64{
	0.5, 0.5452538663326288, 0.5946035575013605, 0.6484197773255048,
	0.7071067811865475, 0.7711054127039704, 0.8408964152537144, 0.9170040432046711,
}

// NewNative returns an empty histogram.
func NewNative() Native { return Native{Schema: nativeSchema, ZeroThreshold: nativeZero} }

// Observe counts a value, in seconds, and reports whether it did: what is negative, no number, or longer than a million
// seconds is left out. On a Native that NewNative did not make nothing is counted.
func (n *Native) Observe(v float64) bool {
	if !(v >= 0 && v <= nativeMost) || n.Schema != nativeSchema {
		return false
	}
	n.Count++
	n.Sum += v
	if v <= n.ZeroThreshold {
		n.Zero++
		return true
	}
	i := nativeIndex(v)
	n.reach(i, i)
	n.Buckets[i-n.First]++
	return true
}

// nativeIndex is the index of the bucket that holds v > 0.
func nativeIndex(v float64) int32 {
	frac, exp := math.Frexp(v)
	place := 0
	for place < len(nativeEdges) && nativeEdges[place] < frac {
		place++
	}
	return int32(place + (exp-1)*len(nativeEdges))
}

// nativeUpper is the upper edge of bucket i.
func nativeUpper(i int32) float64 {
	return math.Ldexp(nativeEdges[i&(1<<nativeSchema-1)], int(i>>nativeSchema)+1)
}

// Bounds returns the edges of the bucket with index i, which is that of Buckets[i-First]: it holds the values in
// (lower, upper], but for those that are counted in Zero.
func (n *Native) Bounds(i int32) (lower, upper float64) {
	return max(nativeUpper(i-1), n.ZeroThreshold), nativeUpper(i)
}

// reach makes room for the buckets from first to last.
func (n *Native) reach(first, last int32) {
	if len(n.Buckets) == 0 {
		n.First = first
		n.Buckets = append(n.Buckets, make([]uint64, last-first+1)...)
		return
	}
	if first < n.First {
		n.Buckets = slices.Concat(make([]uint64, n.First-first), n.Buckets)
		n.First = first
	}
	if missing := int(last-n.First) + 1 - len(n.Buckets); missing > 0 {
		n.Buckets = append(n.Buckets, make([]uint64, missing)...)
	}
}

// Clone returns a histogram that shares nothing with this one.
func (n *Native) Clone() Native {
	out := *n
	out.Buckets = slices.Clone(n.Buckets)
	return out
}

// Add counts what x has counted too. Histograms with other buckets are refused, and then nothing is added.
func (n *Native) Add(x *Native) error {
	if n.Schema != x.Schema || n.ZeroThreshold != x.ZeroThreshold {
		return fmt.Errorf("a native histogram of schema %d with zero up to %v cannot be added to one of schema %d with zero up to %v: their buckets differ",
			x.Schema, x.ZeroThreshold, n.Schema, n.ZeroThreshold)
	}
	n.Count += x.Count
	n.Sum += x.Sum
	n.Zero += x.Zero
	if len(x.Buckets) == 0 {
		return nil
	}
	n.reach(x.First, x.First+int32(len(x.Buckets))-1)
	for i, c := range x.Buckets {
		n.Buckets[x.First-n.First+int32(i)] += c
	}
	return nil
}

// CountAtMost bounds the number of observations <= x, as Histogram.CountAtMost does; the two are equal where x is an
// edge.
func (n *Native) CountAtMost(x float64) (lower, upper uint64) {
	if x >= 0 {
		upper += n.Zero
	}
	if x >= n.ZeroThreshold {
		lower += n.Zero
	}
	for k, c := range n.Buckets {
		below, above := n.Bounds(n.First + int32(k))
		if above <= x {
			lower += c
		}
		if below < x {
			upper += c
		}
	}
	return lower, upper
}

// BucketSpan is a run of buckets in the form that Prometheus's protocol gives them.
type BucketSpan struct {
	Offset int32  // of its first bucket: the index in the first span, in others the buckets left out since the one before
	Length uint32 // buckets
}

// smallGap is how many empty buckets are written out rather than ending a span: two zeros take less room than a span.
// client_golang holds it likewise.
const smallGap = 2

// Sparse returns the buckets in the form that Prometheus's protocol gives them: spans of buckets, and for each bucket in
// them its count less that of the one before.
func (n *Native) Sparse() (spans []BucketSpan, deltas []int64) {
	before := int64(0)
	write := func(count int64) {
		spans[len(spans)-1].Length++
		deltas = append(deltas, count-before)
		before = count
	}
	next := int32(0) // index after the last bucket written
	for k, c := range n.Buckets {
		if c == 0 {
			continue
		}
		i := n.First + int32(k)
		if len(spans) == 0 || i-next > smallGap {
			spans = append(spans, BucketSpan{Offset: i - next})
			next = i
		}
		for ; next < i; next++ {
			write(0)
		}
		write(int64(c))
		next = i + 1
	}
	return spans, deltas
}
