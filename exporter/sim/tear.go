package sim

import (
	"math"
	"math/rand/v2"
	"slices"
)

// settling is how long after its step a finished sequence can be missing from a torn page, seconds. It is longer than a
// real update takes, so that a busy engine has such a sequence at almost any time and Torn is the share of its pages. It
// is shorter than any interval at which pages are read: a page before a torn one must not show what that one lacks.
const settling = 0.25

// tear makes the page one that was rendered while the front end took note of finished sequences, with the probability
// that the configuration says. A page is written from top to bottom, so the upper families lack what the lower ones have:
// so it is on all 44 pages with unequal counts that single processes of vLLM 0.32 wrote in testdata/recordings. The
// function undoes it.
func (e *endpoint) tear() (mend func()) {
	now := e.world.now
	dice := rand.New(rand.NewPCG(e.tears, math.Float64bits(now)))
	if dice.Float64() >= e.config.Torn {
		return func() {}
	}
	var undo []func()
	for _, r := range e.ranks {
		s := r.stats
		if len(s.latest) == 0 || now-s.latest[0].last > settling {
			continue
		}
		success := s.success
		undo = append(undo, func() { s.success = success })
		for _, q := range s.latest {
			s.success[slices.Index(reasons[:], q.reason)]--
		}
		// At least the success counter lacks them, and at least the last family has them.
		cut := dice.IntN(len(s.finishing))
		for i := range s.finishing[:cut] {
			undo = append(undo, s.finishing[i].forget(s, s.latest))
		}
	}
	return func() {
		for _, f := range undo {
			f()
		}
	}
}

// forget takes what some sequences added back; the function undoes it.
func (f *finishFamily) forget(s *stats, sequences []*sequence) (undo func()) {
	h := f.histogram(s)
	counts, sum := slices.Clone(h.counts), h.sum
	for _, q := range sequences {
		if !f.counts(q) {
			continue
		}
		v := f.value(q)
		i, _ := slices.BinarySearch(h.edges, v)
		h.counts[i]--
		h.sum -= v
	}
	return func() { copy(h.counts, counts); h.sum = sum }
}
