package slo

import (
	"math/rand/v2"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// one is a finished sequence of a small population: whether it was seen, meets its clauses as an attempt and as a request,
// succeeded, and was superseded. Only what is seen can be known to be superseded.
type one struct {
	seen, met, metTogether, success, superseded bool
	tokens                                      int
	class                                       int
}

func sightings(rng *rand.Rand) []one {
	out := make([]one, rng.IntN(9))
	share, fails, retries := rng.Float64(), rng.Float64()*0.6, rng.Float64()*0.5
	for i := range out {
		x := one{seen: rng.Float64() < share, met: rng.IntN(3) > 0, success: rng.Float64() >= fails, tokens: rng.IntN(50), class: rng.IntN(2)}
		x.superseded = x.seen && rng.Float64() < retries
		x.metTogether = x.met && !(x.seen && rng.IntN(4) == 0)
		out[i] = x
	}
	return out
}

// known is what is known of a population, and its truth.
type known struct {
	Seen
	met                             []int
	missed, metTotal, total         uint64
	less                            uint64
	ofClass                         uint64
	good, goodAttempts, goodOfClass uint64
	goodTokens                      uint64
}

func knowing(all []one) (t known) {
	t.Finished = uint64(len(all))
	for _, x := range all {
		t.total += uint64(x.tokens)
		if !x.success {
			t.Unsuccessful++
		}
		if x.met && x.success {
			t.goodAttempts++
		}
		if x.metTogether && x.success && !x.superseded {
			t.good++
			t.goodTokens += uint64(x.tokens)
			if x.class == 0 {
				t.goodOfClass++
			}
		}
		if !x.seen {
			continue
		}
		if x.met && (x.superseded || !x.metTogether) {
			t.less++
		}
		switch {
		case x.superseded:
			t.Superseded++
			t.missed += uint64(x.tokens)
		case x.metTogether:
			t.Met++
			t.met = append(t.met, x.tokens)
			t.metTotal += uint64(x.tokens)
			if x.class == 0 {
				t.ofClass++
			}
		default:
			t.Missed++
			t.missed += uint64(x.tokens)
		}
	}
	return t
}

// TestQualifiedIsTheTightestInterval: the truth is in it, and over all populations of which the same is known both ends are
// reached.
func TestQualifiedIsTheTightestInterval(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	reached := map[Seen]Interval{}
	for range 400_000 {
		x := knowing(sightings(rng))
		i := x.Qualified()
		if x.good < i.Lower || x.good > i.Upper {
			t.Fatalf("%+v: truth %d outside %+v", x.Seen, x.good, i)
		}
		r, known := reached[x.Seen]
		if !known {
			r = Interval{x.good, x.good}
		}
		reached[x.Seen] = Interval{min(r.Lower, x.good), max(r.Upper, x.good)}
	}
	open := 0
	for s, r := range reached {
		if s.Finished <= 3 && r != s.Qualified() {
			t.Errorf("%+v: %+v, but the truth was within %+v", s, s.Qualified(), r)
		}
		if s.Finished <= 3 && r.Lower < r.Upper {
			open++
		}
	}
	if open < 20 {
		t.Errorf("only %d things to know that leave something open", open)
	}
}

func TestEverySequenceSeenIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		all := sightings(rng)
		same := rng.IntN(2) == 0
		for i := range all {
			all[i].seen, all[i].success = true, same
		}
		x := knowing(all)
		if i := x.Qualified(); i.Lower != x.good || i.Upper != x.good {
			t.Fatalf("%+v: truth %d, %+v", x.Seen, x.good, i)
		}
		if i, ok := x.OutputTokens(x.total, x.missed, x.metTotal, x.met); !ok || i.Lower != x.goodTokens || i.Upper != x.goodTokens {
			t.Fatalf("%+v: true tokens %d, %+v", x.Seen, x.goodTokens, i)
		}
	}
}

func TestTruthLiesInEveryIntervalOfSpans(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 200_000 {
		x := knowing(sightings(rng))
		if i, ok := x.OutputTokens(x.total, x.missed, x.metTotal, x.met); !ok || x.goodTokens < i.Lower || x.goodTokens > i.Upper {
			t.Fatalf("%+v: true tokens %d outside %+v", x, x.goodTokens, i)
		}
		if i := x.OfClass(x.ofClass); x.goodOfClass < i.Lower || x.goodOfClass > i.Upper {
			t.Fatalf("%+v: truth %d outside %+v", x, x.goodOfClass, i)
		}
		attempts := Interval{x.goodAttempts - min(x.goodAttempts, rng.Uint64N(3)), x.goodAttempts + rng.Uint64N(3)}
		if i := x.Regrouped(attempts, x.less); x.good < i.Lower || x.good > i.Upper {
			t.Fatalf("%+v: truth %d outside %+v of %+v", x, x.good, i, attempts)
		}
	}
}

func TestTokensThatContradictThePageAreAnything(t *testing.T) {
	if i, ok := (Seen{Finished: 2, Met: 2}).OutputTokens(10, 0, 11, nil); ok || i != (Interval{0, 10}) {
		t.Errorf("%+v %v", i, ok)
	}
}

func TestIntervalsMeetOrContradict(t *testing.T) {
	for name, c := range map[string]struct {
		a, b, want Interval
		ok         bool
	}{
		"one inside the other":    {Interval{1, 9}, Interval{3, 4}, Interval{3, 4}, true},
		"they overlap":            {Interval{1, 5}, Interval{3, 9}, Interval{3, 5}, true},
		"they touch":              {Interval{1, 3}, Interval{3, 9}, Interval{3, 3}, true},
		"they exclude each other": {Interval{1, 2}, Interval{3, 9}, Interval{3, 2}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got, ok := c.a.And(c.b); got != c.want || ok != c.ok {
				t.Errorf("%+v %v", got, ok)
			}
			if got, ok := c.b.And(c.a); got != c.want || ok != c.ok {
				t.Errorf("the other way round: %+v %v", got, ok)
			}
		})
	}
}

func TestMeetingAClause(t *testing.T) {
	r := fact.Request{TTFT: 0.25, E2E: 2, Queue: 0.1, Prefill: 0.1, Decode: 0.5, OutputTokens: 21}
	single := fact.Request{Decode: 9, OutputTokens: 1}
	for name, c := range map[string]struct {
		clause Clause
		r      fact.Request
		met    bool
	}{
		"at the threshold":                {Clause{fact.TTFT, 0.25}, r, true},
		"over the threshold":              {Clause{fact.TTFT, 0.2499}, r, false},
		"the time of a token":             {Clause{fact.TPOT, 0.025}, r, true},
		"the time of a token, over it":    {Clause{fact.TPOT, 0.0249}, r, false},
		"one token has no time per token": {Clause{fact.TPOT, 0.01}, single, true},
		"prefill and decode together":     {Clause{fact.Inference, 0.59}, r, false},
	} {
		t.Run(name, func(t *testing.T) {
			o := Objective{Clauses: []Clause{c.clause}}
			if ok, _ := o.Meets(c.r); Met(o.Clauses, &c.r) != c.met || ok != c.met || Misses(c.clause, &c.r) == c.met {
				t.Errorf("met %v, want %v", !c.met, c.met)
			}
		})
	}
}
