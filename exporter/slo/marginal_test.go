package slo

import (
	"math/rand/v2"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// TestSlowCountsHoldTheTruth: certainlySlow <= #(TTFT > a) <= possiblySlow for thresholds on and off the edges, and
// both say more than nothing when latencies are far from the threshold.
func TestSlowCountsHoldTheTruth(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	useful := [2]int{}
	for range 4000 {
		scale := 4 * rng.ExpFloat64()
		jitter := leastJitter * rng.Float64()
		together := rng.IntN(2) == 0 // queue and prefill are long for the same sequences
		n := 1 + rng.IntN(20)
		a := []float64{0.5, 1, 2.5, 4, 10}[rng.IntN(5)]
		var ended []fact.Request
		var truth uint64
		for i := range n {
			r := fact.Request{Queue: 0.05, Prefill: 0.05, OutputTokens: 1}
			long, front := rng.IntN(n) < n/3, rng.IntN(2*n) == 0
			if long {
				r.Queue = scale * rng.Float64()
			}
			if long == together {
				r.Prefill = scale * rng.Float64()
			}
			r.TTFT = r.Queue + r.Prefill
			if front {
				r.TTFT += 2 * a
			}
			r.Decode = 5
			r.E2E = r.TTFT + r.Decode - jitter
			if i%2 == 0 {
				r.E2E = r.TTFT + r.Decode + rng.Float64()*jitter
			}
			if r.TTFT > a {
				truth++
			}
			ended = append(ended, r)
		}
		s := made(0, nil, ended...)
		certain, possible := certainlySlow(&s, a), possiblySlow(&s, a, leastJitter)
		if certain > truth || truth > possible {
			t.Fatalf("%d <= %d <= %d of %d are slower than %v in %+v", certain, truth, possible, n, a, ended)
		}
		if certain > 0 {
			useful[0]++
		}
		if possible < uint64(n) {
			useful[1]++
		}
	}
	if useful[0] < 400 || useful[1] < 400 {
		t.Errorf("of 4000 slices %d had certainly slow ones and %d certainly quick ones", useful[0], useful[1])
	}
}

// TestFrechetIsSharp: with k clauses of v1..vk violations each, passes number between max(0, n - sum v) and n - max v.
func TestFrechetIsSharp(t *testing.T) {
	pass, fail := answer(.09, .02), answer(9, .04)
	for name, c := range map[string]struct {
		ended         []fact.Request
		clauses       []Clause
		lower, higher uint64
	}{
		"no clause: all pass": {[]fact.Request{pass, fail}, nil, 2, 2},
		"one clause: its count": {
			[]fact.Request{pass, pass, fail}, []Clause{{fact.TPOT, .025}}, 2, 2},
		"two clauses": {
			[]fact.Request{pass, pass, fail}, []Clause{{fact.TPOT, .025}, {fact.E2E, 5}}, 1, 2},
		"three clauses: more violations than sequences leave none": {
			[]fact.Request{fail, pass}, []Clause{{fact.TPOT, .025}, {fact.E2E, 5}, {fact.Prefill, 1}}, 0, 1},
		"a TTFT clause is not judged at the finish": {
			[]fact.Request{pass, fail}, []Clause{{fact.TTFT, .25}}, 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := made(0, nil, c.ended...)
			if l, u := strict.passing(&s, c.clauses), lenient.passing(&s, c.clauses); l != c.lower || u != c.higher {
				t.Errorf("got [%d, %d], want [%d, %d]", l, u, c.lower, c.higher)
			}
		})
	}
}
