package web

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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

// promiseRow is one promise: an objective over the engines of one model.
type promiseRow struct {
	Model, SLO, Link, Anchor, Promise string
	Word, Mark, Class                 string
	Since, Reason                     string
	Now, NowOf, Hour, HourOf          string
	Gauge                             gauge
	Hints                             []hint
	Without                           string
	state                             state
	orphan                            bool // no engine is under it, so there is nothing to judge
}

// gauge is the share of now as a bar: what is certain, what is possible, and where the objective lies. Thousandths.
type gauge struct {
	Lower, Between, Objective string
	Shown                     bool
}

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
	Span     string
}

// mostPlots is how many objectives of a model are plotted on the first page; the others are one link away.
const mostPlots = 3

func (p *pageMaker) overview() overview {
	o := overview{Span: p.frame.span()}
	if p.view.Snapshot == nil {
		o.Empty = "The first round has not ended yet. This page shows more as soon as it has."
		o.Head = p.head("goodput", headline{"calm", "…", "starting"})
		return o
	}
	s := p.view.Snapshot
	for i, g := range groups(s) {
		rows := p.promises(g, i)
		o.Promises = append(o.Promises, rows...)
		o.Sections = append(o.Sections, p.section(g, i, rows))
	}
	slices.SortStableFunc(o.Sections, func(a, b section) int { return int(b.worst) - int(a.worst) })
	o.Promises = append(o.Promises, p.orphans(o.Promises)...)
	slices.SortStableFunc(o.Promises, func(a, b promiseRow) int { return int(b.state) - int(a.state) })
	o.Engines, o.Trust = p.engineRows(), p.trust(all(s))
	o.Alerts = p.alerts(o.Engines)
	if len(s.Engines) == 0 {
		o.Empty = "No engine is configured, or discovery has found none. Add one under engines.targets in the configuration."
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

// promises are the group's rows, worst first.
func (p *pageMaker) promises(g group, at int) []promiseRow {
	var out []promiseRow
	for _, o := range g.objectives() {
		out = append(out, p.promise(g.under(o.Name), o, at))
	}
	slices.SortStableFunc(out, func(a, b promiseRow) int { return int(b.state) - int(a.state) })
	return out
}

func (p *pageMaker) promise(g group, o *slo.Objective, at int) promiseRow {
	s := standingOf(g, o, p.view.Snapshot.Terms, p.now)
	r := promiseRow{Model: g.name, SLO: o.Name, Link: link("slo", o.Name), Anchor: anchor(at), Promise: promise(o), state: s.state, Reason: s.reason}
	r.Word, r.Mark, r.Class = s.state.word(), s.state.mark(), s.state.class()
	r.Now, r.NowOf = shareWords(&s.now)
	r.Hour, r.HourOf = shareWords(&s.hour)
	r.Hints = p.frame.hints(g, o, &s)
	if len(s.without) > 0 && s.state != unknown {
		r.Without = "without engine " + list(s.without) + ": " + s.reason
		r.Reason = ""
	}
	switch {
	case s.state != kept && s.state != broken && s.state != undecided && s.state != noTraffic:
	case s.since == 0:
		r.Since = "since just now"
	case s.always && p.now-s.since < mostSpan-2*recent:
		r.Since = "since " + stamp(s.since, p.now) + ", the first window"
	case s.always:
		r.Since = "for the whole of the last hour"
	default:
		r.Since = fmt.Sprintf("since %s, %s ago", stamp(s.since, p.now), ago(p.now-s.since))
	}
	if s.now.requests > 0 {
		thousandths := func(n uint64) float64 { return 1000 * float64(n) / float64(s.now.requests) }
		r.Gauge = gauge{coordinate(thousandths(s.now.lower)), coordinate(thousandths(s.now.upper) - thousandths(s.now.lower)), coordinate(1000 * o.Objective), true}
	}
	return r
}

func shareWords(t *tally) (share_, of string) {
	if t.requests == 0 {
		return "–", "no sequences"
	}
	return share(t.lower, t.upper, t.requests), "of " + plural(int(t.requests), "sequence", "sequences")
}

// orphans are the configured objectives that are about no engine in sight.
func (p *pageMaker) orphans(rows []promiseRow) []promiseRow {
	var out []promiseRow
	for i := range p.objectives {
		o := &p.objectives[i]
		if !slices.ContainsFunc(rows, func(r promiseRow) bool { return r.SLO == o.Name }) {
			out = append(out, promiseRow{Model: "nothing", SLO: o.Name, Link: link("slo", o.Name), Promise: promise(o), state: noTraffic, orphan: true, Word: "no engine", Mark: "–",
				Class: "calm", Reason: "no engine in sight is under it: " + matchWords(o), Now: "–", Hour: "–"})
		}
	}
	return out
}

// matchWords says which engines an objective is about.
func matchWords(o *slo.Objective) string {
	var parts []string
	if o.Match.Model != nil {
		parts = append(parts, "models that match "+o.Match.Model.String())
	}
	if o.Match.Engine != nil {
		parts = append(parts, "engines that match "+o.Match.Engine.String())
	}
	if len(parts) == 0 {
		return "it is about every engine"
	}
	return "it is about " + strings.Join(parts, " and ")
}

func anchor(at int) string { return fmt.Sprintf("model%d", at+1) }

func (p *pageMaker) section(g group, at int, rows []promiseRow) section {
	f := p.frame
	s := section{Model: g.name, Anchor: anchor(at), Engines: plural(len(g.engines), "engine", "engines")}
	if len(g.models) > 1 {
		s.Note = "These engines serve several models. What arrived, and the ledger, hold for the engines as a whole."
	}
	objectives := g.objectives()
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

// alerts name the engines that want a look: those whose counters contradict each other, and those that do not answer.
func (p *pageMaker) alerts(rows []engineRow) []hint {
	const shown = 4
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
	return out
}

// headline puts the worst first: what is broken, what is not known, and only then that all is well.
func (p *pageMaker) headline(rows []promiseRow, engines []engineRow) headline {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r promiseRow) bool { return r.orphan })
	if len(rows) == 0 {
		if len(engines) == 0 {
			return headline{"calm", "–", "no engine"}
		}
		return headline{"warn", "?", "no promise to judge"}
	}
	by := map[state][]promiseRow{}
	for _, r := range rows {
		by[r.state] = append(by[r.state], r)
	}
	worst := slices.MaxFunc(rows, func(a, b promiseRow) int { return cmp.Compare(a.state, b.state) }).state
	h := headline{worst.class(), worst.mark(), headlineWords(worst, by[worst], len(rows))}
	if bad := slices.ContainsFunc(engines, func(e engineRow) bool { return e.PhaseClass == "bad" }); bad && worst < undecided {
		h.Class, h.Mark, h.Text = "warn", "!", h.Text+", but not every engine answers"
	}
	return h
}

// headlineWords say how many promises are in the worst state, and for the states that want somebody to act, which.
func headlineWords(worst state, rows []promiseRow, of int) string {
	switch {
	case worst == kept && of == 1:
		return "the promise is kept"
	case worst == kept:
		return "every promise is kept"
	case of == 1 && worst == broken:
		return "the promise is broken " + rows[0].Since
	case of == 1:
		return [...]string{"", "no traffic", "warming up", "cannot tell whether the promise is kept", "unknown whether the promise is kept"}[worst]
	}
	var names []string
	for _, r := range rows {
		names = append(names, short(r.SLO, 40)+" on "+short(r.Model, 40))
	}
	if len(rows) == 1 && worst == broken {
		return names[0] + " is broken " + rows[0].Since
	}
	text := fmt.Sprintf("%d of %d promises %s", len(rows), of, [...]string{"", "without traffic", "warming up", "cannot be decided", "unknown", "broken"}[worst])
	if worst >= undecided {
		text += ": " + list(names)
	}
	return text
}
