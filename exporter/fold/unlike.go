package fold

import (
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// unlike says why an objective cannot be judged on an engine although its page has all histograms: what they hold is not
// what the clauses are about. "" when it can be.
func unlike(clauses []slo.Clause, s *fact.EngineSample, r *fact.Rank) string {
	about := func(families ...fact.Family) bool {
		return slices.ContainsFunc(clauses, func(c slo.Clause) bool { return slices.Contains(families, c.Metric) })
	}
	e2e := r.Histograms[fact.E2E]
	switch {
	case s.Traits.Unjudged != "":
		return s.Traits.Unjudged
	case generatesNothing(r) && about(fact.TTFT, fact.TPOT):
		return "the engine generates no tokens (embeddings, pooling), so it has neither a first token nor a time per output token: promise e2e"
	case s.Disaggregated != "" && about(fact.TTFT, fact.E2E, fact.Queue, fact.Prefill):
		return "prompts and tokens come from different engines (" + s.Disaggregated + "), so this page does not see whole requests: judge them from spans, or where they enter"
	case s.Traits.RequestHistograms && e2e.Known() && r.Sequences() != e2e.Count():
		return "a request asked for n > 1: the V0 engine's histograms count it once, and its finish reasons n times"
	}
	return ""
}

// generatesNothing reports whether a rank has served requests to their end without a single token.
func generatesNothing(r *fact.Rank) bool {
	return r.OutputTokens.Known && r.OutputTokens.V == 0 && r.Histograms[fact.OutputTokens].Sum == 0 && r.FinishedWith("stop")+r.FinishedWith("length") > 0
}
