package fold

import (
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
)

// publish copies what can be said into a snapshot that shares nothing with the state that a later round may change.
func (s *State) publish(at float64) *Snapshot {
	out := &Snapshot{
		At: at, Rounds: s.rounds, Windows: s.windows, Quantiles: s.quantiles, Models: s.publishModels(),
		Unmatched: s.publishUnmatched(),
		Terms:     Terms{JudgementWindow: s.opts.JudgementWindow, History: s.opts.History, Quantiles: s.opts.Quantiles},
	}
	s.publishGPUs(out)
	if len(s.opts.QuantileWindows) > 0 {
		out.Terms.Sliding = slices.Min(s.opts.QuantileWindows)
	}
	var layouts [fact.NumFamilies][][]float64
	for _, id := range s.ids() {
		e := s.engines[id]
		e.past.trim(at - s.opts.History)
		out.Engines = append(out.Engines, s.publishEngine(e, at))
		if e.last == nil || e.gone {
			continue
		}
		for i := range e.last.sample.Ranks {
			for f, h := range e.last.sample.Ranks[i].Histograms {
				if h.Known() && !slices.ContainsFunc(layouts[f], func(l []float64) bool { return hist.SameEdges(l, h.Edges) }) {
					layouts[f] = append(layouts[f], h.Edges)
				}
			}
		}
	}
	for f := range layouts {
		out.Layouts[f] = len(layouts[f])
	}
	return out
}

func (s *State) publishEngine(e *engine, at float64) Engine {
	out := Engine{
		ID: e.target.ID, Target: e.target, Since: e.since, Gone: e.gone, Up: e.up && !e.gone, PollTook: e.pollTook,
		Failures: tallies(e.failures), Skipped: tallies(e.skipped), Resets: e.resets,
		Ledger: e.committedLedger, Fallbacks: tallies(e.fallbacks), Conflicts: e.conflicts, Phase: s.phase(e, at), Past: e.past.publish(),
		Spans: e.publishSpans(at), GPUs: s.publishEngineGPUs(e, at),
	}
	if e.last == nil {
		return out
	}
	out.WindowStart = e.window.start
	sample := e.last.sample
	out.Model = soleModel(sample)
	out.LastPoll, out.Start = e.last.received, sample.ProcessStart
	out.Dialect, out.Version = sample.Dialect, sample.Version
	out.Missing, out.Warnings, out.Series = sample.Missing, sample.Warnings, sample.Series
	for _, o := range e.objectives {
		if len(e.covered(o)) == 0 {
			continue
		}
		out.SLOs = append(out.SLOs, SLO{
			Objective: o.Objective, Since: o.since, Judged: o.judged, Absent: o.absent,
			Requests: o.requests, Lower: o.lower, Upper: o.upper, Violations: slices.Clone(o.violations),
			Tokens: o.tokens, Classes: slices.Clone(o.classes),
		})
	}
	fresh := !e.gone && !e.dead && at-e.last.received <= s.opts.Stale
	for i, r := range e.ranks {
		out.Ranks = append(out.Ranks, s.publishRank(r, sample, i, fresh))
	}
	slices.SortFunc(out.Ranks, func(a, b Rank) int { return compareRanks(a.ID, b.ID) })
	return out
}

// compareRanks orders a/2 before a/10.
func compareRanks(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return slices.Compare([]byte(a), []byte(b))
}

func (s *State) publishRank(r *rank, sample *fact.EngineSample, i int, fresh bool) Rank {
	out := Rank{
		ID: r.id, Model: r.model, Since: r.since, Fresh: fresh, Sequences: slices.Clone(r.sequences),
		PromptTokens: r.promptTokens, OutputTokens: r.outputTokens,
		DonePrompt: r.donePrompt, DoneOutput: r.doneOutput, Preemptions: r.preemptions,
	}
	for f, g := range r.gridded {
		if g != nil {
			out.Histograms[f] = g.publish()
		}
	}
	if !fresh {
		return out
	}
	p := &sample.Ranks[i]
	out.Running, out.Waiting, out.KVUsage = p.Running, p.Waiting, p.KVUsage
	out.Quantiles = r.quantiles(s.opts.Quantiles, sample.Traits.AbortsFinish)
	for _, w := range r.sliding {
		if len(w.entries) > 0 {
			out.Coverage = append(out.Coverage, Coverage{Window: w.length, Ratio: w.coverage()})
		}
	}
	return out
}

func (s *State) phase(e *engine, at float64) Phase {
	switch {
	case e.last == nil && e.target.Starting && !e.gone:
		return PhaseStarting
	case e.last == nil:
		return PhaseUnseen
	case e.gone || !e.up:
		return PhaseDown
	case asleep(e.last.sample):
		return PhaseAsleep
	case inFlight(e.last.sample) > 0 && e.last.sent-e.moved > s.opts.Stall:
		return PhaseStalled
	case !e.committed:
		return PhaseWarming
	}
	return PhaseJudging
}
