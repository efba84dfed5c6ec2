package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/sim"
)

// line is one number that is compared, and the error that the page promises to stay within.
type line struct {
	name  string
	of    func(summary) float64
	unit  func(float64) string
	share bool    // the error is in points, not relative
	bound float64 // absolute for a share, relative otherwise
}

func lines() (out []line) {
	for i, t := range targets {
		out = append(out, line{
			name: fmt.Sprintf("goodput share, TTFT <= %.0f ms and TPOT <= %.0f ms", 1e3*t.ttft, 1e3*t.tpot),
			of:   func(s summary) float64 { return s.goodput[i] }, unit: percent, share: true, bound: 0.05,
		})
	}
	return append(out,
		line{name: "TTFT, p50", of: func(s summary) float64 { return s.ttft50 }, unit: ms, bound: 0.10},
		line{name: "TTFT, p95", of: func(s summary) float64 { return s.ttft95 }, unit: ms, bound: 0.10},
		line{name: "TPOT, p50", of: func(s summary) float64 { return s.tpot50 }, unit: ms, bound: 0.10},
		line{name: "TPOT, p95", of: func(s summary) float64 { return s.tpot95 }, unit: ms, bound: 0.10},
		line{name: "finished sequences per second", of: func(s summary) float64 { return s.finished }, unit: number, bound: 0.02},
		line{name: "output tokens per second", of: func(s summary) float64 { return s.tokens }, unit: number, bound: 0.02},
	)
}

func percent(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }
func ms(v float64) string      { return fmt.Sprintf("%.*f ms", decimals(1e3*v), 1e3*v) }
func number(v float64) string  { return fmt.Sprintf("%.*f", decimals(v), v) }

// decimals that three digits need.
func decimals(v float64) int {
	if v == 0 {
		return 0
	}
	return max(0, 2-int(math.Floor(math.Log10(math.Abs(v)))))
}

// failure is how far a prediction is off, and whether that is within the bound.
func (l line) failure(real, predicted float64) (float64, bool) {
	off := predicted - real
	if !l.share {
		off /= real
	}
	return off, math.Abs(off) <= l.bound
}

func (l line) points(v float64, sign string) string {
	unit := " %"
	if l.share {
		unit = " points"
	}
	return fmt.Sprintf("%"+sign+".1f%s", 100*v, unit)
}

// comparison is the table of the half that was predicted. The slower worlds are the same ones with longer steps: they show
// how much of an error so small a difference of speed makes.
func comparison(real []outcome, worlds, slower [][]outcome, s span) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| second half | engine | simulator, mean | lowest and highest | error | stated bound | | steps %.0f %% longer |\n|---|---:|---:|---:|---:|---:|---|---:|\n", 100*(slow-1))
	for _, l := range lines() {
		want, got := l.of(summarise(real, s)), predict(worlds, s, l.of)
		off, within := l.failure(want, got.mean())
		verdict := "within"
		if !within {
			verdict = "**not within**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s to %s | %s | %s | %s | %s |\n", l.name, l.unit(want), l.unit(got.mean()), l.unit(slices.Min(got)), l.unit(slices.Max(got)),
			l.points(off, "+"), l.points(l.bound, ""), verdict, l.unit(predict(slower, s, l.of).mean()))
	}
	return b.String()
}

// steps is the table of the load's steps.
func steps(r *recording, real []outcome, worlds [][]outcome) string {
	var b strings.Builder
	all := lines()
	shown := []line{all[0], all[len(targets)], all[len(targets)+2], all[len(targets)+4]}
	b.WriteString("| seconds | offered | half | goodput share: engine, simulator | TTFT p50 | TPOT p50 | finished per second |\n|---|---:|---|---|---|---|---|\n")
	for _, s := range r.spans() {
		half := "predicted"
		if s.fitted {
			half = "fitted"
		}
		fmt.Fprintf(&b, "| %.0f to %.0f | %.1f/s | %s |", s.from-r.start, s.to-r.start, r.offered(s), half)
		for _, l := range shown {
			fmt.Fprintf(&b, " %s, %s |", l.unit(l.of(summarise(real, s))), l.unit(predict(worlds, s, l.of).mean()))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// overload is the table of the heaviest step, in pieces of a few seconds.
func overload(r *recording, real []outcome, worlds [][]outcome) string {
	const piece = 8 // seconds
	heaviest := slices.MaxFunc(r.spans(), func(a, b span) int { return int(math.Copysign(1, r.offered(a)-r.offered(b))) })
	var b strings.Builder
	b.WriteString("| seconds | offered | finished per second: engine, simulator | TTFT p50 |\n|---|---:|---|---|\n")
	finished, ttft := func(s summary) float64 { return s.finished }, func(s summary) float64 { return s.ttft50 }
	for from := heaviest.from; from+piece <= heaviest.to; from += piece {
		s := span{from: from, to: from + piece}
		want := summarise(real, s)
		fmt.Fprintf(&b, "| %.0f to %.0f | %.1f/s | %s, %s | %s, %s |\n", s.from-r.start, s.to-r.start, r.offered(s),
			number(want.finished), number(predict(worlds, s, finished).mean()), ms(want.ttft50), ms(predict(worlds, s, ttft).mean()))
	}
	return b.String()
}

// found is the table of the constants, beside those that would fit the other half.
func found(m measured, step, other sim.StepCost, rms float64) string {
	var b strings.Builder
	b.WriteString("| constant | value | from | a fit of the second half would give |\n|---|---:|---|---:|\n")
	fmt.Fprintf(&b, "| `Overhead` | %s ms | measured: mean of %d lone sequences | |\n", number(1e3*m.overhead), m.lone)
	fmt.Fprintf(&b, "| `Step.Noise` | %s | measured: the same sequences' prefill steps | |\n", number(m.noise))
	for _, c := range []struct {
		name, unit string
		of         func(sim.StepCost) float64
	}{
		{"Base", "ms", func(c sim.StepCost) float64 { return 1e3 * c.Base }},
		{"Prefill", "us per prompt token", func(c sim.StepCost) float64 { return 1e6 * c.Prefill }},
		{"Sequence", "us per decoding sequence", func(c sim.StepCost) float64 { return 1e6 * c.Sequence }},
		{"KV", "us per token of context", func(c sim.StepCost) float64 { return 1e6 * c.KV }},
	} {
		fmt.Fprintf(&b, "| `Step.%s` | %s %s | fitted | %s |\n", c.name, number(c.of(step)), c.unit, number(c.of(other)))
	}
	fmt.Fprintf(&b, "\nPrefill and decode times of the first half lie %.0f %% around what these constants give (root mean square of the logarithms).\n", 100*rms)
	return b.String()
}

// scenarios is the table of what the demo can play.
func scenarios() string {
	var b strings.Builder
	b.WriteString("| scenario | engines | what happens |\n|---|---:|---|\n")
	for _, s := range sim.Scenarios() {
		fmt.Fprintf(&b, "| `%s` | %d | %s |\n", s.Name, len(s.Engines), s.About)
	}
	return b.String()
}
