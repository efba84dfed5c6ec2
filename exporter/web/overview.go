package web

import (
	"fmt"
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// pageMaker turns a view into pages. It reads and never writes.
type pageMaker struct {
	view       View
	objectives []slo.Objective
	address    func(string) string
	version    string
	now        float64
	refresh    int
	root       string // from the page to the root, for links
	query      string // that names the page, where its path does not
	frame      frame
}

// head is what every page begins with.
type head struct {
	Title, Root, Version, Now, Round string
	Stale                            string // why the numbers are old; "" when they are not
	Refresh                          int    // seconds; 0: does not refresh
	RefreshEvery                     int
	Toggle                           string // where refreshing is switched off, or on again
	Alert                            headline
}

// headline is the answer that the first line gives.
type headline struct{ Class, Mark, Text string }

// section is all about one model.
type section struct {
	Model, Anchor string
	Engines       string
	Rates         []plot
	More          []promiseRow // promises whose plots are on their own page
	Latency       []plot
	why
	Ledger ledgerBar
	Note   string
	worst  state
}

type overview struct {
	Head     head
	Empty    string
	Alerts   []hint
	Promises []promiseRow
	Sections []section
	Engines  []engineRow
	Trust    []trustRow
	Strays   []strayRow
	GPUs     []gpuRow // that are no engine's, or do not answer
	Span     string
}

// mostPlots is how many objectives of a model are plotted on the first page; the others are one link away.
const mostPlots = 3

func (p *pageMaker) overview() overview {
	o := overview{Span: p.frame.hourWords()}
	if p.view.Snapshot == nil {
		o.Empty = "The first round has not ended yet. This page shows more as soon as it has."
		o.Head = p.head("goodput", headline{"calm", "…", "starting"})
		return o
	}
	s := p.view.Snapshot
	for i, g := range groups(s) {
		rows := p.promises(g, i)
		o.Promises = append(o.Promises, rows...)
		o.Sections = append(o.Sections, p.section(g, i, rows, g.objectives()))
	}
	slices.SortStableFunc(o.Sections, func(a, b section) int { return int(b.worst) - int(a.worst) })
	o.Promises = append(o.Promises, p.orphans(o.Promises)...)
	slices.SortStableFunc(o.Promises, func(a, b promiseRow) int { return int(b.state) - int(a.state) })
	o.Engines, o.Trust = p.engineRows(), append(p.trust(all(s)), slices.Concat(p.discoveryRows(), p.intakeRows(), p.gpuSourceRows())...)
	o.GPUs = p.strayGPUs()
	if p.view.Inputs.Spans != nil {
		o.Strays = p.strays()
	}
	o.Alerts = p.alerts(o.Engines)
	if len(s.Engines) == 0 {
		o.Empty = p.noEngine()
	}
	o.Head = p.head("goodput", p.headline(o.Promises, o.Engines))
	return o
}

func all(s *fold.Snapshot) []*fold.Engine {
	out := make([]*fold.Engine, len(s.Engines))
	for i := range s.Engines {
		out[i] = &s.Engines[i]
	}
	return out
}

func (p *pageMaker) head(title string, h headline) head {
	out := head{Title: title, Root: p.root, Toggle: p.toggle(), Version: p.version, Now: utc(p.now).Format("2006-01-02 15:04:05 UTC"), Refresh: p.refresh, RefreshEvery: refreshEvery, Alert: h}
	if h.Text != "" {
		out.Title = h.Mark + " " + h.Text + " · " + title
	}
	if p.view.Snapshot == nil {
		out.Round = "no round has ended yet"
		return out
	}
	age := p.now - unix(p.view.Ended)
	out.Round = fmt.Sprintf("round %s ended %s ago", count(p.view.Rounds), ago(age))
	if age > 3*p.view.Interval.Seconds() {
		out.Stale = fmt.Sprintf("The last round ended %s ago, and one is due every %s: everything below is that old.", ago(age), duration(p.view.Interval.Seconds()))
	}
	return out
}

// toggle is the query that switches refreshing off, or on again.
func (p *pageMaker) toggle() string {
	if p.refresh == 0 {
		return "?" + p.query
	}
	if p.query != "" {
		return "?" + p.query + "&refresh=off"
	}
	return "?refresh=off"
}

func anchor(at int) string { return fmt.Sprintf("model%d", at+1) }

func (p *pageMaker) section(g group, at int, rows []promiseRow, objectives []*slo.Objective) section {
	f := p.frame
	s := section{Model: g.name, Anchor: anchor(at), Engines: plural(len(g.engines), "engine", "engines")}
	if len(g.models) > 1 {
		s.Note = "These engines serve several models. What arrived, and the ledger, hold for the engines as a whole."
	}
	for i, r := range rows {
		s.worst = max(s.worst, r.state)
		if i == mostPlots && len(rows) > mostPlots+1 {
			s.More = rows[i:]
			break
		}
		o := objectives[slices.IndexFunc(objectives, func(o *slo.Objective) bool { return o.Name == r.SLO })]
		s.Rates = append(s.Rates, f.rates(g, o))
		under := g.under(o.Name)
		now, hour := tallyOf(under.engines, o.Name, p.now-recent, p.now), tallyOf(under.engines, o.Name, p.now-mostSpan, p.now)
		s.Clauses = append(s.Clauses, clauseRows(o, &now, &hour)...)
		if ls := losers(under.engines, o.Name, p.now-mostSpan, p.now); len(ls) > 0 && len(g.engines) > 1 {
			s.Losers = append(s.Losers, loserTable{o.Name, ls})
		}
	}
	if len(rows) == 0 {
		s.Note = "No SLO is about this model, so there is no goodput; add one under slos in the configuration."
		s.Rates = append(s.Rates, f.rates(g, nil))
	}
	for _, m := range p.view.Snapshot.Models {
		if slices.Contains(g.models, m.Name) {
			s.Latency = append(s.Latency, f.latency(m.Past, objectives, modelSuffix(g, m.Name))...)
		}
	}
	s.stages(f, g.engines)
	s.Ledger = f.ledger("Where the HTTP requests of "+f.span()+" went", g.engines)
	return s
}

func modelSuffix(g group, name string) string {
	if len(g.models) > 1 {
		return " of " + name
	}
	return ""
}

// latency plots what a person notices: the wait for the first token, the pace after it, and, in a plot of its own
// because it counts gaps and not sequences, the time between two tokens.
func (f frame) latency(points []fold.LatencyPoint, objectives []*slo.Objective, suffix string) []plot {
	var out []plot
	for _, metric := range []fact.Family{fact.TTFT, fact.TPOT, fact.TokenGap} {
		pl := f.percentiles(metric, points, objectives)
		pl.Title += suffix
		out = append(out, pl)
	}
	return out
}

// alerts name what the exporter was told to use and cannot, and the engines that want a look: those whose counters contradict each other, and those that do not answer.
func (p *pageMaker) alerts(rows []engineRow) []hint {
	const shown = 4
	first := append(p.inputAlerts(), p.discoveryAlert()...)
	if s := p.view.Inputs.Spans; s != nil {
		first = append(append(first, s.nothingTakenAlert()...), p.strayAlert()...)
	}
	first = append(first, p.gpuAlerts()...)
	var out []hint
	for i := range p.view.Snapshot.Engines {
		e := &p.view.Snapshot.Engines[i]
		if u := accountOf([]*fold.Engine{e}, p.now-mostSpan).unexplained; u.Known && u.Lower > 0 {
			out = append(out, hint{Text: "has counters that contradict each other: " + counts(u.Lower, u.Upper) + " HTTP requests unexplained in " + p.frame.span(), Link: link("engine", e.ID), LinkText: e.ID})
		}
	}
	for _, r := range rows {
		if r.PhaseClass == "bad" {
			text := "is " + r.Phase
			if r.Phase == "never seen" {
				text = "has never been seen"
			}
			if r.Reason != "" {
				text += ": " + r.Reason
			}
			out = append(out, hint{Text: text, Link: r.Link, LinkText: r.ID})
		}
	}
	if len(out) > shown+1 {
		rest := len(out) - shown
		out = append(out[:shown], hint{Text: fmt.Sprintf("and %d more want a look", rest), Link: "#engines", LinkText: "engines"})
	}
	return append(first, out...)
}
