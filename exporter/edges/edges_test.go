package edges

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// vllmEdges are those of vLLM since 0.8.4.
func vllmEdges() (grids [fact.NumFamilies][]float64) {
	grids[fact.TTFT] = []float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}
	for _, f := range []fact.Family{fact.TPOT, fact.TokenGap} {
		grids[f] = []float64{0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	}
	for _, f := range []fact.Family{fact.E2E, fact.Queue, fact.Prefill, fact.Decode, fact.Inference} {
		grids[f] = []float64{0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
	}
	return grids
}

func promise(clauses ...slo.Clause) slo.Objective { return slo.Objective{Clauses: clauses} }

func at(f fact.Family, seconds float64) slo.Clause {
	return slo.Clause{Metric: f, Threshold: seconds}
}

func listed(t *testing.T, lists []List, name string) []float64 {
	t.Helper()
	for _, l := range lists {
		if l.Name == name {
			return l.Edges
		}
	}
	t.Fatalf("no list %s in %v", name, lists)
	return nil
}

// widestNear is the largest factor between neighbouring edges from half a threshold to twice it: a third of a doubling is
// promised, 1.26, and a little for rounding.
func widestNear(edges []float64, threshold float64) float64 {
	widest := 0.0
	for i := 1; i < len(edges); i++ {
		if edges[i] > threshold/2*(1+1e-9) && edges[i-1] < threshold*2*(1-1e-9) {
			widest = max(widest, edges[i]/edges[i-1])
		}
	}
	return widest
}

func TestLists(t *testing.T) {
	for name, c := range map[string]struct {
		objectives []slo.Objective
		want       []string // lists
		near       map[string][]float64
		most       int // edges in all
	}{
		"no objective changes nothing": {nil, nil, nil, 0},
		"a promise on the time per output token leaves the other lists alone": {
			[]slo.Objective{promise(at(fact.TPOT, 0.02))}, []string{"inter_token_latency"}, map[string][]float64{"inter_token_latency": {0.02}}, 40,
		},
		"a first token is judged by queue and prefill too": {
			[]slo.Objective{promise(at(fact.TTFT, 0.2))}, []string{"request_latency", "time_to_first_token"},
			map[string][]float64{"request_latency": {0.2}, "time_to_first_token": {0.2}}, 72,
		},
		"several promises share the lists": {
			[]slo.Objective{promise(at(fact.TTFT, 0.2), at(fact.TPOT, 0.02)), promise(at(fact.E2E, 70), at(fact.TTFT, 3))},
			[]string{"inter_token_latency", "request_latency", "time_to_first_token"},
			map[string][]float64{"inter_token_latency": {0.02}, "time_to_first_token": {0.2, 3}}, 112,
		},
		"a threshold that is an edge already gets finer neighbours": {
			[]slo.Objective{promise(at(fact.TTFT, 0.25))}, []string{"request_latency", "time_to_first_token"},
			map[string][]float64{"time_to_first_token": {0.25}}, 72,
		},
		"the longest threshold that a configuration can have": {
			[]slo.Objective{promise(at(fact.E2E, 86400))}, []string{"request_latency"}, nil, 32,
		},
		"the shortest": {[]slo.Objective{promise(at(fact.TPOT, 0.001))}, []string{"inter_token_latency"}, nil, 40},
	} {
		t.Run(name, func(t *testing.T) {
			lists := For(c.objectives, vllmEdges())
			var names []string
			edges := 0
			for _, l := range lists {
				names = append(names, l.Name)
				edges += len(l.Edges)
			}
			if !slices.Equal(names, c.want) || edges > c.most {
				t.Errorf("lists %v with %d edges, want %v with at most %d", names, edges, c.want, c.most)
			}
			for list, thresholds := range c.near {
				for _, a := range thresholds {
					if w := widestNear(listed(t, lists, list), a); w > 1.29 {
						t.Errorf("%s: edges around %v are a factor of %v apart: %v", list, a, w, listed(t, lists, list))
					}
				}
			}
			for _, o := range c.objectives {
				if refused := slo.Refusals(o.Clauses, Known(lists, vllmEdges())); len(refused) > 0 {
					t.Errorf("refused: %v", refused)
				}
			}
		})
	}
}

// TestListsKeepTheGrid: engines with the lists and engines with vLLM's own edges must add up exactly, unless the grid is
// more than a list may hold.
func TestListsKeepTheGrid(t *testing.T) {
	grids := vllmEdges()
	lists := For([]slo.Objective{promise(at(fact.TTFT, 0.2), at(fact.TPOT, 0.02), at(fact.E2E, 7))}, grids)
	for f, name := range map[fact.Family]string{fact.TTFT: "time_to_first_token", fact.TPOT: "inter_token_latency", fact.E2E: "request_latency"} {
		for _, e := range grids[f] {
			if !slices.Contains(listed(t, lists, name), e) {
				t.Errorf("%s: %v is not in %v", name, e, listed(t, lists, name))
			}
		}
	}
}

// TestAnyPromisesAreAnswerable draws configurations at random: whatever the thresholds, each is an edge, the lists are
// what vLLM takes, they are bounded, and they do not depend on the order of the objectives.
func TestAnyPromisesAreAnswerable(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	metrics := []fact.Family{fact.TTFT, fact.TPOT, fact.E2E, fact.Queue, fact.Prefill, fact.Decode, fact.Inference}
	for range 300 {
		var objectives []slo.Objective
		clauses := 0
		for range 1 + dice.IntN(40) {
			var o slo.Objective
			for _, m := range metrics {
				if dice.IntN(3) == 0 {
					// Whole milliseconds from 1 ms to a day, evenly in the logarithm.
					ms := math.Round(math.Exp(dice.Float64() * math.Log(86400e3)))
					o.Clauses = append(o.Clauses, at(m, ms/1000))
					clauses++
				}
			}
			objectives = append(objectives, o)
		}
		grids := vllmEdges()
		if dice.IntN(4) == 0 {
			grids[fact.TTFT] = nil
			for range 100 {
				grids[fact.TTFT] = append(grids[fact.TTFT], dice.Float64()*10)
			}
			slices.Sort(grids[fact.TTFT])
		}
		lists := For(objectives, grids)
		for _, o := range objectives {
			if refused := slo.Refusals(o.Clauses, Known(lists, grids)); len(refused) > 0 {
				t.Fatalf("%v are refused by %v", refused, lists)
			}
		}
		for _, l := range lists {
			if len(l.Edges) > max(40, clauses) {
				t.Fatalf("%s has %d edges", l.Name, len(l.Edges))
			}
			previous := 0.0
			for _, e := range l.Edges {
				if !(e > previous) || math.IsInf(e, 1) {
					t.Fatalf("%s: %v follows %v in %v", l.Name, e, previous, l.Edges)
				}
				previous = e
			}
		}
		slices.Reverse(objectives)
		if JSON(For(objectives, grids)) != JSON(lists) {
			t.Fatal("the order of the objectives changes the edges")
		}
	}
}
