package exporter

import (
	"math"
	"regexp"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// The address of every engine of the fixture holds each secret once: as user, as password, and in the query.
const (
	secretUser, secretPassword, secretToken = "alice", "s3cret", "t0ken"
	secretURL                               = "http://alice:s3cret@10.0.0.7:8000/metrics?key=t0ken"
	startedAt                               = 1.7e9
)

func objectives() []slo.Objective {
	policy := slo.DefaultPolicy()
	return []slo.Objective{
		{
			Name: "chat", Match: slo.Match{Model: regexp.MustCompile(`^(?:llama.*)$`)}, Objective: 0.95, Window: 30 * 24 * time.Hour, Policy: policy,
			Clauses: []slo.Clause{{Metric: fact.TTFT, Threshold: 0.25}, {Metric: fact.TPOT, Threshold: 0.025}},
		},
		{
			Name: "batch", Match: slo.Match{Engine: regexp.MustCompile(`^(?:b)$`)}, Objective: 0.9, Window: 7 * 24 * time.Hour, Policy: policy,
			Clauses: []slo.Clause{{Metric: fact.E2E, Threshold: 90}},
		},
	}
}

func exactly(n uint64) fold.Span            { return fold.Span{Lower: n, Upper: n, Known: true} }
func between(lo, hi uint64) fold.Span       { return fold.Span{Lower: lo, Upper: hi, Known: true} }
func tally(n string, c uint64) []fold.Tally { return []fold.Tally{{Name: n, Count: c}} }

// fixture is a snapshot in which every declared series occurs: a sound engine, one with two ranks of which only
// intervals are known, one that is down, one that was never seen, one that is stalled, one that is warming up.
func fixture() *fold.Snapshot {
	o := objectives()
	target := func(id string) fact.Target {
		return fact.Target{ID: id, URL: secretURL, Labels: map[string]string{"tier": "gold", "model": "not this", "__meta": "no", "": "no", "9x": "no", "empty": ""}}
	}
	s := &fold.Snapshot{At: startedAt + 600, Rounds: 300}
	for f := range s.Layouts {
		s.Layouts[f] = 1
	}
	s.Layouts[fact.E2E] = 2
	s.Layouts[fact.Inference] = 0
	s.Engines = []fold.Engine{
		soundEngine(target("a"), &o[0]),
		rankedEngine(target("b"), &o[0], &o[1]),
		{ID: "c", Target: target("c"), Phase: fold.PhaseDown, Since: startedAt + 1, LastPoll: startedAt + 300, PollTook: 1.5, Model: "llama-3",
			Failures: []fold.Tally{{Name: "refused", Count: 3}, {Name: "timeout", Count: 147}}, Dialect: "vllm-v1", Version: ">=0.11",
			Ledger: fold.Ledger{Committed: true, Arrived: exactly(7), Finished: exactly(7)},
			SLOs:   []fold.SLO{{Objective: &o[0], Judged: true, Requests: 7, Lower: 7, Upper: 7}},
			Ranks:  []fold.Rank{{ID: "c", Model: "llama-3", Sequences: []fact.ReasonCount{{Reason: "stop", Count: 7}}}},
		},
		{ID: "d", Target: target("d"), Phase: fold.PhaseUnseen, Failures: tally("auth", 300), PollTook: 0.001},
		{ID: "e", Target: target("e"), Phase: fold.PhaseStalled, Since: startedAt + 1, Up: true, LastPoll: startedAt + 599, PollTook: 0.02, Model: "llama-3", Dialect: "vllm-v0",
			Ledger: fold.Ledger{Absent: "the page has no http_requests_total: arrivals and cancellations are unknown"},
			SLOs:   []fold.SLO{{Objective: &o[0], Absent: "no tpot histogram"}}},
		{ID: "f", Target: target("f"), Phase: fold.PhaseWarming, Since: startedAt + 590, Up: true, LastPoll: startedAt + 599, PollTook: 0.02, Model: "llama-3",
			SLOs: []fold.SLO{{Objective: &o[0]}}},
	}
	return s
}

func soundEngine(t fact.Target, chat *slo.Objective) fold.Engine {
	return fold.Engine{
		ID: "a", Target: t, Model: "llama-3", Phase: fold.PhaseJudging, Since: startedAt + 1, Up: true, LastPoll: startedAt + 599.5, PollTook: 0.0125,
		Skipped: tally("torn", 2), Resets: 1, Dialect: "vllm-v1", Version: ">=0.11", Start: startedAt - 1000, Series: 439,
		Ledger: fold.Ledger{Committed: true,
			Arrived: exactly(110), Finished: exactly(100), Failed: exactly(1), Cancelled: exactly(4), RejectedAdmission: exactly(3), RejectedClient: exactly(2),
			Lost: exactly(0), Unexplained: exactly(0)},
		SLOs: []fold.SLO{{Objective: chat, Judged: true, Requests: 104, Lower: 80, Upper: 90, Violations: []fold.Violation{
			{Metric: fact.TTFT, Lower: 10, Upper: 10}, {Metric: fact.TPOT, Lower: 8, Upper: 12}}}},
		Fallbacks: []fold.Tally{{Name: "no e2e histogram", Count: 1}, {Name: "no tpot histogram", Count: 2}, {Name: slo.NoteTooLarge, Count: 1}}, Conflicts: 1,
		Ranks: []fold.Rank{fullRank("a", "llama-3")},
	}
}

func rankedEngine(t fact.Target, chat, batch *slo.Objective) fold.Engine {
	return fold.Engine{
		ID: "b", Target: t, Phase: fold.PhaseJudging, Since: startedAt + 1, Up: true, LastPoll: startedAt + 599, PollTook: 0.02, Start: startedAt - 1,
		Ledger: fold.Ledger{Committed: true,
			Arrived: between(10, 12), Finished: between(9, 10), Failed: between(0, 1), Cancelled: between(1, 3), RejectedAdmission: between(2, 3),
			RejectedClient: fold.Span{}, Lost: between(0, 2), Unexplained: between(1, 2)},
		SLOs: []fold.SLO{
			{Objective: chat, Judged: true, Absent: "no tpot histogram", Requests: 3, Lower: 1, Upper: 2},
			{Objective: batch, Judged: true, Violations: []fold.Violation{{Metric: fact.E2E}}},
		},
		Ranks: []fold.Rank{
			{ID: "b/0", Model: "llama-3", Fresh: true, Running: fact.Known(2), Waiting: fact.Known(0)},
			{ID: "b/0", Model: "qwen", Fresh: true, Running: fact.Known(1)},
			// Of a stale rank nothing that holds "now" may be published.
			{ID: "b/1", Model: "llama-3", Running: fact.Known(5), Waiting: fact.Known(5), KVUsage: fact.Known(0.5),
				Quantiles: []fold.Quantile{{Metric: fact.TTFT, Q: 0.5, Window: 300, Lower: 1, Upper: 2, Count: 3}}},
		},
	}
}

// fullRank has everything that a rank can have, on small grids.
func fullRank(id, model string) fold.Rank {
	r := fold.Rank{
		ID: id, Model: model, Fresh: true, Running: fact.Known(3), Waiting: fact.Known(1), KVUsage: fact.Known(0.25),
		Sequences:    []fact.ReasonCount{{Reason: "abort", Count: 1}, {Reason: "length", Count: 20}, {Reason: "made_up", Count: 2}, {Reason: "stop", Count: 80}, {Reason: "woven", Count: 3}},
		PromptTokens: fact.Known(1e6), OutputTokens: fact.Known(2e5), DonePrompt: fact.Known(9e5), DoneOutput: fact.Known(1.9e5), Preemptions: fact.Known(4),
		Quantiles: []fold.Quantile{
			{Metric: fact.TTFT, Q: 0.5, Window: 300, Lower: 0.1, Upper: 0.25, Count: 100},
			{Metric: fact.TTFT, Q: 0.99, Window: 3600, Lower: 1, Upper: math.Inf(1), Count: 100},
			{Metric: fact.TokenGap, Q: 0.5, Window: 300, Lower: 0, Upper: 0.025, Count: 4000},
			{Metric: fact.OutputTokens, Q: 0.5, Window: 300, Lower: 100, Upper: 200, Count: 100},
		},
		Coverage: []fold.Coverage{{Window: 300, Ratio: 1}, {Window: 3600, Ratio: 0.1625}},
	}
	for f := range r.Histograms {
		r.Histograms[f] = &fold.Projected{Grid: []float64{0.25, 1}, Floor: []uint64{70, 20, 10}, Ceil: []uint64{65, 20, 15}, Sum: 42.5}
	}
	return r
}
