package sim

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// TestValuesAreWrittenAsPythonDoes holds numbers against what floatToGoString of prometheus_client 0.26.0 made of them.
func TestValuesAreWrittenAsPythonDoes(t *testing.T) {
	for _, test := range []struct {
		value float64
		want  string
	}{
		{0, "0.0"},
		{math.Copysign(0, -1), "-0.0"},
		{1, "1.0"},
		{44, "44.0"},
		{2560, "2560.0"},
		{999999, "999999.0"},
		{999999.5, "999999.5"},
		{1e6, "1e+06"},
		{1000000.5, "1.0000005e+06"},
		{1000001, "1.000001e+06"},
		{1234567, "1.234567e+06"},
		{1e7, "1e+07"},
		{1.5e7, "1.5e+07"},
		{12345678.9, "1.23456789e+07"},
		{1.796e9, "1.796e+09"},
		{1.7960007426048532e9, "1.7960007426048532e+09"},
		{1e10, "1e+10"},
		{2e10, "2e+10"},
		{1020304050607, "1.020304050607e+12"},
		{1e15, "1e+15"},
		{1.2345678901234567e15, "1.2345678901234568e+15"},
		{9007199254740993, "9.007199254740992e+15"},
		{9999999999999998, "9.999999999999998e+15"},
		{1e16, "1e+16"},
		{1.5e16, "1.5e+16"},
		{1e22, "1e+22"},
		{math.MaxFloat64, "1.7976931348623157e+308"},
		{123456.789, "123456.789"},
		{0.1, "0.1"},
		{0.30000000000000004, "0.30000000000000004"},
		{0.001, "0.001"},
		{0.0001, "0.0001"},
		{0.00012345, "0.00012345"},
		{0.00009999, "9.999e-05"},
		{1e-5, "1e-05"},
		{1.5e-7, "1.5e-07"},
		{5e-324, "5e-324"},
		{-1, "-1.0"},
		{-0.5, "-0.5"},
		{-1e-7, "-1e-07"},
		{-1234567, "-1234567.0"}, // only positive numbers get Go's exponent
		{-1e7, "-10000000.0"},
		{math.Inf(1), "+Inf"},
		{math.Inf(-1), "-Inf"},
		{math.NaN(), "NaN"},
	} {
		if got := string(appendValue(nil, test.value)); got != test.want {
			t.Errorf("%v is written %q, Python writes %q", test.value, got, test.want)
		}
	}
}

// TestValuesReadBack: whatever is written reads back as the same number.
func TestValuesReadBack(t *testing.T) {
	check := func(v float64) {
		t.Helper()
		text := string(appendValue([]byte("x "), v))
		got, err := strconv.ParseFloat(text[2:], 64)
		if err != nil || text[:2] != "x " || math.Float64bits(got) != math.Float64bits(v) {
			t.Fatalf("%v is written %q, which reads back as %v (%v)", v, text[2:], got, err)
		}
	}
	dice := rand.New(rand.NewPCG(1, 2))
	for range 30000 {
		if v := math.Float64frombits(dice.Uint64()); !math.IsNaN(v) {
			check(v)
		}
		check(dice.ExpFloat64())
		check(1e12 * dice.Float64())
		check(float64(dice.IntN(1 << 40)))
		check(math.Pow(10, float64(dice.IntN(40)-20)))
	}
}

// FuzzValuesReadBack is the property above for numbers that nobody thought of.
func FuzzValuesReadBack(f *testing.F) {
	for _, v := range []float64{0, 1, 1e6, 1e10, 1e16, 1e-5, -1e7} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v float64) {
		got, err := strconv.ParseFloat(string(appendValue(nil, v)), 64)
		if err != nil || (got != v && !math.IsNaN(v)) {
			t.Errorf("%v reads back as %v: %v", v, got, err)
		}
	})
}
