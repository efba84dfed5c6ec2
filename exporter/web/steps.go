package web

import (
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// step is a stretch of time with one rate: events per second.
type step struct{ from, to, rate float64 }

// curve is what a kind of event did on one engine: a step for each judgement window that knows it.
type curve func(*fold.PastWindow) (step, bool)

func arrivedCurve(w *fold.PastWindow) (step, bool) {
	return step{w.From, w.End, float64(w.Ledger.Arrived.Lower) / (w.End - w.From)}, w.Ledger.Arrived.Known && w.End > w.From
}

func finishedCurve(w *fold.PastWindow) (step, bool) {
	return step{w.Start, w.End, float64(w.Sequences.N) / (w.End - w.Start)}, w.Sequences.Known && w.End > w.Start
}

// qualifiedCurve is the lower or the upper end of what met an objective.
func qualifiedCurve(name string, upper bool) curve {
	return func(w *fold.PastWindow) (step, bool) {
		v := verdict(w, name)
		if v == nil || !v.Judged || w.End <= w.Start {
			return step{}, false
		}
		n := v.Lower
		if upper {
			n = v.Upper
		}
		return step{w.Start, w.End, float64(n) / (w.End - w.Start)}, true
	}
}

// sequencesCurve is what finished on the ranks that an objective is about, in the windows that could be judged.
func sequencesCurve(name string) curve {
	return func(w *fold.PastWindow) (step, bool) {
		v := verdict(w, name)
		if v == nil || !v.Judged || !v.Sequences.Known || w.End <= w.Start {
			return step{}, false
		}
		return step{w.Start, w.End, float64(v.Sequences.N) / (w.End - w.Start)}, true
	}
}

// track is one engine's steps, and the time in which it should have one.
type track struct {
	engine      string
	steps       []step
	since, till float64
}

// tracks are the engines' steps in the stretch that a plot shows. An engine is expected to have a step from its first
// window on: until that has been committed it is warming up, which is not a gap.
func tracks(engines []*fold.Engine, c curve, from, horizon float64) []track {
	var out []track
	for _, e := range engines {
		windows := e.Past.Windows
		if len(windows) == 0 {
			continue
		}
		t := track{engine: e.ID, since: max(from, windows[0].Start), till: horizon}
		if e.Gone {
			t.till = windows[len(windows)-1].End
		}
		for i := range windows {
			s, ok := c(&windows[i])
			if s.from, s.to = max(s.from, t.since), min(s.to, horizon); ok && s.to > s.from {
				t.steps = append(t.steps, s)
			}
		}
		out = append(out, t)
	}
	return out
}

// horizonOf is where the curves of a group end: windows of different engines end at different times, and the sum is
// known up to the earliest end. An engine whose last window is older than two and a half is not waited for.
func horizonOf(engines []*fold.Engine, window, now float64) float64 {
	horizon, newest := 0.0, 0.0
	for _, e := range engines {
		if n := len(e.Past.Windows); n > 0 {
			end := e.Past.Windows[n-1].End
			newest = max(newest, end)
			if now-end < 2.5*window && !e.Gone && (horizon == 0 || end < horizon) {
				horizon = end
			}
		}
	}
	if horizon == 0 {
		return newest
	}
	return horizon
}

// stretch is a stretch of the sum over engines.
type stretch struct {
	from, to, rate float64
	missing        []int // indexes of the tracks that should be in the sum and are not
}

// add sums the step functions of several engines. Where no engine has a step there is no stretch: a gap is never 0.
func add(ts []track) []stretch {
	var edges []float64
	for _, t := range ts {
		edges = append(edges, t.since, t.till)
		for _, s := range t.steps {
			edges = append(edges, s.from, s.to)
		}
	}
	slices.Sort(edges)
	edges = slices.Compact(edges)
	next := make([]int, len(ts))
	var out []stretch
	for i := 0; i+1 < len(edges); i++ {
		s, any := stretch{from: edges[i], to: edges[i+1]}, false
		for k, t := range ts {
			for next[k] < len(t.steps) && t.steps[next[k]].to <= s.from {
				next[k]++
			}
			switch {
			case next[k] < len(t.steps) && t.steps[next[k]].from <= s.from:
				s.rate += t.steps[next[k]].rate
				any = true
			case t.since <= s.from && s.to <= t.till:
				s.missing = append(s.missing, k)
			}
		}
		if any {
			out = append(out, s)
		}
	}
	return out
}

// gap is for how long a group's sum lacked an engine.
type gap struct {
	engine  string
	seconds float64
}

// gaps sums up which engines the sum lacked, and for how long, in the order of the tracks.
func gaps(ts []track, sum []stretch) []gap {
	lacked := make([]float64, len(ts))
	for _, s := range sum {
		for _, k := range s.missing {
			lacked[k] += s.to - s.from
		}
	}
	var out []gap
	for k, seconds := range lacked {
		if seconds >= 1 {
			out = append(out, gap{ts[k].engine, seconds})
		}
	}
	return out
}

// newest is the rate where the curve ends; false where it has no stretch.
func newest(sum []stretch) (float64, bool) {
	if len(sum) == 0 {
		return 0, false
	}
	return sum[len(sum)-1].rate, true
}
