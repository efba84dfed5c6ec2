package main

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// explainer writes an explanation for a person.
type explainer struct {
	out   io.Writer // buffered: errors show when it is flushed
	paint paint
	alike bool // the last window is all there is of the hour
}

func (x *explainer) line(format string, args ...any) { fmt.Fprintf(x.out, format+"\n", args...) }

func (x *explainer) section(title, about string) {
	x.line("")
	x.line("%s%s", x.paint.title(title), x.paint.aside(about))
}

func (x *explainer) print(e *explained) {
	x.line("%s %s", x.paint.title("engine "+printable(e.Engine)), x.paint.aside("from "+printable(e.Source)))
	for _, n := range e.Notes {
		x.line("%s", x.paint.doubt(printable(n)))
	}
	x.page(&e.Page)
	x.polls(&e.Polls)
	x.alike = len(e.Periods) == 2 && e.Periods[0].Windows == e.Periods[1].Windows
	for i := range e.Periods {
		if !x.alike || i == 0 {
			x.period(&e.Periods[i])
		}
	}
	for i := range e.SLOs {
		x.slo(&e.SLOs[i])
	}
	x.percentiles(e.Percentiles)
}

func (x *explainer) page(p *explainedPage) {
	x.section("Page", "")
	x.line("  dialect       %s: %s", p.Dialect, p.Writer)
	x.line("  because of    %s", p.Recognised)
	if p.Versions != "" {
		x.line("  versions      %s, by the names on the page", p.Versions)
	}
	if p.Started > 0 {
		x.line("  process       since %s", stampUTC(p.Started))
	}
	x.line("  size          %d series, %d bytes", p.Series, p.Bytes)
	for _, r := range p.Ranks {
		name := ""
		if r.Rank != "" {
			name = "rank " + printable(r.Rank) + ", "
		}
		x.line("  serves        %smodel %s", name, printable(r.Model))
	}
	x.list("about such pages", p.Unlike)
	var missing []string
	for _, m := range p.Missing {
		missing = append(missing, printable(m.What)+": "+m.Cost)
	}
	x.list("the page lacks", missing)
	x.list("forgiven", p.Forgiven)
}

// list writes points under a heading, nothing when there are none.
func (x *explainer) list(heading string, points []string) {
	if len(points) == 0 {
		return
	}
	x.line("  %s", heading)
	for _, p := range points {
		x.line("    - %s", printable(p))
	}
}

func (x *explainer) polls(p *explainedPolls) {
	if p.Good < 2 {
		return
	}
	x.section("Polls", "")
	x.line("  time          %s to %s", stampUTC(p.From), stampUTC(p.To))
	x.line("  pages         %d, one every %s; the last took %s", p.Good, seconds3(p.Every), seconds3(p.Took))
	if len(p.Failed) > 0 {
		x.line("  %s", x.paint.doubt("failed        "+tallyText(p.Failed)))
	}
	if len(p.Skipped) > 0 {
		x.line("  skipped       %s", tallyText(p.Skipped))
	}
	if p.Restarts > 0 {
		x.line("  %s", x.paint.doubt(fmt.Sprintf("restarts      %d", p.Restarts)))
	}
	x.line("  state         %s", strings.ReplaceAll(p.Phase, "_", " "))
}

func tallyText(all []explainedTally) string {
	var parts []string
	for _, t := range all {
		parts = append(parts, fmt.Sprintf("%d %s", t.Count, printable(t.Reason)))
	}
	return strings.Join(parts, ", ")
}

// periodName is a period's name in a sentence.
func periodName(period string) string {
	if period == "hour" {
		return "the hour"
	}
	return "the last window"
}

func (x *explainer) period(p *explainedPeriod) {
	about := fmt.Sprintf(", %s to %s, %s", stampUTC(p.From), stampUTC(p.To), count(p.Windows, "judgement window"))
	if p.Partial {
		about += ", shorter than a whole one"
	}
	title := "Ledger of " + periodName(p.Name)
	x.section(title, about+", HTTP requests")
	l := &p.Ledger
	for _, row := range []struct {
		name string
		span *explainedSpan
	}{
		{"arrived", l.Arrived}, {"finished", l.Finished}, {"cancelled", l.Cancelled}, {"rejected by the admission limit", l.RejectedAdmission},
		{"rejected as client errors (4xx)", l.RejectedClient}, {"failed", l.Failed}, {"lost with their process", l.Lost},
	} {
		if row.span != nil {
			x.line("  %-32s %s", row.name, within(row.span.Lower, row.span.Upper))
		}
	}
	if l.InFlight != nil {
		x.line("  %-32s %+d", "change of what is in flight", *l.InFlight)
	}
	if u := l.Unexplained; u != nil {
		text := fmt.Sprintf("%-32s %s", "unexplained", within(u.Lower, u.Upper))
		if u.Lower > 0 {
			text = x.paint.bad(text + ": the engine's own counters contradict each other")
		}
		x.line("  %s", text)
	}
	if l.Absent != "" {
		x.line("  %s", x.paint.doubt("no more of it: "+printable(l.Absent)))
	}
	if p.Sequences != nil {
		x.line("  %-32s %d", "sequences that finished", *p.Sequences)
	}
	for _, s := range p.Stages {
		x.line("  %-32s %s over %d %s", "mean time of "+s.Stage, seconds3(s.Mean), s.Count, s.Population)
	}
}

func (x *explainer) slo(s *explainedSLO) {
	x.section("SLO "+printable(s.Name), fmt.Sprintf(", %s %% of requests", digits3(100*s.Objective)))
	if !s.Covers {
		x.line("  not about this engine, by slos[].match")
		return
	}
	if s.Unlike != "" {
		x.line("  %s", x.paint.bad("cannot be judged: "+printable(s.Unlike)))
	}
	for _, c := range s.Clauses {
		of := ofClasses(c.Classes)
		text := fmt.Sprintf("%s <= %s%s", c.Metric, configured(c.Threshold), of)
		if c.Answer == "edge" {
			if of != "" {
				text += ":"
			}
			x.line("  %-14s an edge of the engine's histogram", text)
			continue
		}
		x.line("  %s", x.paint.bad("refused"+of+": "+printable(c.Why)))
	}
	if len(s.Clauses) > 0 && len(s.Clauses[0].Classes) > 0 {
		x.line("  %s", x.paint.aside("of which class a request is only its span says: without, the interval reaches from what meets the tightest clauses to what meets the loosest"))
	}
	x.line("  %s", x.paint.aside("counted are "+s.Population))
	for i := range s.Verdicts {
		if !x.alike || i == 0 {
			x.verdict(&s.Verdicts[i], s.refused(), s.Unlike)
		}
	}
	for i, n := range s.Narrow {
		if i == 0 {
			x.line("  narrower by")
		}
		x.line("    - %s: %s", n.By, n.Says)
	}
}

// refused is why there is no interval: the reason of the first clause that cannot be answered.
func (s *explainedSLO) refused() string {
	for _, c := range s.Clauses {
		if c.Answer == "refused" {
			return c.Why
		}
	}
	return ""
}

// verdict prints a period's interval. refused and unlike are reasons that stand above already.
func (x *explainer) verdict(v *explainedVerdict, refused, unlike string) {
	if v.Windows > 0 {
		text := fmt.Sprintf("%s of %d qualified, %s", within(v.Lower, v.Upper), v.Requests, sharesOf(v.Lower, v.Upper, v.Requests))
		if v.Requests == 0 {
			text = "nothing to count"
		}
		x.line("  %-16s %s%s", periodName(v.Period), text, x.held(v.Holds))
	}
	for _, t := range v.Unjudged {
		why := printable(t.Reason)
		switch {
		case t.Reason == unlike:
			why = "they cannot be judged"
		case refused != "" && strings.HasPrefix(refused, t.Reason):
			why = "a clause is refused"
		}
		x.line("  %-16s %s", periodName(v.Period), x.paint.doubt(fmt.Sprintf("%s without an interval: %s", count(int(t.Count), "window"), why)))
	}
	if v.Width != nil {
		x.line("    width          %s percentage points, by %s", points(*v.Width), madeBy(v))
	}
	x.evidence(v)
	for _, d := range v.Doubts {
		x.line("    %s", x.paint.doubt(fmt.Sprintf("less certain in %s: %s", count(int(d.Count), "window"), printable(d.Reason))))
	}
	for _, m := range v.Over {
		if m.Of > 0 {
			x.line("    over %-9s %s of %d %s", m.Metric, within(m.Lower, m.Upper), m.Of, m.Population)
		}
	}
}

// held says what the interval says about the objective.
func (x *explainer) held(holds string) string {
	switch holds {
	case "yes":
		return ": " + x.paint.good("the objective was kept")
	case "no":
		return ": " + x.paint.bad("the objective was missed")
	case "undecided":
		return ": " + x.paint.doubt("kept or missed, the interval does not say")
	}
	return ""
}

func (x *explainer) percentiles(all []explainedPercentile) {
	for i, p := range all {
		if i == 0 || all[i-1].Window != p.Window || all[i-1].Rank != p.Rank {
			of := ""
			if p.Rank != "" {
				of = " of rank " + printable(p.Rank)
			}
			x.section("Percentiles"+of+" over "+promDuration(p.Window), fmt.Sprintf(", %s of it seen; each lies in its interval", promDuration(math.Round(p.To-p.From))))
		}
		var cells []string
		for _, q := range p.Quantiles {
			cells = append(cells, fmt.Sprintf("p%s %s", exactDigits(100*q.Q), bucketText(q)))
		}
		x.line("  %-10s %s", p.Metric, strings.Join(cells, "; "))
		x.line("  %-10s %s", "", x.paint.aside(fmt.Sprintf("%d %s", p.Count, p.Population)))
	}
}

// bucketText writes the bucket that holds a percentile. Edges are written as they are.
func bucketText(q explainedQuantile) string {
	switch {
	case q.Upper == nil:
		return "above " + edgeText(q.Lower)
	case q.Lower == 0:
		return "up to " + edgeText(*q.Upper)
	}
	return edgeText(q.Lower) + " to " + edgeText(*q.Upper)
}
