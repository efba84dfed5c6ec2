package fold

import (
	"math"
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
)

// quantileFamilies are the latencies whose percentiles are published, in order.
var quantileFamilies = [...]fact.Family{fact.TTFT, fact.TPOT, fact.E2E, fact.Queue, fact.Prefill, fact.Decode, fact.TokenGap}

// entry is what a sliding window holds of one stretch of time.
type entry struct {
	from, to   float64
	aborted    uint64
	histograms [fact.NumFamilies]hist.Histogram
}

// sliding is the last window of one rank. Entries are single steps in a short window and are joined to a sixtieth of
// the length in a long one, so memory does not grow with the poll rate; the window's edge is exact to one entry.
type sliding struct {
	length  float64 // seconds
	entries []entry
	total   [fact.NumFamilies]hist.Histogram // of all entries; absent while layouts differ
	mixed   [fact.NumFamilies]bool           // layouts differ between entries
}

func newSliding(length float64) *sliding { return &sliding{length: length} }

// joinAbove is the window length above which steps are joined, in seconds.
const joinAbove = 600

// push adds a step and drops what has left the window. The edge is the entry boundary nearest to it.
func (w *sliding) push(e entry) {
	for _, f := range quantileFamilies {
		w.sum(f, e.histograms[f])
	}
	n := len(w.entries)
	joining := w.length > joinAbove
	if joining && n > 0 && e.to-w.entries[n-1].from <= w.length/60 && joins(&w.entries[n-1], &e) {
		join(&w.entries[n-1], &e)
	} else {
		if joining { // its counts will be added to, and the step's are not ours to change
			for _, f := range quantileFamilies {
				e.histograms[f] = e.histograms[f].Clone()
			}
		}
		w.entries = append(w.entries, e)
	}
	edge := e.to - w.length
	drop := 0
	for drop < len(w.entries)-1 && math.Abs(w.entries[drop].to-edge) <= math.Abs(w.entries[drop].from-edge) && w.entries[drop].from < edge {
		drop++
	}
	if drop > 0 {
		w.evict(drop)
	}
}

// joins reports whether two stretches have one layout in each family and no gap between them.
func joins(a, b *entry) bool {
	if a.to != b.from {
		return false
	}
	for _, f := range quantileFamilies {
		if a.histograms[f].Known() != b.histograms[f].Known() || !hist.SameEdges(a.histograms[f].Edges, b.histograms[f].Edges) {
			return false
		}
	}
	return true
}

func join(a, b *entry) {
	a.to = b.to
	a.aborted += b.aborted
	for _, f := range quantileFamilies {
		a.histograms[f].Accumulate(b.histograms[f])
	}
}

func (w *sliding) sum(f fact.Family, h hist.Histogram) {
	switch t := &w.total[f]; {
	case !h.Known():
	case !t.Known():
		*t = h.Clone()
	case hist.SameEdges(t.Edges, h.Edges):
		t.Accumulate(h)
	default:
		w.mixed[f] = true
	}
}

// evict drops the oldest entries. While layouts are mixed the total is not kept; it comes back with the last entry of
// an old layout gone.
func (w *sliding) evict(drop int) {
	for _, f := range quantileFamilies {
		if w.mixed[f] {
			continue
		}
		for i := range w.entries[:drop] {
			for b, c := range w.entries[i].histograms[f].Counts {
				w.total[f].Counts[b] -= c
			}
		}
	}
	w.entries = slices.Delete(w.entries, 0, drop)
	for _, f := range quantileFamilies {
		if w.mixed[f] {
			w.mixed[f], w.total[f] = false, hist.Histogram{}
			for i := range w.entries {
				w.sum(f, w.entries[i].histograms[f])
			}
		}
	}
}

// coverage is the share of the window that its entries cover.
func (w *sliding) coverage() float64 {
	covered := 0.0
	for i := range w.entries {
		covered += w.entries[i].to - w.entries[i].from
	}
	return math.Min(1, covered/w.length)
}

// quantiles are the intervals of a family's order statistics. Where the engine counts aborted sequences among the
// finished, each of them may be any observation of a finish-time family.
func (w *sliding) quantiles(f fact.Family, qs []float64, abortsFinish bool) (out []Quantile) {
	aborted := uint64(0)
	if abortsFinish && f != fact.TTFT && f != fact.TokenGap {
		for i := range w.entries {
			aborted += w.entries[i].aborted
		}
	}
	floor, ceil := w.images(f)
	for _, q := range qs {
		if lower, upper, ok := hist.ImageQuantile(floor, ceil, q, aborted); ok {
			out = append(out, Quantile{
				Metric: f, Q: q, Window: w.length, Count: floor.Count() - aborted, Lower: lower, Upper: upper,
				Start: w.entries[0].from, End: w.entries[len(w.entries)-1].to,
			})
		}
	}
	return out
}

// images are the window's observations pushed down and pushed up: the same histogram while all entries have one
// layout, else two on the union of the layouts.
func (w *sliding) images(f fact.Family) (floor, ceil hist.Histogram) {
	if !w.mixed[f] {
		return w.total[f], w.total[f]
	}
	var grid []float64
	for i := range w.entries {
		grid = append(grid, w.entries[i].histograms[f].Edges...)
	}
	slices.Sort(grid)
	g := newGridded(slices.Compact(grid))
	for i := range w.entries {
		if h := w.entries[i].histograms[f]; h.Known() {
			g.add(h)
		}
	}
	return hist.Histogram{Edges: g.grid, Counts: g.floor}, hist.Histogram{Edges: g.grid, Counts: g.ceil}
}
