package fold

import (
	"math"

	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
)

// gridded is a histogram counted on the shared grid, whatever layout the engine has at the moment.
type gridded struct {
	grid        []float64
	floor, ceil []uint64
	sum         float64

	layout     []float64 // that the projection is for
	projection *hist.Projection
	published  *Projected // a copy of the counts, until they move again
}

func newGridded(grid []float64) *gridded {
	return &gridded{grid: grid, floor: make([]uint64, len(grid)+1), ceil: make([]uint64, len(grid)+1)}
}

func (g *gridded) add(h hist.Histogram) {
	if g.projection == nil || !hist.SameEdges(g.layout, h.Edges) {
		g.layout, g.projection = h.Edges, hist.NewProjection(h.Edges, g.grid)
		g.published = nil
	}
	if h.Count() == 0 {
		return
	}
	g.projection.AddFloor(g.floor, h.Counts)
	g.projection.AddCeil(g.ceil, h.Counts)
	g.sum += plausibleSum(h)
	g.published = nil
}

// plausibleSum is the sum of a step's observations, held inside what its buckets allow: vLLM can observe negative
// intervals (a sequence that was never scheduled), and a counter must not fall.
func plausibleSum(h hist.Histogram) float64 {
	least, most := 0.0, 0.0
	for i, c := range h.Counts {
		if c > 0 {
			least += float64(c) * h.Lower(i)
			most += float64(c) * h.Upper(i)
		}
	}
	return math.Max(least, math.Min(h.Sum, most))
}

func (g *gridded) publish() *Projected {
	if g.published == nil {
		g.published = &Projected{
			Grid: g.grid, Sum: g.sum,
			Floor: append([]uint64(nil), g.floor...), Ceil: append([]uint64(nil), g.ceil...),
		}
	}
	return g.published
}
