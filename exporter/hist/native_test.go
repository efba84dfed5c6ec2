package hist

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// reference is client_golang's histogram of the same values.
func reference(t *testing.T, values []float64) *dto.Histogram {
	t.Helper()
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "x", NativeHistogramBucketFactor: 1.1, NativeHistogramZeroThreshold: nativeZero})
	for _, v := range values {
		h.Observe(v)
	}
	var m dto.Metric
	if err := h.Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.Histogram
}

// agree compares everything that a scraper would see.
func agree(t *testing.T, n *Native, want *dto.Histogram) {
	t.Helper()
	if n.Count != want.GetSampleCount() || n.Zero != want.GetZeroCount() || math.Abs(n.Sum-want.GetSampleSum()) > 1e-9*math.Abs(n.Sum) {
		t.Fatalf("count %d, zero %d, sum %v; client_golang says %d, %d, %v", n.Count, n.Zero, n.Sum, want.GetSampleCount(), want.GetZeroCount(), want.GetSampleSum())
	}
	if n.Schema != want.GetSchema() || n.ZeroThreshold != want.GetZeroThreshold() {
		t.Fatalf("schema %d with zero up to %v; client_golang says %d, %v", n.Schema, n.ZeroThreshold, want.GetSchema(), want.GetZeroThreshold())
	}
	spans, deltas := n.Sparse()
	var wanted []BucketSpan
	for _, s := range want.PositiveSpan {
		wanted = append(wanted, BucketSpan{s.GetOffset(), s.GetLength()})
	}
	if !slices.Equal(spans, wanted) || !slices.Equal(deltas, want.PositiveDelta) {
		t.Fatalf("spans %v deltas %v; client_golang says %v %v", spans, deltas, wanted, want.PositiveDelta)
	}
}

// TestNativeIsWhatClientGolangMakes: on any values the same buckets, in the same form.
func TestNativeIsWhatClientGolangMakes(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 1))
	for range 2000 {
		values := make([]float64, rng.IntN(60))
		for i := range values {
			switch rng.IntN(10) {
			case 0:
				values[i] = 0
			case 1: // on an edge, and one step beside it
				values[i] = nativeUpper(int32(rng.IntN(318) - 158))
			case 2:
				values[i] = math.Nextafter(nativeUpper(int32(rng.IntN(318)-158)), float64(rng.IntN(2))*10*nativeMost)
			default:
				values[i] = min(nativeMost, math.Exp(rng.NormFloat64()*4))
			}
		}
		n := NewNative()
		for _, v := range values {
			if !n.Observe(v) {
				t.Fatalf("%v was left out", v)
			}
		}
		agree(t, &n, reference(t, values))
	}
}

// TestNativeEdgesAreExact: each edge belongs to the bucket that ends there, and what is one step greater to the next,
// here as in client_golang.
func TestNativeEdgesAreExact(t *testing.T) {
	for i := int32(-158); i < 160; i++ {
		edge := nativeUpper(i)
		for v, bucket := range map[float64]int32{edge: i, math.Nextafter(edge, 0): i, math.Nextafter(edge, math.Inf(1)): i + 1} {
			n := NewNative()
			n.Observe(v)
			if n.First != bucket || len(n.Buckets) != 1 {
				t.Fatalf("%v is in buckets %v from %d, not in %d", v, n.Buckets, n.First, bucket)
			}
			if lower, upper := n.Bounds(bucket); !(lower < v && v <= upper) {
				t.Fatalf("%v is said to lie in (%v, %v]", v, lower, upper)
			}
			agree(t, &n, reference(t, []float64{v}))
		}
	}
}

// TestNativeZeroHasAnEdge: the bucket that the zero threshold cuts holds no value that is counted in zero.
func TestNativeZeroHasAnEdge(t *testing.T) {
	n := nativeOf([]float64{1e-6, 1.0001e-6})
	if lower, upper := n.Bounds(n.First); lower != 1e-6 || !(1.0001e-6 <= upper && upper < 1.1e-6) || n.Zero != 1 {
		t.Errorf("(%v, %v], %d in zero", lower, upper, n.Zero)
	}
	if lower, upper := n.CountAtMost(1e-6); lower != 1 || upper != 1 {
		t.Errorf("%d to %d at most 1e-6, want 1", lower, upper)
	}
}

func TestNativeObserve(t *testing.T) {
	for name, c := range map[string]struct {
		v    float64
		zero bool
		ok   bool
	}{
		"a latency":                             {v: 0.2, ok: true},
		"nothing at all":                        {v: 0, zero: true, ok: true},
		"negative zero":                         {v: math.Copysign(0, -1), zero: true, ok: true},
		"what is shorter than clocks can tell":  {v: 1e-6, zero: true, ok: true},
		"what is just longer":                   {v: math.Nextafter(1e-6, 1), ok: true},
		"the longest":                           {v: 1e6, ok: true},
		"what is longer than any latency":       {v: math.Nextafter(1e6, 2e6)},
		"a negative latency":                    {v: -1e-9},
		"no number":                             {v: math.NaN()},
		"without end":                           {v: math.Inf(1)},
		"without a beginning":                   {v: math.Inf(-1)},
		"the largest number":                    {v: math.MaxFloat64},
		"the smallest number, which is nothing": {v: math.SmallestNonzeroFloat64, zero: true, ok: true},
	} {
		t.Run(name, func(t *testing.T) {
			n := NewNative()
			if got := n.Observe(c.v); got != c.ok {
				t.Fatalf("counted: %t, want %t", got, c.ok)
			}
			if counted := n.Count == 1; counted != c.ok || (n.Zero == 1) != c.zero || (len(n.Buckets) == 1) != (c.ok && !c.zero) || !c.ok && n.Sum != 0 {
				t.Errorf("%+v", n)
			}
		})
	}
	if made := (&Native{}).Observe(1); made {
		t.Error("a histogram without buckets counted")
	}
}

// TestNativeAlgebra: a sum is the histogram of all values and leaves the addend alone; a clone shares nothing; the count
// below a value is bounded, exactly at edges; and nothing grows beyond the buckets from 1e-6 to 1e6.
func TestNativeAlgebra(t *testing.T) {
	rng := rand.New(rand.NewPCG(42, 1))
	for range 2000 {
		first, second := draw(rng), draw(rng)
		if rng.IntN(4) == 0 {
			first = append(first, 1e-6, 1.0000001e-6, 1e6)
		}
		a, b, all := nativeOf(first), nativeOf(second), nativeOf(slices.Concat(first, second))
		sum := a.Clone()
		if err := sum.Add(&b); err != nil {
			t.Fatal(err)
		}
		agree(t, &sum, reference(t, slices.Concat(first, second)))
		for v := range 8 { // into every bucket that a copy might share
			sum.Observe(math.Exp(float64(v - 4)))
		}
		for _, v := range first {
			sum.Observe(v)
		}
		same(t, "the addend", b, nativeOf(second))
		same(t, "what was cloned", a, nativeOf(first))
		if len(all.Buckets) > 320 {
			t.Fatalf("%d buckets", len(all.Buckets))
		}
		x := math.Exp(rng.NormFloat64() * 3)
		onEdge := rng.IntN(2) == 0
		if onEdge {
			x = nativeUpper(int32(rng.IntN(40) - 20))
		}
		lower, upper := all.CountAtMost(x)
		if want := atMost(slices.Concat(first, second), x); lower > want || want > upper || onEdge && lower != upper {
			t.Fatalf("%d <= %d <= %d values at most %v", lower, want, upper, x)
		}
	}
}

func nativeOf(values []float64) Native {
	n := NewNative()
	for _, v := range values {
		n.Observe(v)
	}
	return n
}

func same(t *testing.T, what string, got, want Native) {
	t.Helper()
	if got.Count != want.Count || got.Zero != want.Zero || got.Sum != want.Sum || got.First != want.First || !slices.Equal(got.Buckets, want.Buckets) {
		t.Fatalf("%s: %+v, want %+v", what, got, want)
	}
}

func TestNativeOfOtherBucketsIsNotAdded(t *testing.T) {
	for name, x := range map[string]Native{
		"another schema":          {Schema: 2, ZeroThreshold: nativeZero, First: 3, Buckets: []uint64{1}, Count: 1, Sum: 1},
		"another zero":            {Schema: nativeSchema, ZeroThreshold: 1e-3, First: 3, Buckets: []uint64{1}, Count: 1, Sum: 1},
		"one that counts nothing": {},
	} {
		t.Run(name, func(t *testing.T) {
			n := nativeOf([]float64{.1, .2})
			before := n.Clone()
			if err := n.Add(&x); err == nil {
				t.Error("was added")
			}
			same(t, "afterwards", n, before)
		})
	}
}

// FuzzNative: any values give what client_golang gives, of those that are latencies; buckets stay within their bounds.
func FuzzNative(f *testing.F) {
	f.Add(0.1, 0.2, 1e-7)
	f.Add(1e6, 1e-6, 0.7071067811865475)
	f.Add(math.Inf(1), math.NaN(), -1.0)
	f.Add(0.5, 1.0, 2.0000000000000004)
	f.Fuzz(func(t *testing.T, x, y, z float64) {
		n := NewNative()
		var taken []float64
		for _, v := range []float64{x, y, z} {
			if ok := n.Observe(v); ok != (v >= 0 && v <= nativeMost) {
				t.Fatalf("%v: counted %t", v, ok)
			} else if ok {
				taken = append(taken, v)
			}
		}
		if len(n.Buckets) > 320 || n.Count != uint64(len(taken)) {
			t.Fatalf("%d buckets, count %d of %d", len(n.Buckets), n.Count, len(taken))
		}
		agree(t, &n, reference(t, taken))
	})
}

func BenchmarkNativeObserve(b *testing.B) {
	rng := rand.New(rand.NewPCG(43, 1))
	values := make([]float64, 1024)
	for i := range values {
		values[i] = math.Exp(rng.NormFloat64())
	}
	n := NewNative()
	i := 0
	for b.Loop() {
		n.Observe(values[i%len(values)])
		i++
	}
}
