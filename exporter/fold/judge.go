package fold

import (
	"cmp"
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// judged is what the page's histograms say of a closed window under an objective.
type judged struct {
	of  *objective
	out Window // but for the interval

	absent      string // why there is no interval; "" when there is
	unanswering bool   // absent only because the histograms cannot answer: spans can
	whole       bool   // the objective is about all ranks
	lower       uint64
	upper       uint64 // without doubt
	denominator uint64
	doubt       uint64 // of the denominator: may not be bad after all
	bad         uint64 // finished sequences with a reason that is no success
	uncounted   uint64 // finished sequences that are not in the denominator
	violations  []Violation
	fallbacks   []string
	firstTokens uint64
}

// judgeWindow bounds what met the objective in the window by the page's histograms.
func (s *State) judgeWindow(e *engine, o *objective, ranks []*rank, ledger Ledger) *judged {
	j := &judged{of: o, whole: len(ranks) == len(e.ranks), violations: make([]Violation, len(o.tightest))}
	out := &j.out
	out.Arrived, out.Finished, out.Failed, out.Cancelled = ledger.Arrived, ledger.Finished, ledger.Failed, ledger.Cancelled
	out.Rejected, out.Lost, out.Unexplained = ledger.RejectedAdmission.plus(ledger.RejectedClient), ledger.Lost, ledger.Unexplained
	j.denominator, j.doubt = o.outcomes(ledger, j.whole)
	if o.Policy.Cancelled == slo.Bad && (e.ledger.broken != "" || e.last.sample.Traits.NoFrontEnd && e.ledger.lacking != "") {
		j.absent = "cancelled requests count as bad and are unknown: " + e.ledger.absent()
	}
	out.SequencesOK = true
	unknown := j.absent != ""
	for _, r := range ranks {
		last := e.lastRank(r)
		if len(last.Finished) == 0 {
			j.absent, out.SequencesOK = "the page has no finish reasons (request_success): what succeeded is unknown", false
		}
		different := unlike(o.tightest, e.last.sample, last)
		unknown = unknown || different != ""
		if j.absent == "" {
			j.absent = cmp.Or(different, refusal(o.tightest, last), refusal(o.loosest, last))
		}
		j.addRank(s, e, r)
	}
	j.unanswering = j.absent != "" && !unknown && out.SequencesOK
	out.Requests, out.RequestsOK = j.denominator, out.SequencesOK
	return j
}

// addRank adds one rank's part of the window.
func (j *judged) addRank(s *State, e *engine, r *rank) {
	countable := r.countable(j.of.Policy, e.last.sample.Traits)
	finished := total(r.finished)
	j.denominator += countable
	j.uncounted += finished - countable
	j.out.Sequences += finished
	j.firstTokens += r.spent[StageTTFT].Count
	b := s.boundRank(e, r, j)
	j.lower, j.upper = j.lower+b.Lower, j.upper+b.Upper
	w := slo.Window{Slices: r.slices, First: r.first, Old: r.old}
	for i, c := range j.of.tightest {
		least, most := slo.Violations(w, c)
		if !sameClauses(j.of.tightest, j.of.loosest) {
			// A value over the highest threshold is over that of its class, where all classes have one.
			least = 0
			if at := slices.IndexFunc(j.of.loosest, func(l slo.Clause) bool { return l.Metric == c.Metric }); at >= 0 {
				least, _ = slo.Violations(w, j.of.loosest[at])
			}
		}
		j.violations[i].Metric = c.Metric
		j.violations[i].Lower += least
		j.violations[i].Upper += most
	}
}

func sameClauses(a, b []slo.Clause) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}

// boundRank judges one rank's part of the window. Where the best method could not be used the window says so.
func (s *State) boundRank(e *engine, r *rank, j *judged) slo.Bounds {
	finished, bad := total(r.finished), uint64(0)
	for _, c := range r.finished {
		if !j.of.Policy.Succeeds(c.Reason) {
			bad += c.Count
		}
	}
	j.bad += bad
	if finished == 0 {
		return slo.Bounds{} // nothing finished, so nothing qualified
	}
	b := slo.Bounds{Upper: finished - bad, Method: slo.MethodMarginal, Note: slo.NoteTorn}
	if !e.window.torn {
		w := slo.Window{Slices: r.slices, First: r.first, Old: r.old}
		b = s.judge.Window(w, j.of.tightest, bad)
		if !sameClauses(j.of.tightest, j.of.loosest) {
			most := s.judge.Window(w, j.of.loosest, bad)
			b.Upper, b.Note = most.Upper, cmp.Or(b.Note, most.Note)
			if worse(most.Method, b.Method) {
				b.Method = most.Method
			}
		}
	}
	if j.out.Method == "" || worse(b.Method, j.out.Method) {
		j.out.Method = b.Method
	}
	if b.Note != "" {
		j.out.Note = b.Note
		if j.absent == "" {
			j.fallbacks = append(j.fallbacks, b.Note)
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
