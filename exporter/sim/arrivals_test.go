package sim

import (
	"math"
	"testing"
)

// arrivals are the times of a load's requests, seconds since the start. All are bad, so that no engine is needed.
func arrivals(t *testing.T, seed uint64, l Load, seconds float64) (at []float64) {
	l.Name, l.Engines, l.Mix, l.Habits = "x", []string{"a"}, fixed(10, 10), Habits{Bad: 1}
	c := Config{Seed: seed, Start: start, Engines: []Engine{{ID: "a", Model: "m", Step: H100}}, Loads: []Load{l}}
	truth := listen(&c)
	run(t, c, seconds+1)
	for _, r := range truth.requests {
		if x := r.Arrived - start; x <= seconds {
			at = append(at, x)
		}
	}
	return at
}

// counted is the number of arrivals in each of some equal parts of a time.
func counted(at []float64, seconds float64, parts int) []float64 {
	n := make([]float64, parts)
	for _, x := range at {
		n[min(parts-1, int(x/seconds*float64(parts)))]++
	}
	return n
}

// TestArrivalsFollowTheirRate: the counts in fifty parts of a time, held against the integral of the rate by chi-square.
// With 50 degrees of freedom it exceeds 100 once in 30,000 times; the seeds are fixed.
func TestArrivalsFollowTheirRate(t *testing.T) {
	const parts = 50
	for name, test := range map[string]struct {
		rate    Rate
		seconds float64
		total   float64
	}{
		"a constant rate":                   {Constant(10), 500, 5000},
		"a ramp, flat before and after":     {Ramp(5, 25, 100, 400), 500, 5*100 + 15*300 + 25*100},
		"a day's traffic":                   {Diurnal(10, 0.8, 250), 500, 5000},
		"a rate that repeats":               {Rate{Points: []Point{{0, 0}, {50, 20}, {100, 0}}, Period: 100}, 500, 5000},
		"a rate that jumps":                 {Rate{Points: []Point{{250, 5}, {250, 15}}}, 500, 5000},
		"a rate that ends":                  {Rate{Points: []Point{{0, 20}, {400, 20}, {500, 0}}}, 600, 9000},
		"a rate that is 0 in between":       {Rate{Points: []Point{{0, 20}, {200, 20}, {200, 0}, {300, 0}, {300, 20}}}, 500, 8000},
		"a mean by the integral of its law": {Rate{Points: []Point{{0, 30}, {500, 10}}}, 500, 10000},
	} {
		t.Run(name, func(t *testing.T) {
			at := arrivals(t, 11, Load{Rate: test.rate}, test.seconds)
			if n := float64(len(at)); math.Abs(n-test.total) > 4*math.Sqrt(test.total) {
				t.Errorf("%v arrivals, %v are due", n, test.total)
			}
			chi := 0.0
			for i, n := range counted(at, test.seconds, parts) {
				want := 0.0
				const fine = 1000
				for k := range fine {
					want += test.rate.at((float64(i)+(float64(k)+0.5)/fine)*test.seconds/parts) / fine * test.seconds / parts
				}
				if want == 0 {
					if n > 0 {
						t.Errorf("%v arrivals in part %d, where there is no rate", n, i)
					}
					continue
				}
				chi += (n - want) * (n - want) / want
			}
			if chi > 100 {
				t.Errorf("chi-square is %.1f over %d parts", chi, parts)
			}
		})
	}
}

// TestDiurnalSwings: the rate's own shape, which the test above takes for given.
func TestDiurnalSwings(t *testing.T) {
	r := Diurnal(10, 0.6, 1200)
	for at, want := range map[float64]float64{0: 4, 300: 10, 600: 16, 900: 10, 1200: 4, 1500: 10, 1800: 16} {
		if got := r.at(at); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v/s at %v s, want %v", got, at, want)
		}
	}
}

// TestDispersion: counts of a second vary as a Poisson process's do, and those of bursts far more, at the same mean.
func TestDispersion(t *testing.T) {
	const seconds = 4000
	sigma := math.Sqrt(2.0 / seconds) // of the dispersion of a Poisson process
	poisson := counted(arrivals(t, 1, Load{Rate: Constant(10)}, seconds), seconds, seconds)
	if d := dispersion(poisson); math.Abs(d-1) > 4*sigma {
		t.Errorf("a Poisson process has a dispersion of %.3f", d)
	}
	// High for 10 s of 40, low for 30 s: a mean factor of 1.
	bursts := counted(arrivals(t, 1, Load{Rate: Constant(10), Burst: &Burst{High: 2.5, Low: 0.5, HighS: 10, LowS: 30}}, seconds), seconds, seconds)
	// The rate itself varies by 0.75 of its mean squared: 10 x 0.75 on top of 1.
	if d := dispersion(bursts); !near(d, 8.5, 0.2) {
		t.Errorf("bursts have a dispersion of %.2f, want 8.5", d)
	}
	if m := mean(bursts); !near(m, 10, 0.15) {
		t.Errorf("bursts have a mean of %.2f a second, want 10", m)
	}
}

// TestBurstsLastExponentially: the times of high and of low rate have their means, and spread as much.
func TestBurstsLastExponentially(t *testing.T) {
	w := build(t, Config{Seed: 1, Engines: []Engine{{ID: "a", Model: "m", Step: H100}}})
	c := newClients(w, &Load{Burst: &Burst{High: 3, Low: 0.5, HighS: 5, LowS: 20}}, w.random(2, 0))
	lasted := map[float64][]float64{}
	since, was := 0.0, c.factor(0)
	for at := 0.0; at < 25000; at += 0.05 {
		if is := c.factor(at); is != was {
			lasted[was] = append(lasted[was], at-since)
			since, was = at, is
		}
	}
	for factor, want := range map[float64]float64{3: 5, 0.5: 20} {
		n := float64(len(lasted[factor]))
		m, d := mean(lasted[factor]), dispersion(lasted[factor])
		if len(lasted) != 2 || n < 900 || math.Abs(m-want) > 4*want/math.Sqrt(n) || !near(math.Sqrt(d*m), want, 0.15) {
			t.Errorf("factor %v lasts %.2f s on average and varies by %.2f, %v times; want %v for both", factor, m, math.Sqrt(d*m), n, want)
		}
	}
}

// TestGapsAreMemoryless: the times between arrivals of a constant rate are exponential: as long as their mean on average,
// with the mean for a standard deviation, and longer than it e^-1 of the time.
func TestGapsAreMemoryless(t *testing.T) {
	at := arrivals(t, 3, Load{Rate: Constant(10)}, 2000)
	var gaps []float64
	longer := 0.0
	for i := 1; i < len(at); i++ {
		gaps = append(gaps, 10*(at[i]-at[i-1]))
		if gaps[i-1] > 1 {
			longer++
		}
	}
	n := float64(len(gaps))
	if m := mean(gaps); math.Abs(m-1) > 4/math.Sqrt(n) {
		t.Errorf("the mean gap is %.4f of what it should be", m)
	}
	if d := dispersion(gaps); math.Abs(d-1) > 4*math.Sqrt(8/n) {
		t.Errorf("the variance of a gap is %.3f of its mean squared", d)
	}
	if p := 1 / math.E; math.Abs(longer/n-p) > 4*math.Sqrt(p*(1-p)/n) {
		t.Errorf("%.4f of the gaps are longer than the mean, want %.4f", longer/n, p)
	}
}

// TestLengthsFollowTheirClass: means, spreads, shares and correlation of what is drawn.
func TestLengthsFollowTheirClass(t *testing.T) {
	const n = 20000
	c := Class{Name: "x", Weight: 1, Prompt: 500, PromptCV: 0.8, Output: 200, OutputCV: 0.5, Correlation: 0.6, Stop: 0.7, One: 0.1, Prefixes: 2, PrefixLen: 100}
	other := Class{Name: "y", Weight: 3, Prompt: 1, Output: 1}
	w := build(t, Config{Seed: 1, Engines: []Engine{{ID: "a", Model: "m", Step: H100}}})
	dice := w.random(9, 9)
	var prompts, outputs, x, y, xy []float64
	stops, ones, alike, names := 0.0, 0.0, 0.0, map[string]int{}
	for range n {
		d := Mix{c}.draw(dice)
		prompts = append(prompts, float64(d.prompt))
		if d.prefix.tokens > 0 {
			alike++
			names[d.prefix.name]++
			if d.prompt <= d.prefix.tokens {
				t.Fatal("a prompt is no longer than its beginning")
			}
		}
		if d.output == 1 && d.maxTokens == 1 {
			ones++
			continue
		}
		if d.stops != (d.maxTokens > d.output) {
			t.Fatalf("what stops by itself has room for more: %+v", d)
		}
		if d.stops {
			stops++
		}
		outputs = append(outputs, float64(d.output))
		x, y, xy = append(x, math.Log(float64(d.prompt))), append(y, math.Log(float64(d.output))), append(xy, math.Log(float64(d.prompt))*math.Log(float64(d.output)))
	}
	within := func(what string, got, want, tolerance float64) {
		t.Helper()
		if math.Abs(got-want) > tolerance {
			t.Errorf("%s is %.4f, want %.4f", what, got, want)
		}
	}
	spread := func(v []float64) float64 { return math.Sqrt(dispersion(v) / mean(v)) }
	within("mean prompt", mean(prompts), 500, 4*400/math.Sqrt(n))
	within("mean output", mean(outputs), 200, 4*100/math.Sqrt(n))
	within("spread of prompts", spread(prompts), 0.8, 0.06)
	within("spread of outputs", spread(outputs), 0.5, 0.03)
	within("share of single tokens", ones/n, 0.1, 4*math.Sqrt(0.09/n))
	within("share that stops", stops/float64(len(outputs)), 0.7, 4*math.Sqrt(0.21/n))
	within("correlation", (mean(xy)-mean(x)*mean(y))/math.Sqrt(dispersion(x)*mean(x)*dispersion(y)*mean(y)), 0.6, 0.03)
	within("share of the first beginning", float64(names["x/0"])/alike, 0.5, 4*math.Sqrt(0.25/alike))
	first := 0.0
	for range n {
		if (Mix{c, other}).draw(dice).class == "x" {
			first++
		}
	}
	within("share of the first class", first/n, 0.25, 4*math.Sqrt(0.1875/n))
}
