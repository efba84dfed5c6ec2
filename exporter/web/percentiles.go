package web

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// shades are how many percentiles a plot paints differently.
const shades = 3

// percentiles plots the intervals of a latency's percentiles: of a model over all its ranks, or of one rank.
func (f frame) percentiles(metric fact.Family, points []fold.LatencyPoint, objectives []*slo.Objective) plot {
	p := f.newPlot(upperFirst(metricNames[metric])+" percentiles", "log scale")
	qs, chosen := f.terms.Quantiles, f.chosen()
	points = slices.DeleteFunc(slices.Clone(points), func(l fold.LatencyPoint) bool { return l.At < f.axis.from || l.Intervals(metric) == nil })
	if len(points) == 0 || len(chosen) == 0 {
		p.Empty = fmt.Sprintf("No %s were observed in %s.", population(metric), f.span())
		return p
	}
	thresholds := thresholdsOf(metric, objectives)
	axis, overflow := f.latencyAxis(metric, points, chosen, thresholds)
	p.Y = axis.ticks()
	if overflow {
		p.Zones = append(p.Zones, zone{X: coordinate(plotLeft), Y: coordinate(plotTop), Width: coordinate(plotRight - plotLeft),
			Height: coordinate(overflowStrip), Class: "overflow", Label: "above the last bucket edge", LabelX: coordinate(plotLeft + 4), LabelY: coordinate(plotTop + 14)})
		p.Notes = append(p.Notes, "The strip at the top stands for everything above the last bucket edge of the engine's histogram: how far above is unknown.")
	}
	for shade, k := range chosen {
		var cs []column
		for i := range points {
			b := points[i].Intervals(metric)[k]
			cs = append(cs, column{f.axis.x(f.since(points, i)), f.axis.x(points[i].At), axis.y(b.Lower), axis.y(b.Upper)})
		}
		cs = drawn(cs)
		class := fmt.Sprintf("shade%d", shade)
		p.Paths = append(p.Paths, path{"band " + class, bandPath(cs)}, path{"band-edge " + class, stepPath(cs, highOf)}, path{"band-edge " + class, stepPath(cs, lowOf)})
		last := points[len(points)-1].Intervals(metric)[k]
		p.Legend = append(p.Legend, legend{"band " + class, "p" + digits(qs[k]*100), "last " + interval(last.Lower, last.Upper)})
	}
	slices.Reverse(p.Legend)
	p.thresholdLines(axis, thresholds)
	f.percentileWords(&p, metric, points)
	return p
}

// chosen are the indexes of the percentiles that are shown: the first, of those between the one nearest to p90, and
// the last.
func (f frame) chosen() []int {
	n := len(f.terms.Quantiles)
	if n <= shades {
		out := make([]int, n)
		for i := range out {
			out[i] = i
		}
		return out
	}
	middle := 1
	for i, q := range f.terms.Quantiles[:n-1] {
		if i > 0 && math.Abs(q-0.9) < math.Abs(f.terms.Quantiles[middle]-0.9) {
			middle = i
		}
	}
	return []int{0, middle, n - 1}
}

// since is from when a point is drawn: from the point before it, unless one was left out in between.
func (f frame) since(points []fold.LatencyPoint, i int) float64 {
	if i > 0 && points[i].At-points[i-1].At < 1.6*f.terms.JudgementWindow {
		return points[i-1].At
	}
	return points[i].At - f.terms.JudgementWindow
}

// latencyAxis spans all ends that are drawn, and the thresholds.
func (f frame) latencyAxis(metric fact.Family, points []fold.LatencyPoint, chosen []int, thresholds []threshold) (logarithmic, bool) {
	low, high, overflow := math.Inf(1), 0.0, false
	note := func(v float64) {
		if v > 0 && !math.IsInf(v, 1) {
			low, high = min(low, v), max(high, v)
		}
	}
	for i := range points {
		for _, k := range chosen {
			b := points[i].Intervals(metric)[k]
			note(b.Lower)
			note(b.Upper)
			overflow = overflow || math.IsInf(b.Upper, 1)
		}
	}
	for _, t := range thresholds {
		note(t.at)
	}
	if high == 0 {
		low, high = 1e-3, 1
	}
	return newLogarithmic(low, high, overflow), overflow
}

// threshold is where objectives draw the line.
type threshold struct {
	at    float64
	names []string
}

func thresholdsOf(metric fact.Family, objectives []*slo.Objective) []threshold {
	var out []threshold
	for _, o := range objectives {
		for _, c := range o.Clauses {
			if c.Metric != metric {
				continue
			}
			at := slices.IndexFunc(out, func(t threshold) bool { return t.at == c.Threshold })
			if at < 0 {
				at = len(out)
				out = append(out, threshold{at: c.Threshold})
			}
			out[at].names = append(out[at].names, o.Name)
		}
	}
	slices.SortFunc(out, func(a, b threshold) int { return cmp.Compare(a.at, b.at) })
	return out
}

// thresholdLines draws the thresholds, and labels those that have room for it.
func (p *plot) thresholdLines(axis logarithmic, thresholds []threshold) {
	const room = 13
	above := math.Inf(1)
	for _, t := range thresholds {
		y := axis.y(t.at)
		l := line{Y: coordinate(y)}
		if above-y >= room {
			l.Label, above = duration(t.at)+" "+short(list(t.names), 24), y
			l.LabelY = coordinate(y - 4)
		}
		p.Lines = append(p.Lines, l)
		if len(thresholds) <= 4 {
			p.Legend = append(p.Legend, legend{"limit", duration(t.at), "threshold of " + list(t.names)})
		}
	}
	if n := len(thresholds); n > 4 {
		p.Legend = append(p.Legend, legend{"limit", plural(n, "threshold", "thresholds"), "from " + duration(thresholds[0].at) + " to " + duration(thresholds[n-1].at)})
	}
}

func (f frame) percentileWords(p *plot, metric fact.Family, points []fold.LatencyPoint) {
	last := &points[len(points)-1]
	p.Desc = fmt.Sprintf("Each band is the bucket that holds the percentile, over the %s before, of %s; the last one of %s. Logarithmic axis.",
		length(f.terms.Sliding), population(metric), count(last.Count(metric)))
	for _, l := range p.Legend {
		p.Desc += " " + l.Name + ": " + l.Text + "."
	}
	p.Notes = append([]string{fmt.Sprintf("Over the %s before each step; the last one holds %s %s.", length(f.terms.Sliding), count(last.Count(metric)), population(metric))}, p.Notes...)
	lacking := 0
	for i := range points {
		if points[i].Ranks < points[i].Of {
			lacking++
		}
	}
	if lacking > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("In %d of %d steps some ranks did not answer; the percentile is that of the others. At the end %d of %d are in it.", lacking, len(points), last.Ranks, last.Of))
	}
	if f.now-last.At > 2.5*f.terms.JudgementWindow {
		p.Notes = append(p.Notes, "Nothing was observed since "+stamp(last.At, f.now)+".")
	}
}
