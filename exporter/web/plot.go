package web

import (
	"math"
	"strconv"
	"strings"
)

// The geometry of every plot, in units of its view box. The box is as wide as a phone is in CSS pixels, so that its
// text is readable there, and is drawn larger on a wider screen.
const (
	plotWidth, plotHeight = 400.0, 210.0
	plotLeft, plotRight   = 52.0, 394.0
	plotTop, plotBottom   = 24.0, 182.0
)

// plot is a picture and what is written around it. Positions are in units of the view box.
type plot struct {
	ID     string // unique on the page
	Title  string
	Desc   string // what the picture shows, for those who do not see it
	Unit   string // of the y axis
	X, Y   []tick
	Zones  []zone
	Paths  []path
	Lines  []line
	Empty  string // why nothing is drawn
	Legend []legend
	Notes  []string
}

type tick struct{ At, Label string }

// zone is a stretch of time, or of values, that is marked.
type zone struct{ X, Y, Width, Height, Class, Label, LabelX, LabelY string }

type path struct{ Class, D string }

// line is a threshold.
type line struct{ Y, LabelY, Label string }

type legend struct{ Class, Name, Text string }

// timeAxis maps unix seconds to x.
type timeAxis struct{ from, to float64 }

// The least and the most that a plot shows, in seconds. A young exporter has less than an hour to show.
const leastSpan, mostSpan = 600.0, 3600.0

func newTimeAxis(oldest, now float64) timeAxis {
	span := min(max(now-oldest, leastSpan), mostSpan)
	return timeAxis{now - span, now}
}

func (a timeAxis) x(t float64) float64 {
	return plotLeft + (plotRight-plotLeft)*(min(max(t, a.from), a.to)-a.from)/(a.to-a.from)
}

// ticks are at whole minutes of UTC, at most seven.
func (a timeAxis) ticks() []tick {
	every := 60.0
	for _, step := range []float64{60, 120, 300, 600} {
		if every = step; (a.to-a.from)/step <= 6 {
			break
		}
	}
	var out []tick
	for t := math.Ceil(a.from/every) * every; t <= a.to; t += every {
		x, label := a.x(t), clock(t)
		if x < plotLeft+4 || x > plotRight-17 {
			label = "" // it would run into what stands beside the axis
		}
		out = append(out, tick{At: coordinate(x), Label: label})
	}
	return out
}

// recentZone marks the five minutes that the share of now is taken from.
func (a timeAxis) recentZone() zone {
	x := a.x(a.to - recent)
	return zone{X: coordinate(x), Y: coordinate(plotTop), Width: coordinate(plotRight - x), Height: coordinate(plotBottom - plotTop), Class: "recent",
		Label: "last 5 min", LabelX: coordinate(plotRight), LabelY: coordinate(plotTop - 5)}
}

// missingZones mark where the sum lacks an engine. Stretches that touch are one zone.
func (a timeAxis) missingZones(sum []stretch) []zone {
	var out []zone
	for i := 0; i < len(sum); i++ {
		if len(sum[i].missing) == 0 {
			continue
		}
		from, to := sum[i].from, sum[i].to
		for i+1 < len(sum) && len(sum[i+1].missing) > 0 && sum[i+1].from == to {
			i++
			to = sum[i].to
		}
		x0, x1 := a.x(from), a.x(to)
		if x1-x0 < 0.5 {
			continue
		}
		out = append(out, zone{X: coordinate(x0), Y: coordinate(plotTop), Width: coordinate(x1 - x0), Height: coordinate(plotBottom - plotTop), Class: "missing"})
	}
	return out
}

// valueAxis maps values to y.
type valueAxis interface {
	y(v float64) float64
	ticks() []tick
}

// linear runs from 0 to a round number.
type linear struct{ top, every float64 }

// newLinear chooses the axis for values up to most: at most five steps of 1, 2 or 5 times a power of ten.
func newLinear(most float64) linear {
	if most <= 0 {
		return linear{1, 0.5}
	}
	every := math.Pow(10, math.Floor(math.Log10(most/5)))
	for _, m := range []float64{1, 2, 5, 10} {
		if math.Ceil(most/(every*m)-1e-9) <= 5 {
			every *= m
			break
		}
	}
	return linear{math.Ceil(most/every-1e-9) * every, every}
}

func (l linear) y(v float64) float64 {
	return plotBottom - (plotBottom-plotTop)*min(max(v/l.top, 0), 1)
}

func (l linear) ticks() []tick {
	decimals := max(0, int(-math.Floor(math.Log10(l.every)+1e-9)))
	var out []tick
	for i := 0; float64(i)*l.every <= l.top*(1+1e-9); i++ {
		v := float64(i) * l.every
		label := strconv.FormatFloat(v, 'f', decimals, 64)
		if v >= 1000 && decimals == 0 {
			label = count(int64(v))
		}
		out = append(out, tick{At: coordinate(l.y(v)), Label: label})
	}
	return out
}

// logarithmic is for latencies. Its lowest line stands for everything down to 0. Where something lies above the last
// bucket edge, a strip above the axis stands for that.
type logarithmic struct {
	low, high float64
	top       float64 // y of high
}

// overflowStrip is the height of the strip above the axis.
const overflowStrip = 20

// newLogarithmic chooses the axis for the finite positive ends of some intervals.
func newLogarithmic(low, high float64, overflow bool) logarithmic {
	l := logarithmic{low: low / 1.25, high: high * 1.25, top: plotTop}
	if l.high < 4*l.low {
		l.low, l.high = l.low/2, l.high*2
	}
	if overflow {
		l.top += overflowStrip
	}
	return l
}

func (l logarithmic) y(v float64) float64 {
	if math.IsInf(v, 1) {
		return plotTop
	}
	share := math.Log(max(v, l.low)/l.low) / math.Log(l.high/l.low)
	return plotBottom - (plotBottom-l.top)*min(share, 1)
}

func (l logarithmic) ticks() []tick { return logTicks(l.low, l.high, 6, l.y) }

// logTicks are round values between two, as many of each decade as makes them at most so many.
func logTicks(low, high float64, most int, place func(float64) float64) []tick {
	for _, parts := range [][]float64{{1, 2, 5}, {1, 3}, {1}} {
		var out []tick
		for decade := math.Floor(math.Log10(low)); decade <= math.Log10(high); decade++ {
			for _, m := range parts {
				if v := m * math.Pow(10, decade); v >= low && v <= high {
					out = append(out, tick{At: coordinate(place(v)), Label: duration(v)})
				}
			}
		}
		if len(out) <= most {
			return out
		}
	}
	return nil
}

// column is a stretch of a drawn curve: a band from low to high, or a line where they are equal. Positions.
type column struct{ x0, x1, low, high float64 }

// drawn rounds columns to half a unit and leaves out those that are too narrow to be seen, so that the size of a plot
// does not grow with the number of engines.
func drawn(cs []column) []column {
	half := func(v float64) float64 { return math.Round(v*2) / 2 }
	var out []column
	for _, c := range cs {
		c.x0, c.x1 = half(c.x0), half(c.x1)
		if n := len(out); n > 0 && c.x0 < out[n-1].x1 {
			c.x0 = out[n-1].x1
		}
		if c.x1 > c.x0 {
			out = append(out, c)
		}
	}
	return out
}

// runs splits columns where they do not touch.
func runs(cs []column) [][]column {
	var out [][]column
	begin := 0
	for i := range cs {
		if i+1 == len(cs) || cs[i+1].x0 != cs[i].x1 {
			out = append(out, cs[begin:i+1])
			begin = i + 1
		}
	}
	return out
}

// stepPath draws one end of the columns as steps.
func stepPath(cs []column, end func(column) float64) string {
	var b strings.Builder
	for _, run := range runs(cs) {
		b.WriteString("M" + coordinate(run[0].x0) + " " + coordinate(end(run[0])))
		forward(&b, run, end)
	}
	return b.String()
}

func forward(b *strings.Builder, run []column, end func(column) float64) {
	at := end(run[0])
	for _, c := range run {
		if y := end(c); y != at {
			b.WriteString("V" + coordinate(y))
			at = y
		}
		b.WriteString("H" + coordinate(c.x1))
	}
}

// bandPath draws the area between the two ends.
func bandPath(cs []column) string {
	var b strings.Builder
	for _, run := range runs(cs) {
		b.WriteString("M" + coordinate(run[0].x0) + " " + coordinate(highOf(run[0])))
		forward(&b, run, highOf)
		for i := len(run) - 1; i >= 0; i-- {
			b.WriteString("V" + coordinate(lowOf(run[i])) + "H" + coordinate(run[i].x0))
		}
		b.WriteString("Z")
	}
	return b.String()
}

func lowOf(c column) float64  { return c.low }
func highOf(c column) float64 { return c.high }

// coordinate writes a position with at most one decimal.
func coordinate(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}
