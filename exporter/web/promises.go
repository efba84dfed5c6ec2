package web

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// promiseRow is one promise: an objective over the engines of one model.
type promiseRow struct {
	Model, SLO, Link, Anchor, Promise string
	Word, Mark, Class                 string
	Since, Reason                     string
	Now, NowOf, Hour, HourOf          string
	Evidence                          string // how exact the share of now is, and from what
	Gauge                             gauge
	Hints                             []hint
	Without                           string
	state                             state
	orphan                            bool // no page that was read is under it, so there is nothing to judge
}

// gauge is the share of now as a bar: what is certain, what is possible, and where the objective lies. Thousandths.
type gauge struct {
	Lower, Between, Objective string
	Shown                     bool
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
	if s.now.requests > 0 {
		r.Evidence = s.now.backing.words()
	}
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
	switch {
	case t.windows == 0:
		return "–", "no window was judged"
	case t.requests == 0:
		return "–", "no sequences"
	}
	return share(t.lower, t.upper, t.requests), "of " + plural(int(t.requests), "sequence", "sequences")
}

// orphans are the configured objectives that are about no page that was read.
func (p *pageMaker) orphans(rows []promiseRow) []promiseRow {
	var out []promiseRow
	for i := range p.objectives {
		o := &p.objectives[i]
		if !slices.ContainsFunc(rows, func(r promiseRow) bool { return r.SLO == o.Name }) {
			out = append(out, promiseRow{SLO: o.Name, Link: link("slo", o.Name), Promise: promise(o), state: noTraffic, orphan: true, Word: "no page read", Mark: "–",
				Class: "calm", Reason: "no page that was read is under it: " + matchWords(o), Now: "–", Hour: "–"})
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

// headline puts the worst first: what is broken, what is not known, and only then that all is well.
func (p *pageMaker) headline(rows []promiseRow, engines []engineRow) headline {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r promiseRow) bool { return r.orphan })
	if len(rows) == 0 {
		if len(engines) == 0 {
			return headline{"calm", "–", "no engine"}
		}
		if n := len(engines); !slices.ContainsFunc(engines, func(e engineRow) bool { return e.Phase != "starting" }) {
			return headline{"calm", "…", plural(n, "engine is starting", "engines are starting")}
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
	} else if bad && worst < broken {
		h.Text += ", and not every engine answers"
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
