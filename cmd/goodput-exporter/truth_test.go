package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// promise names the thresholds of an SLO in milliseconds.
type promise struct{ ttft, tpot float64 }

func (p promise) String() string { return fmt.Sprintf("%g/%g", p.ttft, p.tpot) }

func (p promise) objective() slo.Objective {
	return slo.Objective{
		Name: p.String(), Objective: 0.95, Window: 720 * time.Hour, Policy: slo.DefaultPolicy(),
		Clauses: []slo.Clause{{Metric: fact.TTFT, Threshold: p.ttft / 1000}, {Metric: fact.TPOT, Threshold: p.tpot / 1000}},
	}
}

// judgedRecordings are the recordings with the objectives that their layouts can answer.
var judgedRecordings = map[string][]promise{
	"vllm-0.32-day":     {{250, 25}, {100, 25}, {500, 25}, {60, 10}, {250, 10}},
	"vllm-0.32-buckets": {{200, 20}, {100, 20}, {150, 15}},
	"vllm-0.32-kv":      {{250, 25}, {500, 25}},
	"vllm-0.32-restart": {{250, 25}},
	"vllm-0.32-dp2":     {{250, 25}, {500, 50}},
	"vllm-0.32-spec":    {{250, 25}},
	"vllm-0.11-day":     {{250, 25}, {500, 25}},
}

// told is everything that an exporter says while it watches a recording.
type told struct {
	snapshots []*fold.Snapshot
	windows   []fold.Window
	quantiles []fold.RankQuantile
}

// retell folds polls as replay does.
func retell(polls []fact.Poll, promises []promise) *told {
	cfg := config.Default()
	o := foldOptions(&cfg, polls[0].Sent)
	o.Objectives = nil
	for _, p := range promises {
		o.Objectives = append(o.Objectives, p.objective())
	}
	state, out := fold.New(o), &told{}
	take := func(s *fold.Snapshot) {
		out.snapshots = append(out.snapshots, s)
		out.windows = append(out.windows, s.Windows...)
		out.quantiles = append(out.quantiles, s.Quantiles...)
	}
	target := []fact.Target{{ID: polls[0].Target}}
	for _, p := range polls {
		take(state.Apply(fold.Round{At: p.Received, Targets: target, Polls: []fact.Poll{p}}))
	}
	take(state.Flush(polls[len(polls)-1].Received))
	return out
}

func (r *recorded) good(w fold.Window, promises []promise) (good, n uint64, ok bool) {
	in, ok := r.between(w.Start, w.End)
	for _, p := range promises {
		if p.String() != w.SLO {
			continue
		}
		o := p.objective()
		for _, f := range in {
			if met, _ := o.Meets(f.request()); met {
				good++
			}
		}
	}
	return good, uint64(len(in)), ok
}

// TestTruthOfRealEnginesLiesInEveryWindow is the claim of the product, on engines whose every sequence is known.
func TestTruthOfRealEnginesLiesInEveryWindow(t *testing.T) {
	for name, promises := range judgedRecordings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := loadRecorded(t, name)
			said := retell(r.polls, promises)
			if len(said.windows) < len(promises) {
				t.Fatalf("%d windows", len(said.windows))
			}
			for _, w := range said.windows {
				good, n, ok := r.good(w, promises)
				what := fmt.Sprintf("%s (%.0f, %.0f] %s", w.SLO, w.Start-r.polls[0].Sent, w.End-r.polls[0].Sent, w.Method)
				switch {
				case !ok:
					t.Errorf("%s: ends at no page", what)
				case w.Evidence != "histogram":
					t.Errorf("%s: no interval: %s", what, w.Reason)
				case n != w.Sequences:
					t.Errorf("%s: %d sequences, %d are true", what, w.Sequences, n)
				case good < w.Lower || good > w.Upper:
					t.Errorf("%s: truth %d outside [%d, %d]", what, good, w.Lower, w.Upper)
				case w.Note != "":
					t.Errorf("%s: fell back: %s", what, w.Note)
				}
			}
		})
	}
}

// TestTruthSurvivesRandomStartsAndMissedPolls cuts windows anywhere and drops polls: wider, never wrong.
func TestTruthSurvivesRandomStartsAndMissedPolls(t *testing.T) {
	const tries = 20
	for name, promises := range judgedRecordings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := loadRecorded(t, name)
			rng := rand.New(rand.NewPCG(uint64(len(name)), 5))
			judged := 0
			for range tries {
				drop := rng.Float64() * 0.6
				var polls []fact.Poll
				for _, p := range r.polls[rng.IntN(len(r.polls)/2):] {
					if rng.Float64() >= drop {
						polls = append(polls, p)
					}
				}
				for _, w := range retell(polls, promises).windows {
					good, n, ok := r.good(w, promises)
					if !ok || n != w.Sequences || good < w.Lower || good > w.Upper {
						t.Fatalf("%s (%.3f, %.3f] dropping %.2f: truth %d of %d outside [%d, %d] of %d", w.SLO, w.Start, w.End, drop, good, n, w.Lower, w.Upper, w.Sequences)
					}
					judged++
				}
			}
			if judged < tries {
				t.Errorf("only %d windows judged", judged)
			}
		})
	}
}

// TestPercentilesOfRealEngines: each interval is exactly the bucket that holds the order statistic.
func TestPercentilesOfRealEngines(t *testing.T) {
	for name, promises := range judgedRecordings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := loadRecorded(t, name)
			edges := map[fact.Family][]float64{}
			for _, p := range r.polls {
				if p.Sample != nil {
					for f, h := range p.Sample.Ranks[0].Histograms {
						edges[fact.Family(f)] = h.Edges
					}
				}
			}
			checked := 0
			for _, q := range retell(r.polls, promises).quantiles {
				if q.Engine != r.polls[0].Target || q.Metric == fact.TokenGap || q.Metric == fact.TTFT {
					continue // no sequence's record tells its rank, its gaps, or the first tokens of cancelled ones
				}
				in, _ := r.between(q.Start, q.End)
				var values []float64
				for _, f := range in {
					if v, has := latency(f, q.Metric); has {
						values = append(values, v)
					}
				}
				if uint64(len(values)) != q.Count {
					t.Fatalf("%s over (%.3f, %.3f]: count %d, %d are true", q.Metric, q.Start, q.End, q.Count, len(values))
				}
				below, above := bucketOfRank(edges[q.Metric], values, q.Q)
				if q.Lower != below || q.Upper != above {
					t.Fatalf("%s q%v over (%.3f, %.3f]: (%v, %v], the occupied bucket is (%v, %v]", q.Metric, q.Q, q.Start, q.End, q.Lower, q.Upper, below, above)
				}
				checked++
			}
			if checked == 0 && name != "vllm-0.32-dp2" {
				t.Error("no percentile was checked")
			}
		})
	}
}

func latency(f finished, m fact.Family) (float64, bool) {
	r := f.request()
	switch m {
	case fact.TPOT:
		return r.TPOT()
	case fact.E2E:
		return r.E2E, true
	case fact.Queue:
		return r.Queue, true
	case fact.Prefill:
		return r.Prefill, true
	}
	return r.Decode, true
}

// bucketOfRank finds the order statistic by sorting, and then the bucket around it.
func bucketOfRank(edges, values []float64, q float64) (below, above float64) {
	sorted := slices.Sorted(slices.Values(values))
	x := sorted[int(math.Ceil(q*float64(len(sorted))-1e-9))-1]
	above = math.Inf(1)
	for i := len(edges) - 1; i >= 0 && x <= edges[i]; i-- {
		above = edges[i]
		if below = 0; i > 0 {
			below = edges[i-1]
		}
	}
	if math.IsInf(above, 1) {
		below = edges[len(edges)-1]
	}
	return below, above
}
