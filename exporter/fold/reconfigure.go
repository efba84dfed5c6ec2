package fold

import (
	"regexp"
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// Reconfigure makes the state follow other options from here on, between two rounds. What they do not change goes on as
// if nothing had happened: no open window ends, and nothing is counted twice or left out.
//
// An objective whose counters would count something else than before starts anew at the beginning of the open window,
// which is judged by what holds when it ends; SLO.Since says so. Started stays what it was.
func (s *State) Reconfigure(opts Options) {
	before := s.opts
	opts.Started = before.Started
	s.opts = opts
	s.reconfigureGPUs(&before)
	forget := !slices.Equal(before.Quantiles, opts.Quantiles) || shortest(before.QuantileWindows) != shortest(opts.QuantileWindows)
	if forget {
		// What is remembered of percentiles is a list in the order of the quantiles.
		s.sampled = sampling{at: s.sampled.at, models: map[string][]LatencyPoint{}}
	}
	for _, e := range s.engines {
		e.promise(opts.Objectives)
		e.spans.reconfigure(&opts, s.at)
		if forget {
			e.past.latency = nil
			for _, p := range e.pending {
				p.latency = nil
			}
		}
		if e.last != nil {
			e.ledger.last = e.ledger.reread(e.last.sample, &opts)
		}
		for _, r := range e.known { // one that is away comes back to the options of then
			r.reconfigure(&opts)
		}
	}
}

// shortest is the length of the shortest window; 0 of none.
func shortest(windows []float64) float64 {
	if len(windows) == 0 {
		return 0
	}
	return slices.Min(windows)
}

// promise holds the engine to other objectives. What is remembered of those that went, or that are another promise now,
// is forgotten: one name must not stand for two promises in one plot.
func (e *engine) promise(objectives []slo.Objective) {
	kept := map[*slo.Objective]*slo.Objective{} // from what is known to what holds now
	next := make([]*objective, len(objectives))
	for i := range objectives {
		o := &objectives[i]
		next[i] = newObjective(o)
		next[i].since = e.window.start
		at := slices.IndexFunc(e.objectives, func(b *objective) bool { return b.Name == o.Name })
		if at < 0 {
			continue
		}
		was := e.objectives[at]
		if countsAlike(was.Objective, o) {
			if !was.judged && len(e.covered(was)) == 0 && !e.awaited(was) {
				was.since = e.window.start // it was about other engines, and may be about this one from now on
			}
			kept[was.Objective] = o
			was.Objective = o
			next[i] = was
			continue
		}
		// From 0 at once, so that a scraper sees the fall and takes nothing of the new promise for the old one's.
		next[i].judged = was.judged
		for _, c := range next[i].tightest {
			next[i].violations = append(next[i].violations, Violation{Metric: c.Metric})
		}
		next[i].tokens.Known = was.tokens.Known
		if was.classes != nil {
			next[i].classes = newClasses(o)
		}
	}
	e.objectives = next
	windows := make([]PastWindow, len(e.past.windows)) // snapshots share the one there is
	for i, w := range e.past.windows {
		verdicts := make([]Verdict, 0, len(w.Verdicts))
		for _, v := range w.Verdicts {
			if o := kept[v.Objective]; o != nil {
				v.Objective = o
				verdicts = append(verdicts, v)
			}
		}
		w.Verdicts = verdicts
		windows[i] = w
	}
	e.past.windows = windows
}

// awaited reports whether a window under the objective waits for spans.
func (e *engine) awaited(o *objective) bool {
	return slices.ContainsFunc(e.pending, func(p *pending) bool {
		return slices.ContainsFunc(p.judged, func(j *judged) bool { return j.of == o })
	})
}

// countsAlike reports whether counters of two objectives count the same: the promised share and the window of the budget
// are not in them, and neither is which other engines the objective is about.
func countsAlike(a, b *slo.Objective) bool {
	p, q := a.Policy, b.Policy
	return slices.Equal(a.Clauses, b.Clauses) && text(a.Match.Model) == text(b.Match.Model) &&
		slices.Equal(slices.Sorted(slices.Values(p.Success)), slices.Sorted(slices.Values(q.Success))) &&
		p.Cancelled == q.Cancelled && p.ClientErrors == q.ClientErrors && p.Admission == q.Admission && p.Failed == q.Failed && p.Lost == q.Lost &&
		p.Retries == q.Retries && a.Classes.Equal(&b.Classes)
}

func text(pattern *regexp.Regexp) string {
	if pattern == nil {
		return ""
	}
	return pattern.String()
}

// reconfigure keeps the sliding windows that stay, and moves histograms to their grid: an observation stays where it
// surely is, so that what is counted at an edge of both grids goes on without a step.
func (r *rank) reconfigure(opts *Options) {
	var next []*sliding
	for _, length := range opts.QuantileWindows {
		at := slices.IndexFunc(r.sliding, func(w *sliding) bool { return w.length == length })
		if at < 0 {
			next = append(next, newSliding(length))
		} else {
			next = append(next, r.sliding[at])
		}
	}
	r.sliding = next
	for f, g := range r.gridded {
		if g != nil && !slices.Equal(g.grid, opts.Grids[f]) {
			r.gridded[f] = g.onto(opts.Grids[f])
		}
	}
}

func (g *gridded) onto(grid []float64) *gridded {
	next := newGridded(grid)
	next.sum = g.sum
	p := hist.NewProjection(g.grid, grid)
	p.AddFloor(next.floor, g.floor)
	p.AddCeil(next.ceil, g.ceil)
	return next
}
