package main

import (
	"math"
	"strings"
	"testing"
)

func TestSpansCutTheStepThatHoldsTheMiddle(t *testing.T) {
	r := &recording{start: 0, end: 100}
	for i, phase := range []int{0, 0, 0, 0, 1, 0, 1, 1, 1, 2, 2} { // one arrival every ten seconds, one of them late
		r.asked = append(r.asked, asked{At: float64(10 * i), Phase: phase})
	}
	want := []span{{from: 0, to: 40, fitted: true}, {from: 40, to: 50, fitted: true}, {from: 50, to: 90}, {from: 90, to: math.Nextafter(100, 200)}}
	got := r.spans()
	if len(got) != len(want) {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	total := 0.0
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %+v, want %+v", got[i], want[i])
		}
		total += r.offered(got[i]) * (got[i].to - got[i].from)
	}
	if math.Abs(total-float64(len(r.asked))) > 1e-9 {
		t.Errorf("the spans hold %v requests of %d", total, len(r.asked))
	}
}

func TestSummaryOfASpan(t *testing.T) {
	all := []outcome{
		{arrived: 9, ended: 11, ttft: 9, decode: 9, output: 10},             // came before: it counts for what was finished
		{arrived: 10, ended: 12, ttft: 0.05, decode: 0.2, output: 11},       // 20 ms a token
		{arrived: 11, ended: 13, ttft: 0.2, decode: 0.3, output: 11},        // 30 ms: too slow for every target
		{arrived: 12, ended: 14, ttft: 0.3, output: 1},                      // one token has no TPOT, and passes
		{arrived: 13, ended: 25, ttft: 0.6, decode: 0.01, output: 2},        // ends later
		{arrived: 20, ended: 20.5, ttft: 0.001, decode: 0.001, output: 100}, // comes later
	}
	got := summarise(all, span{from: 10, to: 20})
	want := summary{goodput: [3]float64{0.25, 0.25, 0.5}, ttft50: 0.2, ttft95: 0.6, tpot50: 0.02, tpot95: 0.03, finished: 0.4, tokens: 3.3}
	for i, pair := range [][2]float64{
		{got.goodput[0], want.goodput[0]}, {got.goodput[1], want.goodput[1]}, {got.goodput[2], want.goodput[2]}, {got.ttft50, want.ttft50},
		{got.ttft95, want.ttft95}, {got.tpot50, want.tpot50}, {got.tpot95, want.tpot95}, {got.finished, want.finished}, {got.tokens, want.tokens},
	} {
		if math.Abs(pair[0]-pair[1]) > 1e-12 {
			t.Errorf("value %d: got %v, want %v", i, pair[0], pair[1])
		}
	}
}

func TestErrorsAreHeldAgainstTheStatedBound(t *testing.T) {
	share, relative := line{share: true, bound: 0.05}, line{bound: 0.1}
	for name, c := range map[string]struct {
		l               line
		real, predicted float64
		off             string
		within          bool
	}{
		"a share is off by points":           {share, 0.10, 0.14, "+4.0 points", true},
		"a share may be off either way":      {share, 0.50, 0.44, "-6.0 points", false},
		"a time is off by its share":         {relative, 0.200, 0.216, "+8.0 %", true},
		"a time may not be off by too much":  {relative, 0.200, 0.176, "-12.0 %", false},
		"what is not a number is not within": {relative, 0.200, math.NaN(), "+NaN %", false},
	} {
		t.Run(name, func(t *testing.T) {
			off, within := c.l.failure(c.real, c.predicted)
			if got := c.l.points(off, "+"); got != c.off || within != c.within {
				t.Errorf("got %s, within: %v; want %s, %v", got, within, c.off, c.within)
			}
		})
	}
}

func TestQuantileIsAnObservedValue(t *testing.T) {
	x := []float64{4, 1, 3, 2}
	for q, want := range map[float64]float64{0: 1, 0.25: 1, 0.5: 2, 0.51: 3, 0.95: 4, 1: 4} {
		if got := quantile(x, q); got != want {
			t.Errorf("quantile %v: got %v, want %v", q, got, want)
		}
	}
	if !math.IsNaN(quantile(nil, 0.5)) {
		t.Error("nothing has a median")
	}
}

func TestTablesStandBetweenTheirComments(t *testing.T) {
	page := "before\n<!-- one -->\nold\n<!-- /one -->\nafter\n"
	got, err := replace(page, "one", "| new |\n")
	if err != nil {
		t.Fatal(err)
	}
	if want := "before\n<!-- one -->\n\n| new |\n\n<!-- /one -->\nafter\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if again, err := replace(got, "one", "| new |\n"); err != nil || again != got {
		t.Errorf("a second run changes the page: %q, %v", again, err)
	}
	if _, err := replace(page, "two", ""); err == nil || !strings.Contains(err.Error(), "<!-- two -->") {
		t.Errorf("a page without the comments: %v", err)
	}
}
