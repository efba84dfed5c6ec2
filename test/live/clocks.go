package main

import "slices"

// apart is by how many milliseconds the client's clock differs from the engine's in the same sequences: client minus
// engine.
type apart struct {
	name        string
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
	var start, ttft, e2e, tpot []float64
	for i := range t.sequences {
		s := &t.sequences[i]
		j, ok := seen[s.id]
		if !ok || !s.fromEngine {
			continue
		}
		r := &t.requests[j]
		q := r.Sequences[0]
		start = append(start, s.span.Start-r.Start)
		ttft = append(ttft, r.TTFT(q)-s.ttft)
		e2e = append(e2e, r.E2E(q)-s.e2e)
		if v, has := r.TPOT(q); has && s.hasTPOT {
			tpot = append(tpot, v-s.tpot)
		}
	}
	return []apart{spread("until the engine's clock starts", start), spread("TTFT", ttft), spread("e2e", e2e), spread("TPOT", tpot)}
}

// spread says how differences lie, in milliseconds.
func spread(name string, x []float64) apart {
	a := apart{name: name, n: len(x)}
	if len(x) == 0 {
		return a
	}
	slices.Sort(x)
	a.least, a.most = 1000*x[0], 1000*x[len(x)-1]
	a.median, a.p95 = 1000*statistic(x, 0.5), 1000*statistic(x, 0.95)
	return a
}
