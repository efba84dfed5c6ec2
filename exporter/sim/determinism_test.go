package sim

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// pages are all engines' pages, one after the other.
func pages(w *World) []byte {
	var all []byte
	for _, id := range w.Engines() {
		body, ok := w.Page(id)
		all = fmt.Appendf(append(all, body...), "%v %d\n", ok, w.Process(id))
	}
	return fmt.Appendf(all, "%+v\n", w.GPUs())
}

// TestLookingChangesNothing: a world that is run in small steps and looked at all the time shows the same, at the same
// instants, as one that is left alone.
func TestLookingChangesNothing(t *testing.T) {
	for seed := range uint64(worlds / 3) {
		c := troubled(anyWorld(seed), seed)
		for i := range c.Engines {
			c.Engines[i].Torn = 0.3
		}
		quiet, watched := build(t, c), build(t, c)
		dice := rand.New(rand.NewPCG(seed, 1))
		for at := start; at < start+80; {
			at += 20 * dice.Float64()
			quiet.Run(at)
			for watched.Now() < at {
				watched.Run(min(at, watched.Now()+2*dice.Float64()))
				pages(watched)
			}
			watched.Run(at - 5) // the past
			if got, want := append(pages(watched), watched.GPUPage(GPURegime48)...), append(pages(quiet), quiet.GPUPage(GPURegime48)...); !bytes.Equal(got, want) {
				t.Fatalf("world %d differs at %.3f s when it is looked at", seed, at-start)
			}
		}
	}
}

func TestSeedsMakeWorlds(t *testing.T) {
	at := func(seed uint64) []byte {
		c := anyWorld(3)
		c.Seed = seed
		return pages(run(t, c, 30))
	}
	if !bytes.Equal(at(1), at(1)) {
		t.Error("the same seed gives two worlds")
	}
	if bytes.Equal(at(1), at(2)) {
		t.Error("two seeds give the same world")
	}
}

// firstAttempts are the times at which a load asked for something new.
func firstAttempts(truth *told, class string) (at []float64) {
	for _, r := range truth.requests {
		if r.Class == class && r.Attempt == 1 {
			at = append(at, r.Arrived)
		}
	}
	slices.Sort(at)
	return at
}

// TestDiceAreApart: what one part of the world does leaves alone what the others draw.
func TestDiceAreApart(t *testing.T) {
	base := func() Config {
		mix := func(name string) Mix {
			return Mix{{Name: name, Weight: 1, Prompt: 200, PromptCV: 1, Output: 30, OutputCV: 1}}
		}
		habits := Habits{Retries: 2, Error: 0.2, Patience: 0.3, Cancel: 0.1, CancelAfter: 0.1, Two: 0.1}
		engine := Engine{Model: "m", Step: H100, MaxSeqs: 8}
		a, b := engine, engine
		a.ID, b.ID = "a", "b"
		return Config{Seed: 7, Start: start, Stop: 60, Engines: []Engine{a, b}, Loads: []Load{
			{Name: "one", Engines: []string{"a", "b"}, Rate: Constant(8), Mix: mix("one"), Habits: habits},
			{Name: "other", Engines: []string{"a", "b"}, Rate: Constant(8), Mix: mix("other"), Habits: habits},
		}}
	}
	attempts := func(change func(*Config), class string) []float64 {
		c := base()
		change(&c)
		truth := listen(&c)
		run(t, c, 300)
		return firstAttempts(truth, class)
	}
	want := attempts(func(*Config) {}, "one")
	for name, change := range map[string]func(*Config){
		"another load sends more":     func(c *Config) { c.Loads[1].Rate = Constant(20) },
		"another load is hasty":       func(c *Config) { c.Loads[1].Habits.Patience = 0.05 },
		"another load is gone":        func(c *Config) { c.Loads = c.Loads[:1] },
		"engines are slow":            func(c *Config) { c.Engines[0].Step.Base *= 5 },
		"an engine dies":              func(c *Config) { c.Outages = []Outage{{Engine: "a", After: 20, Down: 10}} },
		"an engine refuses":           func(c *Config) { c.Engines[0].MaxQueued = 1 },
		"its own clients try no more": func(c *Config) { c.Loads[0].Habits.Retries = 0 },
	} {
		if got := attempts(change, "one"); !slices.Equal(got, want) {
			t.Errorf("%s: the load asks at other times (%d requests, %d before)", name, len(got), len(want))
		}
	}
	if slices.Equal(attempts(func(c *Config) { c.Loads[0].Rate = Constant(9) }, "one"), want) || len(want) < 100 {
		t.Errorf("a changed rate is not seen: %d requests", len(want))
	}
	if slices.Equal(want, attempts(func(*Config) {}, "other")) {
		t.Error("two loads draw the same")
	}
}

// TestTimesAreUnixSeconds: what is told lies in the world's time.
func TestTimesAreUnixSeconds(t *testing.T) {
	c := anyWorld(5)
	truth := listen(&c)
	w := run(t, c, 60)
	if w.Now() != start+60 {
		t.Errorf("now is %f", w.Now())
	}
	lo, hi := math.Inf(1), 0.0
	for _, r := range truth.requests {
		lo, hi = min(lo, r.Arrived), max(hi, r.Ended)
	}
	for _, s := range truth.sequences {
		lo, hi = min(lo, s.Values.End-s.Values.E2E), max(hi, s.Values.End)
	}
	if lo < start || lo > start+10 || hi > start+60 || hi < start+50 {
		t.Errorf("the truth lies from %f to %f", lo-start, hi-start)
	}
}
