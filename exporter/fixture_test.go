package exporter

import (
	"math"
	"regexp"
	"slices"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
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
			Classes: slo.Classes{By: slo.ByPromptTokens, List: []slo.Class{
				{Name: "short", AtMost: 500}, {Name: "long", Clauses: []slo.Clause{{Metric: fact.TTFT, Threshold: 1}, {Metric: fact.TPOT, Threshold: 0.025}}},
			}},
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
// intervals are known, one that is down, one that was never seen, one that is stalled, one that is warming up, one that is starting.
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
	s.Unmatched = unmatched()
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
		{ID: "g", Target: target("g"), Phase: fold.PhaseStarting, Failures: tally("refused", 30), PollTook: 0.001},
	}
	giveGPUs(s)
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
			{Metric: fact.TTFT, Lower: 10, Upper: 10}, {Metric: fact.TPOT, Lower: 8, Upper: 12}},
			Tokens: fold.Tokens{Known: true, Lower: 9000, Upper: 9800, MissedLower: 1200, MissedUpper: 2000},
			Classes: []fold.Class{
				{Name: "short", Seen: 60, Unseen: 6, Lower: 50, Upper: 56, TokensLower: 6000}, {Name: "long", Seen: 30, Unseen: 6, Lower: 28, Upper: 34, TokensLower: 3000},
				{Name: slo.ClassOther, Unseen: 6, Upper: 6},
			}}},
		Spans:     soundSpans(),
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

func unmatched() fold.Unmatched {
	return fold.Unmatched{
		Counts: []fold.Tally{{Name: fold.UnmatchedNothing, Count: 4}, {Name: fold.UnmatchedPod, Count: 2}},
		Last: []fold.UnmatchedOrigin{
			{Reason: fold.UnmatchedNothing, Origin: fact.Origin{Peer: "10.0.0.9", Instance: "6f1a"}, At: startedAt + 580},
			{Reason: fold.UnmatchedPod, Origin: fact.Origin{Peer: "10.0.0.9", PodName: "vllm-7", PodNamespace: "prod"}, At: startedAt + 500},
		},
	}
}

// soundSpans are the spans of an engine that sends nearly all of them. 90 sequences were seen, two had one token.
func soundSpans() fold.EngineSpans {
	s := fold.EngineSpans{
		Expected: true, Last: startedAt + 598, Matched: []fold.Tally{{Name: fold.ByEngine, Count: 2}, {Name: fold.ByInstance, Count: 91}},
		Late: 1, Outside: 2, OneToken: 2, Finished: 96, Seen: 90, Windows: 9, Exact: 7, Completeness: fact.Known(0.75), Attempts: 88, Logical: 85,
	}
	trace := func(n byte) [16]byte { return [16]byte{n, 15: n} }
	s.Histograms[fact.TTFT] = &fold.SpanHistogram{
		Since: startedAt + 1, Edges: []float64{0.25, 1}, Counts: []uint64{80, 9, 1},
		// Of schema 3, 0.2 lies in bucket -18, 0.5 in -8, 1.5 in 5.
		Native: hist.Native{Schema: 3, ZeroThreshold: 1e-6, First: -18, Buckets: slices.Concat([]uint64{80}, make([]uint64, 9), []uint64{9}, make([]uint64, 12), []uint64{1}), Sum: 22, Count: 90},
		Newest: []fold.Exemplar{{Value: 0.2, Trace: trace(1), At: startedAt + 590}, {}, {Value: 1.5, Trace: trace(2), At: startedAt + 400.25}},
	}
	s.Histograms[fact.TPOT] = &fold.SpanHistogram{
		Since: startedAt + 1, Edges: []float64{0.025}, Counts: []uint64{80, 8}, Native: hist.Native{Schema: 3, ZeroThreshold: 1e-6, First: -45, Buckets: []uint64{80, 0, 0, 0, 0, 8}, Sum: 1.8, Count: 88},
		// Where a trace is not known there is none to be looked up.
		Newest: []fold.Exemplar{{Value: 0.02, At: startedAt + 590}, {}},
	}
	s.Histograms[fact.E2E] = &fold.SpanHistogram{ // no objective has a clause on it here
		Since: startedAt + 1, Counts: []uint64{90}, Native: hist.Native{Schema: 3, ZeroThreshold: 1e-6, Zero: 1, First: 9, Buckets: []uint64{89}, Sum: 192, Count: 90},
		Newest: []fold.Exemplar{{Value: 2.1, Trace: trace(3), At: startedAt + 590}},
	}
	return s
}

// soundIntake is how the taking in of these spans went.
func soundIntake() *SpanIntake {
	return &SpanIntake{
		Messages: []MessageTally{{"grpc", "ok", 3}, {"http", "ok", 40}, {"http", "partial", 1}, {"http", "unheard_of", 1}},
		Spans:    []fold.Tally{{Name: "full", Count: 0}, {Name: "other_name", Count: 500}, {Name: "refused", Count: 1}, {Name: "taken", Count: 99}},
		Refused:  tally("negative", 1), Buffered: 3, Room: 50_000,
	}
}
