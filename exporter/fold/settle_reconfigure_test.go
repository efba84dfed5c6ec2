package fold

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// followSpans is follow for states that take spans in, some of which are lost.
func followSpans(seed uint64, length float64, change func(round int, told *State)) reconfigured {
	w := newWorld(seed, length)
	w.traits = fact.Traits{}
	rng := rand.New(rand.NewPCG(seed, 5))
	lost := []float64{0, 0, 0.3}[rng.IntN(3)]
	sent := slices.DeleteFunc(w.trace(rng), func(traced) bool { return rng.Float64() < lost })
	options := testOptions(epoch)
	options.Spans, options.Grace = true, 10
	alone, told := New(options), New(options)
	var out reconfigured
	round := Round{Targets: []fact.Target{{ID: "a"}}}
	n := 0
	for t := 1.0; t < length; t += 2 {
		change(n, told)
		n++
		round.At, round.Spans = epoch+t+0.03, nil
		p := fact.Poll{Target: "a", Sent: epoch + t, Received: epoch + t + 0.02, Sample: w.page(t)}
		if p.Sample == nil || rng.IntN(40) == 0 {
			p.Sample, p.Reason = nil, fact.ReasonTimeout
		}
		round.Polls = []fact.Poll{p}
		for len(sent) > 0 && sent[0].span.Received <= round.At {
			round.Spans, sent = append(round.Spans, sent[0].span), sent[1:]
		}
		out.alone, out.told = append(out.alone, alone.Apply(round)), append(out.told, told.Apply(round))
	}
	at := epoch + length
	out.alone, out.told = append(out.alone, alone.Flush(at)), append(out.told, told.Flush(at))
	return out
}

// TestPendingWindowsAndOtherPromises: a window is committed under the promise of its time, or not at all.
func TestPendingWindowsAndOtherPromises(t *testing.T) {
	s := hear(t, objective_("stays", 0.25, 0.025), objective_("changes", 0.25, 0.025), objective_("goes", 0.25, 0))
	s.page(100, done(0)).heard(115, spansAt(110, 111)...).page(160, done(2)).heard(161)
	o := s.state.opts
	o.Objectives = []slo.Objective{objective_("changes", 0.5, 0.025), objective_("stays", 0.25, 0.025), objective_("comes", 0.25, 0)}
	o.Objectives[1].Objective = 0.5
	s.state.Reconfigure(o)
	s.heard(171)
	var names []string
	for _, w := range s.windows {
		names = append(names, w.SLO)
	}
	equal(t, "windows", strings.Join(names, " "), "stays")
	e := s.engine()
	equal(t, "requests of the one that stays", sloNamed(&e, "stays").Requests, 2)
	equal(t, "its promise", sloNamed(&e, "stays").Objective.Objective, 0.5)
	equal(t, "requests of the one that changed", sloNamed(&e, "changes").Requests, 0)
	equal(t, "since", sloNamed(&e, "changes").Since, 160)
	equal(t, "ledger", e.Ledger.Finished, Span{2, 2, true})
	equal(t, "remembered", len(e.Past.Windows[0].Verdicts), 1)
}
