// Package edges answers which bucket edges an engine's histograms should have, so that they can tell for every request
// on which side of each threshold it lies, and how an engine is told. Pure; it does not know where objectives are
// configured, how pages look, or how processes are started.
package edges

import (
	"math"
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// List is the edges of the families that share one list, under the name that vLLM's --custom-histogram-buckets has for
// it. Edges are seconds, positive, finite and strictly increasing.
type List struct {
	Name  string
	Edges []float64
}

// sharing is one list of vLLM and the families that use it (seen on 0.32.0).
type sharing struct {
	name     string
	families []fact.Family
	// Between from and to, in seconds, neighbouring edges are at most a factor of coarse apart, wherever the thresholds
	// lie. 0: as the grid has them.
	from, to, coarse float64
	most             int // edges, unless the thresholds alone are more
}

// sharings are vLLM's lists. request_latency costs five lines of the page for each edge, so it has the fewest. Its
// edges from 50 ms to a minute are fine because the joint bounds rest on decode, queue and prefill times: an engine's
// own list begins at 300 ms.
var sharings = []sharing{
	{name: "inter_token_latency", families: []fact.Family{fact.TPOT, fact.TokenGap}, most: 40},
	{
		name: "request_latency", families: []fact.Family{fact.E2E, fact.Queue, fact.Prefill, fact.Decode, fact.Inference},
		from: 0.05, to: 60, coarse: 1.6, most: 32,
	},
	{name: "time_to_first_token", families: []fact.Family{fact.TTFT}, most: 40},
}

// Near a threshold, that is from half of it to twice it, neighbouring edges are at most a factor of fine apart, so that a
// percentile there is known to a quarter of itself, three edges to a doubling.
const (
	near = 2
	fine = 1.26
)

// For lists the edges under which objectives can be answered, in the order of the lists' names. grids are the edges
// that each family's histograms are re-exported on: they are kept, so that engines with these lists and engines with
// vLLM's own edges still add up exactly. A list that no clause concerns is left out, and stays as the engine has it.
//
// Every threshold is an edge. Then come the grid and the edges near the thresholds, the widest bucket first, up to the
// list's most; where the grid alone is more, its narrowest buckets are joined.
func For(objectives []slo.Objective, grids [fact.NumFamilies][]float64) []List {
	var lists []List
	for i := range sharings {
		s := &sharings[i]
		thresholds, helpers := s.concerned(objectives)
		if len(thresholds)+len(helpers) == 0 {
			continue
		}
		var grid []float64
		for _, f := range s.families {
			grid = append(grid, grids[f]...)
		}
		lists = append(lists, List{Name: s.name, Edges: s.build(thresholds, helpers, grid)})
	}
	return lists
}

// concerned are the thresholds of a list's own clauses, and those that its edges help to judge: the time to first token
// is queue and prefill, which are in the list of whole requests.
func (s *sharing) concerned(objectives []slo.Objective) (own, helped []float64) {
	for i := range objectives {
		for _, c := range objectives[i].Clauses {
			switch {
			case slices.Contains(s.families, c.Metric):
				own = append(own, c.Threshold)
			case c.Metric == fact.TTFT && slices.Contains(s.families, fact.Queue):
				helped = append(helped, c.Threshold)
			}
		}
	}
	return increasing(own), increasing(helped)
}

// build makes one list. Helpers are treated as thresholds while there is room for them.
func (s *sharing) build(thresholds, helpers, grid []float64) []float64 {
	anchors := increasing(slices.Concat(thresholds, helpers))
	optional := slices.Concat(helpers, grid)
	for _, a := range anchors {
		optional = append(optional, round(a/near))
	}
	if s.from > 0 {
		optional = append(optional, s.from)
	}
	edges := increasing(slices.Concat(thresholds, optional))
	for len(edges) > max(s.most, len(thresholds)) {
		edges = joinNarrowest(edges, thresholds)
	}
	for len(edges) < s.most {
		at := s.widest(edges, anchors)
		if at < 0 {
			break
		}
		edges = slices.Insert(edges, at, s.split(edges[at-1], edges[at], anchors))
	}
	return edges
}

// widest is the index of the upper edge of the bucket that is most above what it may be; -1 when none is.
func (s *sharing) widest(edges, anchors []float64) int {
	at, most := -1, 1.02 // what rounding to three digits may add
	for i := 1; i < len(edges); i++ {
		lower, upper := edges[i-1], edges[i]
		excess := math.Log(upper/lower) / math.Log(s.allowed(lower, upper, anchors))
		if excess > most && round(math.Sqrt(lower*upper)) > lower && round(math.Sqrt(lower*upper)) < upper {
			at, most = i, excess
		}
	}
	return at
}

// allowed is how far apart the edges of a bucket may be, as a factor.
func (s *sharing) allowed(lower, upper float64, anchors []float64) float64 {
	for _, a := range anchors {
		if upper > a/near*(1+tolerance) && lower < a*near*(1-tolerance) {
			return fine
		}
	}
	if s.coarse > 0 && upper > s.from && lower < s.to*(1-tolerance) {
		return s.coarse
	}
	return math.Inf(1)
}

// split is an edge inside a bucket: the bucket is to be cut in as few equal parts (as factors) as it needs, and this is
// the cut in the middle.
func (s *sharing) split(lower, upper float64, anchors []float64) float64 {
	ratio := upper / lower
	parts := math.Ceil(math.Log(ratio)/math.Log(s.allowed(lower, upper, anchors)) - 0.01)
	cut := round(lower * math.Pow(ratio, math.Floor(max(2, parts)/2)/max(2, parts)))
	if cut > lower && cut < upper {
		return cut
	}
	return round(math.Sqrt(lower * upper))
}

// joinNarrowest drops the edge that is no threshold and whose loss makes the narrowest bucket.
func joinNarrowest(edges, thresholds []float64) []float64 {
	drop, least := -1, math.Inf(1)
	for i, e := range edges {
		if _, kept := slices.BinarySearch(thresholds, e); kept {
			continue
		}
		// The first edge's bucket begins at 0 and the last one's is followed by the open one: both count as wide, but
		// something has to go in the end.
		wide := math.MaxFloat64
		if i > 0 && i < len(edges)-1 {
			wide = edges[i+1] / edges[i-1]
		}
		if drop < 0 || wide < least {
			drop, least = i, wide
		}
	}
	return slices.Delete(edges, drop, drop+1)
}

// tolerance is the relative distance at which two edges are one: two decimal ways to the same number.
const tolerance = 1e-9

// increasing sorts edges and drops doubles and what no histogram can have as an edge.
func increasing(edges []float64) []float64 {
	out := make([]float64, 0, len(edges))
	for _, e := range edges {
		if e > 0 && !math.IsInf(e, 1) {
			out = append(out, e)
		}
	}
	slices.Sort(out)
	return slices.CompactFunc(out, func(a, b float64) bool { return math.Abs(b-a) <= tolerance*b })
}

// round keeps three significant digits: an edge is read by people too.
func round(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 1) {
		return 0
	}
	digits := 2 - int(math.Floor(math.Log10(x)))
	switch unit := math.Pow10(max(digits, -digits)); {
	case math.IsInf(unit, 1):
		return x // far below what any clock can tell
	case digits < 0:
		return math.Round(x/unit) * unit
	default:
		return math.Round(x*unit) / unit
	}
}

// Known tells the edges that an engine has under the lists, for families that are in none those of the engine's own
// layout. It has the form that slo.Refusals asks for.
func Known(lists []List, own [fact.NumFamilies][]float64) func(fact.Family) ([]float64, bool) {
	return func(f fact.Family) ([]float64, bool) {
		for i := range sharings {
			for _, l := range lists {
				if l.Name == sharings[i].name && slices.Contains(sharings[i].families, f) {
					return l.Edges, true
				}
			}
		}
		return own[f], len(own[f]) > 0
	}
}
