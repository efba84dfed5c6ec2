package main

import (
	"math/rand/v2"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/collectors/engine"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/sim"
)

// TestTruthOfEveryDialectSurvivesMissedPolls begins to look at an engine at any time, and misses polls: intervals are wider,
// never wrong. The decoder sees only the pages that are not missed, too.
func TestTruthOfEveryDialectSurvivesMissedPolls(t *testing.T) {
	computes(t)
	const tries = 12
	for name, c := range dialectCases() {
		if c.refused[""] != "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objectives := dialectObjectives()
			rng := rand.New(rand.NewPCG(uint64(len(name)), 3))
			j, polls := pollAll(t, c.scenario(), 12, 600)
			judged := 0
			for range tries {
				drop := 0.6 * rng.Float64()
				first := rng.IntN(len(polls) / 2)
				cfg := config.Default()
				cfg.SLOs = objectives
				o := foldOptions(&cfg, polls[first].Sent)
				state := fold.New(o)
				var windows []fold.Window
				for _, p := range polls[first:] {
					if rng.Float64() >= drop {
						windows = append(windows, state.Apply(fold.Round{At: p.Received, Targets: []fact.Target{{ID: "a"}}, Polls: []fact.Poll{p}}).Windows...)
					}
				}
				for _, w := range windows {
					if w.Evidence == "" {
						continue // refused: another test looks at why
					}
					in, good := j.within("a", w.Start, w.End), uint64(0)
					for _, q := range in {
						for _, o := range objectives {
							if o.Name == w.SLO && meets(o, q) {
								good++
							}
						}
					}
					if uint64(len(in)) != w.Sequences || good < w.Lower || good > w.Upper {
						t.Fatalf("%s (%.1f, %.1f] dropping %.2f, %s %s: truth %d of %d outside [%d, %d] of %d",
							w.SLO, w.Start-simStart, w.End-simStart, drop, w.Method, w.Note, good, len(in), w.Lower, w.Upper, w.Sequences)
					}
					judged++
				}
			}
			if judged < 8*tries {
				t.Errorf("only %d windows judged", judged)
			}
		})
	}
}

// pollAll polls a world's engine every two seconds, and tells the truth.
func pollAll(t *testing.T, s sim.Scenario, seed uint64, length float64) (*judgedWorld, []fact.Poll) {
	t.Helper()
	j := &judgedWorld{sequences: map[string][]sim.Sequence{}, pages: map[string][]renderedPage{}}
	c := s.Config(seed, simStart)
	c.Truth.Sequence = func(q sim.Sequence) { j.sequences[q.Engine] = append(j.sequences[q.Engine], q) }
	w, err := sim.New(c)
	if err != nil {
		t.Fatal(err)
	}
	d := engine.NewDecoder()
	var polls []fact.Poll
	for sent := simStart; sent < simStart+length; sent += 2 {
		at := sent + simPageTook/2
		w.Run(at)
		p := fact.Poll{Target: "a", Sent: sent, Received: sent + simPageTook, Reason: fact.ReasonRefused}
		if body, up := w.Page("a"); up {
			j.pages["a"] = append(j.pages["a"], renderedPage{sent: sent, at: at, process: w.Process("a")})
			p.Reason = ""
			if p.Sample, err = d.Decode(body, w.ContentType("a")); err != nil {
				t.Fatal(err)
			}
		}
		polls = append(polls, p)
	}
	return j, polls
}
