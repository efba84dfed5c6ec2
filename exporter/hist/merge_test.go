package hist

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// cumulative is a histogram as a page prints it: from the cumulative counts at each edge and at +Inf.
func cumulative(t *testing.T, edges []float64, counts ...float64) Histogram {
	t.Helper()
	h, err := FromCumulative(edges, counts, 0)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestFieldCases are reports of how merged histograms and their percentiles have misled people, by id.
func TestFieldCases(t *testing.T) {
	interval := func(t *testing.T, h Histogram, q, lower, upper float64) {
		t.Helper()
		if l, u, ok := h.Quantile(q); !ok || l != lower || u != upper {
			t.Errorf("p%v in (%v, %v], known %t; want (%v, %v]", 100*q, l, u, ok, lower, upper)
		}
	}
	t.Run("E2: two hosts are merged by counts and the p99 is a bucket", func(t *testing.T) {
		// The four counts are for (100, 200], (200, 400], (400, 800] and (800, +Inf] ms; nothing is at 100 or below.
		edges := []float64{.1, .2, .4, .8}
		sum := Histogram{Edges: edges, Counts: []uint64{0, 90, 8, 2, 0}}.Clone()
		sum.Accumulate(Histogram{Edges: edges, Counts: []uint64{0, 95, 3, 1, 1}})
		if want := []uint64{0, 185, 11, 3, 1}; !slices.Equal(sum.Counts, want) {
			t.Errorf("merged %v, want %v", sum.Counts, want)
		}
		interval(t, sum, .5, .1, .2)
		interval(t, sum, .99, .4, .8)
	})
	t.Run("MRG-03: replicas of two layouts are merged on the bounds both have", func(t *testing.T) {
		a := cumulative(t, []float64{1, 2, 4}, 10, 30, 40, 40)
		b := cumulative(t, []float64{1, 4}, 0, 10, 20)
		sum := a.Clone()
		sum.Accumulate(b)
		check(t, "merged", sum, cumulative(t, []float64{1, 4}, 10, 50, 60))
		interval(t, sum, .5, 1, 4)
		if len(sum.Edges) >= len(a.Edges) {
			t.Error("nothing tells that the resolution is reduced")
		}
	})
	t.Run("MRG-07: bounds are compared as numbers", func(t *testing.T) {
		sum := cumulative(t, []float64{1.0}, 4, 8).Clone()
		sum.Accumulate(cumulative(t, []float64{1e+00}, 6, 8))
		check(t, "merged", sum, cumulative(t, []float64{1}, 10, 16))
		interval(t, sum, .5, 0, 1)
	})
	t.Run("MRG-11: a bucket line that is missing from one scrape is neither a reset nor counted twice", func(t *testing.T) {
		first := cumulative(t, []float64{.1, .5, 1}, 10, 40, 50, 50)
		second := cumulative(t, []float64{.1, 1}, 14, 60, 60)
		third := cumulative(t, []float64{.1, .5, 1}, 20, 60, 75, 75)
		delta, ok := Delta(first, second)
		if !ok {
			t.Fatal("taken for a reset")
		}
		check(t, "first to second", delta, cumulative(t, []float64{.1, 1}, 4, 10, 10))
		back, ok := Delta(second, third)
		if !ok {
			t.Fatal("the bucket's return is taken for a reset")
		}
		delta.Accumulate(back)
		check(t, "first to third", delta, cumulative(t, []float64{.1, 1}, 10, 25, 25))
	})
	t.Run("PCT-01: without requests there is no percentile, and a count of 0 beside it", func(t *testing.T) {
		h := cumulative(t, []float64{.5, 1}, 0, 0, 0)
		if l, u, ok := h.Quantile(.99); ok || l != 0 || u != 0 {
			t.Errorf("p99 in (%v, %v], known %t", l, u, ok)
		}
		if !h.Known() || h.Count() != 0 {
			t.Errorf("known %t with %d observations, want a known 0", h.Known(), h.Count())
		}
	})
	t.Run("PCT-03: a tail in the overflow bucket has no upper end", func(t *testing.T) {
		h := cumulative(t, []float64{30, 60}, 80, 90, 100)
		interval(t, h, .99, 60, math.Inf(1))
		interval(t, h, .85, 30, 60)
	})
	t.Run("PCT-05: everything in the first bucket is only known to be below its bound", func(t *testing.T) {
		h := cumulative(t, []float64{.3, .5}, 200, 200, 200)
		interval(t, h, .99, 0, .3)
		interval(t, h, .01, 0, .3)
	})
	t.Run("PCT-07: buckets that are not cumulative are refused", func(t *testing.T) {
		if h, err := FromCumulative([]float64{.1, 1}, []float64{50, 30, 20}, 0); err == nil || h.Known() {
			t.Errorf("accepted as %+v", h)
		}
	})
}

// union is a grid of all edges of several layouts.
func union(layouts ...[]float64) []float64 {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(layouts...))))
}

// summedByEdge is `sum by (le)` over layouts that differ, with the counts forced to rise as PromQL does: the merge that
// looks right and is not.
func summedByEdge(hosts []Histogram) Histogram {
	var all [][]float64
	for _, h := range hosts {
		all = append(all, h.Edges)
	}
	grid := union(all...)
	counts := make([]uint64, len(grid)+1)
	below := uint64(0)
	for i := range counts {
		at := uint64(0)
		for _, h := range hosts {
			sum := uint64(0)
			for k, c := range h.Counts {
				if sum += c; i == len(grid) && k == len(h.Edges) || i < len(grid) && k < len(h.Edges) && h.Edges[k] == grid[i] {
					at += sum
				}
			}
		}
		at = max(at, below)
		counts[i], below = at-below, at
	}
	return Histogram{Edges: grid, Counts: counts}
}

// TestMergedQuantilesHoldTheTruth: over hosts of any layouts, the interval from the images on the union of their edges
// holds the order statistic of all values, and lies within the interval from the shared edges, which holds it too. The
// sum by edge and the average of the hosts' percentiles do not hold it.
func TestMergedQuantilesHoldTheTruth(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	narrower, summedWrong, averagedWrong, rounds := 0, 0, 0, 0
	for range 4000 {
		var hosts []Histogram
		var all []float64
		var edges [][]float64
		for range 2 + rng.IntN(3) {
			values := append(draw(rng), rng.Float64())
			edges = append(edges, layouts[rng.IntN(len(layouts))])
			hosts = append(hosts, of(edges[len(edges)-1], values))
			all = append(all, values...)
		}
		hundredths := []int{50, 90, 95, 99}[rng.IntN(4)]
		q := float64(hundredths) / 100
		truth := orderStatistic(all, hundredths)
		holds := func(lower, upper float64) bool { return lower < truth && truth <= upper || truth == 0 && lower == 0 }

		grid := union(edges...)
		floor, ceil := make([]uint64, len(grid)+1), make([]uint64, len(grid)+1)
		var shared Histogram
		average := [2]float64{}
		for _, h := range hosts {
			p := NewProjection(h.Edges, grid)
			p.AddFloor(floor, h.Counts)
			p.AddCeil(ceil, h.Counts)
			shared.Accumulate(h)
			l, u, _ := h.Quantile(q)
			average[0] += l / float64(len(hosts))
			average[1] += u / float64(len(hosts))
		}
		lower, upper, ok := ImageQuantile(Histogram{Edges: grid, Counts: floor}, Histogram{Edges: grid, Counts: ceil}, q, 0)
		if !ok || !holds(lower, upper) {
			t.Fatalf("p%d of %v over layouts %v is %v, said to lie in (%v, %v]", hundredths, all, edges, truth, lower, upper)
		}
		l, u, _ := shared.Quantile(q)
		if !holds(l, u) || lower < l || upper > u {
			t.Fatalf("p%d %v over layouts %v: (%v, %v] from the images, (%v, %v] from shared edges", hundredths, truth, edges, lower, upper, l, u)
		}
		if lower > l || upper < u {
			narrower++
		}
		rounds++
		if l, u, ok := summedByEdge(hosts).Quantile(q); !ok || !holds(l, u) {
			summedWrong++
		}
		if !holds(average[0], average[1]) {
			averagedWrong++
		}
	}
	t.Logf("of %d merges the images were narrower in %d; the sum by edge was wrong in %d, the average of percentiles in %d", rounds, narrower, summedWrong, averagedWrong)
	if narrower < rounds/10 || summedWrong < rounds/10 || averagedWrong < rounds/10 {
		t.Error("the merges cannot tell a right method from a wrong one")
	}
}

// TestImagesBoundTheCount: at every edge of the grid, cumulative Ceil <= number of observations <= cumulative Floor, with
// equality where the edge is one of the layout's too.
func TestImagesBoundTheCount(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for range 5000 {
		edges, grid, values := layouts[rng.IntN(len(layouts))], layouts[rng.IntN(len(layouts))], draw(rng)
		h, p := of(edges, values), NewProjection(edges, grid)
		floor, ceil := make([]uint64, len(grid)+1), make([]uint64, len(grid)+1)
		p.AddFloor(floor, h.Counts)
		p.AddCeil(ceil, h.Counts)
		var least, most uint64
		for i, g := range grid {
			least, most = least+ceil[i], most+floor[i]
			n := atMost(values, g)
			if least > n || n > most || slices.Contains(edges, g) && least != most {
				t.Fatalf("%d <= %d <= %d at grid edge %v of layout %v", least, n, most, g, edges)
			}
		}
		if n := uint64(len(values)); least+ceil[len(grid)] != n || most+floor[len(grid)] != n {
			t.Fatalf("images hold %d and %d of %d observations", least+ceil[len(grid)], most+floor[len(grid)], n)
		}
		l, u, _ := h.Quantile(.9)
		fine := union(edges, grid)
		p = NewProjection(edges, fine)
		floor, ceil = make([]uint64, len(fine)+1), make([]uint64, len(fine)+1)
		p.AddFloor(floor, h.Counts)
		p.AddCeil(ceil, h.Counts)
		if lower, upper, _ := ImageQuantile(Histogram{Edges: fine, Counts: floor}, Histogram{Edges: fine, Counts: ceil}, .9, 0); lower != l || upper != u {
			t.Fatalf("(%v, %v] on a grid that holds all edges, (%v, %v] from the histogram", lower, upper, l, u)
		}
	}
}
