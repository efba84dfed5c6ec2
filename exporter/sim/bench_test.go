package sim

import (
	"math"
	"testing"
)

// benched is the benchmarks' engine: H100 with a faster prefill, so that it has 64 sequences in its batch at 70 % of its
// knee. With H100 itself it has 37.
func benched(id string) Engine {
	return Engine{ID: id, Model: "m", Step: StepCost{Base: 0.0065, Prefill: 17e-6, Sequence: 18e-6, KV: 4e-8, Noise: 0.08}}
}

// goodput is how many sequences a second meet TTFT <= 500 ms and TPOT <= 25 ms on one such engine that is offered some
// requests a second.
func goodput(t testing.TB, offered float64) float64 {
	const warm, seconds = 30, 180
	good := 0.0
	c := Config{Start: start, Engines: []Engine{benched("a")}, Loads: []Load{{Engines: []string{"a"}, Rate: Constant(offered), Mix: Chat}}}
	c.Truth.Sequence = func(s Sequence) {
		v := s.Values
		tpot := v.Decode / float64(max(1, v.OutputTokens-1))
		if v.End > start+warm && v.TTFT <= 0.5 && tpot <= 0.025 {
			good++
		}
	}
	run(t, c, warm+seconds)
	return good / seconds
}

// knee is where goodput stops growing: the lowest offered rate whose goodput is at least 98 % of the highest that any rate
// has. The sweep goes on until goodput has fallen to half of that.
func knee(t testing.TB) float64 {
	const first = 20
	var goodputs []float64
	highest := 0.0
	for g := math.Inf(1); g > highest/2; {
		g = goodput(t, first+float64(len(goodputs)))
		goodputs, highest = append(goodputs, g), max(highest, g)
	}
	for i, g := range goodputs {
		if g >= 0.98*highest {
			return first + float64(i)
		}
	}
	panic("the highest goodput is at least 98 % of itself")
}

// BenchmarkWorld runs four engines at 70 % of their knee, with about 64 sequences each, and reports how much faster than
// real time that is, beside the knee that it found and the sequences that it saw.
func BenchmarkWorld(b *testing.B) {
	at := knee(b)
	var c Config
	for _, id := range []string{"a", "b", "c", "d"} {
		c.Engines = append(c.Engines, benched(id))
		c.Loads = append(c.Loads, Load{Name: id, Engines: []string{id}, Rate: Constant(0.7 * at), Mix: Chat})
	}
	w := run(b, c, 60)
	seconds, running := 0.0, 0
	b.ReportAllocs()
	for b.Loop() {
		w.Run(w.Now() + 1)
		seconds++
		for _, e := range w.endpoints {
			running += len(e.ranks[0].running)
		}
	}
	sequences := float64(running) / 4 / seconds
	if seconds > 500 && math.Abs(sequences-64) > 6 {
		b.Errorf("%.1f sequences in a batch: the step cost no longer fits the claim of about 64", sequences)
	}
	b.ReportMetric(seconds/b.Elapsed().Seconds(), "x_real_time")
	b.ReportMetric(sequences, "sequences/engine")
	b.ReportMetric(at, "knee_per_s")
}

// BenchmarkPage renders the page of a busy engine.
func BenchmarkPage(b *testing.B) {
	for name, ranks := range map[string]int{"one rank": 1, "four ranks": 4} {
		b.Run(name, func(b *testing.B) {
			e := benched("a")
			e.Ranks = ranks
			w := run(b, Config{Start: start, Engines: []Engine{e}, Loads: []Load{{Engines: []string{"a"}, Rate: Constant(20), Mix: Chat}}}, 60)
			size := 0
			b.ReportAllocs()
			for b.Loop() {
				body, _ := w.Page("a")
				size = len(body)
			}
			b.ReportMetric(float64(size), "bytes")
		})
	}
}
