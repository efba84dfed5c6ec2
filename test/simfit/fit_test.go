package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/sim"
)

// synthetic is a recording of a simulated engine whose constants are known, under a load that climbs like the recorded one.
func synthetic(t *testing.T, c constants, seed uint64) *recording {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0))
	r := &recording{start: 1e9}
	for at, step := 0.0, 0; ; {
		step = int(at / 40)
		if step == 4 {
			break
		}
		a := asked{ID: fmt.Sprint("r", len(r.asked)), At: r.start + at, Prompt: 50 + rng.IntN(200), MaxTokens: 1 + rng.IntN(80), N: 1, Outcome: "ok", Phase: step}
		switch rng.IntN(20) {
		case 0, 1, 2, 3:
			a.Prompt += 350
		case 4:
			a.N = 2
		}
		r.asked = append(r.asked, a)
		at += rng.ExpFloat64() / []float64{3, 6, 9, 4}[step]
	}
	r.end = r.asked[len(r.asked)-1].At
	all, err := r.simulate(c, r.end, seed)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		a := &r.asked[o.request]
		e2e := o.ended - o.arrived
		a.TTFT, a.E2E = o.ttft, max(a.E2E, e2e)
		r.served = append(r.served, served{
			ID: "cmpl-" + a.ID + "-0", Start: o.arrived, TTFT: o.ttft, E2E: e2e,
			Queue: o.queue, Prefill: o.prefill, Decode: o.decode, Prompt: o.prompt, Output: o.output,
		})
	}
	whole, err := newRecording(r.asked, r.served)
	if err != nil {
		t.Fatal(err)
	}
	return whole
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got/want-1) <= tolerance) {
		t.Errorf("%s: got %v, want %v within %.0f %%", what, got, want, 100*tolerance)
	}
}

func TestFitFindsTheConstantsOfASimulatedEngine(t *testing.T) {
	for name, want := range map[string]constants{
		"an engine like the recorded one":             {overhead: 0.005, step: sim.StepCost{Base: 0.006, Prefill: 1.6e-4, Sequence: 5e-4, Noise: 0.12}},
		"one with a slow base and quick prompts":      {overhead: 0.012, step: sim.StepCost{Base: 0.012, Prefill: 6e-5, Sequence: 3e-4, Noise: 0.05}},
		"one whose sequences cost by their context":   {overhead: 0.003, step: sim.StepCost{Base: 0.005, Prefill: 1.2e-4, KV: 3e-6, Noise: 0.1}},
		"one whose steps take the same time, however": {overhead: 0.005, step: sim.StepCost{Base: 0.008, Prefill: 1e-4, Sequence: 4e-4, KV: 1e-6, Noise: 0}},
	} {
		t.Run(name, func(t *testing.T) {
			r := synthetic(t, want, 5)
			m, err := measure(r, r.before(r.real()))
			if err != nil {
				t.Fatal(err)
			}
			step, _, err := r.fitted(r.start, r.middle())
			if err != nil {
				t.Fatal(err)
			}
			near(t, "overhead", m.overhead, want.overhead, 0.3) // the mean of a few dozen that differ by a half
			if math.Abs(m.noise-want.step.Noise) > 0.03 {
				t.Errorf("noise: got %v, want %v within 0.03", m.noise, want.step.Noise)
			}
			near(t, "base", step.Base, want.step.Base, 0.05)
			near(t, "prefill", step.Prefill, want.step.Prefill, 0.05)
			// Sequences and their context come together, so their costs are known as a sum better than apart.
			const context = 200 // tokens, of a typical sequence
			near(t, "cost of a decoding sequence", step.Sequence+context*step.KV, want.step.Sequence+context*want.step.KV, 0.1)
		})
	}
}

func TestFittedConstantsPredictLoadThatTheFitHasNotSeen(t *testing.T) {
	want := constants{overhead: 0.005, step: sim.StepCost{Base: 0.006, Prefill: 1.6e-4, Sequence: 5e-4, Noise: 0.12}}
	r := synthetic(t, want, 6)
	m, err := measure(r, r.before(r.real()))
	if err != nil {
		t.Fatal(err)
	}
	step, _, err := r.fitted(r.start, r.middle())
	if err != nil {
		t.Fatal(err)
	}
	step.Noise = m.noise
	played, err := r.play(constants{step: step, overhead: m.overhead})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines() {
		real := l.of(summarise(r.real(), r.second()))
		if off, within := l.failure(real, predict(played, r.second(), l.of).mean()); !within {
			t.Errorf("%s: off by %s, more than the page allows a real engine", l.name, l.points(off, "+"))
		}
	}
}

func TestEquationsSayWhatATimeWasSpentOn(t *testing.T) {
	// The first sequence decodes from 1.0 to 2.0. The second's prompt is computed amid that, and it gets half of its
	// tokens before the first one ends.
	one := stretch{prompt: 100, tokens: 10, scheduled: 0.9, first: 1.0, end: 2.0}
	two := stretch{prompt: 300, tokens: 20, scheduled: 1.4, first: 1.5, end: 2.5}
	got := equations([]stretch{one, two}, 0.5, 2.2)
	want := []equation{
		{seconds: one.first - one.scheduled, steps: 1, prefill: 100},
		{seconds: 1, steps: 10, prefill: 300, sequences: 10 + 10, context: 10*105 + 10*310},
	}
	if len(got) != len(want) {
		t.Fatalf("got %+v, want two of the sequence that ended in time", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got  %+v\nwant %+v", got[i], want[i])
		}
	}
	if rest := equations([]stretch{one, two}, 1, 3); len(rest) != 2 {
		t.Errorf("got %+v, want two of the sequence that was scheduled late enough", rest)
	}
	if late := equations([]stretch{one, two}, 0.5, 3); late[2] != (equation{seconds: two.first - two.scheduled, steps: 1, prefill: 300, sequences: 1, context: 105}) {
		t.Errorf("the second's prefill shares its step with the first: %+v", late[2])
	}
}

func TestNothingAfterTheMiddleIsSeen(t *testing.T) {
	r := synthetic(t, constants{overhead: 0.005, step: sim.StepCost{Base: 0.006, Prefill: 1.6e-4, Sequence: 5e-4, Noise: 0.12}}, 7)
	before, _, err := r.fitted(r.start, r.middle())
	if err != nil {
		t.Fatal(err)
	}
	middle := r.middle()
	for i := range r.served {
		if s := &r.served[i]; s.Start+s.E2E > middle { // another engine, from then on
			s.E2E += 3 * s.Decode
			s.Decode *= 4
		}
	}
	after, _, err := r.fitted(r.start, middle)
	if err != nil {
		t.Fatal(err)
	}
	if before != after {
		t.Errorf("the fit of the first half changes with the second: %+v, %+v", before, after)
	}
}
