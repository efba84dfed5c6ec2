package main

import (
	"math"
	"slices"
)

// targets are the SLOs of which the goodput share is compared, seconds.
var targets = []struct{ ttft, tpot float64 }{{0.25, 0.025}, {0.1, 0.025}, {0.5, 0.025}}

// span is a part of the recording: the requests that arrived in it.
type span struct {
	from, to float64 // unix seconds
	fitted   bool    // it lies in the half that the constants were fitted on
}

// spans are the load's steps; the one that holds the middle is two.
func (r *recording) spans() []span {
	var out []span
	for i, a := range r.asked {
		if i > 0 && a.Phase <= len(out)-1 { // requests of two steps may arrive out of order by a few ms
			continue
		}
		if len(out) > 0 {
			out[len(out)-1].to = a.At
		}
		out = append(out, span{from: a.At, to: math.Inf(1)})
	}
	out[len(out)-1].to = math.Nextafter(r.end, math.Inf(1))
	i := slices.IndexFunc(out, func(s span) bool { return s.from < r.middle() && r.middle() < s.to })
	late := out[i]
	out[i].to, late.from = r.middle(), r.middle()
	out = slices.Insert(out, i+1, late)
	for j := range out {
		out[j].fitted = j <= i
	}
	return out
}

// second is the half that is predicted.
func (r *recording) second() span {
	return span{from: r.middle(), to: math.Nextafter(r.end, math.Inf(1))}
}

// offered is the load of a span in requests per second, bad ones included.
func (r *recording) offered(s span) float64 {
	n := 0
	for _, a := range r.asked {
		if a.At >= s.from && a.At < s.to {
			n++
		}
	}
	return float64(n) / (s.to - s.from)
}

// summary is what is compared of a span. Shares, seconds, and per second.
type summary struct {
	goodput        [3]float64 // share of the finished sequences that meet both clauses, by target
	ttft50, ttft95 float64
	tpot50, tpot95 float64
	finished       float64 // sequences that ended in the span
	tokens         float64 // output tokens of theirs
}

// summarise looks at the sequences of the requests that arrived in a span, and for what was finished per second at those
// that ended in it.
func summarise(all []outcome, s span) summary {
	var ttft, tpot []float64
	var out summary
	var good [3]int
	for _, o := range all {
		if o.ended >= s.from && o.ended < s.to {
			out.finished += 1 / (s.to - s.from)
			out.tokens += float64(o.output) / (s.to - s.from)
		}
		if o.arrived < s.from || o.arrived >= s.to {
			continue
		}
		ttft = append(ttft, o.ttft)
		if o.output > 1 {
			tpot = append(tpot, o.tpot())
		}
		for i, t := range targets {
			if o.ttft <= t.ttft && o.tpot() <= t.tpot {
				good[i]++
			}
		}
	}
	for i, n := range good {
		out.goodput[i] = float64(n) / float64(len(ttft))
	}
	out.ttft50, out.ttft95 = quantile(ttft, 0.5), quantile(ttft, 0.95)
	out.tpot50, out.tpot95 = quantile(tpot, 0.5), quantile(tpot, 0.95)
	return out
}

// prediction is a number of the simulator: one from each world.
type prediction []float64

func (p prediction) mean() float64 {
	sum := 0.0
	for _, v := range p {
		sum += v
	}
	return sum / float64(len(p))
}

// predict takes one number out of every world.
func predict(worlds [][]outcome, s span, of func(summary) float64) (p prediction) {
	for _, w := range worlds {
		p = append(p, of(summarise(w, s)))
	}
	return p
}

// quantile is the smallest value that at least a share q of all do not exceed.
func quantile(x []float64, q float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(x))
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}
