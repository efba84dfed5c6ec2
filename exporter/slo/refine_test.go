package slo

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
)

// TestRefinedBucketsHoldEveryObservation: whatever the values, each lies in the range of its bucket.
func TestRefinedBucketsHoldEveryObservation(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	narrowed := 0
	for range 5000 {
		var values []float64
		for range 1 + rng.IntN(6) {
			values = append(values, math.Exp(6*rng.Float64()-3))
		}
		h := tally(coarse, values)
		r := refine(h, 0)
		for _, v := range values {
			i := 0
			for i < len(coarse) && v > coarse[i] {
				i++
			}
			lower, upper := r.bucket(i)
			if v < lower || v > upper {
				t.Fatalf("%v of %v is said to be in [%v, %v]", v, values, lower, upper)
			}
			if lower > h.Lower(i) || upper < h.Upper(i) {
				narrowed++
			}
			if v > r.longest() {
				t.Fatalf("%v of %v is longer than %v", v, values, r.longest())
			}
		}
		if len(values) == 1 {
			if l := r.longest(); math.Abs(l-values[0]) > 2*sumError {
				t.Fatalf("the only value %v is said to be at most %v", values[0], l)
			}
		}
	}
	if narrowed < 5000 {
		t.Errorf("only %d ranges are narrower than their bucket", narrowed)
	}
}

func TestRefineBelievesNoImpossibleSum(t *testing.T) {
	counts := []uint64{2, 1, 0, 0}
	for name, c := range map[string]struct {
		h       hist.Histogram
		aborted uint64
		lower   float64 // of an observation in the second bucket
	}{
		"a sum that fits narrows the range":          {hist.Histogram{Edges: coarse, Counts: counts, Sum: 1.2}, 0, 0.7},
		"a sum below the lower edges says nothing":   {hist.Histogram{Edges: coarse, Counts: counts, Sum: 0.2}, 0, 0.25},
		"a sum above the upper edges says nothing":   {hist.Histogram{Edges: coarse, Counts: counts, Sum: 1.6}, 0, 0.25},
		"a sum that is not a number says nothing":    {hist.Histogram{Edges: coarse, Counts: counts, Sum: math.NaN()}, 0, 0.25},
		"a sum over aborted sequences says nothing":  {hist.Histogram{Edges: coarse, Counts: counts, Sum: 1.2}, 1, 0.25},
		"an open bucket beside it may hold anything": {hist.Histogram{Edges: coarse, Counts: []uint64{0, 1, 0, 1}, Sum: 100}, 0, 0.25},
	} {
		t.Run(name, func(t *testing.T) {
			r := refine(c.h, c.aborted)
			if lower, _ := r.bucket(1); math.Abs(lower-c.lower) > 2*sumError {
				t.Errorf("begins at %v, want %v", lower, c.lower)
			}
		})
	}
}
