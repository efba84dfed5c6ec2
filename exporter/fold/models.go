package fold

import (
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
)

// Model is what is remembered of a model over all ranks that serve it, on whatever engine: percentiles of the added
// bucket counts.
type Model struct {
	Name string
	Past []LatencyPoint
}

// union adds the observations of several sliding windows: pushed down and pushed up onto the union of their layouts.
func union(windows []*sliding, f fact.Family) (floor, ceil hist.Histogram) {
	if len(windows) == 1 {
		return windows[0].images(f)
	}
	var grid []float64
	pairs := make([][2]hist.Histogram, 0, len(windows))
	for _, w := range windows {
		lo, hi := w.images(f)
		if !lo.Known() {
			continue
		}
		pairs = append(pairs, [2]hist.Histogram{lo, hi})
		if !hist.SameEdges(grid, lo.Edges) {
			grid = append(slices.Clone(grid), lo.Edges...)
			slices.Sort(grid)
			grid = slices.Compact(grid)
		}
	}
	if len(pairs) == 0 {
		return hist.Histogram{}, hist.Histogram{}
	}
	floor = hist.Histogram{Edges: grid, Counts: make([]uint64, len(grid)+1)}
	ceil = hist.Histogram{Edges: grid, Counts: make([]uint64, len(grid)+1)}
	for _, p := range pairs {
		projection := hist.NewProjection(p[0].Edges, grid)
		projection.AddFloor(floor.Counts, p[0].Counts)
		projection.AddCeil(ceil.Counts, p[1].Counts)
	}
	return floor, ceil
}

// sampling is when a model's percentiles were last noted, and what has been noted.
type sampling struct {
	at     float64
	models map[string][]LatencyPoint
}

// rememberModels notes each model's percentiles once a judgement window, over the ranks whose engine's last page is
// young enough, and forgets the models that no engine has any more.
func (s *State) rememberModels(at float64) {
	if s.opts.History <= 0 {
		return
	}
	if s.sampled.models == nil {
		s.sampled = sampling{at: at, models: map[string][]LatencyPoint{}}
	}
	known := map[string]*merge{}
	for _, id := range s.ids() {
		s.engines[id].mergeInto(known, at, s.opts.Stale)
	}
	due := at-s.sampled.at >= s.opts.JudgementWindow
	for name, m := range known {
		if due && len(m.windows) > 0 {
			if p, ok := s.latencyPoint(m.windows, m.aborts); ok {
				p.From, p.At, p.Ranks, p.Of = m.from, at, len(m.windows), m.of
				s.sampled.models[name] = append(s.sampled.models[name], p)
			}
		}
		s.sampled.models[name] = after(s.sampled.models[name], at-s.opts.History, func(p *LatencyPoint) float64 { return p.At })
	}
	for name := range s.sampled.models {
		if known[name] == nil {
			delete(s.sampled.models, name)
		}
	}
	if due {
		s.sampled.at = at
	}
}

// merge collects the sliding windows of one model's ranks.
type merge struct {
	windows []*sliding
	aborts  []uint64
	from    float64
	of      int
}

func (e *engine) mergeInto(known map[string]*merge, at, stale float64) {
	if e.last == nil || e.gone {
		return
	}
	for _, r := range e.ranks {
		m := known[r.model]
		if m == nil {
			m = &merge{from: at}
			known[r.model] = m
		}
		m.of++
		w := r.shortest()
		if w == nil || e.dead || at-e.last.received > stale {
			continue
		}
		m.windows = append(m.windows, w)
		m.aborts = append(m.aborts, w.abortedIn(e.last.sample.Traits))
		m.from = min(m.from, w.entries[0].from)
	}
}

// publishModels lists the models by name.
func (s *State) publishModels() []Model {
	out := make([]Model, 0, len(s.sampled.models))
	for name, past := range s.sampled.models {
		out = append(out, Model{Name: name, Past: slices.Clip(past)})
	}
	slices.SortFunc(out, func(a, b Model) int { return slices.Compare([]byte(a.Name), []byte(b.Name)) })
	return out
}
