package fold

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// counted is a made-up engine whose pages count sequences in an order of their own: within delay seconds of their ends.
type counted struct {
	ends, counts []float64 // of each sequence, by its end
	marks        []mark
	waiting      []waitingSpan
}

// made makes pages every two seconds that take up to took seconds, and n sequences a second from before the first page to
// after the last.
func made(rng *rand.Rand, rate, took, delay float64, pages int) *counted {
	c := &counted{}
	for at := -5.0; at < 2*float64(pages)+5; at += rng.ExpFloat64() / rate {
		w := waitingSpan{Request: fact.Request{End: at, Decode: rng.ExpFloat64(), Prefill: rng.ExpFloat64() / 10}}
		if rng.IntN(5) == 0 {
			w.Decode = 0
		}
		w.received = at + 0.01 + 5*rng.Float64()
		w.id[0], w.id[1] = byte(len(c.waiting)>>8), byte(len(c.waiting))
		c.waiting = append(c.waiting, w)
		c.ends, c.counts = append(c.ends, at), append(c.counts, at+delay*rng.Float64())
	}
	for j := range pages {
		m := mark{sent: 2 * float64(j), life: 1, sums: true}
		m.received = m.sent + took*rng.Float64()
		instant := m.sent + (m.received-m.sent)*rng.Float64()
		for i, w := range c.waiting {
			if c.counts[i] <= instant {
				m.finished, m.decode, m.prefill = m.finished+1, m.decode+w.Decode, m.prefill+w.Prefill
			}
		}
		c.marks = append(c.marks, m)
	}
	return c
}

// between lists the ids of what was counted from one page to another.
func (c *counted) between(from, to int) map[spanID]bool {
	out := map[spanID]bool{}
	order := make([]int, len(c.counts))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return slices.Compare(c.counts[a:a+1], c.counts[b:b+1]) })
	for _, i := range order[c.marks[from].finished:c.marks[to].finished] {
		out[c.waiting[i].spanID] = true
	}
	return out
}

func (c *counted) locate(n int, waiting []waitingSpan) *sighting {
	var g sighting
	g.locate(c.marks, n, false, waiting)
	return &g
}

// TestSpansOfAWindowAreTheCountedOnes: what is located is what the pages have counted, whatever is missing, also one span
// alone beside a page at which many end.
func TestSpansOfAWindowAreTheCountedOnes(t *testing.T) {
	complete, almost := 0, 0
	for seed := range uint64(600) {
		rng := rand.New(rand.NewPCG(seed, 31))
		c := made(rng, []float64{0.5, 5, 50}[seed%3], 0.05, 0.005, 34)
		waiting := slices.Clone(c.waiting)
		missing := int(seed % 4) // none, one, or several
		for range missing {
			at := rng.IntN(len(waiting))
			if rng.IntN(2) == 0 { // beside the first page
				near, _ := slices.BinarySearch(c.ends, 0)
				at = min(near+rng.IntN(5), len(waiting)-1)
			}
			waiting = slices.Delete(waiting, at, at+1)
		}
		rng.Shuffle(len(waiting), func(i, k int) { waiting[i], waiting[k] = waiting[k], waiting[i] })
		g, own := c.locate(30, waiting), c.between(0, 30)
		for _, w := range g.own {
			if !own[w.spanID] {
				t.Fatalf("seed %d: a span that ended at %v is not of the window", seed, w.End)
			}
		}
		if g.conflict || uint64(len(g.own)) > g.seen || g.seen > g.finished || g.finished != uint64(len(own)) {
			t.Fatalf("seed %d: %d of %d seen, %d surely, conflict %v", seed, g.seen, g.finished, len(g.own), g.conflict)
		}
		if g.complete && len(g.own) != len(own) {
			t.Fatalf("seed %d: complete, with %d of %d", seed, len(g.own), len(own))
		}
		if g.complete && missing == 0 {
			complete++
		}
		if missing == 1 && !g.complete {
			almost++
		}
	}
	if complete < 145 || almost < 60 {
		t.Errorf("%d of 150 windows are complete, %d of 150 miss one", complete, almost)
	}
}

// TestPagesOfSeveralServersCountInAnotherOrder: two spans that changed places beside a page are found by what they have
// spent, so that the window holds what the page has counted.
func TestPagesOfSeveralServersCountInAnotherOrder(t *testing.T) {
	swapped, complete := 0, 0
	for seed := range uint64(300) {
		c := made(rand.New(rand.NewPCG(seed, 37)), 20, 0.1, 0.06, 34)
		own := c.between(0, 30)
		plain := c.waiting[c.marks[0].finished:c.marks[30].finished] // by their ends
		if slices.ContainsFunc(plain, func(w waitingSpan) bool { return !own[w.spanID] }) {
			swapped++
		}
		g := c.locate(30, c.waiting)
		if !g.complete {
			continue
		}
		complete++
		for _, w := range g.own {
			if !own[w.spanID] {
				t.Fatalf("seed %d: a span that ended at %v is not of the window", seed, w.End)
			}
		}
	}
	if swapped < 30 || complete < 290 {
		t.Errorf("%d of 300 windows have changed places, %d are complete", swapped, complete)
	}
}

// TestLocatingNeverPanics: whatever pages and spans say.
func TestLocatingNeverPanics(t *testing.T) {
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 41))
		c := made(rng, 3, 1, 2, 3+rng.IntN(6))
		for j := range c.marks {
			if j > 0 {
				c.marks[j].finished = c.marks[j-1].finished + rng.Uint64N(12)
			}
			c.marks[j].sums = rng.IntN(4) > 0
		}
		waiting := c.waiting[:rng.IntN(len(c.waiting)+1)]
		for i := range waiting {
			waiting[i].End += 4 * rng.NormFloat64()
		}
		var g sighting
		n := rng.IntN(len(c.marks))
		g.locate(c.marks, n, rng.IntN(2) == 0, waiting)
		if uint64(len(g.own)) > g.finished || g.seen > g.finished || len(g.done) != len(waiting) {
			t.Fatalf("seed %d: %d own, %d seen of %d", seed, len(g.own), g.seen, g.finished)
		}
	}
}

// TestSumsAgreeUpToRounding: of many additions to the total of an old engine, and no further, so that no other set of
// spans agrees by chance.
func TestSumsAgreeUpToRounding(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 1))
	for _, total := range []float64{0, 1e3, 1e6, 1e9, 1e10} {
		for _, n := range []int{1, 10, 1000, 20000} {
			page, spans := total, 0.0
			for range n {
				x := 30 * rng.ExpFloat64()
				page, spans = page+x, spans+x
			}
			if !agree(page-total, spans, page, float64(n)) {
				t.Errorf("%d additions to %g: %v and %v do not agree", n, total, page-total, spans)
			}
			if agree(page-total, spans+0.01, page, float64(n)) {
				t.Errorf("%d additions to %g: sums agree that differ by 10 ms", n, total)
			}
		}
	}
	if agree(10, 10.0002, 1e9, 1000) {
		t.Error("sums of 1000 that differ by 0.2 ms agree on an engine that has spent 1e9 s")
	}
}
