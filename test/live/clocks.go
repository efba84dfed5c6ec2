package main

import "slices"

// apart is by how much the client's clock differs from the engine's in the same sequences: client minus engine.
type apart struct {
	name        string
	unit        string
	n           int
	least       float64
	median, p95 float64
	most        float64
}

// clocks compares the two witnesses of every sequence that has both and is its request's only one.
func clocks(t *truth) []apart {
	seen := map[string]int{}
	for i := range t.requests {
		if r := &t.requests[i]; r.N == 1 && len(r.Sequences) == 1 && r.Sequences[0].Ended {
			seen[r.ID] = i
		}
	}
	var ttft, e2e, tpot []float64
	for i := range t.sequences {
		s := &t.sequences[i]
		j, ok := seen[s.id]
		if !ok || !s.fromEngine {
			continue
		}
		r := &t.requests[j]
		q := r.Sequences[0]
		ttft = append(ttft, r.TTFT(q)-s.ttft)
		e2e = append(e2e, r.E2E(q)-s.e2e)
		if v, has := r.TPOT(q); has && s.hasTPOT && s.tpot > 0 {
			tpot = append(tpot, v/s.tpot-1)
		}
	}
	return []apart{spread("TTFT", "ms", ttft, 1000), spread("e2e", "ms", e2e, 1000), spread("TPOT", "%", tpot, 100)}
}

// spread says how differences lie, in a unit of which there are so many to 1.
func spread(name, unit string, x []float64, factor float64) apart {
	a := apart{name: name, unit: unit, n: len(x)}
	if len(x) == 0 {
		return a
	}
	slices.Sort(x)
	a.least, a.most = factor*x[0], factor*x[len(x)-1]
	a.median, a.p95 = factor*statistic(x, 0.5), factor*statistic(x, 0.95)
	return a
}
