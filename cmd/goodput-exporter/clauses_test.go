package main

import (
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// clauseSets are objectives over other latencies than TTFT and TPOT together, on edges of vLLM's default layouts.
var clauseSets = map[string][]slo.Clause{
	"e2e":            {{Metric: fact.E2E, Threshold: 0.8}},
	"ttft":           {{Metric: fact.TTFT, Threshold: 0.1}},
	"tpot":           {{Metric: fact.TPOT, Threshold: 0.025}},
	"ttft-e2e":       {{Metric: fact.TTFT, Threshold: 0.1}, {Metric: fact.E2E, Threshold: 0.8}},
	"queue-decode":   {{Metric: fact.Queue, Threshold: 0.3}, {Metric: fact.Decode, Threshold: 0.5}},
	"ttft-tpot-e2e":  {{Metric: fact.TTFT, Threshold: 0.25}, {Metric: fact.TPOT, Threshold: 0.025}, {Metric: fact.E2E, Threshold: 1}},
	"prefill-infer.": {{Metric: fact.Prefill, Threshold: 0.3}, {Metric: fact.Inference, Threshold: 1}},
}

// TestOtherClausesHoldTheTruthToo judges a real engine by every kind of clause.
func TestOtherClausesHoldTheTruthToo(t *testing.T) {
	for _, name := range []string{"vllm-0.32-day", "vllm-0.32-kv", "vllm-0.11-day"} {
		r := loadRecorded(t, name)
		cfg := config.Default()
		o := foldOptions(&cfg, r.polls[0].Sent)
		for id, clauses := range clauseSets {
			o.Objectives = append(o.Objectives, slo.Objective{Name: id, Objective: 0.9, Clauses: clauses, Policy: slo.DefaultPolicy()})
		}
		state := fold.New(o)
		target := []fact.Target{{ID: r.polls[0].Target}}
		judged := 0
		check := func(s *fold.Snapshot) {
			for _, w := range s.Windows {
				in, ok := r.between(w.Start, w.End)
				objective := slo.Objective{Clauses: clauseSets[w.SLO]}
				good := uint64(0)
				for _, f := range in {
					if met, _ := objective.Meets(f.request()); met {
						good++
					}
				}
				if !ok || w.Evidence == "" || good < w.Lower || good > w.Upper {
					t.Errorf("%s %s (%.0f, %.0f]: truth %d outside [%d, %d] %s %s", name, w.SLO, w.Start, w.End, good, w.Lower, w.Upper, w.Method, w.Reason)
				}
				judged++
			}
		}
		for _, p := range r.polls {
			check(state.Apply(fold.Round{At: p.Received, Targets: target, Polls: []fact.Poll{p}}))
		}
		check(state.Flush(r.polls[len(r.polls)-1].Received))
		if judged < 3*len(clauseSets) {
			t.Errorf("%s: only %d windows judged", name, judged)
		}
	}
}
