package web

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// spread is the distribution of the exact values of one latency, as bars over the buckets that hold them.
type spread struct {
	ID, Title, Desc string
	Bars            []zone
	X               []tick
	Since           string
	Limits          []limit
	Shares          []term // the share at each threshold, which is counted
	Quantiles       []term // buckets that hold a quantile
	Note            string
}

// The geometry of a spread, in units of its view box.
const (
	spreadTop, spreadBottom = 30.0, 112.0
	spreadLeft, spreadRight = 4.0, 396.0
	mostBars                = 64
)

// limit is a threshold as a dashed line with its label beside its upper end.
type limit struct{ At, Label, LabelX, LabelY string }

// spreads are the distributions of what an engine's spans say.
func (p *pageMaker) spreads(e *fold.Engine, objectives []*slo.Objective) []spread {
	var out []spread
	for _, family := range []fact.Family{fact.TTFT, fact.TPOT, fact.E2E} {
		if h := e.Spans.Histograms[family]; h != nil && h.Native.Count > 0 {
			out = append(out, p.spread(family, h, objectives))
		}
	}
	return out
}

// bar is some neighbouring buckets.
type bar struct {
	low, high float64
	count     uint64
}

// bars joins the buckets, two by two, until they are few enough to be drawn.
func bars(h *fold.SpanHistogram) []bar {
	n := &h.Native
	var out []bar
	if n.Zero > 0 {
		out = append(out, bar{0, n.ZeroThreshold, n.Zero})
	}
	for i, c := range n.Buckets {
		low, high := n.Bounds(n.First + int32(i))
		out = append(out, bar{low, high, c})
	}
	for len(out) > 0 && out[0].count == 0 {
		out = out[1:]
	}
	for len(out) > 0 && out[len(out)-1].count == 0 {
		out = out[:len(out)-1]
	}
	for len(out) > mostBars {
		joined := out[:0:0]
		for i := 0; i < len(out); i += 2 {
			b := out[i]
			if i+1 < len(out) {
				b.high, b.count = out[i+1].high, b.count+out[i+1].count
			}
			joined = append(joined, b)
		}
		out = joined
	}
	return out
}

func (p *pageMaker) spread(family fact.Family, h *fold.SpanHistogram, objectives []*slo.Objective) spread {
	*p.frame.ids++
	s := spread{ID: fmt.Sprintf("plot%d", *p.frame.ids), Title: upperFirst(metricNames[family]), Since: stamp(h.Since, p.now)}
	total := h.Native.Count
	bs := bars(h)
	var edges []float64 // of a histogram's thresholds those about this engine
	var labels []string
	for _, edge := range h.Edges {
		if whose := drawnBy(family, edge, objectives); whose != "" {
			edges, labels = append(edges, edge), append(labels, duration(edge)+" "+short(whose, 16))
		}
	}
	axis := spreadAxis(bs, edges)
	tallest := uint64(1)
	for _, b := range bs {
		tallest = max(tallest, b.count)
	}
	for _, b := range bs {
		if b.count == 0 {
			continue
		}
		x0, x1 := axis.x(b.low), axis.x(b.high)
		height := max((spreadBottom-spreadTop)*float64(b.count)/float64(tallest), 1)
		s.Bars = append(s.Bars, zone{X: coordinate(x0), Y: coordinate(spreadBottom - height), Width: coordinate(max(x1-x0, 0.5)), Height: coordinate(height),
			Label: fmt.Sprintf("%s: %s", interval(b.low, b.high), count(b.count))})
	}
	s.X = axis.ticks()
	within := uint64(0)
	for i, edge := range h.Edges {
		within += h.Counts[i]
		if whose := drawnBy(family, edge, objectives); whose != "" {
			s.Shares = append(s.Shares, term{"within " + duration(edge), share(within, within, total) + ", the threshold of " + whose})
		}
	}
	s.Limits = axis.limits(edges, labels)
	for _, q := range p.frame.terms.Quantiles {
		low, high := quantileBucket(h, q)
		s.Quantiles = append(s.Quantiles, term{"p" + digits(q*100), interval(low, high)})
	}
	s.Note = fmt.Sprintf("%s with a span since %s.", plural(int(total), "sequence", "sequences"), stamp(h.Since, p.now))
	s.Desc = "Bars over a logarithmic axis of seconds; each is a bucket, as high as the number of sequences in it. " + s.Note
	for _, t := range slices.Concat(s.Quantiles, s.Shares) {
		s.Desc += " " + t.Name + ": " + t.Value + "."
	}
	return s
}

// drawnBy names whose threshold it is: of an objective, or of one of its classes.
func drawnBy(family fact.Family, edge float64, objectives []*slo.Objective) string {
	var names []string
	has := func(clauses []slo.Clause) bool {
		return slices.Contains(clauses, slo.Clause{Metric: family, Threshold: edge})
	}
	for _, o := range objectives {
		if has(o.Clauses) {
			names = append(names, o.Name)
		}
		for _, c := range o.Classes.List {
			if differs(o, &c) && has(c.Clauses) {
				names = append(names, o.Name+" for "+c.Name)
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return list(names)
}

// quantileBucket is the bucket that holds an order statistic: the smallest value with at least a share q of all values
// up to it.
func quantileBucket(h *fold.SpanHistogram, q float64) (low, high float64) {
	n := &h.Native
	need := uint64(max(math.Ceil(q*float64(n.Count)), 1))
	sum := n.Zero
	if sum >= need {
		return 0, n.ZeroThreshold
	}
	for i, c := range n.Buckets {
		if sum += c; sum >= need {
			return n.Bounds(n.First + int32(i))
		}
	}
	return n.ZeroThreshold, math.Inf(1)
}

// spreadX maps seconds to x, on a logarithmic axis.
type spreadX struct{ low, high float64 }

// spreadAxis spans what is drawn, and the thresholds.
func spreadAxis(bs []bar, edges []float64) spreadX {
	low, high := math.Inf(1), 0.0
	note := func(v float64) {
		if v > 0 && !math.IsInf(v, 1) {
			low, high = min(low, v), max(high, v)
		}
	}
	for _, b := range bs {
		note(b.low)
		note(b.high)
	}
	for _, e := range edges {
		note(e)
	}
	if high < 4*low {
		low, high = low/2, high*2
	}
	return spreadX{low / 1.1, high * 1.1}
}

func (a spreadX) x(v float64) float64 {
	v = min(max(v, a.low), a.high)
	return spreadLeft + (spreadRight-spreadLeft)*math.Log(v/a.low)/math.Log(a.high/a.low)
}

// limits are thresholds with labels, in two rows so that neighbours stay apart; one for which there is no room in
// either has none, and is among the shares still.
func (a spreadX) limits(edges []float64, labels []string) []limit {
	const perRune, gap = 6.6, 6
	free := [2]float64{} // from where on each row is empty
	var out []limit
	for i, edge := range edges {
		x := a.x(edge)
		l := limit{At: coordinate(x)}
		width := perRune * float64(len([]rune(labels[i])))
		from := min(max(x-width/2, spreadLeft), spreadRight-width)
		for row := range free {
			if from >= free[row] {
				l.Label, l.LabelX, l.LabelY = labels[i], coordinate(from+width/2), coordinate(float64(10+12*row))
				free[row] = from + width + gap
				break
			}
		}
		out = append(out, l)
	}
	return out
}

// ticks leaves out what would be cut off at a side.
func (a spreadX) ticks() []tick {
	const room = 16
	return slices.DeleteFunc(logTicks(a.low, a.high, 8, a.x), func(t tick) bool {
		x, _ := strconv.ParseFloat(t.At, 64)
		return x < spreadLeft+room || x > spreadRight-room
	})
}
