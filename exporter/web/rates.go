package web

import (
	"fmt"
	"math"
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// frame is what all plots of a page have in common.
type frame struct {
	axis  timeAxis
	terms fold.Terms
	now   float64
	ids   *int // how many plots the page has so far
}

func newFrame(s *fold.Snapshot, now float64) frame {
	oldest := now
	for i := range s.Engines {
		if past := s.Engines[i].Past.Windows; len(past) > 0 {
			oldest = min(oldest, past[0].Start)
		}
	}
	return frame{axis: newTimeAxis(oldest, now), terms: s.Terms, now: now, ids: new(int)}
}

func (f frame) newPlot(title, unit string) plot {
	*f.ids++
	return plot{ID: fmt.Sprintf("plot%d", *f.ids), Title: title, Unit: unit, X: f.axis.ticks(), Zones: []zone{f.axis.recentZone()}}
}

// span says which stretch of time the page's plots show.
func (f frame) span() string {
	if s := f.axis.to - f.axis.from; s < mostSpan {
		return "the last " + ago(s)
	}
	return "the last hour"
}

// hourWords say which stretch of time is meant by hour.
func (f frame) hourWords() string {
	if f.axis.to-f.axis.from < mostSpan {
		return "what there is of it, since " + stamp(f.axis.from, f.now)
	}
	return "the last hour"
}

// rates plots offered work, throughput and, for an objective, goodput of a group. o is nil for a group without one. The
// band and the line of throughput are sums over the same windows: a window that could not be judged would otherwise
// look like one that missed.
func (f frame) rates(g group, o *slo.Objective) plot {
	title := "Rates"
	if o != nil {
		title = "Goodput of " + o.Name
		g = g.under(o.Name)
	}
	p := f.newPlot(title, "per second")
	if o != nil {
		if g.engines = p.judgedOnly(g.engines, o); len(g.engines) == 0 {
			p.Empty, p.Notes = "No engine's page can answer this SLO, so there is no goodput to plot. The reason stands beside the promise.", nil
			return p
		}
	}
	horizon := horizonOf(g.engines, f.terms.JudgementWindow, f.now)
	sum := func(c curve) ([]track, []stretch) {
		ts := tracks(g.engines, c, f.axis.from, horizon)
		return ts, add(ts)
	}
	finished := finishedCurve
	if o != nil {
		finished = sequencesCurve(o.Name)
	}
	asked, offered := sum(arrivedCurve)
	ts, throughput := sum(finished)
	var lower, upper []stretch
	if o != nil {
		_, lower = sum(qualifiedCurve(o.Name, false))
		_, upper = sum(qualifiedCurve(o.Name, true))
	}
	if len(offered)+len(throughput) == 0 {
		p.Empty = "No judgement window has been committed in " + f.span() + "."
		return p
	}
	axis := newLinear(max(most(offered), most(throughput), most(upper)))
	p.Y = axis.ticks()
	p.Zones = append(p.Zones, f.axis.missingZones(throughput)...)
	if len(upper) > 0 {
		band := drawn(f.columns(lower, upper, axis))
		p.Paths = append(p.Paths, path{"goodput", bandPath(band)}, path{"goodput-edge", stepPath(band, highOf)}, path{"goodput-edge", stepPath(band, lowOf)})
	}
	p.Paths = append(p.Paths, path{"offered", stepPath(drawn(f.columns(offered, offered, axis)), highOf)},
		path{"throughput", stepPath(drawn(f.columns(throughput, throughput, axis)), highOf)})
	f.rateWords(&p, g, o, offered, throughput, lower, upper)
	zones, exact, all := f.axis.exactZones(lower, upper, throughput)
	if p.Zones = append(p.Zones, zones...); exact > 0 {
		p.Legend = append(p.Legend, legend{"exact", "lower = upper", "goodput is one number, " + ago(exact) + " of the " + ago(all) + " in which something finished"})
	}
	p.lackWords(gaps(ts, throughput), gaps(asked, offered))
	return p
}

// judgedOnly leaves out the engines of which no window could be judged, and says so.
func (p *plot) judgedOnly(engines []*fold.Engine, o *slo.Objective) []*fold.Engine {
	var judged []*fold.Engine
	var blind []string
	for _, e := range engines {
		if s := standing(e, o.Name); s.Absent != "" && tallyOf([]*fold.Engine{e}, o.Name, 0, math.Inf(1)).windows == 0 {
			blind = append(blind, e.ID)
			continue
		}
		judged = append(judged, e)
	}
	if len(blind) > 0 {
		p.Notes = append(p.Notes, "Without engine "+list(blind)+", whose page cannot answer this SLO.")
	}
	return judged
}

// lackWords say which engines the sums lack, and for how long.
func (p *plot) lackWords(lacking, unasked []gap) {
	words := func(gs []gap) string {
		var names []string
		for _, l := range gs {
			names = append(names, fmt.Sprintf("%s (%s in all)", l.engine, ago(l.seconds)))
		}
		return list(names)
	}
	if len(lacking) > 0 {
		p.Notes = append(p.Notes, "Hatched: the sum lacks "+words(lacking)+", which had no window there that could be judged.")
	}
	unasked = slices.DeleteFunc(unasked, func(g gap) bool {
		return slices.ContainsFunc(lacking, func(l gap) bool { return l.engine == g.engine && l.seconds >= g.seconds })
	})
	if len(unasked) > 0 {
		p.Notes = append(p.Notes, "Offered lacks "+words(unasked)+", whose arrivals are unknown there.")
	}
}

func (f frame) rateWords(p *plot, g group, o *slo.Objective, offered, throughput, lower, upper []stretch) {
	last := func(s []stretch, what string) string {
		if v, ok := newest(s); ok {
			return "last " + rate(v) + "/s, " + what
		}
		return "unknown: " + what
	}
	p.Legend = []legend{
		{"offered", "offered", last(offered, "HTTP requests that arrived")},
		{"throughput", "throughput", last(throughput, "sequences that finished, whatever their reason")},
	}
	p.Desc = fmt.Sprintf("Step curves over %s up to %s, one step a judgement window of %s, summed over %s. ", f.span(), stamp(f.now, f.now),
		duration(f.terms.JudgementWindow), plural(len(g.engines), "engine", "engines"))
	if o != nil {
		lo, known := newest(lower)
		hi, _ := newest(upper)
		text := "unknown: no window could be judged"
		if known {
			text = "last " + rate(lo) + "/s"
			if rate(lo) != rate(hi) {
				text = "last " + rate(lo) + " to " + rate(hi) + "/s"
			}
			text += ", sequences that met every clause, from certainly to possibly"
		}
		p.Legend = append(p.Legend, legend{"goodput", "goodput", text})
	}
	for _, l := range p.Legend {
		p.Desc += l.Name + ": " + l.Text + ". "
	}
}

func most(s []stretch) float64 {
	m := 0.0
	for _, x := range s {
		m = max(m, x.rate)
	}
	return m
}

// columns places the stretches of the two ends, which lie at the same times.
func (f frame) columns(lower, upper []stretch, axis valueAxis) []column {
	out := make([]column, 0, len(lower))
	for i, s := range lower {
		out = append(out, column{f.axis.x(s.from), f.axis.x(s.to), axis.y(s.rate), axis.y(upper[i].rate)})
	}
	return out
}
