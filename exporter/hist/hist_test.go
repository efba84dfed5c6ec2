package hist

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// The layouts that the properties draw from: vLLM's TTFT and latency defaults, subsets of them, and others that share
// few edges or none with them.
var layouts = [][]float64{
	{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560},
	{.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680},
	{.25, .5, 1},
	{.1, .3, .5, 2},
	{.07, .7, 7},
	{1},
	{},
}

// draw makes values around the edges of the layouts, some of them exactly on one, some 0.
func draw(rng *rand.Rand) []float64 {
	values := make([]float64, rng.IntN(60))
	center := math.Exp(rng.NormFloat64() * 2)
	for i := range values {
		values[i] = center * math.Exp(rng.NormFloat64())
		switch l := layouts[rng.IntN(5)]; rng.IntN(8) {
		case 0:
			values[i] = l[rng.IntN(len(l))]
		case 1:
			values[i] = 0
		}
	}
	return values
}

// of puts values into buckets, the slow way.
func of(edges, values []float64) Histogram {
	h := Histogram{Edges: edges, Counts: make([]uint64, len(edges)+1)}
	for _, v := range values {
		i := 0
		for i < len(edges) && v > edges[i] {
			i++
		}
		h.Counts[i]++
		h.Sum += v
	}
	return h
}

func atMost(values []float64, x float64) (n uint64) {
	for _, v := range values {
		if v <= x {
			n++
		}
	}
	return n
}

func check(t *testing.T, what string, got, want Histogram) {
	t.Helper()
	if !slices.Equal(got.Edges, want.Edges) || !slices.Equal(got.Counts, want.Counts) || math.Abs(got.Sum-want.Sum) > 1e-6*(1+math.Abs(want.Sum)) {
		t.Fatalf("%s: got %v %v sum %v, want %v %v sum %v", what, got.Edges, got.Counts, got.Sum, want.Edges, want.Counts, want.Sum)
	}
}

// TestAlgebraAgreesWithRawObservations: coarsening, deltas and sums of histograms are the histograms of the values, at
// the edges that all layouts share.
func TestAlgebraAgreesWithRawObservations(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 5000 {
		a, b := layouts[rng.IntN(len(layouts))], layouts[rng.IntN(len(layouts))]
		first, second := draw(rng), draw(rng)
		both := slices.Concat(first, second)
		shared := SharedEdges(a, b)

		h := of(a, first)
		check(t, "Coarsen", h.Coarsen(shared), of(shared, first))

		delta, ok := Delta(h, of(b, both))
		if !ok {
			t.Fatalf("%v then %v in addition: a count is said to have fallen from layout %v to %v", first, second, a, b)
		}
		check(t, "Delta", delta, of(shared, second))

		sum := h.Clone()
		sum.Accumulate(of(b, second))
		check(t, "Accumulate", sum, of(shared, both))
		check(t, "the histogram that was accumulated from", h, of(a, first))

		if n := h.Count(); n != uint64(len(first)) {
			t.Fatalf("%d observations, want %d", n, len(first))
		}
	}
}

// TestCountAtMostBoundsTheCount: lower <= #(v <= x) <= upper, equal where x is an edge.
func TestCountAtMostBoundsTheCount(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for range 5000 {
		edges, values := layouts[rng.IntN(len(layouts))], draw(rng)
		h := of(edges, values)
		x := math.Exp(rng.NormFloat64() * 2)
		if rng.IntN(10) == 0 {
			x = 0
		}
		onEdge := len(edges) > 0 && rng.IntN(2) == 0
		if onEdge {
			x = edges[rng.IntN(len(edges))]
		}
		lower, upper := h.CountAtMost(x)
		if n := atMost(values, x); lower > n || n > upper || onEdge && lower != upper {
			t.Fatalf("%d <= %d <= %d values of %v at most %v, edges %v", lower, n, upper, values, x, edges)
		}
	}
}

// TestQuantileHoldsTheOrderStatistic: the value of rank ceil(q n) lies in the bucket that Quantile returns, for exact
// q = k/100.
func TestQuantileHoldsTheOrderStatistic(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 5000 {
		edges, values := layouts[rng.IntN(len(layouts))], draw(rng)
		hundredths := 1 + rng.IntN(100)
		lower, upper, ok := of(edges, values).Quantile(float64(hundredths) / 100)
		if ok != (len(values) > 0) {
			t.Fatalf("ok is %t for %d values", ok, len(values))
		}
		if !ok {
			continue
		}
		if x := orderStatistic(values, hundredths); !(lower < x && x <= upper || x == 0 && lower == 0) {
			t.Fatalf("the p%d of %v, %v, is said to lie in (%v, %v]", hundredths, values, x, lower, upper)
		}
	}
}

// orderStatistic is the value of rank ceil(n hundredths/100), in whole numbers.
func orderStatistic(values []float64, hundredths int) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(values)*hundredths+99)/100-1]
}

func TestRank(t *testing.T) {
	for name, c := range map[string]struct {
		q    float64
		n    uint64
		want uint64
	}{
		"a product on a whole number is that number": {0.99, 100, 99},
		"also where it rounds up":                    {0.07, 100, 7},
		"any fraction rounds up":                     {0.99, 101, 100},
		"one observation is every quantile":          {0.001, 1, 1},
		"there is no rank below the first":           {1e-12, 5, 1},
		"the greatest is the last":                   {1, 7, 7},
		"a huge count keeps its rank":                {0.5, 1 << 51, 1 << 50},
		"a tolerance moves no rank of a huge count":  {0.5, 1<<42 + 2, 1<<41 + 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Rank(c.q, c.n); got != c.want {
				t.Errorf("Rank(%v, %d) = %d, want %d", c.q, c.n, got, c.want)
			}
		})
	}
	for n := uint64(1); n < 3000; n++ { // whole numbers of observations never round
		for _, hundredths := range []uint64{1, 5, 29, 50, 57, 90, 95, 99} {
			if got, want := Rank(float64(hundredths)/100, n), max(1, (n*hundredths+99)/100); got != want {
				t.Fatalf("Rank(%v, %d) = %d, want %d", float64(hundredths)/100, n, got, want)
			}
		}
	}
}

func TestFromCumulative(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, c := range map[string]struct {
		edges, cumulative []float64
		want              []uint64
		err               string // part of it
	}{
		"cumulative counts become counts per bucket": {[]float64{.1, .5}, []float64{3, 3, 10}, []uint64{3, 0, 7}, ""},
		"no edges leave one bucket":                  {nil, []float64{4}, []uint64{4}, ""},
		"the largest exact count":                    {nil, []float64{MaxExact}, []uint64{MaxExact}, ""},
		"no +Inf bucket":                             {[]float64{.1}, []float64{3}, nil, "the +Inf bucket is missing"},
		"an edge twice":                              {[]float64{.1, .1}, []float64{1, 1, 1}, nil, "edge 0.1 follows 0.1"},
		"edges that fall":                            {[]float64{.5, .1}, []float64{1, 1, 1}, nil, "edge 0.1 follows 0.5"},
		"an infinite edge":                           {[]float64{inf}, []float64{1, 1}, nil, "edge +Inf is not finite"},
		"an edge that is no number":                  {[]float64{nan}, []float64{1, 1}, nil, "edge NaN is not finite"},
		"a negative edge":                            {[]float64{-1}, []float64{1, 1}, nil, "edge -1 is negative"},
		"counts per bucket instead of cumulative":    {[]float64{.1}, []float64{50, 20}, nil, "count falls from 50 to 20 at le=+Inf"},
		"a fraction of an observation":               {[]float64{.1}, []float64{1.5, 2}, nil, "count 1.5 at le=0.1 is not a whole number"},
		"a negative count":                           {[]float64{.1}, []float64{-1, 2}, nil, "count -1 at le=0.1 is not a whole number"},
		"a count that is no number":                  {[]float64{.1}, []float64{1, nan}, nil, "count NaN at le=+Inf is not a whole number"},
		"a count too large to be exact":              {nil, []float64{MaxExact + 2}, nil, "is not a whole number in [0, 2^53]"},
	} {
		t.Run(name, func(t *testing.T) {
			h, err := FromCumulative(c.edges, c.cumulative, 1)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("error %v, want one that says %q", err, c.err)
				}
				if h.Known() {
					t.Errorf("a refused histogram is returned: %+v", h)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(h.Counts, c.want) {
				t.Errorf("counts %v, want %v", h.Counts, c.want)
			}
		})
	}
}

func TestDelta(t *testing.T) {
	edges := []float64{.1, .5}
	h := Histogram{Edges: edges, Counts: []uint64{3, 2, 1}, Sum: 4}
	for name, c := range map[string]struct {
		before, after Histogram
		want          Histogram
		ok            bool
	}{
		"nothing happened":                          {h, h, Histogram{edges, []uint64{0, 0, 0}, 0}, true},
		"an absent reading before says nothing":     {Histogram{}, h, Histogram{}, true},
		"an absent reading after says nothing":      {h, Histogram{}, Histogram{}, true},
		"a count fell":                              {h, Histogram{edges, []uint64{3, 1, 9}, 9}, Histogram{}, false},
		"the sum may fall":                          {h, Histogram{edges, []uint64{3, 2, 2}, 3}, Histogram{edges, []uint64{0, 0, 1}, -1}, true},
		"another layout speaks at shared edges":     {h, Histogram{[]float64{.5, 1}, []uint64{7, 1, 1}, 9}, Histogram{[]float64{.5}, []uint64{2, 1}, 5}, true},
		"a fall shows at shared edges too":          {h, Histogram{[]float64{.5, 1}, []uint64{4, 1, 1}, 9}, Histogram{}, false},
		"a layout that shares none leaves the rest": {h, Histogram{[]float64{1}, []uint64{7, 1}, 9}, Histogram{nil, []uint64{2}, 5}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := Delta(c.before, c.after)
			if ok != c.ok {
				t.Fatalf("ok %t, want %t", ok, c.ok)
			}
			check(t, "delta", got, c.want)
		})
	}
}

func TestAccumulate(t *testing.T) {
	h := Histogram{Edges: []float64{.1, .5}, Counts: []uint64{3, 2, 1}, Sum: 4}
	for name, c := range map[string]struct {
		into, add, want Histogram
	}{
		"an absent receiver becomes a copy":      {Histogram{}, h, h},
		"an absent addend changes nothing":       {h, Histogram{}, h},
		"equal layouts add":                      {h, h, Histogram{h.Edges, []uint64{6, 4, 2}, 8}},
		"unequal layouts meet at shared edges":   {h, Histogram{[]float64{.5, 1}, []uint64{1, 1, 1}, 3}, Histogram{[]float64{.5}, []uint64{6, 3}, 7}},
		"layouts that share none leave one sum":  {h, Histogram{[]float64{1}, []uint64{1, 1}, 3}, Histogram{nil, []uint64{8}, 7}},
		"no edges at all, either, is one bucket": {Histogram{nil, []uint64{1}, 1}, Histogram{nil, []uint64{2}, 2}, Histogram{nil, []uint64{3}, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.into.Clone()
			before := c.add.Clone()
			got.Accumulate(c.add)
			check(t, "sum", got, c.want)
			got.Accumulate(c.add) // into memory of its own
			check(t, "addend", c.add, before)
		})
	}
}

func TestCoarsenRefusesForeignEdges(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("counts were split at an edge that the histogram does not have")
		}
	}()
	Histogram{Edges: []float64{1, 2}, Counts: []uint64{1, 1, 1}}.Coarsen([]float64{1.5})
}

func TestEdges(t *testing.T) {
	long := layouts[0]
	for name, c := range map[string]struct {
		a, b, shared []float64
	}{
		"vLLM's TTFT and latency layouts": {layouts[0], layouts[1], []float64{.5, 1, 2.5, 5, 10, 20, 40}},
		"a layout and itself":             {long, slices.Clone(long), long},
		"none shared":                     {layouts[4], layouts[5], nil},
		"one without edges":               {long, nil, nil},
		"both without edges":              {nil, []float64{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := SharedEdges(c.a, c.b); !slices.Equal(got, c.shared) {
				t.Errorf("shared %v, want %v", got, c.shared)
			}
			if got, want := SameEdges(c.a, c.b), slices.Equal(c.a, c.b); got != want {
				t.Errorf("same: %t, want %t", got, want)
			}
		})
	}
}

func TestNeighbours(t *testing.T) {
	edges := []float64{.1, .5, 2}
	for name, c := range map[string]struct {
		edges           []float64
		x, below, above float64
	}{
		"an edge is its own neighbour": {edges, .5, .5, .5},
		"inside a bucket":              {edges, .7, .5, 2},
		"below the first":              {edges, .05, 0, .1},
		"above the last":               {edges, 3, 2, math.Inf(1)},
		"no edges":                     {nil, 3, 0, math.Inf(1)},
	} {
		t.Run(name, func(t *testing.T) {
			if below, above := Neighbours(c.edges, c.x); below != c.below || above != c.above {
				t.Errorf("(%v, %v), want (%v, %v)", below, above, c.below, c.above)
			}
		})
	}
}

// FuzzFromCumulative: any numbers give a histogram whose counts add up to the last, or an error, and never a panic.
func FuzzFromCumulative(f *testing.F) {
	f.Add(0.1, 0.5, 1.0, 2.0, 3.0)
	f.Add(0.5, 0.1, 1.0, 2.0, 3.0)
	f.Add(0.1, 0.5, 2.0, 1.0, 3.0)
	f.Add(0.1, math.Inf(1), 2.0, math.NaN(), 3.0)
	f.Add(-0.1, 0.0, -2.0, 1e300, 0.5)
	f.Fuzz(func(t *testing.T, e1, e2, c1, c2, c3 float64) {
		h, err := FromCumulative([]float64{e1, e2}, []float64{c1, c2, c3}, 0)
		if err != nil {
			return
		}
		if !(0 <= e1 && e1 < e2) || !(0 <= c1 && c1 <= c2 && c2 <= c3) {
			t.Errorf("accepted edges %v %v with counts %v %v %v", e1, e2, c1, c2, c3)
		}
		if float64(h.Count()) != c3 {
			t.Errorf("%d observations, want %v", h.Count(), c3)
		}
		if lower, upper, ok := h.Quantile(0.5); ok && lower > upper {
			t.Errorf("the median lies in (%v, %v]", lower, upper)
		}
	})
}
