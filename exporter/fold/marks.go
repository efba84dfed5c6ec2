package fold

import (
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// mark is what one page says of how many sequences have finished, over all ranks. It is a picture of some instant between
// its request and its receipt: on 1,400 recorded pages each sequence that ended 7 ms after the request or earlier was
// counted, and none that ended less than 7 ms before the receipt.
type mark struct {
	sent, received float64
	life           int // of which process
	finished       uint64
	decode         float64 // seconds that the finished have spent in it
	prefill        float64
	sums           bool // the two are known
}

// note keeps the mark of a page of the current process.
func (s *State) note(e *engine, p *page, isTorn bool) {
	if !s.opts.Spans {
		return
	}
	m := mark{sent: p.sent, received: p.received, life: e.life, finished: uint64(sequencesOf(p.sample)), sums: !isTorn}
	for i := range p.sample.Ranks {
		r := &p.sample.Ranks[i]
		decode, prefill := &r.Histograms[fact.Decode], &r.Histograms[fact.Prefill]
		m.decode += decode.Sum
		m.prefill += prefill.Sum
		m.sums = m.sums && (decode.Known() && prefill.Known() || r.Sequences() == 0)
	}
	e.marks = append(e.marks, m)
}

// marksOf lists the marks of a window, and those that follow of the same process. n is the place of its last page; false
// when some are not at hand, for spans were not taken in then.
func (e *engine) marksOf(p *pending) (marks []mark, n int, ok bool) {
	at := func(sent float64) int {
		return slices.IndexFunc(e.marks, func(m mark) bool { return m.life == p.life && m.sent == sent })
	}
	first, last := at(p.start), at(p.end)
	if first < 0 || last < first {
		return nil, 0, false
	}
	marks = e.marks[first:]
	if other := slices.IndexFunc(marks, func(m mark) bool { return m.life != p.life }); other >= 0 {
		marks = marks[:other]
	}
	return marks, last - first, true
}

// forgetMarks drops the marks that no window needs any more: all before the end of this one.
func (e *engine) forgetMarks(p *pending) {
	next := slices.IndexFunc(e.marks, func(m mark) bool { return m.life > p.life || m.life == p.life && m.sent >= p.end })
	if next < 0 {
		next = len(e.marks)
	}
	e.marks = slices.Delete(e.marks, 0, next)
}

// How far the end of a sequence by its span may lie from the instant at which its engine counts it, by the clock of the
// polls, in seconds. Engine and exporter have their own clocks, and the engine's event loop is late now and then: a tenth
// of a second covers one host, or two whose clocks are disciplined. A second covers clocks that are not; beyond it, spans
// and pages contradict each other.
const (
	nearMargin = 0.1
	farMargin  = 1.0
)

// bound is between which numbers of the spans that wait, ordered by their end, a page has counted.
type bound struct{ least, most int }

// boundsOf bounds what each page has counted of spans with these ends, which may lie up to early seconds before the count
// or up to late after it.
//
// A span is counted by a page when its sequence is; so a page has counted all that ended before its request less a margin,
// and none that ended after its receipt and a margin.
func boundsOf(marks []mark, ends []float64, early, late float64) []bound {
	out := make([]bound, len(marks))
	for j, m := range marks {
		out[j].least, _ = slices.BinarySearch(ends, m.sent-early)
		out[j].most = endedBy(ends, m.received+late)
	}
	return out
}

// endedBy counts the ends up to x, x among them.
func endedBy(ends []float64, x float64) int {
	n, _ := slices.BinarySearchFunc(ends, x, func(end, x float64) int {
		if end <= x {
			return -1
		}
		return 1
	})
	return n
}

// contradict reports whether there are more spans than sequences between any two pages.
func contradict(marks []mark, bounds []bound) bool {
	most := bounds[0].most
	for j := range bounds {
		if j > 0 {
			most += int(marks[j].finished - marks[j-1].finished)
		}
		if most = min(most, bounds[j].most); most < bounds[j].least {
			return true
		}
	}
	return false
}
