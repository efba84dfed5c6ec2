package web

import (
	"slices"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// sloPage is all about one objective.
type sloPage struct {
	Head     head
	Name     string
	Promise  string
	Terms    []term
	Promises []promiseRow
	Sections []section
	Engines  []sloEngine
	Tokens   []tokenRow
	Classes  []classRow
	Unseen   []string // whose spans are incomplete, which is what makes classes and tokens intervals
	Empty    string
	Span     string
}

// sloEngine is how an objective stands on one engine.
type sloEngine struct {
	promiseRow
	ID, EngineLink, Missed string
	Evidence               string // of the hour
}

// UnseenNote is what stands under classes and tokens.
func (s sloPage) UnseenNote() string { return unseenNote(s.Unseen) }

// slo makes the page of an objective; false when none of that name is configured or in sight.
func (p *pageMaker) slo(name string) (sloPage, bool) {
	o := p.objective(name)
	if o == nil {
		return sloPage{}, false
	}
	out := sloPage{Name: name, Promise: promise(o), Terms: policyTerms(o), Span: p.frame.hourWords()}
	if p.view.Snapshot != nil {
		for i, g := range groups(p.view.Snapshot) {
			if under := g.under(name); len(under.engines) > 0 {
				row := p.promise(under, o, i)
				out.Promises = append(out.Promises, row)
				s := p.section(under, i, []promiseRow{row}, []*slo.Objective{o})
				s.Ledger = ledgerBar{} // the requests of an engine are of no objective alone
				out.Sections = append(out.Sections, s)
				out.Engines = append(out.Engines, p.sloEngines(under, o)...)
				now, hour := tallyOf(under.engines, name, p.now-recent, p.now), tallyOf(under.engines, name, p.now-mostSpan, p.now)
				out.Tokens = append(out.Tokens, tokenRows(g.name, &now, &hour)...)
				out.Classes = append(out.Classes, classRows(g.name, o, &now, &hour)...)
				out.Unseen = append(out.Unseen, unseenWords(under.engines, name, p.now-mostSpan, p.now)...)
			}
		}
	}
	rows := out.Promises
	if len(rows) == 0 {
		out.Empty = "No page that was read is under this SLO: " + matchWords(o) + "."
	}
	slices.SortStableFunc(out.Engines, func(a, b sloEngine) int { return int(b.state) - int(a.state) })
	h := p.headline(rows, nil)
	if len(rows) == 0 {
		h = headline{"calm", "–", "no engine is under it"}
	}
	h.Text = "SLO " + short(name, 60) + ": " + h.Text
	out.Head = p.head("goodput", h)
	return out, true
}

// objective finds an objective by name: the configured ones, and those that the engines are judged under.
func (p *pageMaker) objective(name string) *slo.Objective {
	for i := range p.objectives {
		if p.objectives[i].Name == name {
			return &p.objectives[i]
		}
	}
	if p.view.Snapshot != nil {
		for i := range p.view.Snapshot.Engines {
			if s := standing(&p.view.Snapshot.Engines[i], name); s != nil {
				return s.Objective
			}
		}
	}
	return nil
}

func (p *pageMaker) sloEngines(g group, o *slo.Objective) []sloEngine {
	var out []sloEngine
	for _, e := range g.engines {
		one := g
		one.engines = []*fold.Engine{e}
		t := tallyOf(one.engines, o.Name, p.now-mostSpan, p.now)
		row := sloEngine{promiseRow: p.promise(one, o, 0), ID: e.ID, EngineLink: link("engine", e.ID), Missed: "–", Evidence: t.backing.words()}
		if t.requests > 0 {
			row.Missed = counts(t.requests-t.upper, t.requests-t.lower)
		}
		out = append(out, row)
	}
	return out
}

// policyTerms say what the objective counts.
func policyTerms(o *slo.Objective) []term {
	words := func(d slo.Disposition) string {
		if d == slo.Bad {
			return "count as bad"
		}
		return "are not counted"
	}
	pol := o.Policy
	retries := "each counts for itself"
	if pol.Retries == slo.RetriesLogical {
		retries = "count as one request where one trace shows them in one window"
	}
	return []term{
		{"population", "sequences: a request with n=2 is two"},
		{"may qualify", "sequences that end with " + strings.Join(pol.Success, ", ")},
		{"cancelled by the client", words(pol.Cancelled)},
		{"client errors (4xx)", words(pol.ClientErrors)},
		{"refused by the admission limit", words(pol.Admission)},
		{"failed (5xx, error)", words(pol.Failed)},
		{"lost with their process", words(pol.Lost)},
		{"tries of one request", retries},
		{"error budget", length(o.Window.Seconds()) + "; Prometheus keeps it, this page shows an hour"},
	}
}
