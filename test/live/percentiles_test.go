package main

import (
	"math"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/test/live/load"
)

func onePercentile(metric string, q, lower, upper float64, n uint64) *published {
	p := polled(0, 60)
	x := quantile{Engine: "live"}
	x.Quantile.Metric, x.Quantile.Q, x.Quantile.Window, x.Quantile.Start, x.Quantile.End = metric, q, 300, 10, 50
	x.Quantile.Lower, x.Quantile.Upper, x.Quantile.Count = lower, edge(upper), n
	p.Quantiles = []quantile{x}
	return p
}

func TestJudgePercentiles(t *testing.T) {
	// Ten sequences with first tokens after 0.1 to 1.0 s, 11 tokens that take 0.2 to 2 s.
	ten := func(w *world) {
		for i := 1; i <= 10; i++ {
			w.witnessed(20+float64(i), 0.1*float64(i), 0.3*float64(i), 11)
		}
	}
	for name, c := range map[string]struct {
		world   func(*world)
		p       *published
		holds   bool
		counts  bool
		engine  [2]float64
		client  float64
		unknown bool
	}{
		"the median of ten is the fifth":                             {ten, onePercentile("ttft", 0.5, 0.4, 0.5, 10), true, true, [2]float64{0.5, 0.5}, 0.51, false},
		"the bucket below does not hold it":                          {ten, onePercentile("ttft", 0.5, 0.3, 0.49, 10), false, true, [2]float64{0.5, 0.5}, 0.51, false},
		"an interval is open below":                                  {ten, onePercentile("ttft", 0.5, 0.5, 0.7, 10), false, true, [2]float64{0.5, 0.5}, 0.51, false},
		"the last bucket has no end":                                 {ten, onePercentile("e2e", 0.99, 2.5, math.Inf(1), 10), true, true, [2]float64{3, 3}, 3.01, false},
		"time per token":                                             {ten, onePercentile("tpot", 0.5, 0.05, 0.15, 10), true, true, [2]float64{0.1, 0.1}, 0.1, false},
		"a span tells what no client can":                            {ten, onePercentile("prefill", 0.9, 0.8, 1, 10), true, true, [2]float64{0.9, 0.9}, math.NaN(), false},
		"one observation too many":                                   {ten, onePercentile("ttft", 0.5, 0.4, 0.5, 11), true, false, [2]float64{0.5, 0.5}, 0.51, false},
		"gaps between tokens are known to nobody":                    {ten, onePercentile("token_gap", 0.5, 0, 1, 10), false, false, [2]float64{}, 0, true},
		"first tokens of cancelled requests are observed":            {func(w *world) { w.request(20, 0.1, 1, 9, cancelledAt(20.3)) }, onePercentile("ttft", 0.5, 0.1, 0.2, 1), true, true, [2]float64{0.05, 0.11}, 0.11, false},
		"a client that hangs up early may have missed a first token": {func(w *world) { w.request(20, 0, 0.1, 9, cancelledUnseen) }, onePercentile("ttft", 0.5, 0.1, 0.2, 1), true, true, [2]float64{0, 0.17}, math.NaN(), false},
		"or there was none":                                          {func(w *world) { w.request(20, 0, 0.1, 9, cancelledUnseen); w.witnessed(20, 0.2, 1, 9) }, onePercentile("ttft", 0.5, 0.1, 0.2, 1), true, true, [2]float64{0.2, 0.2}, 0.21, false},
		"a first token may be in the window before the end":          {func(w *world) { w.witnessed(49, 0.2, 3, 9) }, onePercentile("ttft", 0.5, 0.1, 0.2, 1), true, true, [2]float64{0.2, 0.2}, 0.21, false},
		"an observation at the edge may or may not be there":         {func(w *world) { w.witnessed(20, 0.1, 1, 9); w.witnessed(49, 0.3, 1.01, 9) }, onePercentile("e2e", 0.99, 0, 1, 1), true, true, [2]float64{1, 1}, 1.01, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := world{}
			c.world(&w)
			got, unknown := judgePercentiles(w.truth(), c.p, c.p.Quantiles)
			if c.unknown {
				if unknown != 1 || len(got) != 0 {
					t.Errorf("%d unknown, %d judged", unknown, len(got))
				}
				return
			}
			r := got[0]
			if r.holds() != c.holds || r.counts() != c.counts {
				t.Errorf("holds %v and counts %v, want %v and %v: %+v", r.holds(), r.counts(), c.holds, c.counts, r)
			}
			if !alike(r.engine[0], c.engine[0]) || !alike(r.engine[1], c.engine[1]) || !alike(r.client, c.client) {
				t.Errorf("the engine's %v and the client's %v, want %v and %v", r.engine, r.client, c.engine, c.client)
			}
		})
	}
}

func alike(a, b float64) bool {
	return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) < 1e-6
}

// TestWhatAKilledEngineDidLastIsOnNoPage: it happened after the last page, so no window can have it.
func TestWhatAKilledEngineDidLastIsOnNoPage(t *testing.T) {
	w := world{lives: []life{{Started: -100, Killed: 30.8}, {Started: 31}}}
	w.witnessed(20, 0.1, 1, 9)
	w.request(30.1, 0.2, 0.5, 9, ended(load.Broken))
	p := onePercentile("ttft", 0.5, 0, 0.1, 1)
	p.Polls = append(polled(0, 30).Polls, polled(45, 60).Polls...)
	got, _ := judgePercentiles(w.truth(), p, p.Quantiles)
	if r := got[0]; r.n != [2]int{1, 1} || !r.holds() {
		t.Errorf("%+v", r)
	}
}

func TestClocks(t *testing.T) {
	w := world{}
	for i := range 9 {
		w.witnessed(float64(i), 0.1, 1.1, 11)
	}
	w.request(20, 0.1, 1, 9) // no span
	for _, a := range clocks(w.truth()) {
		want := 10.0 // ms
		if a.name != "TTFT" && a.name != "e2e" {
			want = 0 // both clocks start together, and both ends of the TPOT are equally late
		}
		if a.n != 9 || math.Abs(a.median-want) > 1e-3 || math.Abs(a.most-want) > 1e-3 {
			t.Errorf("%+v, want a median of %v", a, want)
		}
	}
}
