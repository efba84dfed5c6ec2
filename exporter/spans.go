package exporter

import (
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// collectUnmatched sends how many spans say nothing because it is not known whose they are.
func collectUnmatched(p *page, u *fold.Unmatched, started float64) {
	for _, t := range closed(u.Counts, among(fold.UnmatchedEngine, fold.UnmatchedPod, fold.UnmatchedAmbiguous, fold.UnmatchedNothing, fold.UnmatchedNoTarget)) {
		p.counter(catalog.SpansUnmatched, float64(t.Count), started, t.Name)
	}
}

// collectEvidence sends what became of the spans of an engine. Nothing is known of an engine that never sent one: it
// may be one that has no tracing.
func collectEvidence(p *page, e *fold.Engine) {
	s := &e.Spans
	if s.Last == 0 {
		return
	}
	for _, t := range closed(s.Matched, among(fold.ByEngine, fold.ByPod, fold.ByInstance, fold.ByAddress, fold.ByOnly)) {
		p.counter(catalog.SpansMatched, float64(t.Count), e.Since, e.ID, t.Name)
	}
	for _, unused := range []struct {
		reason string
		n      uint64
	}{
		{catalog.UnusedLate, s.Late}, {catalog.UnusedOutside, s.Outside}, {catalog.UnusedDuplicate, s.Duplicate}, {catalog.UnusedDropped, s.Dropped},
	} {
		p.counter(catalog.SpansUnused, float64(unused.n), e.Since, e.ID, unused.reason)
	}
	for _, row := range []struct {
		name string
		n    uint64
	}{
		{catalog.EvidenceSequences, s.Finished}, {catalog.EvidenceSequencesSeen, s.Seen},
		{catalog.EvidenceWindows, s.Windows}, {catalog.EvidenceExactWindows, s.Exact},
	} {
		p.counter(row.name, float64(row.n), e.Since, e.ID, catalog.SourceSpans, e.Model)
	}
	p.counter(catalog.EvidenceConflicts, float64(s.Conflicts), e.Since, e.ID, catalog.SourceSpans)
	p.counter(catalog.OneTokenSequences, float64(s.OneToken), e.Since, e.ID, e.Model)
	p.counter(catalog.RequestAttempts, float64(s.Attempts), e.Since, e.ID, e.Model)
	p.counter(catalog.LogicalRequests, float64(s.Logical), e.Since, e.ID, e.Model)
	if s.Expected && s.Completeness.Known && !e.Gone {
		p.gauge(catalog.EvidenceCompleteness, s.Completeness.V, e.ID, catalog.SourceSpans, e.Model)
	}
}

// collectTokens sends the token goodput of an objective.
func collectTokens(p *page, e *fold.Engine, s *fold.SLO) {
	if !s.Tokens.Known {
		return
	}
	since := max(e.Since, s.Since)
	for _, row := range []struct {
		name string
		n    uint64
	}{
		{catalog.SLOQualifiedTokensLower, s.Tokens.Lower}, {catalog.SLOQualifiedTokensUpper, s.Tokens.Upper},
		{catalog.SLOMissedTokensLower, s.Tokens.MissedLower}, {catalog.SLOMissedTokensUpper, s.Tokens.MissedUpper},
	} {
		p.counter(row.name, float64(row.n), since, e.ID, s.Objective.Name, e.Model)
	}
}

// collectClasses sends what is known of each class of each objective.
func collectClasses(p *page, e *fold.Engine) {
	for i := range e.SLOs {
		s := &e.SLOs[i]
		since := max(e.Since, s.Since)
		for _, c := range s.Classes {
			for _, row := range []struct {
				name string
				n    uint64
			}{
				{catalog.SLOClassRequestsLower, c.Seen}, {catalog.SLOClassRequestsUpper, c.Seen + c.Unseen},
				{catalog.SLOClassQualifiedLower, c.Lower}, {catalog.SLOClassQualifiedUpper, c.Upper},
				{catalog.SLOClassQualifiedTokensLower, c.TokensLower},
			} {
				p.counter(row.name, float64(row.n), since, e.ID, s.Objective.Name, c.Name, e.Model)
			}
		}
	}
}

// collectSpanHistograms sends the exact latencies of what has a span.
func collectSpanHistograms(p *page, e *fold.Engine) {
	for _, row := range []struct {
		name   string
		family fact.Family
	}{
		{catalog.SpanTTFT, fact.TTFT}, {catalog.SpanTPOT, fact.TPOT}, {catalog.SpanE2E, fact.E2E},
	} {
		if h := e.Spans.Histograms[row.family]; h != nil {
			p.spanHistogram(row.name, h, e.ID, e.Model)
		}
	}
}

// collectThresholds sends the clauses of an objective's classes.
func collectThresholds(p *page, o *slo.Objective) {
	for i, class := range o.Classes.Names() {
		for _, c := range o.Promised(i) {
			p.gauge(catalog.SLOClassThreshold, c.Threshold, o.Name, class, c.Metric.String())
		}
	}
}

// collectIntake sends how the taking in of spans goes. The words are those of SpanIntake; others become one.
func collectIntake(p *page, in *SpanIntake, started float64) {
	if in == nil {
		return
	}
	for _, t := range closed(in.Spans, among("taken", "other_name", "refused", "full")) {
		p.counter(catalog.SpansReceived, float64(t.Count), started, t.Name)
	}
	for _, t := range closed(in.Refused, among("missing", "negative", "infinite", "part", "long", "tokens", "time", "identity", "sequences", "size")) {
		p.counter(catalog.SpansRefused, float64(t.Count), started, t.Name)
	}
	for _, protocol := range []string{"http", "grpc"} {
		var tallies []fold.Tally
		for _, m := range in.Messages {
			if m.Protocol == protocol {
				tallies = append(tallies, fold.Tally{Name: m.Outcome, Count: m.Count})
			}
		}
		for _, t := range closed(tallies, among("ok", "partial", "too_large", "malformed", "unsupported", "unauthorized", "full", "busy", "broken")) {
			p.counter(catalog.SpanMessages, float64(t.Count), started, protocol, t.Name)
		}
	}
	p.gauge(catalog.SpansBuffered, float64(in.Buffered))
	p.gauge(catalog.SpansBufferSize, float64(in.Room))
}

// among makes a word of a closed set of anything: what is not in the set is "other".
func among(words ...string) func(string) string {
	return func(word string) string {
		if slices.Contains(words, word) {
			return word
		}
		return catalog.ReasonOther
	}
}
