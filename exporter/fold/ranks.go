package fold

import (
	"cmp"
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// newRanks lists the ranks of a new process in the page's order. A rank that was seen before, on whatever page, goes on
// counting where it stopped: a model that was unloaded and came back, a replica that was away. The only rank of an engine is
// the same whatever it is called, for V0 has no name for it and a load balancer may number it anew. An engine that has shown
// several ranks keeps their names apart from its own for good, so that no series changes its name twice; the counters of
// the one that it had until then go on under the new name. from is when those of new ranks start.
func (s *State) newRanks(e *engine, sample *fact.EngineSample, from float64) []*rank {
	e.many = e.many || len(sample.Ranks) > 1
	out := make([]*rank, len(sample.Ranks))
	for i := range sample.Ranks {
		p := &sample.Ranks[i]
		at := slices.IndexFunc(e.known, func(r *rank) bool { return r.name == p.Name && r.model == p.Model })
		if at < 0 && !e.many {
			at = slices.IndexFunc(e.known, func(r *rank) bool { return r.model == p.Model })
		}
		if at < 0 {
			r := &rank{name: p.Name, model: p.Model, since: from}
			for _, w := range s.opts.QuantileWindows {
				r.sliding = append(r.sliding, newSliding(w))
			}
			at = len(e.known)
			e.known = append(e.known, r)
		}
		r := e.known[at]
		r.name, r.seen = p.Name, from
		r.slices, r.first, r.old = nil, 0, 0
		r.finished, r.spent = nil, [NumStages]Spent{}
		out[i] = r
	}
	for _, r := range out {
		r.id = e.target.ID
		if e.many {
			r.id += "/" + r.name
		}
	}
	e.forgetRanks(len(out))
	return out
}

// knownRanks is how many ranks that are on no page any more are remembered. Names of replicas are made up anew by what
// starts them, so there is no end to them; one that returns after it was forgotten starts at 0, at a time of its own.
const knownRanks = 256

// forgetRanks drops those that went the longest time ago.
func (e *engine) forgetRanks(current int) {
	if len(e.known) <= knownRanks+current {
		return
	}
	slices.SortStableFunc(e.known, func(a, b *rank) int { return cmp.Compare(b.seen, a.seen) })
	clear(e.known[knownRanks+current:])
	e.known = e.known[:knownRanks+current]
}
