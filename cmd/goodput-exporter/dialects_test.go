package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/sim"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// dialectCase is a world of one engine of a dialect, and what its page can and cannot answer.
type dialectCase struct {
	dialect string
	engine  sim.Engine
	habits  sim.Habits
	// refused are the promises that the page cannot answer, with a part of the reason; "" stands for all.
	refused map[string]string
	// known are the parts of the ledger that the page tells; the rest must be absent.
	known string
	dies  bool // its process is replaced twice: on these pages only falling counters show it
}

// patient are clients that leave now and then, and never ask for several sequences: a V0 page with n > 1 is refused, and a
// Rust front end refuses such requests.
var patient = sim.Habits{Cancel: 0.06, CancelAfter: 2, Patience: 20, Retries: 1, Backoff: 2, Bad: 0.01}

func dialectCases() map[string]dialectCase {
	engine := func(d sim.Dialect) sim.Engine {
		return sim.Engine{ID: "a", Model: sim.ChatModel, Dialect: d, Step: sim.H100, MaxSeqs: 128}
	}
	prefixed := engine(sim.V1Old)
	prefixed.Prefix = "vllm_"
	starved := engine(sim.V0)
	starved.Blocks = 1400
	double := sim.Engine{ID: "a", Model: sim.CodeModel, Step: sim.StepCost{Base: 0.009, Prefill: 25e-6, Sequence: 30e-6, KV: 4e-8, Noise: 0.1}, MaxSeqs: 64, Ranks: 2, MultiProcess: true, Prefix: "kserve_vllm:"}
	failing := patient
	failing.Error = 0.02
	twos := patient
	twos.Two = 0.5
	noTPOT := map[string]string{"500/25": "no tpot histogram", "100/10": "no tpot histogram", "2500/50": "no tpot histogram", "all": "no tpot histogram"}
	const all = "arrived finished failed cancelled rejected lost"
	return map[string]dialectCase{
		"V0":                           {"vllm-v0", engine(sim.V0), patient, noTPOT, "finished lost", false},
		"V0 that is asked for two":     {"vllm-v0", engine(sim.V0), twos, map[string]string{"": "n > 1"}, "finished lost", false},
		"V0 that computes twice":       {"vllm-v0", starved, patient, noTPOT, "finished lost", false},
		"V1 of 0.11":                   {"vllm-v1", engine(sim.V1Old), people(), nil, all, false},
		"V1 of 0.11 behind a pipe":     {"vllm-v1", prefixed, people(), nil, all, false},
		"Rust":                         {"vllm-rust", engine(sim.Rust), patient, nil, all, false},
		"V0 that is replaced":          {"vllm-v0", engine(sim.V0), patient, noTPOT, "finished lost", true},
		"Rust that is replaced":        {"vllm-rust", engine(sim.Rust), patient, nil, all, true},
		"Rust that fails now and then": {"vllm-rust", engine(sim.Rust), failing, nil, all, false},
		"data parallel behind KServe":  {"vllm-v1", double, people(), nil, all, false},
		"llm-d's simulator":            {"llm-d-inference-sim", engine(sim.Simulator), patient, map[string]string{"": "leaves the queue out"}, "lost", false},
	}
}

// people also ask for two sequences at once, and for answers in one piece.
func people() sim.Habits {
	h := patient
	h.Two, h.Whole = 0.02, 0.1
	return h
}

func (c dialectCase) scenario() sim.Scenario {
	rate := sim.Rate{Points: []sim.Point{{At: 0, PerSecond: 8}, {At: 500, PerSecond: 24}, {At: 700, PerSecond: 8}}}
	if c.engine.Ranks > 1 {
		rate = sim.Constant(7)
	}
	if c.engine.Blocks > 0 {
		rate = sim.Rate{Points: []sim.Point{{At: 0, PerSecond: 3}, {At: 500, PerSecond: 10}, {At: 700, PerSecond: 3}}}
	}
	var outages []sim.Outage
	if c.dies {
		rate = sim.Constant(12)
		outages = []sim.Outage{{Engine: "a", After: 250, Every: 250, Down: 45}}
	}
	return sim.Scenario{Engines: []sim.Engine{c.engine}, Outages: outages, Loads: []sim.Load{{Name: "l", Engines: []string{"a"}, Rate: rate, Mix: sim.Chat, Habits: c.habits}}}
}

// dialectObjectives are those of the scenarios, and one that a page without a time per output token can answer near the
// knee.
func dialectObjectives() []config.SLO {
	return append(simObjectives(), config.SLO{
		Name: "e2e", Objective: 0.95, Window: 720 * time.Hour, Policy: slo.DefaultPolicy(),
		Clauses: map[fact.Family]time.Duration{fact.TTFT: 250 * time.Millisecond, fact.E2E: 5 * time.Second},
	})
}

// TestTruthOfEveryDialectLiesInEveryWindow: what is published of an engine holds the truth, whoever wrote its page, and what
// its page cannot answer is absent, with the reason.
func TestTruthOfEveryDialectLiesInEveryWindow(t *testing.T) {
	computes(t)
	for name, c := range dialectCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objectives := dialectObjectives()
			j := watch(t, c.scenario(), 11, 13*time.Minute, objectives)
			last := j.said.snapshots[len(j.said.snapshots)-1].Engines[0]
			if last.Dialect != c.dialect || len(last.Failures) > 0 && !c.dies || last.Conflicts > 0 || c.dies != (last.Resets == 2) {
				t.Errorf("read as %s, failures %v, %d conflicts, %d resets", last.Dialect, last.Failures, last.Conflicts, last.Resets)
			}
			judged, width, total := 0, uint64(0), uint64(0)
			for _, w := range j.said.windows {
				why := c.refused[w.SLO] + c.refused[""]
				if why != "" {
					if w.Evidence != "" || !strings.Contains(w.Reason, why) {
						t.Fatalf("%s: evidence %q, reason %q, want %q", w.SLO, w.Evidence, w.Reason, why)
					}
					continue
				}
				in := j.within("a", w.Start, w.End)
				good := uint64(0)
				for _, q := range in {
					for _, o := range objectives {
						if o.Name == w.SLO && meets(o, q) {
							good++
						}
					}
				}
				what := fmt.Sprintf("%s (%.0f, %.0f] %s %s", w.SLO, w.Start-simStart, w.End-simStart, w.Method, w.Note)
				switch {
				case w.Evidence != "histogram":
					t.Errorf("%s: no interval: %s", what, w.Reason)
				case uint64(len(in)) != w.Sequences:
					t.Errorf("%s: %d sequences, %d are true", what, w.Sequences, len(in))
				case good < w.Lower || good > w.Upper:
					t.Errorf("%s: truth %d outside [%d, %d]", what, good, w.Lower, w.Upper)
				}
				judged, width, total = judged+1, width+w.Upper-w.Lower, total+w.Requests
			}
			if want := 12 * (len(objectives) - len(c.refused)); judged < want && c.refused[""] == "" {
				t.Errorf("%d windows were judged, at least %d are due", judged, want)
			}
			if total > 0 {
				t.Logf("%d windows, %d sequences judged, mean width %.2f points", judged, total, 100*float64(width)/float64(total))
			}
			c.checkLedger(t, j, &last)
			checkQuantiles(t, j, c)
		})
	}
}

// checkLedger holds what the page tells of requests to the truth, and what it cannot tell to silence.
func (c dialectCase) checkLedger(t *testing.T, j *judgedWorld, e *fold.Engine) {
	t.Helper()
	l := &e.Ledger
	b, unsure := j.books("a")
	if l.Unexplained.Upper > 0 {
		t.Errorf("unexplained %+v", l.Unexplained)
	}
	for name, row := range map[string]struct {
		told  fold.Span
		truth uint64
	}{
		"arrived": {l.Arrived, b.arrived}, "finished": {l.Finished, b.finished}, "failed": {l.Failed, b.failed}, "cancelled": {l.Cancelled, b.cancelled},
		"rejected": {fold.Span{
			Lower: l.RejectedAdmission.Lower + l.RejectedClient.Lower, Upper: l.RejectedAdmission.Upper + l.RejectedClient.Upper,
			Known: l.RejectedAdmission.Known && l.RejectedClient.Known,
		}, b.refused + b.bad},
		"lost": {l.Lost, b.lost},
	} {
		switch known := strings.Contains(c.known, name); {
		case row.told.Known != known:
			t.Errorf("%s: known is %t", name, row.told.Known)
		case known && (row.truth+unsure < row.told.Lower || row.truth > row.told.Upper+unsure):
			t.Errorf("%s: %+v, %d are true", name, row.told, row.truth)
		}
	}
	if complete := strings.Contains(c.known, "arrived"); complete != (l.Absent == "") {
		t.Errorf("why the ledger is absent: %q", l.Absent)
	}
}

// checkQuantiles: what is published as a percentile is the bucket that holds the order statistic, where aborts are not among
// the observations. The simulator's first tokens and queue, which mean something else, must not be there at all.
func checkQuantiles(t *testing.T, j *judgedWorld, c dialectCase) {
	t.Helper()
	checked := map[fact.Family]int{}
	all := j.observations(sim.Scenario{Engines: []sim.Engine{c.engine}})
	for _, q := range j.said.quantiles {
		checked[q.Metric]++
		if c.engine.Dialect != sim.V1 && c.engine.Dialect != sim.V1Old || q.Metric == fact.TokenGap {
			continue
		}
		if v, n := orderStatistic(all[q.Engine][q.Metric], q.Quantile); uint64(n) != q.Count || v > q.Upper || v <= q.Lower && q.Lower > 0 {
			t.Fatalf("%s %s p%g: %d observations, true %v outside (%v, %v] of %d", q.Engine, q.Metric, 100*q.Q, n, v, q.Lower, q.Upper, q.Count)
		}
	}
	if len(checked) == 0 || checked[fact.E2E] == 0 {
		t.Errorf("percentiles of %v", checked)
	}
	if c.engine.Dialect == sim.Simulator && checked[fact.TTFT]+checked[fact.Queue] > 0 {
		t.Errorf("percentiles of a first token without its queue: %v", checked)
	}
}
