package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// addSpans adds what spans say of a window, where it waited for them.
func (v *explainedVerdict) addSpans(x *fold.Verdict) {
	if !x.Spans.Expected {
		return
	}
	if v.Spans == nil {
		v.Spans = &explainedEvidenceOfSpans{}
	}
	s := v.Spans
	s.Windows++
	if x.Spans.Complete {
		s.Exact++
	}
	if x.Spans.Conflict {
		s.Conflicts++
	}
	s.Finished, s.Seen = s.Finished+x.Sequences.N, s.Seen+x.Spans.Seen
	if t := x.Tokens; t.Known {
		if s.Tokens == nil {
			s.Tokens = &tokensLine{}
		}
		s.Tokens.Lower, s.Tokens.Upper = s.Tokens.Lower+t.Lower, s.Tokens.Upper+t.Upper
		s.Tokens.MissedLower, s.Tokens.MissedUpper = s.Tokens.MissedLower+t.MissedLower, s.Tokens.MissedUpper+t.MissedUpper
	}
	for _, c := range x.Classes {
		i := slices.IndexFunc(s.Classes, func(l classLine) bool { return l.Class == c.Name })
		if i < 0 {
			i = len(s.Classes)
			s.Classes = append(s.Classes, classLine{Class: c.Name})
		}
		l := &s.Classes[i]
		l.Seen, l.Unseen = l.Seen+c.Seen, l.Unseen+c.Unseen
		l.Lower, l.Upper, l.TokensLower = l.Lower+c.Lower, l.Upper+c.Upper, l.TokensLower+c.TokensLower
	}
}

// evidence prints what spans said of a period.
func (x *explainer) evidence(v *explainedVerdict) {
	s := v.Spans
	if s == nil {
		return
	}
	text := fmt.Sprintf("of %d of %d finished sequences; %d of %s exact", s.Seen, s.Finished, s.Exact, count(s.Windows, "window"))
	if s.Seen < s.Finished {
		text = x.paint.doubt(text)
	}
	x.line("    spans          %s", text)
	if s.Conflicts > 0 {
		x.line("    %s", x.paint.bad(fmt.Sprintf("in %s the spans contradict the page, which was believed", count(s.Conflicts, "window"))))
	}
	if t := s.Tokens; t != nil {
		x.line("    output tokens  %s of sequences that qualified, %s of others that finished", within(t.Lower, t.Upper), within(t.MissedLower, t.MissedUpper))
	}
	for _, c := range s.Classes {
		if c.Seen+c.Unseen == 0 {
			continue // such as other, where the list takes every request
		}
		text := fmt.Sprintf("%s of %d qualified", within(c.Lower, c.Upper), c.Seen)
		if c.Unseen > 0 {
			text += fmt.Sprintf(", and %d without a span may be of it too", c.Unseen)
		}
		x.line("    class %-8s %s, with at least %d output tokens", printable(c.Class), text, c.TokensLower)
	}
}

// fromSpans says what spans would add to an interval that is not exact, or why they did not make it so.
func fromSpans(w *engineWatch, v explainedVerdict) string {
	if s := v.Spans; s != nil && s.Conflicts > 0 {
		return "The spans contradict the page. Are they of this engine alone, and are both clocks right? explain --spans says what came and how it was matched."
	}
	if s := v.Spans; s != nil && s.Seen < s.Finished {
		return fmt.Sprintf("%d of %d finished sequences had no span. Sampling, a full queue of the sender, or more lateness than spans.grace allows are the causes: explain --spans says how late they came.", s.Finished-s.Seen, s.Finished)
	}
	what := "First tokens and finished sequences are counted at different times, and no histogram says which belong together."
	missed := 0
	for _, m := range v.Over {
		if m.Upper > 0 {
			missed++
		}
	}
	if missed > 1 {
		what = "More than one clause is missed, and no histogram says whether by the same sequences."
	}
	can, why := sends(w.sample)
	switch {
	case v.Spans != nil:
		return what + " Some windows did not wait for spans: those before the first came."
	case !can:
		return what + " A span for each request would: " + why + "."
	case !w.cfg.Spans.Taken():
		return what + " A span for each request does: set spans.listen, and start the engine with what goodput-exporter engine-flags prints."
	case w.live:
		return what + " A span for each request does. explain takes none in: the running exporter's page says how complete they are there, and a recording can be explained with them."
	}
	return what + " A span for each request does, and none was matched to this engine: explain --spans says what came, and goodput-exporter engine-flags what to start it with."
}

// madeBy says what an interval rests on.
func madeBy(v *explainedVerdict) string {
	var parts []string
	for _, e := range v.Evidence {
		switch e.Evidence {
		case string(fold.EvidenceSpans):
			parts = append(parts, "spans in "+count(int(e.Count), "window"))
		case string(fold.EvidenceBoth):
			parts = append(parts, "histograms and spans in "+count(int(e.Count), "window"))
		case string(fold.EvidenceHistogram):
			if len(v.Evidence) > 1 {
				parts = append(parts, "histograms in "+count(int(e.Count), "window"))
			}
		}
	}
	if len(v.Methods) > 0 {
		parts = append(parts, methodText(v.Methods))
	}
	return strings.Join(parts, ", ")
}

// methodText says how histograms gave their intervals: in words, and by the names that JSON and the docs use.
func methodText(methods []explainedMethod) string {
	var parts []string
	for _, m := range methods {
		text := methodWords(slo.Method(m.Method))
		if len(methods) > 1 {
			text += " in " + count(int(m.Count), "window")
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

func methodWords(m slo.Method) string {
	var words string
	switch m {
	case slo.MethodExplain:
		words = "the flow network of requests from first token to finish"
	case slo.MethodFinish:
		words = "counts at the finish alone"
	case slo.MethodPairs:
		words = "pairs of first tokens and finishes"
	case slo.MethodMarginal:
		words = "the clause that the fewest met"
	}
	return words + " (" + string(m) + ")"
}
