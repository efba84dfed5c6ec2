package main

import (
	"math"
	"testing"
)

// TestImageQuantiles: ten observations that the engine had in (0.1, 0.25], of which the shared grid has the edge 0.2
// inside: rounded down they may all be in (0.1, 0.2], rounded up they may all be in (0.2, 0.3].
func TestImageQuantiles(t *testing.T) {
	samples := page(`goodput_ttft_floor_seconds_bucket{engine="live",le="0.1"} 0
goodput_ttft_floor_seconds_bucket{engine="live",le="0.2"} 10
goodput_ttft_floor_seconds_bucket{engine="live",le="0.3"} 10
goodput_ttft_floor_seconds_bucket{engine="live",le="+Inf"} 11
goodput_ttft_ceil_seconds_bucket{engine="live",le="+Inf"} 11
goodput_ttft_ceil_seconds_bucket{engine="live",le="0.3"} 10
goodput_ttft_ceil_seconds_bucket{engine="live",le="0.1"} 0
goodput_ttft_ceil_seconds_bucket{engine="live",le="0.2"} 0
goodput_ttft_ceil_seconds_count{engine="live"} 11
goodput_tpot_ceil_seconds_bucket{engine="live",le="+Inf"} 0
goodput_tpot_floor_seconds_bucket{engine="live",le="+Inf"} 0
`)
	got := imageQuantiles(samples, polled(0, 60))
	want := map[float64][2]float64{0.5: {0.1, 0.3}, 0.9: {0.1, 0.3}, 0.95: {0.3, math.Inf(1)}, 0.99: {0.3, math.Inf(1)}}
	if len(got) != len(want) {
		t.Fatalf("%d percentiles, want %d: nothing was observed of tpot", len(got), len(want))
	}
	for _, q := range got {
		x := q.Quantile
		if w := want[x.Q]; x.Metric != "ttft" || x.Lower != w[0] || float64(x.Upper) != w[1] || x.Count != 11 || x.Start != 0 || x.End != 60 {
			t.Errorf("%+v, want %v", x, w)
		}
	}
	if got := imageQuantiles(samples, &published{}); got != nil {
		t.Errorf("without a page: %v", got)
	}
}
