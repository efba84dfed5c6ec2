package slo

import (
	"math/rand/v2"
	"testing"
)

// TestMaxFlowIsMinCut: on small random graphs without cycles the flow equals the least capacity of all cuts (Ford and
// Fulkerson 1956), also when an arc's capacity is granted after a first flow.
func TestMaxFlowIsMinCut(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	var g network
	for range 3000 {
		g.reset()
		n := 2 + rng.IntN(8)
		for range n {
			g.node()
		}
		type arc struct {
			from, to, capacity int
		}
		var arcs []arc
		for range rng.IntN(4 * n) {
			from := rng.IntN(n - 1)
			a := arc{from, from + 1 + rng.IntN(n-1-from), rng.IntN(6)}
			arcs = append(arcs, a)
			g.arc(int32(a.from), int32(a.to), int32(a.capacity))
		}
		cut := func() int {
			least := -1
			for set := range 1 << n {
				if set&1 == 0 || set>>(n-1)&1 == 1 {
					continue // the source is on one side, the sink on the other
				}
				c := 0
				for _, a := range arcs {
					if set>>a.from&1 == 1 && set>>a.to&1 == 0 {
						c += a.capacity
					}
				}
				if least < 0 || c < least {
					least = c
				}
			}
			return least
		}
		flow := g.augment(0, int32(n-1))
		if want := cut(); flow != want {
			t.Fatalf("flow %d, least cut %d in %v", flow, want, arcs)
		}
		for i := range arcs {
			if rng.IntN(3) == 0 {
				arcs[i].capacity += 3
				g.grant(int32(2*i), 3)
			}
		}
		flow += g.augment(0, int32(n-1))
		if want := cut(); flow != want {
			t.Fatalf("flow %d after a grant, least cut %d in %v", flow, want, arcs)
		}
	}
}

// TestMaxFlowLongChain: a path of very many nodes is no matter for the stack.
func TestMaxFlowLongChain(t *testing.T) {
	var g network
	source := g.node()
	last := source
	for range 100_000 {
		next := g.node()
		g.arc(last, next, 7)
		last = next
	}
	if flow := g.augment(source, last); flow != 7 {
		t.Errorf("flow %d, want 7", flow)
	}
}
