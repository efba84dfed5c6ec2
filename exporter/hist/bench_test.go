package hist

import (
	"math/rand/v2"
	"testing"
)

// bench is a pair of readings on vLLM's TTFT layout.
func bench() (before, after Histogram) {
	rng := rand.New(rand.NewPCG(6, 6))
	before = of(layouts[0], draw(rng))
	after = before.Clone()
	after.Accumulate(of(layouts[0], draw(rng)))
	return before, after
}

func BenchmarkDelta(b *testing.B) {
	before, after := bench()
	b.ReportAllocs()
	for b.Loop() {
		Delta(before, after)
	}
}

func BenchmarkAccumulate(b *testing.B) {
	x, y := bench()
	b.ReportAllocs()
	for b.Loop() {
		x.Accumulate(y)
	}
}

func BenchmarkQuantile(b *testing.B) {
	_, h := bench()
	for b.Loop() {
		h.Quantile(.99)
	}
}

func BenchmarkProject(b *testing.B) {
	_, h := bench()
	grid := union(layouts[0], layouts[3])
	p := NewProjection(h.Edges, grid)
	floor, ceil := make([]uint64, len(grid)+1), make([]uint64, len(grid)+1)
	b.ReportAllocs()
	for b.Loop() {
		p.AddFloor(floor, h.Counts)
		p.AddCeil(ceil, h.Counts)
	}
}

func BenchmarkFromCumulative(b *testing.B) {
	_, h := bench()
	counts := make([]float64, len(h.Counts))
	sum := 0.0
	for i, c := range h.Counts {
		sum += float64(c)
		counts[i] = sum
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := FromCumulative(h.Edges, counts, h.Sum); err != nil {
			b.Fatal(err)
		}
	}
}
