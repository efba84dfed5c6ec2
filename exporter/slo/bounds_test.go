package slo

import (
	"math"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
)

// interval is what one method claims.
type interval struct{ lower, upper uint64 }

func (i interval) holds(truth uint64) bool { return i.lower <= truth && truth <= i.upper }

// methods runs each method on its own. explained is false when the network cannot explain every finisher in one of
// the worlds.
func methods(j *Judge, w Window, clauses []Clause) (pairs, explain interval, explained bool) {
	j.judge(w, clauses)
	j.see(strict, clauses)
	pairs.lower = j.pairs()
	flow, whole, _ := j.explain()
	explain.lower, explained = j.n-flow, whole
	j.see(lenient, clauses)
	pairs.upper = j.pairs()
	flow, whole, _ = j.explain()
	explain.upper = j.view.passed + flow - j.n
	return pairs, explain, explained && whole
}

// sameSlice is the bound that looks right and is not: clauses that are counted in one slice, taken for one population.
func sameSlice(w Window, clauses []Clause) (b interval) {
	for i := range w.own() {
		s := &w.own()[i]
		_, timely := strict.at(s.Histograms[fact.TTFT], ttftOf(clauses))
		late := s.FirstTokens - timely
		passed := strict.passing(s, clauses)
		b.lower += passed - min(passed, late)
		_, timely = lenient.at(s.Histograms[fact.TTFT], ttftOf(clauses))
		b.upper += min(timely, lenient.passing(s, clauses))
	}
	return b
}

func ttftOf(clauses []Clause) float64 {
	for _, c := range clauses {
		if c.Metric == fact.TTFT {
			return c.Threshold
		}
	}
	return 0
}

// TestBoundsHoldTheTruthOfEveryPopulation: lower <= truth <= upper on made-up engines whose every sequence is known,
// for the published interval and for each method alone, and the network never finds such pages contradictory.
func TestBoundsHoldTheTruthOfEveryPopulation(t *testing.T) {
	var j Judge
	seen := map[Method]int{}
	naive, joined, lookBack := 0, 0, 0
	for seed := range uint64(1500) {
		p := populate(seed)
		looks := p.polls()
		first := p.rng.IntN(len(looks) - 2)
		last := min(len(looks), first+2+p.rng.IntN(60))
		w, finished := p.window(looks[:last], first)
		for range 2 {
			clauses := p.objective()
			good, unsuccessful := qualified(finished, clauses)
			b := j.Window(w, clauses, unsuccessful)
			seen[b.Method]++
			if b.Lower > good || good > b.Upper || b.Upper > uint64(len(finished)) {
				t.Errorf("seed %d, %v: %d <= %d <= %d of %d, by %q %s", seed, clauses, b.Lower, good, b.Upper, len(finished), b.Method, b.Note)
			}
			if b.Method != MethodExplain || len(finished) == 0 {
				if b.Method == MethodMarginal || b.Method == MethodPairs {
					t.Errorf("seed %d, %v: method %s: %s", seed, clauses, b.Method, b.Note)
				}
				continue
			}
			met, _ := qualified(succeed(finished), clauses)
			pairs, explain, explained := methods(&j, w, clauses)
			if !pairs.holds(met) || !explain.holds(met) || !explained {
				t.Errorf("seed %d, %v: %d met them, pairs %v, explain %v, explained %t", seed, clauses, met, pairs, explain, explained)
			}
			if explain.lower < pairs.lower || explain.upper > pairs.upper {
				t.Errorf("seed %d, %v: explain %v is not within pairs %v", seed, clauses, explain, pairs)
			}
			if !sameSlice(w, clauses).holds(met) {
				naive++
			}
			if j.past.start < w.First {
				lookBack++
			}
			if len(j.view.sources) < len(w.Slices)-j.past.start {
				joined++
			}
		}
	}
	t.Logf("methods %v, %d with a look-back, %d with a joined one; the same-slice bound was wrong %d times", seen, lookBack, joined, naive)
	if naive < 50 {
		t.Errorf("the same-slice bound was wrong only %d times: the populations cannot tell a wrong bound from a right one", naive)
	}
	if seen[MethodExplain] < 2000 || seen[MethodFinish] < 100 || seen[""] < 100 || joined < 5 || lookBack < 500 {
		t.Error("the populations leave a case out")
	}
}

// succeed is the finishers as if none but the aborted had failed.
func succeed(finished []*sequence) []*sequence {
	out := make([]*sequence, len(finished))
	for i, s := range finished {
		x := *s
		x.failed = x.aborted
		out[i] = &x
	}
	return out
}

// TestViolationsHoldTheTruth: the marginal count over one threshold is bounded, and exact on an edge.
func TestViolationsHoldTheTruth(t *testing.T) {
	exact, loose := 0, 0
	for seed := range uint64(300) {
		p := populate(seed)
		looks := p.polls()
		first := p.rng.IntN(len(looks) - 2)
		w, finished := p.window(looks, first)
		for _, c := range p.objective() {
			var truth uint64
			if c.Metric == fact.TTFT {
				for i := range p.sequences {
					s := &p.sequences[i]
					if s.first > looks[first].at && s.first <= looks[len(looks)-1].at && s.TTFT > c.Threshold {
						truth++
					}
				}
			} else {
				for _, s := range finished {
					if v, _ := value(s.Request, c.Metric); v > c.Threshold {
						truth++
					}
				}
			}
			lower, upper := Violations(w, c)
			if w.lacks(c.Metric) == "" && (lower > truth || truth > upper) {
				t.Errorf("seed %d, %v: %d <= %d <= %d", seed, c, lower, truth, upper)
			}
			if lower == upper {
				exact++
			} else {
				loose++
			}
		}
	}
	if exact < 100 || loose < 50 {
		t.Errorf("%d exact, %d loose: one of the two is hardly tested", exact, loose)
	}
}

// TestWindowSurvivesNonsense: pages that no engine writes yield an interval within the finishers, and no panic.
func TestWindowSurvivesNonsense(t *testing.T) {
	var j Judge
	notes := map[string]int{}
	for seed := range uint64(600) {
		p := populate(seed)
		looks := p.polls()
		w, _ := p.window(looks, p.rng.IntN(len(looks)-2))
		for range 1 + p.rng.IntN(4) {
			s := &w.Slices[p.rng.IntN(len(w.Slices))]
			h := &s.Histograms[p.rng.IntN(int(fact.Inference)+1)]
			huge := p.rng.Uint64() >> p.rng.IntN(60)
			switch p.rng.IntN(9) {
			case 0:
				s.Finished += huge % 100
			case 1:
				s.FirstTokens = huge
			case 2:
				h.Sum = []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1e9, 1e300}[p.rng.IntN(5)]
			case 3:
				*h = hist.Histogram{}
			case 4:
				s.Lo, s.Hi = s.Hi, s.Lo
			case 5:
				s.Running = fact.Known([]float64{math.NaN(), -5, 1e300, math.Inf(1)}[p.rng.IntN(4)])
			case 6:
				s.Aborted = huge
			case 7:
				w.Old = huge
			case 8: // all of a family, so that the page is not torn
				s.FirstTokens = 0
				s.Histograms[fact.TTFT] = tally(coarse, nil)
			}
		}
		b := j.Window(w, p.objective(), uint64(p.rng.IntN(20)))
		notes[b.Note]++
		if b.Lower > b.Upper || b.Upper > j.n {
			t.Errorf("seed %d: %+v of %d", seed, b, j.n)
		}
		if b.Method != MethodExplain && b.Method != MethodFinish && b.Note == "" {
			t.Errorf("seed %d: %+v says no reason", seed, b)
		}
	}
	if notes[NoteTorn] < 30 || notes[NoteContradiction] < 30 {
		t.Errorf("the nonsense is too mild: %v", notes)
	}
}
