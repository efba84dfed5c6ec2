package slo

import (
	"math"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
)

// A bound is computed in one of two worlds. Each replaces the thresholds by edges of the layout at hand, so that the
// counts of the world are exact, and each errs to one side only: what qualifies in the strict world qualifies in
// truth, and what qualifies in truth qualifies in the lenient world.
type world int

const (
	strict  world = iota // for lower bounds: thresholds fall to the edge at or below
	lenient              // for upper bounds: thresholds rise to the edge at or above
	worlds
)

// edgeTolerance is the relative distance at which a threshold and an edge are the same number: far above the rounding
// of decimal fractions and far below any step between edges.
const edgeTolerance = 1e-9

func atMost(edge, x float64) bool  { return edge <= x+edgeTolerance*math.Abs(x) }
func atLeast(edge, x float64) bool { return edge >= x-edgeTolerance*math.Abs(x) }

// at is the edge that stands for threshold x in a world and the number of observations at or below it: 0 and none
// where no edge is low enough, +Inf and all where none is high enough.
func (w world) at(h hist.Histogram, x float64) (edge float64, count uint64) {
	if w == strict {
		for i, e := range h.Edges {
			if !atMost(e, x) {
				break
			}
			edge, count = e, count+h.Counts[i]
		}
		return edge, count
	}
	for i, c := range h.Counts {
		count += c
		if edge = h.Upper(i); atLeast(edge, x) {
			break
		}
	}
	return edge, count
}

// passing bounds how many of a slice's n finishers meet all finish-time clauses, from the marginal count of each
// (Fréchet 1935): in the strict world at least max(0, sum of passes - (k-1) n), in the lenient one at most the fewest.
// All n pass when there is no such clause.
func (w world) passing(s *Slice, clauses []Clause) uint64 {
	n := s.Finished
	if w == lenient {
		most := n
		for _, c := range clauses {
			if c.Metric != fact.TTFT {
				_, passed := w.at(s.Histograms[c.Metric], c.Threshold)
				most = min(most, passed)
			}
		}
		return most
	}
	var failed uint64
	for _, c := range clauses {
		if c.Metric != fact.TTFT {
			_, passed := w.at(s.Histograms[c.Metric], c.Threshold)
			failed += n - min(n, passed)
		}
	}
	return n - min(n, failed)
}

// certainlySlow is the least number of a slice's finishers whose first token came later than a, since
// TTFT >= queue + prefill (the engine's part of it) and q > u, p > v with u + v >= a leaves no other way:
// at least #(q > u) + #(p > v) - n of them, the largest over pairs of edges.
func certainlySlow(s *Slice, a float64) uint64 {
	queue, prefill := s.Histograms[fact.Queue], s.Histograms[fact.Prefill]
	if math.IsInf(a, 1) || !queue.Known() || !prefill.Known() {
		return 0
	}
	n, most := s.Finished, heavy(s, a)
	over := n // finishers with q > u; all of them for u below the first edge
	for i := -1; i < len(queue.Edges); i++ {
		u := 0.0
		if i >= 0 {
			u, over = queue.Edges[i], over-min(over, queue.Counts[i])
		}
		rest := n
		for k := -1; k < len(prefill.Edges); k++ {
			v := 0.0
			if k >= 0 {
				v, rest = prefill.Edges[k], rest-min(rest, prefill.Counts[k])
			}
			if u+v >= a {
				most = max(most, over+rest-min(n, over+rest))
				break
			}
		}
	}
	return most
}

// heavy is the least number of a slice's finishers whose queue and prefill took longer than a together: what the sums
// hold above a for everyone must be carried by those, and none carries more than the longest of both.
func heavy(s *Slice, a float64) uint64 {
	queue, prefill := refine(s.Histograms[fact.Queue], s.Aborted), refine(s.Histograms[fact.Prefill], s.Aborted)
	excess := queue.h.Sum + prefill.h.Sum - float64(s.Finished)*a
	each := queue.longest() + prefill.longest() - a
	if queue.off || prefill.off || !(excess > sumError) || !(each > 0) {
		return 0
	}
	return min(s.Finished, uint64(math.Ceil((excess-sumError)/each)))
}

// possiblySlow is the greatest number of a slice's finishers whose first token came later than a > 0, by Markov's
// inequality on two sums over the slice's finishers. With T = e2e - decode up to jitter seconds a finisher:
//
//	#(T > a) <= sum T / a
//	#(T > a) <= n - #(q <= u and p <= v) + sum (T - q - p) / (a - u - v)   for edges with u + v < a
//
// since whoever is slow with a small queue and prefill time spent more than a - u - v in the front end, where everyone
// spends at least 0. Aborted sequences may carry any values, so a slice that has them proves nothing.
func possiblySlow(s *Slice, a, jitter float64) uint64 {
	e2e, decode := refine(s.Histograms[fact.E2E], s.Aborted), refine(s.Histograms[fact.Decode], s.Aborted)
	n := s.Finished
	if a <= 0 || e2e.off || decode.off || !e2e.h.Known() || !decode.h.Known() {
		return n
	}
	total := e2e.h.Sum - decode.h.Sum + float64(n)*jitter
	most := min(n, wholes(total/a))
	queue, prefill := s.Histograms[fact.Queue], s.Histograms[fact.Prefill]
	if !queue.Known() || !prefill.Known() {
		return most
	}
	overhead := total - queue.Sum - prefill.Sum
	var short uint64
	for i, u := range queue.Edges {
		if short += queue.Counts[i]; u >= a {
			break
		}
		var quick uint64
		for k, v := range prefill.Edges {
			if quick += prefill.Counts[k]; u+v >= a {
				break
			}
			both := short + quick - min(n, short+quick)
			most = min(most, n-min(n, both)+wholes(overhead/(a-u-v)))
		}
	}
	return most
}

// wholes is the largest whole number not above x; a millionth is forgiven, for sums are rounded on their way. What is
// not a number bounds nothing.
func wholes(x float64) uint64 {
	switch {
	case !(x < Unlimited):
		return Unlimited
	case x <= 0:
		return 0
	}
	return uint64(x + 1e-6)
}

// Violations bounds the finished sequences (for TTFT: the first tokens) of the window's own slices that exceed the
// threshold of one clause: a marginal. The two are equal where the threshold is an edge of the layout. Slices that
// lack the histogram add nothing to either.
func Violations(w Window, clause Clause) (lower, upper uint64) {
	for i := w.First; i < len(w.Slices); i++ {
		h := w.Slices[i].Histograms[clause.Metric]
		n := h.Count()
		_, most := lenient.at(h, clause.Threshold)
		_, fewest := strict.at(h, clause.Threshold)
		lower, upper = lower+n-most, upper+n-fewest
	}
	return lower, upper
}
