package fold

import (
	"fmt"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// window is the open judgement window of an engine.
type window struct {
	start float64 // when its first page was asked for, or when the process was born
	pages int     // steps in it
	torn  bool    // it holds a page that was torn: its slices cannot be judged
}

// objective is one SLO on one engine.
type objective struct {
	*slo.Objective
	tightest, loosest []slo.Clause // what surely meets and what may meet the clauses of its class

	since        float64 // when its counters began; 0: with those of the engine
	judged       bool
	absent       string
	requests     uint64
	lower, upper uint64
	violations   []Violation
	tokens       Tokens
	classes      []Class
}

func newObjective(o *slo.Objective) *objective {
	tightest, loosest := o.Extremes()
	return &objective{Objective: o, tightest: tightest, loosest: loosest}
}

// closeWindow ends the open window at the last page and opens the next one there. last says that no page of this process
// will follow. Everything that pages tell is computed here; the window is committed at once unless spans may still tell
// more of it.
func (s *State) closeWindow(e *engine, last bool) {
	w := e.window
	if w.pages == 0 && !e.ledger.loses() {
		return
	}
	end := e.last.sent
	flight := e.ledger.change()
	ledger := e.ledger.commit(last)
	length := end - w.start
	partial := last && length < s.opts.JudgementWindow-1 || length < 0.75*s.opts.JudgementWindow
	p := &pending{
		start: w.start, end: end, received: e.last.received, life: e.life, expected: e.spansExpected(s.at), ledger: e.ledger.sum,
		past: PastWindow{
			Start: w.start, End: end, Partial: partial, From: e.past.account(w.start, e.ledger.putOff), Ledger: ledger, InFlight: flight,
		},
	}
	e.sumUp(p)
	model := soleModel(e.last.sample)
	for _, o := range e.objectives {
		ranks := e.covered(o)
		if len(ranks) == 0 {
			continue
		}
		j := s.judgeWindow(e, o, ranks, ledger)
		j.out.Engine, j.out.Model, j.out.SLO, j.out.Start, j.out.End, j.out.Partial = e.target.ID, model, o.Name, w.start, end, partial
		p.judged = append(p.judged, j)
	}
	for _, r := range e.ranks {
		for _, q := range r.quantiles(s.opts.Quantiles, e.last.sample.Traits.AbortsFinish) {
			p.quantiles = append(p.quantiles, RankQuantile{Engine: r.id, Model: r.model, Quantile: q})
		}
		p.latency = s.rememberRank(p.latency, e, r, end)
		r.forget(end)
		r.finished, r.spent = nil, [NumStages]Spent{}
	}
	e.window = window{start: end}
	s.await(e, p)
}

// sumUp adds to a window what all ranks did in it.
func (e *engine) sumUp(p *pending) {
	traits := e.last.sample.Traits
	p.past.Sequences.Known, p.output.Known = true, true
	for _, r := range e.ranks {
		p.past.Sequences.N += total(r.finished)
		p.past.Sequences.Known = p.past.Sequences.Known && len(e.lastRank(r).Finished) > 0
		for stage, spent := range r.spent {
			p.past.Spent[stage].Seconds += spent.Seconds
			p.past.Spent[stage].Count += spent.Count
		}
		for i := range r.slices[r.first:] {
			own := &r.slices[r.first+i]
			h := &own.Histograms[fact.OutputTokens]
			p.output.V += max(0, h.Sum)
			p.output.Known = p.output.Known && (h.Known() || own.Finished == 0)
		}
	}
	// A span stands for a sequence, and so must what the page counts.
	p.comparable = p.past.Sequences.Known && traits.Unjudged == "" && !traits.RequestHistograms
}

// covered lists the ranks whose model the objective is about.
func (e *engine) covered(o *objective) []*rank {
	var ranks []*rank
	for _, r := range e.ranks {
		if o.Covers(e.target.ID, r.model) {
			ranks = append(ranks, r)
		}
	}
	return ranks
}

// lastRank is what the last page says of a rank.
func (e *engine) lastRank(r *rank) *fact.Rank {
	for i, x := range e.ranks {
		if x == r {
			return &e.last.sample.Ranks[i]
		}
	}
	panic(fmt.Sprintf("fold: rank %s is not of engine %s", r.id, e.target.ID))
}

// quantiles lists the rank's percentiles over its sliding windows.
func (r *rank) quantiles(qs []float64, abortsFinish bool) []Quantile {
	var out []Quantile
	for _, w := range r.sliding {
		for _, f := range quantileFamilies {
			out = append(out, w.quantiles(f, qs, abortsFinish)...)
		}
	}
	return out
}

func total(reasons []fact.ReasonCount) uint64 {
	var n uint64
	for _, c := range reasons {
		n += c.Count
	}
	return n
}

// soleModel is the page's model, "" when it names several.
func soleModel(s *fact.EngineSample) string {
	model := ""
	for i := range s.Ranks {
		switch m := s.Ranks[i].Model; {
		case i == 0:
			model = m
		case m != model:
			return ""
		}
	}
	return model
}
