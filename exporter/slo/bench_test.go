package slo

import (
	"fmt"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// knee is the busiest minute of vllm-0.32-day, near its knee, with a minute of look-back and more: 694 finishers in
// 60 slices of 1 s.
func knee(b *testing.B) Window {
	b.Helper()
	r := load(b, "vllm-0.32-day")
	minute := cut(r)[3]
	return r.window(r.pages[:minute[1]+1], minute[0])
}

// BenchmarkWindow judges one window by both methods, and says how many times the cost of the pair bounds that is.
func BenchmarkWindow(b *testing.B) {
	w := knee(b)
	for _, ttft := range []float64{.06, .1, .25} {
		b.Run(fmt.Sprintf("ttft=%s", seconds(ttft)), func(b *testing.B) {
			clauses := []Clause{{fact.TTFT, ttft}, {fact.TPOT, .025}}
			var j Judge
			j.Window(w, clauses, 0)
			pairs := pairCost(&j, clauses)
			b.ReportAllocs()
			for b.Loop() {
				j.Window(w, clauses, 0)
			}
			each := b.Elapsed() / time.Duration(b.N)
			b.ReportMetric(float64(each)/float64(pairs), "x-pairs")
			b.ReportMetric(float64(len(j.build.net.to)/2), "arcs")
		})
	}
}

func pairCost(j *Judge, clauses []Clause) time.Duration {
	const rounds = 200
	start := time.Now()
	for range rounds {
		for _, w := range []world{strict, lenient} {
			j.see(w, clauses)
			j.pairs()
		}
	}
	return time.Since(start) / rounds
}

// BenchmarkWindowAtTheLimit judges a window whose network is just small enough.
func BenchmarkWindowAtTheLimit(b *testing.B) {
	var w Window
	for i := range 270 {
		var ttfts []float64
		var ended []fact.Request
		for k := range 8 {
			ttfts = append(ttfts, []float64{.09, .4}[(i+k)%2])
			ended = append(ended, answer(.09, float64(1+k)/50))
		}
		s := made(float64(i), ttfts, ended...)
		if i%4 > 0 {
			s = without(s, fact.Decode)
		}
		w.Slices = append(w.Slices, s)
	}
	clauses := []Clause{{fact.TTFT, .25}, {fact.TPOT, .1}}
	var j Judge
	if got := j.Window(w, clauses, 0); got.Method != MethodExplain {
		b.Fatalf("method %s, %s", got.Method, got.Note)
	}
	b.ReportAllocs()
	for b.Loop() {
		j.Window(w, clauses, 0)
	}
	b.ReportMetric(float64(len(j.build.net.to)/2), "arcs")
}

// TestWindowAllocatesNothing: once its scratch has grown, a Judge allocates nothing, whichever objective it judges.
func TestWindowAllocatesNothing(t *testing.T) {
	p := populate(1)
	looks := p.polls()
	w, _ := p.window(looks, len(looks)/2)
	var j Judge
	var objectives [][]Clause
	for len(objectives) < 10 {
		if o := p.objective(); j.Window(w, o, 0).Method != "" {
			objectives = append(objectives, o)
		}
	}
	if n := testing.AllocsPerRun(20, func() {
		for _, o := range objectives {
			j.Window(w, o, 0)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
