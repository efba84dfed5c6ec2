package main

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// clientTruth is the range in which the number of qualified requests lies by what the client saw, where an engine sent no
// spans: the client sees a first token 2 to 60 ms later than the engine, and its time per token differs by a few percent
// (testdata/README.md). A request belongs to the window in which its answer ended, of which the client hears a little late,
// so those that ended near an edge may be on either side of it.
func (r *recorded) clientTruth(from, to float64, p promise) (least, most int) {
	const ttftLate, tpotOff, edge = 0.06, 0.03, 0.5
	for _, q := range r.client {
		end := q.Arrival + q.E2E
		if q.Outcome != "ok" || end < from-edge || end > to+edge {
			continue
		}
		tpot := 0.0
		if q.OutputTokens > 1 {
			tpot = (q.E2E - q.TTFT) / float64(q.OutputTokens-1)
		}
		inside := end > from+edge && end < to-edge
		if inside && q.TTFT <= p.ttft/1000 && tpot <= (1-tpotOff)*p.tpot/1000 {
			least++
		}
		if q.TTFT <= p.ttft/1000+ttftLate && tpot <= (1+tpotOff)*p.tpot/1000 {
			most++
		}
	}
	return least, most
}

// TestTruthOfARealRustFrontEnd: its pages count aborted sequences like finished ones, and the intervals hold what the
// client saw all the same.
func TestTruthOfARealRustFrontEnd(t *testing.T) {
	r := loadRecorded(t, "vllm-0.32-rust")
	promises := []promise{{250, 25}, {100, 25}, {500, 25}, {60, 10}, {250, 10}}
	judged := 0
	for _, w := range retell(r.polls, promises).windows {
		var p promise
		for _, x := range promises {
			if x.String() == w.SLO {
				p = x
			}
		}
		least, most := r.clientTruth(w.Start, w.End, p)
		slack := int(math.Ceil(0.01 * float64(w.Sequences)))
		what := fmt.Sprintf("%s (%.0f, %.0f] %s", w.SLO, w.Start-r.polls[0].Sent, w.End-r.polls[0].Sent, w.Method)
		switch {
		case w.Evidence != "histogram":
			t.Errorf("%s: no interval: %s", what, w.Reason)
		case int(w.Lower) > most+slack || int(w.Upper)+slack < least:
			t.Errorf("%s: [%d, %d] of %d, by the client between %d and %d", what, w.Lower, w.Upper, w.Requests, least, most)
		case w.Note != "":
			t.Errorf("%s: fell back: %s", what, w.Note)
		}
		judged++
		t.Logf("%s: [%d, %d] of %d, by the client between %d and %d", what, w.Lower, w.Upper, w.Requests, least, most)
	}
	if judged < 3*len(promises) {
		t.Errorf("%d windows", judged)
	}
}

// TestARecordedSimulatorIsNotJudged: what its page says of first tokens is not what its clients saw, so no promise is judged
// on it; what it says of whole answers is told, and holds.
func TestARecordedSimulatorIsNotJudged(t *testing.T) {
	r := loadRecorded(t, "llm-d-sim-ramp")
	said := retell(r.polls, []promise{{250, 25}})
	if len(said.windows) < 8 {
		t.Errorf("%d windows", len(said.windows))
	}
	for _, w := range said.windows {
		if w.Evidence != "" || !strings.Contains(w.Reason, "leaves the queue out") {
			t.Errorf("evidence %q, reason %q", w.Evidence, w.Reason)
		}
	}
	last := said.snapshots[len(said.snapshots)-1].Engines[0]
	if last.Dialect != "llm-d-inference-sim" || len(last.Failures) > 0 || len(last.Skipped) > 0 || last.Resets > 0 {
		t.Errorf("%s: failures %v, skipped %v, %d resets", last.Dialect, last.Failures, last.Skipped, last.Resets)
	}
	finished := uint64(0)
	for _, c := range last.Ranks[0].Sequences {
		finished += c.Count
	}
	reached := uint64(0)
	for _, q := range r.client {
		if q.Outcome == "ok" || q.Outcome == "cancelled" {
			reached++
		}
	}
	if finished != reached {
		t.Errorf("%d sequences finished, %d requests were not rejected: the simulator finishes those whose client has gone, too", finished, reached)
	}
	if h := last.Ranks[0].Histograms; h[fact.TTFT] != nil || h[fact.Queue] != nil || h[fact.E2E] == nil {
		t.Errorf("histograms of first tokens %v, queue %v, e2e %v", h[fact.TTFT], h[fact.Queue], h[fact.E2E])
	}
}
