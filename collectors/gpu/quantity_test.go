package gpu

import (
	"fmt"
	"math"
	"testing"
)

// TestNoiseBeyondABoundIsTheBound: the last bit of a quotient takes no series away, and what no card can be stays out.
func TestNoiseBeyondABoundIsTheBound(t *testing.T) {
	for _, q := range quantities {
		low, high := max(1, math.Abs(q.min)), q.max
		noisy := dropRange // what becomes of noise
		if !q.counter {
			noisy = ""
		}
		for sentence, c := range map[string]struct {
			v, want float64
			why     string
		}{
			"the upper bound":                  {q.max, q.max, ""},
			"the upper bound and its last bit": {math.Nextafter(q.max, math.Inf(1)), q.max, noisy},
			"and that of single precision":     {q.max + high*0x1p-23, q.max, noisy},
			"below the upper bound":            {math.Nextafter(q.max, 0), math.Nextafter(q.max, 0), ""},
			"above it by more than noise":      {q.max + high*1.1*noise, 0, dropRange},
			"far above it":                     {2 * q.max, 0, dropRange},
			"the lower bound":                  {q.min, q.min, ""},
			"the lower bound and its last bit": {math.Nextafter(q.min, math.Inf(-1)), q.min, noisy},
			"below it by single precision":     {q.min - low*0x1p-23, q.min, noisy},
			"below it by more than noise":      {q.min - low*1.1*noise, 0, dropRange},
			"no number":                        {math.NaN(), 0, dropNotANumber},
			"infinite":                         {math.Inf(1), 0, dropNotANumber},
		} {
			if c.why != "" {
				c.want = 0
			}
			if got, why := q.judge(c.v); got != c.want || why != c.why {
				t.Errorf("%s of %s: %v is %v %q, want %v %q", sentence, q.name, c.v, got, why, c.want, c.why)
			}
		}
	}
}

// TestARatioOfOneAndABitIsOne: through a page, in which such values stand as they were computed.
func TestARatioOfOneAndABitIsOne(t *testing.T) {
	for value, want := range map[string]float64{"1.0000000000000002": 1, "1.000001": 1, "1": 1, "-0.000000": 0, "-1e-18": 0} {
		r := decodePage(fmt.Appendf(nil, "DCGM_FI_DEV_POWER_USAGE{UUID=\"GPU-a\"} 300\nDCGM_FI_PROF_SM_ACTIVE{UUID=\"GPU-a\"} %s\n", value), "")
		if g := only(t, r); !g.SMActive.Known || g.SMActive.V != want || math.Signbit(g.SMActive.V) || dropped(r, dropRange) != 0 {
			t.Errorf("%s is %+v, %d dropped", value, g.SMActive, dropped(r, dropRange))
		}
	}
}
