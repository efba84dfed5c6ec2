package main

import (
	"math"
	"slices"

	"github.com/goodput-exporter/goodput-exporter/test/live/load"
)

// ranked is a published percentile beside the order statistics of the engine and of the client.
type ranked struct {
	quantile
	engine [2]float64 // between these the engine's own value lies: they differ by the observations near the window's edges
	client float64    // the client's value, NaN when it saw none
	n      [2]int     // observations that lie in the window: at least and at most
}

// holds reports whether the published interval can hold the truth.
func (r *ranked) holds() bool {
	return r.Quantile.Lower < r.engine[1] && r.engine[0] <= float64(r.Quantile.Upper)
}

// counts reports whether the published number of observations can be true.
func (r *ranked) counts() bool {
	return r.n[0] <= int(r.Quantile.Count) && int(r.Quantile.Count) <= r.n[1]
}

// observation is one value of a latency: when the engine noted it, and what it lies between.
type observation struct {
	at          float64
	least, most float64
	fromEngine  bool
	doubtful    bool // there may be no such observation
}

// observations of a metric by the engine, or by the client where the engine said nothing. It is false for a metric of
// which neither says enough, such as the gaps between tokens.
func (t *truth) observations(metric string) ([]observation, bool) {
	var out []observation
	for i := range t.sequences {
		if o, ok := t.sequences[i].observe(metric); ok {
			out = append(out, o)
		}
	}
	switch metric {
	case "ttft":
		return append(out, t.cutShort()...), true
	case "tpot", "e2e", "queue", "prefill", "decode", "inference":
		return out, true
	}
	return nil, false
}

// observe is what one finished sequence adds to a metric.
func (s *sequence) observe(metric string) (observation, bool) {
	o := observation{at: s.end, fromEngine: s.fromEngine}
	v := math.NaN()
	switch metric {
	case "ttft":
		v, o.at = s.ttft, s.end-s.e2e+s.ttft // the first token's time
	case "tpot":
		v = s.tpot
		if !s.hasTPOT {
			return o, false
		}
	case "e2e":
		v = s.e2e
	case "queue", "prefill", "decode", "inference":
		if s.span == nil { // no client sees the parts of its answer's time
			o.least, o.most = 0, s.e2e
			return o, true
		}
		v = map[string]float64{"queue": s.span.Queue, "prefill": s.span.Prefill, "decode": s.span.Decode, "inference": s.span.Prefill + s.span.Decode}[metric]
	}
	o.least, o.most = v, v
	if !s.fromEngine {
		o.least, o.most = max(0, v-firstLate), v
		if metric == "tpot" {
			o.least, o.most = v*(1-tpotApart), v*(1+tpotApart)
		}
	}
	return o, true
}

// cutShort are the first tokens of sequences that did not finish: the engine observes them and sends no span. Of a client
// that hung up before it saw one, the engine may have produced one all the same.
func (t *truth) cutShort() (out []observation) {
	for i := range t.requests {
		r := &t.requests[i]
		for _, q := range r.Sequences {
			if !q.Ended {
				v := r.TTFT(q)
				out = append(out, observation{at: q.First, least: max(0, v-firstLate), most: v})
			}
		}
		if r.Outcome == load.Cancelled {
			for range r.N - max(len(r.Sequences), t.told[r.ID]) {
				out = append(out, observation{at: r.End, least: 0, most: r.End - r.Start + firstLate, doubtful: true})
			}
		}
	}
	return out
}

// judgePercentiles puts the published percentiles beside the truth; those of which the truth is not known are left out
// and counted.
func judgePercentiles(t *truth, p *published, all []quantile) (out []ranked, unknown int) {
	for _, q := range all {
		observed, known := t.observations(q.Quantile.Metric)
		if !known {
			unknown++
			continue
		}
		r := ranked{quantile: q, client: clientQuantile(t, q)}
		r.judge(t, p, observed)
		out = append(out, r)
	}
	return out, unknown
}

// judge finds between which values the order statistic lies. Of the observations that may be in the window or not, as many
// are in it as the published count says beyond those that certainly are: the lowest of them, or the highest.
func (r *ranked) judge(t *truth, p *published, all []observation) {
	from, to := poll{r.Quantile.Start, p.received(r.Quantile.Start)}, poll{r.Quantile.End, p.received(r.Quantile.End)}
	if born, ok := t.birthBefore(p, r.Quantile.Start); ok {
		from = poll{born, born}
	}
	var inLeast, inMost, edgeLeast, edgeMost []float64
	for _, o := range all {
		if t.unseen(p, o.at) {
			continue
		}
		s := sequence{end: o.at, fromEngine: o.fromEngine}
		certainly, possibly := s.within(from, to)
		switch {
		case certainly && !o.doubtful:
			inLeast, inMost = append(inLeast, o.least), append(inMost, o.most)
		case possibly:
			edgeLeast, edgeMost = append(edgeLeast, o.least), append(edgeMost, o.most)
		}
	}
	r.n = [2]int{len(inLeast), len(inLeast) + len(edgeLeast)}
	k := min(max(0, int(r.Quantile.Count)-len(inLeast)), len(edgeLeast))
	slices.Sort(edgeLeast)
	slices.Sort(edgeMost)
	low, high := append(inLeast, edgeLeast[:k]...), append(inMost, edgeMost[len(edgeMost)-k:]...)
	if slices.Sort(low); len(low) == 0 {
		r.engine = [2]float64{math.NaN(), math.NaN()}
		return
	}
	slices.Sort(high)
	r.engine = [2]float64{statistic(low, r.Quantile.Q), statistic(high, r.Quantile.Q)}
}

// unseen reports whether something happened after the last page of a process that was killed: it is on no page.
func (t *truth) unseen(p *published, at float64) bool {
	last, next, died := t.deathOf(p, at)
	return died && at > last.Received && at < next
}

// statistic is the smallest value that at least a share q of all do not exceed. The values are in order.
func statistic(sorted []float64, q float64) float64 {
	return sorted[min(len(sorted)-1, max(0, int(math.Ceil(q*float64(len(sorted))-1e-9))-1))]
}

// clientQuantile is the same order statistic by the client's clock, for the metrics that a client can measure.
func clientQuantile(t *truth, q quantile) float64 {
	var values []float64
	add := func(at, v float64) {
		if at > q.Quantile.Start && at <= q.Quantile.End {
			values = append(values, v)
		}
	}
	for i := range t.requests {
		r := &t.requests[i]
		for _, s := range r.Sequences {
			switch tpot, has := r.TPOT(s); {
			case q.Quantile.Metric == "ttft":
				add(s.First, r.TTFT(s))
			case q.Quantile.Metric == "tpot" && s.Ended && has:
				add(s.Last, tpot)
			case q.Quantile.Metric == "e2e" && s.Ended:
				add(s.Last, r.E2E(s))
			}
		}
	}
	if len(values) == 0 {
		return math.NaN()
	}
	slices.Sort(values)
	return statistic(values, q.Quantile.Q)
}
