package slo

import (
	"math"
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
)

// maxArcs is the size of network up to which the explain bounds are computed: at most a sixth of a second on one core,
// where a minute of 1 s polls takes 2,000 to 6,000 arcs and a millisecond.
const maxArcs = 1 << 16

// explain builds the explain network of a window and asks how many of its n finishers it can explain in a world while
// qualifying is made impossible (strict), or while failing by TTFT alone is (lenient).
//
// Every finisher of the window had one first token, in some slice, in time (good) or slow; its decode bucket spans the
// time between the two; if it was good its queue and prefill buckets begin below the threshold; and it either passed
// the finish-time clauses of its slice or it failed them. As a flow:
//
//	source -> chain of in-flight limits -> slices of first tokens, each good or slow (capacity: as many as counted)
//	       -> per finish slice and type: decode bucket -> (good only) queue bucket -> prefill bucket -> type's limit
//	       -> passed (capacity B) or failed (capacity n - B) -> sink
//
// Proof. Let b be the true number that passes in a finish slice. In the strict world B <= b: let any B of those that
// pass be called passed, and all others failed. In the lenient world B >= b: call those that pass and any B - b others
// passed. Call every aborted finisher slow, with a first token out of nowhere: it never qualifies, it may have had none,
// and its latencies may be anything. Then the true assignment of first tokens to finishers is a flow of value n,
// whatever Fréchet bound gave B, since each capacity bounds a true count from above and arcs are missing only where
// times exclude each other.
//
// Strict, without the arcs good -> passed: the true flow loses only finishers that are good and called passed, hence
// meet all clauses, and were not aborted; G is their number. So maxflow >= n - G and L = n - maxflow <= G.
//
// Lenient, without the arcs slow -> passed: it loses only slow ones called passed. Those called passed number sum B, and
// at least G of them are good, so maxflow >= n - (sum B - G) and U = sum B - n + maxflow >= G.
//
// Capacities are integers, hence so is the maximum: nothing is rounded.
//
// With all arcs in place the network must explain every finisher: whole is false when it cannot, and then the pages
// contradict the model. ok is false when the network would be too large.
func (j *Judge) explain() (flow uint64, whole, ok bool) {
	if j.n > unbounded {
		return 0, false, false
	}
	b := &j.build
	b.begin(j)
	for i := range j.w.own() {
		if b.finish(j, i); len(b.net.to)/2 > maxArcs {
			return 0, false, false
		}
	}
	explained := b.net.augment(b.source, b.sink)
	for _, arc := range b.withheld {
		b.net.grant(arc, unbounded)
	}
	rest := b.net.augment(b.source, b.sink)
	return uint64(explained), uint64(explained+rest) == j.n, true
}

// kind is the type of a first token: in time for the TTFT clause, or slow.
type kind int

const (
	good kind = iota
	slow
	kinds
)

// builder holds the explain network while it is built, and its memory between windows.
type builder struct {
	net          network
	source, sink int32
	first        [kinds][]int32 // by source of the view: node of its first tokens of a kind; -1 none
	old          int32          // node of first tokens before the history; -1 none
	limits       []uint64       // by source of the view: see limit
	withheld     []int32        // the arcs whose absence makes the bound
	from, to     []stage        // the layer above, and the one being laid down
	any          [1]uint64
}

// stage is a node of a layer: the finishers in one bucket of a slice.
type stage struct {
	lower float64 // they took longer than this up to their first token, seconds
	out   int32
}

// begin lays down the first tokens and the chain of in-flight limits above them: those of slices up to k that finish
// in the window are at most the window's finishers up to k and the sequences in flight at its end.
func (b *builder) begin(j *Judge) {
	g := &b.net
	g.reset()
	b.source, b.sink = g.node(), g.node()
	b.withheld, b.old = b.withheld[:0], -1
	sources := j.view.sources
	for k := range b.first {
		b.first[k] = slices.Grow(b.first[k][:0], len(sources))[:len(sources)]
	}
	b.limit(j)
	up := b.source
	for k := len(sources) - 1; k >= 0; k-- {
		s := &sources[k]
		if b.limits[k] < j.n {
			node := g.node()
			g.arc(up, node, int32(b.limits[k]))
			up = node
		}
		b.first[good][k] = b.feed(up, s.good)
		b.first[slow][k] = b.feed(up, s.slow)
	}
	if j.past.old > 0 {
		b.old = b.feed(up, j.past.old)
	}
}

// limit sets b.limits: by source, the most first tokens up to its end that may finish in the window, Unlimited where
// the limits and counts of older sources, or the limit of a younger one, say as much.
func (b *builder) limit(j *Judge) {
	b.limits = b.limits[:0]
	supply := j.past.old // what older limits let through, at most
	finished := uint64(0)
	for k := range j.view.sources {
		s := &j.view.sources[k]
		if s.first >= j.w.First {
			finished += j.w.Slices[s.first].Finished
		}
		limit := finished + j.past.decoding[s.last]
		if supply += s.good + s.slow; limit >= supply {
			limit = Unlimited
		} else {
			supply = limit
		}
		b.limits = append(b.limits, limit)
	}
	least := j.n
	for k := len(b.limits) - 1; k >= 0; k-- {
		if b.limits[k] >= least {
			b.limits[k] = Unlimited
		}
		least = min(least, b.limits[k])
	}
}

// feed adds a node that takes at most count from above; -1 when that is nothing.
func (b *builder) feed(up int32, count uint64) int32 {
	if count == 0 {
		return -1
	}
	node := b.net.node()
	b.net.arc(up, node, int32(min(count, unbounded)))
	return node
}

// finish lays down what finished in the window's slice i.
func (b *builder) finish(j *Judge, i int) {
	s := &j.w.own()[i]
	if s.Finished == 0 {
		return
	}
	g, v := &b.net, &j.view
	passed, failed := g.node(), g.node()
	g.arc(passed, b.sink, int32(v.passing[i]))
	g.arc(failed, b.sink, int32(s.Finished-v.passing[i]))
	limits := [kinds]uint64{
		good: s.Finished - certainlySlow(s, v.greatestEdge),
		slow: min(s.Finished, possiblySlow(s, v.leastEdge, j.past.jitter)),
	}
	for k := good; k < kinds; k++ {
		b.decodes(j, i, k)
		if k == good {
			b.narrowTo(&s.Histograms[fact.Queue], s.Aborted, v.greatestEdge)
			b.narrowTo(&s.Histograms[fact.Prefill], s.Aborted, v.greatestEdge)
		}
		in, out := g.through(int32(limits[k]))
		for _, x := range b.from {
			g.arc(x.out, in, unbounded)
		}
		g.arc(out, failed, unbounded)
		if (k == slow) == (v.world == strict) {
			g.arc(out, passed, unbounded)
		} else {
			b.withheld = append(b.withheld, g.arc(out, passed, 0))
		}
	}
}

// decodes makes b.from the decode buckets of the window's slice i for one kind, fed by the first tokens that fit.
func (b *builder) decodes(j *Judge, i int, k kind) {
	s := &j.w.own()[i]
	h := s.Histograms[fact.Decode]
	if !h.Known() { // any time to decode
		b.any[0] = s.Finished
		h = hist.Histogram{Counts: b.any[:], Sum: math.NaN()}
	}
	aborted := int32(-1)
	if k == slow {
		aborted = b.feed(b.source, s.Aborted)
	}
	b.from = b.from[:0]
	r := refine(h, s.Aborted)
	for x, c := range h.Counts {
		if c == 0 {
			continue
		}
		lower, upper := r.bucket(x)
		in, out := b.net.through(int32(c))
		b.from = append(b.from, stage{0, out})
		b.reach(j, i, k, bucket{in, s.Lo - upper - j.past.jitter, s.Hi - lower + j.past.jitter})
		if aborted >= 0 {
			b.net.arc(aborted, in, unbounded)
		}
	}
}

// bucket is the node of a decode bucket and when its finishers had their first token.
type bucket struct {
	node             int32
	earliest, latest float64
}

// reach connects the first tokens of one kind to a decode bucket of the window's slice i: those counted in that slice
// or before it, at a time that the bucket allows. The old ones were counted by the page before Slices[0], which had
// been received when the next was; nothing says how much earlier they were.
func (b *builder) reach(j *Judge, i int, k kind, to bucket) {
	sources := j.view.sources
	for n := len(sources) - len(j.w.own()) + i; n >= 0; n-- {
		if sources[n].hi < to.earliest {
			break
		}
		if node := b.first[k][n]; node >= 0 && sources[n].lo <= to.latest {
			b.net.arc(node, to.node, unbounded)
		}
	}
	if b.old >= 0 && j.w.Slices[0].Hi >= to.earliest {
		b.net.arc(b.old, to.node, unbounded)
	}
}

// narrowTo replaces b.from by the buckets of the next family that leave the time up to the first token below a.
func (b *builder) narrowTo(h *hist.Histogram, aborted uint64, a float64) {
	if !h.Known() {
		return
	}
	b.to = b.to[:0]
	r := refine(*h, aborted)
	for x, c := range h.Counts {
		if c == 0 {
			continue
		}
		lower, _ := r.bucket(x)
		if lower >= a {
			continue
		}
		in, out := b.net.through(int32(c))
		for _, f := range b.from {
			if f.lower+lower < a {
				b.net.arc(f.out, in, unbounded)
			}
		}
		b.to = append(b.to, stage{lower, out})
	}
	b.from, b.to = b.to, b.from
}
