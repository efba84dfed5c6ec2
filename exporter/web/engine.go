package web

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// term is a named value in a list.
type term struct{ Name, Value string }

// enginePage is all about one engine.
type enginePage struct {
	Head     head
	Row      engineRow
	Facts    []term
	Missing  []term // fields that the page lacks, and what that costs
	Warnings []string
	Promises []promiseRow
	Rates    []plot
	Latency  []plot
	Ranks    []term
	why
	Ledger  ledgerBar
	Trust   []trustRow
	Windows windowTable
	Span    string
	Hour    string
	Spans   []trustRow // what became of its spans; none where none are taken in
	Spreads []spread
	GPUs    []gpuRow
	GPUNote []trustRow // what holds for its GPUs together; none where no GPUs are known of
}

// windowTable has the judgement windows as numbers, newest first.
type windowTable struct {
	SLOs  []string
	Spans bool // a window waited for spans
	Rows  []windowRow
}

type windowRow struct {
	End, Length, Arrived, Sequences, Cancelled, Rejected, Failed, Lost string
	Spans                                                              string
	Goodput                                                            []goodputCell // one for each objective
}

// goodputCell is what an objective says of a window, whether the two ends are one, and from what.
type goodputCell struct {
	Text, Evidence string
	Exact          bool
}

// mostRanks is how many ranks of an engine have plots of their own.
const mostRanks = 4

// engine makes the page of an engine; false when there is none of that name.
func (p *pageMaker) engine(id string) (enginePage, bool) {
	if p.view.Snapshot == nil {
		return enginePage{}, false
	}
	at := slices.IndexFunc(p.view.Snapshot.Engines, func(e fold.Engine) bool { return e.ID == id })
	if at < 0 {
		return enginePage{}, false
	}
	e := &p.view.Snapshot.Engines[at]
	g := group{name: groupName(modelsOf(e)), models: modelsOf(e), engines: []*fold.Engine{e}}
	out := enginePage{Row: p.engineRow(e), Facts: p.engineFacts(e), Warnings: e.Warnings, Span: p.frame.span(), Hour: p.frame.hourWords()}
	for _, m := range e.Missing {
		out.Missing = append(out.Missing, term{m.Field, m.Cost})
	}
	out.Promises = p.promises(g, 0)
	objectives := g.objectives()
	for _, o := range objectives {
		if len(out.Rates) < mostPlots {
			out.Rates = append(out.Rates, p.frame.rates(g, o))
		}
		now, hour := tallyOf(g.engines, o.Name, p.now-recent, p.now), tallyOf(g.engines, o.Name, p.now-mostSpan, p.now)
		out.Clauses = append(out.Clauses, clauseRows(o, &now, &hour)...)
	}
	if len(objectives) == 0 {
		out.Rates = append(out.Rates, p.frame.rates(g, nil))
	}
	out.ranks(p, e, objectives)
	out.stages(p.frame, g.engines)
	out.Ledger = p.frame.ledger("Where the HTTP requests of "+p.frame.span()+" went", g.engines)
	out.Trust = p.trust(g.engines)
	out.Spans, out.Spreads = p.spanRows(e), p.spreads(e, objectives)
	out.GPUs, out.GPUNote = p.engineGPUs(e)
	out.Windows = windowsOf(e, objectives, p.now)
	h := p.headline(out.Promises, nil)
	if out.Row.PhaseClass != "good" || len(out.Promises) == 0 {
		h = headline{out.Row.PhaseClass, phaseMarks[out.Row.PhaseClass], out.Row.Phase}
	}
	h.Text = "engine " + short(id, 60) + ": " + h.Text
	out.Head = p.head("goodput", h)
	return out, true
}

// phaseMarks stand beside the phase, so that colour is not needed.
var phaseMarks = map[string]string{"good": "✓", "bad": "✕", "calm": "…"}

// ranks adds what each scheduler says.
func (out *enginePage) ranks(p *pageMaker, e *fold.Engine, objectives []*slo.Objective) {
	for i := range e.Ranks {
		r := &e.Ranks[i]
		if i < mostRanks {
			points := slices.DeleteFunc(slices.Clone(e.Past.Latency), func(l fold.LatencyPoint) bool { return l.Rank != r.ID })
			suffix := ""
			if len(e.Ranks) > 1 {
				suffix = ", rank " + r.ID
			}
			out.Latency = append(out.Latency, p.frame.latency(points, objectives, suffix)...)
		}
		if len(e.Ranks) > 1 {
			value := "unknown: the last page is too old"
			if r.Fresh {
				value = fmt.Sprintf("%s running, %s waiting", number(r.Running), number(r.Waiting))
				if r.KVUsage.Known {
					value += ", KV cache " + ratio(r.KVUsage.V)
				}
			}
			out.Ranks = append(out.Ranks, term{r.ID + " (" + groupName([]string{r.Model}) + ")", value})
		}
	}
}

func number(n fact.Number) string {
	if !n.Known {
		return "unknown number"
	}
	return count(int64(n.V))
}

func (p *pageMaker) engineFacts(e *fold.Engine) []term {
	out := []term{{"model", groupName(modelsOf(e))}, {"address", p.address(e.Target.URL)}, {"page", p.engineRow(e).Reads}}
	for _, name := range slices.Sorted(maps.Keys(e.Target.Labels)) {
		if !strings.HasPrefix(name, "__") && e.Target.Labels[name] != "" {
			out = append(out, term{"label " + name, e.Target.Labels[name]})
		}
	}
	if e.Start > 0 {
		out = append(out, term{"process started", stamp(e.Start, p.now)})
	}
	if e.Since > 0 {
		out = append(out, term{"counted since", stamp(e.Since, p.now)})
	}
	if e.Series > 0 {
		out = append(out, term{"samples on its page", count(e.Series)})
	}
	out = slices.DeleteFunc(out, func(t term) bool { return t.Value == "" })
	return append(out, term{"restarts seen", count(e.Resets)})
}

func windowsOf(e *fold.Engine, objectives []*slo.Objective, now float64) windowTable {
	var t windowTable
	objectives = objectives[:min(len(objectives), mostPlots)]
	for _, o := range objectives {
		t.SLOs = append(t.SLOs, o.Name)
	}
	span := func(s fold.Span) string {
		if !s.Known {
			return "unknown"
		}
		return counts(s.Lower, s.Upper)
	}
	for _, w := range slices.Backward(e.Past.Windows) {
		r := windowRow{
			End: utc(w.End).Format("15:04:05"), Length: duration(w.End - w.Start), Arrived: span(w.Ledger.Arrived), Sequences: "unknown",
			Cancelled: span(w.Ledger.Cancelled), Rejected: span(plusBoth(w.Ledger.RejectedAdmission, w.Ledger.RejectedClient)), Failed: span(w.Ledger.Failed), Lost: span(w.Ledger.Lost),
		}
		if w.Sequences.Known {
			r.Sequences = count(w.Sequences.N)
		}
		for _, o := range objectives {
			switch v := verdict(&w, o.Name); {
			case v == nil:
				r.Goodput = append(r.Goodput, goodputCell{Text: "–"})
			case !v.Judged:
				r.Goodput = append(r.Goodput, goodputCell{Text: "unknown: " + v.Reason})
			case v.Requests.N == 0:
				r.Goodput = append(r.Goodput, goodputCell{Text: "empty", Evidence: evidenceWord(v)})
			default:
				r.Goodput = append(r.Goodput, goodputCell{counts(v.Lower, v.Upper) + " of " + count(v.Requests.N), evidenceWord(v), v.Lower == v.Upper})
			}
		}
		if r.Spans = windowSpans(&w); r.Spans != "" {
			t.Spans = true
		}
		t.Rows = append(t.Rows, r)
	}
	return t
}

// windowSpans says how many sequences of a window have a span; "" where none were waited for.
func windowSpans(w *fold.PastWindow) string {
	at := slices.IndexFunc(w.Verdicts, func(v fold.Verdict) bool { return v.Spans.Expected })
	if at < 0 {
		return ""
	}
	s := &w.Verdicts[at].Spans
	text := count(s.Seen)
	if s.Unsure > 0 {
		text += fmt.Sprintf(" (%s)", count(s.Unsure))
	}
	return text
}

// plusBoth is known only where both are.
func plusBoth(s, t fold.Span) fold.Span {
	return fold.Span{Lower: s.Lower + t.Lower, Upper: s.Upper + t.Upper, Known: s.Known && t.Known}
}
