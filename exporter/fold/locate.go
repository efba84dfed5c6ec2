package fold

import (
	"cmp"
	"math"
	"slices"
)

// sighting is what is known of which of the spans that wait are of a window.
type sighting struct {
	known    bool           // the pages tell how many sequences the window has, and spans can be held against them
	finished uint64         // that many
	own      []*waitingSpan // surely of the window
	seen     uint64         // these, and those of the others that are likelier of this window than of a neighbour
	complete bool           // own are all sequences of the window
	conflict bool           // there are more spans than sequences: none is of use, and own is empty

	outside uint64  // spans that ended before the window's first page
	done    []bool  // of the spans that wait, in the order in which they came: of this window or before it
	cut     bool    // the others are exactly those that the window's last page has not counted
	settled float64 // a span that ended before and comes yet is late

	grouped *calls // of own; nil until it is asked for

	order           []int32   // of the spans that wait, by their ends
	ends            []float64 // in that order
	decode, prefill []float64 // what all the spans before each have spent, in that order
}

// locate tells which of the spans that wait are of a window. marks begin with its first page, and n is the place of its
// last one. exact says that the spans of the window before are known to the last one, and gone.
//
// Let h(j) be how many of the waiting spans page j has counted, and C(j) how many sequences it has counted since the
// window's first page, page 0. Every span is of one sequence, so h(j) - h(i) <= C(j) - C(i) for pages i < j, and there is
// equality where no span is missing.
//
// Complete: then h(j) = b + C(j) with b = h(0), for every page, and the window's spans are those from place b on. They are
// taken for complete when there is exactly one b within the bounds of all pages for which what the spans have spent in
// prefill and in decode is what the page says that the window's sequences have spent. The engine writes on a span the same
// two durations that it adds to its histograms, so the sums agree to the rounding of many additions, as they do on all
// recorded pages, and those of other sets of as many sequences do not. The bounds alone would not do: beside a busy page
// they leave several b, and a missing span of this window is made up for by one of its neighbour.
//
// Otherwise a span is surely of the window when it ended after everything that the first page may have counted and before
// everything that the last may not have. Those near the two pages may be of either window and are seen in neither: what is
// unseen widens an interval, and what is in the wrong window makes it wrong.
func (g *sighting) locate(marks []mark, n int, exact bool, waiting []waitingSpan) {
	g.finished = marks[n].finished - marks[0].finished
	g.sort(waiting)
	bounds := func(early, late float64) []bound {
		b := boundsOf(marks, g.ends, early, late)
		if exact {
			b[0] = bound{}
		}
		return b
	}
	for _, margin := range [...]float64{nearMargin, farMargin} {
		if b, ok := g.base(marks, bounds(margin, margin), n); ok {
			g.take(b, marks[n].sent, waiting)
			return
		}
	}
	// No span is here before its sequence ended, so the engine's clock is late by no more than the least time that one took
	// to come: no assumption is needed. It may be early by any time; more than a second is a contradiction where it shows.
	lag := math.Inf(1)
	for _, i := range g.order[:endedBy(g.ends, marks[n].received+farMargin)] {
		lag = min(lag, waiting[i].received-waiting[i].End)
	}
	far := bounds(max(nearMargin, lag), farMargin)
	g.conflict = lag < -farMargin || contradict(marks, far)
	g.complete = g.finished == 0 && !g.conflict
	if !g.conflict {
		for at := far[0].most; at < far[n].least; at++ {
			g.own = append(g.own, &waiting[g.order[at]])
		}
	}
	g.seen = min(g.finished, max(uint64(len(g.own)), g.between(&marks[0], &marks[n], exact)))
	g.outside = uint64(far[0].least)
	g.settled = marks[n].sent - farMargin
	for at, i := range g.order {
		g.done[i] = g.ends[at] < g.settled
	}
}

// between counts the spans that ended between the middles of two pages.
func (g *sighting) between(first, last *mark, exact bool) uint64 {
	from, to := endedBy(g.ends, (first.sent+first.received)/2), endedBy(g.ends, (last.sent+last.received)/2)
	if exact {
		from = 0
	}
	return uint64(max(0, to-from))
}

// base is how many spans there are before the window's first when the window is complete.
func (g *sighting) base(marks []mark, bounds []bound, n int) (b int, ok bool) {
	least, most := 0, len(g.ends)-int(g.finished)
	for j, x := range bounds {
		c := int(marks[j].finished - marks[0].finished)
		least = max(least, x.least-c)
		if j <= n { // not all spans of later pages may have come
			most = min(most, x.most-c)
		}
	}
	switch {
	case least > most:
		return 0, false
	case g.finished == 0:
		return least, least == most
	case !marks[0].sums || !marks[n].sums:
		return 0, false
	}
	found := 0
	for x := least; x <= most; x++ {
		if g.fits(&marks[0], &marks[n], x, 0, 0) {
			b = x
			found++
		}
	}
	if found > 0 || most-least > exchanged {
		return b, found == 1
	}
	for x := least; x <= most; x++ {
		end := x + int(g.finished)
		if g.exchange(marks, x, n, +1, bound{bounds[0].least, x}, bound{x, min(bounds[0].most, end)}) ||
			g.exchange(marks, x, n, -1, bound{max(bounds[n].least, x), end}, bound{end, bounds[n].most}) {
			return x, true
		}
	}
	return 0, false
}

// fits reports whether the spans from place b on, as many as the window has sequences, have spent what the pages say, when
// they spend that much more in decode and prefill.
func (g *sighting) fits(first, last *mark, b int, decode, prefill float64) bool {
	e := b + int(g.finished)
	n := float64(g.finished)
	return agree(last.decode-first.decode, g.decode[e]-g.decode[b]+decode, last.decode, n) &&
		agree(last.prefill-first.prefill, g.prefill[e]-g.prefill[b]+prefill, last.prefill, n)
}

// agree compares two sums of n durations, of which the first is the difference of totals on pages, seconds. A total is
// rounded with each addition, by up to 2^-53 of it in either direction, so n of them come to about sqrt(n) times as much;
// eight times that is not seen. To allow for more would let other sets agree by chance once an engine is old: it has a
// total of 1e9 s after two months with 200 sequences in decode.
func agree(a, b, total, n float64) bool {
	return math.Abs(a-b) <= 1e-7+8*math.Sqrt(n+1)*0x1p-53*math.Abs(total)
}

// exchanged is how many spans on either side of a page are tried in each other's place.
const exchanged = 16

// exchange puts a span before a page and one after it into each other's place when that makes the window fit which begins
// at place b. Several API servers behind one page are read one after the other, so sequences that end while it is made may
// be counted in another order than they end in.
func (g *sighting) exchange(marks []mark, b, n int, sign float64, before, after bound) bool {
	for x := max(before.least, before.most-exchanged); x < before.most; x++ {
		for y := after.least; y < min(after.most, after.least+exchanged); y++ {
			decode := (g.decode[x+1] - g.decode[x]) - (g.decode[y+1] - g.decode[y])
			prefill := (g.prefill[x+1] - g.prefill[x]) - (g.prefill[y+1] - g.prefill[y])
			if g.fits(&marks[0], &marks[n], b, sign*decode, sign*prefill) {
				g.order[x], g.order[y] = g.order[y], g.order[x]
				return true
			}
		}
	}
	return false
}

// take takes the spans of a complete window, which begin at place b. sent is when its last page was asked for.
func (g *sighting) take(b int, sent float64, waiting []waitingSpan) {
	g.complete, g.cut, g.seen, g.outside, g.settled = true, true, g.finished, uint64(b), sent-farMargin
	for at, i := range g.order[:b+int(g.finished)] {
		g.done[i] = true
		g.settled = max(g.settled, math.Nextafter(waiting[i].End, math.Inf(1))) // one that comes again is late too
		if at >= b {
			g.own = append(g.own, &waiting[i])
		}
	}
}

// sort puts the spans that wait in order.
func (g *sighting) sort(waiting []waitingSpan) {
	n := len(waiting)
	g.order, g.ends, g.done, g.own = resized(g.order, n), resized(g.ends, n), resized(g.done, n), g.own[:0]
	g.decode, g.prefill = resized(g.decode, n+1), resized(g.prefill, n+1)
	clear(g.done)
	for i := range g.order {
		g.order[i] = int32(i)
	}
	slices.SortFunc(g.order, func(a, b int32) int {
		x, y := &waiting[a], &waiting[b]
		if x.End != y.End {
			return cmp.Compare(x.End, y.End)
		}
		return cmp.Or(slices.Compare(x.trace[:], y.trace[:]), slices.Compare(x.id[:], y.id[:]))
	})
	g.decode[0], g.prefill[0] = 0, 0
	for at, i := range g.order {
		w := &waiting[i]
		g.ends[at] = w.End
		g.decode[at+1], g.prefill[at+1] = g.decode[at]+w.Decode, g.prefill[at]+w.Prefill
	}
}

// resized is a slice of n items of no particular value, in the memory of one that is not needed any more.
func resized[T any](old []T, n int) []T {
	return slices.Grow(old[:0], n)[:n]
}
