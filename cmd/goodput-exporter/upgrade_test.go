package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/collectors/engine"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/sim"
)

// versions are the steps of a rolling upgrade, whose pages all have other bucket edges: edges as short as those of before
// 0.8.4, 0.11, 0.32, and 0.32 with custom ones.
func versions(id string) []sim.Engine {
	short := sim.Buckets{
		TTFT:    []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10},
		Gaps:    []float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5},
		Latency: []float64{.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60},
	}
	custom := sim.Buckets{
		TTFT:    []float64{.05, .1, .2, .3, .5, .8, 1, 1.5, 2.5, 4, 8, 16, 64},
		Gaps:    []float64{.005, .01, .015, .02, .025, .03, .05, .1, .25, 1},
		Latency: []float64{.05, .3, .5, 1, 2, 4, 8, 16, 32, 64, 256},
	}
	base := sim.Engine{ID: id, Model: sim.ChatModel, Step: sim.H100, MaxSeqs: 128}
	v8, v11, v32, vCustom := base, base, base, base
	v8.Dialect, v8.Buckets = sim.V1Old, short
	v11.Dialect = sim.V1Old
	vCustom.Buckets = custom
	return []sim.Engine{v8, v11, v32, vCustom}
}

// TestARollingUpgrade replays an upgrade of three replicas over four versions whose bucket layouts differ: no counter of ours
// falls, every interval holds the truth, and the number of layouts in sight rises while versions are mixed and falls again.
func TestARollingUpgrade(t *testing.T) {
	computes(t)
	r := newRollout(t, versions, people())
	cfg := config.Default()
	cfg.SLOs = simObjectives()
	o := foldOptions(&cfg, simStart)
	state := fold.New(o)
	var targets []fact.Target
	decoders := make([]*engine.Decoder, replicas)
	for i := range replicas {
		targets = append(targets, fact.Target{ID: fmt.Sprintf("r%d", i)})
		decoders[i] = engine.NewDecoder()
	}
	layouts := map[float64]int{}
	falls := newWatcher(t)
	judged, percentiles, mistaken := 0, 0, 0
	for at := 0.0; at < upgradeEnds; at += 2 {
		round := fold.Round{At: simStart + at, Targets: targets}
		for i := range replicas {
			round.Polls = append(round.Polls, r.poll(t, i, at+simStagger*float64(i), decoders[i]))
		}
		s := state.Apply(round)
		layouts[at] = s.Layouts[fact.TTFT]
		falls.watch(s)
		for _, w := range s.Windows {
			if wrong := r.wrong(&w, 0); wrong != "" {
				t.Error(wrong)
			}
			if r.wrong(&w, 2) != "" {
				mistaken++
			}
			judged++
		}
		for _, q := range s.Quantiles {
			r.checkQuantile(t, &q)
			percentiles++
		}
	}
	if judged < 4*replicas*8*len(cfg.SLOs) || percentiles < 1000 {
		t.Errorf("%d windows and %d percentiles", judged, percentiles)
	}
	if mistaken < judged/4 {
		t.Errorf("%d of %d windows are wrong against the truth of two seconds later: the oracle does not tell them apart", mistaken, judged)
	}
	for _, row := range []struct {
		at   float64
		want int
		why  string
	}{
		{soak - 2, 1, "all replicas on the first version"},
		{soak + stagger - 4, 2, "one replica upgraded"},
		{stepLength + soak - 4, 1, "all on the second"},
		{2*stepLength + soak - 4, 1, "the third has the second's edges"},
		{2*stepLength + soak + stagger - 4, 2, "custom edges on one"},
		{upgradeEnds - 2, 1, "custom edges on all"},
	} {
		if got := layouts[row.at]; got != row.want {
			t.Errorf("%s: %d layouts in sight after %.0f s, want %d", row.why, got, row.at, row.want)
		}
	}
}

// kinds are the steps of an upgrade from one kind of server to another.
func kinds(id string) []sim.Engine {
	var all []sim.Engine
	for _, d := range []sim.Dialect{sim.V0, sim.V1Old, sim.Rust, sim.V1} {
		all = append(all, sim.Engine{ID: id, Model: sim.ChatModel, Dialect: d, Step: sim.H100, MaxSeqs: 128})
	}
	return all
}

// TestAnUpgradeFromKindToKind: from V0, whose rank has no name, to V1, to the Rust front end and back to Python's. Each is
// another process to us, whatever its page shows of that, and the series go on under their names.
func TestAnUpgradeFromKindToKind(t *testing.T) {
	computes(t)
	r := newRollout(t, kinds, patient)
	cfg := config.Default()
	cfg.SLOs = simObjectives()
	state := fold.New(foldOptions(&cfg, simStart))
	d, falls := engine.NewDecoder(), newWatcher(t)
	seen, judged := map[string]bool{}, 0
	for at := 0.0; at < upgradeEnds; at += 2 {
		s := state.Apply(fold.Round{At: simStart + at, Targets: []fact.Target{{ID: "r0"}}, Polls: []fact.Poll{r.poll(t, 0, at, d)}})
		falls.watch(s)
		seen[s.Engines[0].Dialect] = true
		for _, rank := range s.Engines[0].Ranks {
			if rank.ID != "r0" || rank.Since != s.Engines[0].Since {
				t.Fatalf("a rank called %s that counts since %v", rank.ID, rank.Since-simStart)
			}
		}
		for _, w := range s.Windows {
			if w.Evidence == "" && strings.Contains(w.Reason, "no tpot histogram") {
				continue // V0
			}
			if wrong := r.wrong(&w, 0); wrong != "" {
				t.Error(wrong)
			}
			judged++
		}
	}
	for _, want := range []string{"vllm-v0", "vllm-v1", "vllm-rust"} {
		if !seen[want] {
			t.Errorf("%s was not seen, but %v", want, seen)
		}
	}
	if last := state.Flush(simStart + upgradeEnds).Engines[0]; last.Resets != 3 || judged < 100 {
		t.Errorf("%d resets, %d windows", last.Resets, judged)
	}
}
