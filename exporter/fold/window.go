package fold

import (
	"cmp"
	"fmt"
	"slices"

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
	since        float64 // when its counters began; 0: with those of the engine
	judged       bool
	absent       string
	requests     uint64
	lower, upper uint64
	violations   []Violation
}

// closeWindow commits the open window at the last page and opens the next one there. last says that no page of this
// process will follow.
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
	model := soleModel(e.last.sample)
	past := PastWindow{
		Start: w.start, End: end, Partial: partial, From: e.past.account(w.start, e.ledger.putOff), Ledger: ledger, InFlight: flight,
	}
	for _, o := range e.objectives {
		ranks := e.covered(o)
		if len(ranks) == 0 {
			continue
		}
		out := Window{
			Engine: e.target.ID, Model: model, SLO: o.Name, Start: w.start, End: end, Partial: partial,
			Arrived: ledger.Arrived, Finished: ledger.Finished, Failed: ledger.Failed, Cancelled: ledger.Cancelled,
			Rejected: ledger.RejectedAdmission.plus(ledger.RejectedClient), Lost: ledger.Lost, Unexplained: ledger.Unexplained,
		}
		s.judgeWindow(e, o, ranks, &out, ledger)
		s.windows = append(s.windows, out)
		past.Verdicts = append(past.Verdicts, out.verdict(o.Objective, ranks))
	}
	if s.opts.History > 0 {
		e.sumUp(&past)
		e.past.windows = append(e.past.windows, past)
	}
	for _, r := range e.ranks {
		for _, q := range r.quantiles(s.opts.Quantiles, e.last.sample.Traits.AbortsFinish) {
			s.quantiles = append(s.quantiles, RankQuantile{Engine: r.id, Model: r.model, Quantile: q})
		}
		s.rememberRank(e, r, end)
		r.forget(end)
		r.finished, r.spent = nil, [NumStages]Spent{}
	}
	e.committed = true
	e.window = window{start: end}
}

// verdict is what is remembered of the window under its objective.
func (w *Window) verdict(o *slo.Objective, ranks []*rank) Verdict {
	firstTokens := uint64(0)
	for _, r := range ranks {
		firstTokens += r.spent[StageTTFT].Count
	}
	return Verdict{
		FirstTokens: firstTokens,
		Objective:   o, Judged: w.Evidence != "", Reason: w.Reason, Requests: Number{w.Requests, w.RequestsOK},
		Lower: w.Lower, Upper: w.Upper, Violations: w.Violations, Sequences: Number{w.Sequences, w.SequencesOK}, Method: w.Method, Note: w.Note,
	}
}

// sumUp adds to a window what all ranks did in it.
func (e *engine) sumUp(w *PastWindow) {
	w.Sequences.Known = true
	for _, r := range e.ranks {
		w.Sequences.N += total(r.finished)
		w.Sequences.Known = w.Sequences.Known && len(e.lastRank(r).Finished) > 0
		for stage, spent := range r.spent {
			w.Spent[stage].Seconds += spent.Seconds
			w.Spent[stage].Count += spent.Count
		}
	}
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

// judgeWindow bounds what met the objective in the window and moves the objective's counters, all in one step.
func (s *State) judgeWindow(e *engine, o *objective, ranks []*rank, out *Window, ledger Ledger) {
	denominator, doubt := o.outcomes(ledger, len(ranks) == len(e.ranks))
	lower, upper := uint64(0), uint64(0)
	o.absent = ""
	if o.Policy.Cancelled == slo.Bad && (e.ledger.broken != "" || e.last.sample.Traits.NoFrontEnd && e.ledger.lacking != "") {
		o.absent = "cancelled requests count as bad and are unknown: " + e.ledger.absent()
	}
	violations := make([]Violation, len(o.Clauses))
	out.SequencesOK = true
	for _, r := range ranks {
		if len(e.lastRank(r).Finished) == 0 {
			o.absent, out.SequencesOK = "the page has no finish reasons (request_success): what succeeded is unknown", false
		}
		denominator += r.countable(o.Policy, e.last.sample.Traits)
		out.Sequences += total(r.finished)
		if o.absent == "" {
			o.absent = cmp.Or(unlike(o.Clauses, e.last.sample, e.lastRank(r)), refusal(o.Clauses, e.lastRank(r)))
		}
		b := s.boundRank(e, r, o, out)
		lower, upper = lower+b.Lower, upper+b.Upper
		for i, c := range o.Clauses {
			least, most := slo.Violations(slo.Window{Slices: r.slices, First: r.first, Old: r.old}, c)
			violations[i].Metric = c.Metric
			violations[i].Lower += least
			violations[i].Upper += most
		}
	}
	out.Requests, out.RequestsOK = denominator, out.SequencesOK
	if o.absent != "" {
		out.Reason, out.Method, out.Note = o.absent, "", ""
		return
	}
	upper += doubt // outcomes that are bad only at the upper end of what is known of them
	upper = min(upper, denominator)
	out.Lower, out.Upper, out.Evidence, out.Violations = lower, upper, EvidenceHistogram, violations
	o.judged = true
	o.requests += denominator
	o.lower += lower
	o.upper += upper
	if o.violations == nil {
		o.violations = make([]Violation, len(violations))
	}
	for i, v := range violations {
		o.violations[i].Metric = v.Metric
		o.violations[i].Lower += v.Lower
		o.violations[i].Upper += v.Upper
	}
}

// boundRank judges one rank's part of the window. Where the best method could not be used the window says so.
func (s *State) boundRank(e *engine, r *rank, o *objective, out *Window) slo.Bounds {
	finished, bad := total(r.finished), uint64(0)
	for _, c := range r.finished {
		if !o.Policy.Succeeds(c.Reason) {
			bad += c.Count
		}
	}
	if finished == 0 {
		return slo.Bounds{} // nothing finished, so nothing qualified
	}
	var b slo.Bounds
	if e.window.torn {
		b = slo.Bounds{Upper: finished - bad, Method: slo.MethodMarginal, Note: slo.NoteTorn}
	} else {
		b = s.judge.Window(slo.Window{Slices: r.slices, First: r.first, Old: r.old}, o.Clauses, bad)
	}
	if out.Method == "" || worse(b.Method, out.Method) {
		out.Method = b.Method
	}
	if b.Note != "" {
		out.Note = b.Note
		if o.absent == "" {
			e.fallbacks[b.Note]++
			if b.Note == slo.NoteContradiction || b.Note == slo.NoteDisjoint {
				e.conflicts++
			}
		}
	}
	return b
}

func worse(a, b slo.Method) bool {
	order := []slo.Method{slo.MethodFinish, slo.MethodExplain, slo.MethodPairs, slo.MethodMarginal, ""}
	return slices.Index(order, a) > slices.Index(order, b)
}

// countable is the number of the window's finished sequences that enter the denominator.
func (r *rank) countable(p slo.Policy, t fact.Traits) uint64 {
	n := uint64(0)
	for _, c := range r.finished {
		switch {
		case c.Reason == reasonAbort && t.AbortsFinish && p.Cancelled == slo.Exclude:
		case c.Reason == reasonError && p.Failed == slo.Exclude && !p.Succeeds(reasonError):
		default:
			n += c.Count
		}
	}
	return n
}

// outcomes is what did not finish and counts all the same under the objective's policy, a request standing for one
// sequence. doubt is how much of it may not be bad after all. Outcomes have no model, so an objective that is about
// some of an engine's models only has none.
func (o *objective) outcomes(l Ledger, whole bool) (n, doubt uint64) {
	if !whole {
		return 0, 0
	}
	count := func(s Span, d slo.Disposition) {
		if s.Known && d == slo.Bad {
			n += s.Upper
			doubt += s.Upper - s.Lower
		}
	}
	p := o.Policy
	count(l.RejectedAdmission, p.Admission)
	count(l.RejectedClient, p.ClientErrors)
	count(l.Lost, p.Lost)
	failed, cancelled := l.failedBeside, l.cancelledBeside
	if p.Failed == slo.Bad && p.Cancelled == slo.Bad && failed.Known && cancelled.Known {
		// What may be either is bad either way.
		failed.Lower, cancelled.Upper = failed.Upper, cancelled.Lower
	}
	count(failed, p.Failed)
	count(cancelled, p.Cancelled)
	return n, doubt
}

// refusal says why a page cannot answer an objective; "" when it can.
func refusal(clauses []slo.Clause, r *fact.Rank) string {
	refused := slo.Refusals(clauses, func(f fact.Family) ([]float64, bool) {
		return r.Histograms[f].Edges, r.Histograms[f].Known()
	})
	if len(refused) == 0 {
		return ""
	}
	return refused[0].Error()
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
