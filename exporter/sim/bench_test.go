package sim

import "testing"

// BenchmarkWorld runs four engines with about 64 sequences each, 70 % of their knee, and reports how much faster than real time
// that is.
func BenchmarkWorld(b *testing.B) {
	engine := func(id string) Engine {
		return Engine{ID: id, Model: "m", Step: H100}
	}
	c := Config{Engines: []Engine{engine("a"), engine("b"), engine("c"), engine("d")}}
	for _, e := range c.Engines {
		c.Loads = append(c.Loads, Load{Name: e.ID, Engines: []string{e.ID}, Rate: Constant(17.7), Mix: Chat})
	}
	w, err := New(c)
	if err != nil {
		b.Fatal(err)
	}
	w.Run(60)
	t, running, n := 60.0, 0, 0
	b.ReportAllocs()
	for b.Loop() {
		t += 1
		w.Run(t)
		for _, e := range w.endpoints {
			running += len(e.ranks[0].running)
			n++
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "x_real_time")
	b.ReportMetric(float64(running)/float64(n), "sequences/engine")
}
