package fold

import (
	"math"
	"slices"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// says is a page in the few terms that a case needs. Every finished sequence has the same values, but for the counts
// of slow ones.
type says struct {
	born                                 float64 // 0: the page does not say
	first, finished, slowTTFT, slowTPOT  uint64
	errors                               uint64
	http2xx, http4xx, http5xx, admission uint64
	running, waiting, tokens             float64
	requests                             uint64 // 0: as many as sequences
	embeddings                           uint64
	noHTTP                               bool
	model                                string
	ttftEdges                            []float64
	tear                                 bool
}

func (p says) page() *fact.EngineSample {
	r := fact.Rank{Name: "0", Model: p.model, Created: p.born, Running: fact.Known(p.running), Waiting: fact.Known(p.waiting), OutputTokens: fact.Known(p.tokens), Requests: fact.Known(float64(p.finished + p.errors))}
	if r.Model == "" {
		r.Model = "m"
	}
	if p.requests > 0 {
		r.Requests.V = float64(p.requests)
	}
	edges := defaultEdges()
	if p.ttftEdges != nil {
		edges[fact.TTFT] = p.ttftEdges
	}
	n := p.finished + p.errors
	fill := func(f fact.Family, fast, slow uint64, quick, late float64) {
		h := hist.Histogram{Edges: edges[f], Counts: make([]uint64, len(edges[f])+1)}
		for i := range h.Counts {
			if h.Lower(i) < quick && quick <= h.Upper(i) {
				h.Counts[i] += fast
			}
			if h.Lower(i) < late && late <= h.Upper(i) {
				h.Counts[i] += slow
			}
		}
		h.Sum = float64(fast)*quick + float64(slow)*late
		r.Histograms[f] = h
	}
	fill(fact.TTFT, p.first-p.slowTTFT, p.slowTTFT, 0.15, 0.9)
	fill(fact.TPOT, n-p.slowTPOT, p.slowTPOT, 0.02, 0.09)
	for f, v := range map[fact.Family]float64{fact.E2E: 0.35, fact.Queue: 0.05, fact.Prefill: 0.05, fact.Decode: 0.2, fact.Inference: 0.25} {
		fill(f, n, 0, v, 1)
	}
	fill(fact.PromptTokens, n, 0, 40, 1)
	fill(fact.OutputTokens, n, 0, 30, 1)
	if p.tear {
		r.Histograms[fact.Decode].Counts[len(r.Histograms[fact.Decode].Counts)-1]++
	}
	r.Finished = []fact.ReasonCount{{Reason: "error", Count: p.errors}, {Reason: "length"}, {Reason: "stop", Count: p.finished}}
	s := &fact.EngineSample{Dialect: "case", ProcessStart: p.born, Ranks: []fact.Rank{r}, HTTPKnown: !p.noHTTP, Admission: fact.Known(float64(p.admission))}
	if s.HTTPKnown {
		for class, n := range map[string]uint64{"2xx": p.http2xx, "4xx": p.http4xx, "5xx": p.http5xx} {
			s.HTTP = append(s.HTTP, fact.HTTPCount{Handler: "/v1/completions", Method: "POST", Class: class, Count: n})
		}
		s.HTTP = append(s.HTTP, fact.HTTPCount{Handler: "/v1/embeddings", Method: "POST", Class: "2xx", Count: p.embeddings})
	}
	return s
}

// story feeds polls to a state, one a round.
type story struct {
	t       *testing.T
	state   *State
	targets []fact.Target
	last    *Snapshot
	windows []Window
}

func tell(t *testing.T, started float64, objectives ...slo.Objective) *story {
	o := testOptions(started)
	if len(objectives) > 0 {
		o.Objectives = objectives
	}
	return &story{t: t, state: New(o), targets: []fact.Target{{ID: "a"}}}
}

func (s *story) round(at float64, polls ...fact.Poll) *story {
	s.last = s.state.Apply(Round{At: at, Targets: s.targets, Polls: polls})
	s.windows = append(s.windows, s.last.Windows...)
	return s
}

func (s *story) page(at float64, p says) *story {
	return s.round(at, fact.Poll{Target: "a", Sent: at, Received: at + 0.01, Sample: p.page()})
}

func (s *story) miss(at float64, why fact.Reason) *story {
	return s.round(at, fact.Poll{Target: "a", Sent: at, Received: at + 0.01, Reason: why})
}

func (s *story) engine() Engine { return s.last.Engines[0] }

func (s *story) end() *story {
	s.last = s.state.Flush(s.last.At)
	s.windows = append(s.windows, s.last.Windows...)
	return s
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// Demand E1: 100 arrive in 12.5 s, 96 complete, 81 of them meet both clauses, 4 fail. The 15 late ones stay completed,
// the 4 stay in the denominator.
func TestE1FailuresStayInTheDenominatorAndLateOnesStayCompleted(t *testing.T) {
	s := tell(t, 90, objective_("e1", 0.5, 0.025))
	s.page(100, says{born: 50})
	// All slow ones are slow in both, so the joint is exact.
	s.page(112.5, says{born: 50, first: 96, finished: 96, slowTTFT: 15, slowTPOT: 15, http2xx: 96, http5xx: 4}).end()
	w := s.windows[0]
	equal(t, "arrived", w.Arrived.Lower, 100)
	equal(t, "finished", w.Finished.Lower, 96)
	equal(t, "failed", w.Failed.Lower, 4)
	equal(t, "denominator", w.Requests, 100)
	if w.Lower > 81 || w.Upper < 81 {
		t.Errorf("81 outside [%d, %d]", w.Lower, w.Upper)
	}
	equal(t, "throughput per second", float64(w.Finished.Lower)/(w.End-w.Start), 7.68)
	equal(t, "goodput per second, upper", float64(w.Upper)/(w.End-w.Start), 6.48)
}

// Demand E5: 120 a second arrive, 100 a second complete: after 30 s 600 wait, and the ledger says so.
func TestE5WhatArrivesAndDoesNotDepartIsInFlight(t *testing.T) {
	s := tell(t, 90)
	for i := uint64(0); i <= 30; i++ {
		s.page(100+float64(i), says{born: 50, first: 100 * i, finished: 100 * i, http2xx: 100 * i, waiting: 20 * float64(i)})
	}
	s.end()
	equal(t, "arrived", s.windows[0].Arrived.Lower, 3600)
	equal(t, "finished", s.windows[0].Finished.Lower, 3000)
	equal(t, "waiting", s.engine().Ranks[0].Waiting.V, 600)
}

// Demand E9: by requests B wins 2:1, by tokens A wins 50,000:20,000; both are counted, under different names.
func TestE9RequestsAndTokensAreBothCounted(t *testing.T) {
	per := func(requests uint64, tokens float64) Rank {
		s := tell(t, 90).page(100, says{born: 50}).page(101, says{born: 50, first: requests, finished: requests, http2xx: requests, tokens: float64(requests) * tokens})
		return s.engine().Ranks[0]
	}
	a, b := per(100, 500), per(200, 100)
	equal(t, "requests", total(b.Sequences)/total(a.Sequences), 2)
	equal(t, "tokens of a", a.OutputTokens.V, 50000)
	equal(t, "tokens of b", b.OutputTokens.V, 20000)
}

// Demand E11: from a subset that passes TTFT and one that passes TPOT the overlap is not known.
func TestE11OverlapOfTwoMarginalsIsAnInterval(t *testing.T) {
	s := tell(t, 90, objective_("e11", 0.5, 0.025)).page(100, says{born: 50})
	s.page(130, says{born: 50, first: 100, finished: 100, slowTTFT: 30, slowTPOT: 20, http2xx: 100}).end()
	w := s.windows[0]
	equal(t, "lower", w.Lower, 50)
	equal(t, "upper", w.Upper, 70)
}

func TestProcesses(t *testing.T) {
	t.Run("GDP-11: first sight of an old engine is a baseline: no spike, and nothing until a second page", func(t *testing.T) {
		s := tell(t, 1000).page(1001, says{born: 50, first: 1e6, finished: 1e6, http2xx: 1e6})
		e := s.engine()
		equal(t, "phase", e.Phase, PhaseWarming)
		equal(t, "sequences listed", len(e.Ranks[0].Sequences), 0)
		equal(t, "ledger committed", e.Ledger.Committed, false)
		s.page(1003, says{born: 50, first: 1e6 + 5, finished: 1e6 + 5, http2xx: 1e6 + 5})
		equal(t, "sequences", total(s.engine().Ranks[0].Sequences), 5)
	})
	t.Run("a young engine is counted since its birth", func(t *testing.T) {
		s := tell(t, 1000).page(1030, says{born: 1010, first: 8, finished: 7, http2xx: 7, running: 1}).end()
		equal(t, "sequences", s.windows[0].Sequences, 7)
		equal(t, "arrived", s.windows[0].Arrived.Lower, 8)
		equal(t, "start", s.windows[0].Start, 1010)
	})
	t.Run("a restart loses what was in flight and counts the new process since its birth", func(t *testing.T) {
		s := tell(t, 90).page(100, says{born: 50}).page(110, says{born: 50, first: 12, finished: 10, http2xx: 10, running: 2, waiting: 1})
		s.page(130, says{born: 120, first: 20, finished: 20, http2xx: 20}).end()
		equal(t, "windows", len(s.windows), 6)
		equal(t, "lost", s.windows[0].Lost, Span{3, 3, true})
		equal(t, "arrived before", s.windows[0].Arrived.Lower, 13)
		equal(t, "lost stays in the denominator", s.windows[0].Requests, 13)
		equal(t, "end of the old window", s.windows[0].End, 110)
		equal(t, "start of the new window", s.windows[3].Start, 120)
		equal(t, "finished after", s.windows[3].Finished.Lower, 20)
		equal(t, "resets", s.engine().Resets, 1)
		equal(t, "counters run on", total(s.engine().Ranks[0].Sequences), 30)
	})
	t.Run("without a start time a fall after refused connections is a restart, counted since its birth", func(t *testing.T) {
		s := tell(t, 90).page(100, says{first: 5, finished: 5, http2xx: 5}).page(102, says{first: 9, finished: 9, http2xx: 9})
		s.miss(104, fact.ReasonRefused).page(106, says{first: 2, finished: 2, http2xx: 2})
		equal(t, "resets", s.engine().Resets, 1)
		equal(t, "sequences", total(s.engine().Ranks[0].Sequences), 4+2)
	})
	t.Run("without a start time a fall after a while unseen is a restart", func(t *testing.T) {
		s := tell(t, 90).page(100, says{first: 5, finished: 5, http2xx: 5}).page(110, says{first: 2, finished: 2, http2xx: 2})
		equal(t, "resets", s.engine().Resets, 1)
		equal(t, "sequences", total(s.engine().Ranks[0].Sequences), 2)
	})
	t.Run("without a start time a stale page is passed over, and its history is not counted anew", func(t *testing.T) {
		s := tell(t, 90, objective_("all", 10, 10)).page(100, says{first: 500, finished: 500, http2xx: 500}).page(102, says{first: 509, finished: 509, http2xx: 509})
		s.page(104, says{first: 505, finished: 505, http2xx: 505}).page(106, says{first: 511, finished: 511, http2xx: 511}).end()
		equal(t, "resets", s.engine().Resets, 0)
		equal(t, "refused pages", s.engine().Failures[0], Tally{string(fact.ReasonFell), 1})
		equal(t, "sequences", s.windows[0].Sequences, 11)
		equal(t, "arrived", s.windows[0].Arrived.Lower, 11)
	})
	t.Run("without a start time a fall that stays is a new zero point: nobody knows what of it is new", func(t *testing.T) {
		s := tell(t, 90).page(100, says{first: 500, finished: 500, http2xx: 500}).page(102, says{first: 509, finished: 509, http2xx: 509})
		for i := range 4 {
			n := 300 + uint64(i)
			s.page(104+2*float64(i), says{first: n, finished: n, http2xx: n})
		}
		equal(t, "resets", s.engine().Resets, 1)
		equal(t, "sequences", total(s.engine().Ranks[0].Sequences), 9+1)
	})
	t.Run("two processes that take turns behind one address are not restarts: one of them is followed", func(t *testing.T) {
		s := tell(t, 90)
		for i := range 20 {
			n := 500 + 2*uint64(i)
			if i%2 == 1 {
				n = 100 + 3*uint64(i)
			}
			s.page(100+2*float64(i), says{first: n, finished: n, http2xx: n})
		}
		equal(t, "resets", s.engine().Resets, 0)
		equal(t, "sequences", total(s.engine().Ranks[0].Sequences), 36)
	})
	t.Run("a start time that changed is a restart even where counters have overtaken their old values", func(t *testing.T) {
		s := tell(t, 90).page(100, says{born: 50, first: 5, finished: 5, http2xx: 5}).page(160, says{born: 110, first: 50, finished: 50, http2xx: 50})
		equal(t, "resets", s.engine().Resets, 1)
		equal(t, "sequences", total(s.engine().Ranks[0].Sequences), 50)
	})
	t.Run("a counter that falls under the same start time refuses the page, twice, and is then believed", func(t *testing.T) {
		s := tell(t, 90).page(100, says{born: 50, first: 5, finished: 5, http2xx: 5})
		s.page(102, says{born: 50, first: 1, finished: 1, http2xx: 5})
		equal(t, "up", s.engine().Up, false)
		equal(t, "reason", s.engine().Failures[0], Tally{"fell", 1})
		s.page(104, says{born: 50, first: 7, finished: 7, http2xx: 7})
		equal(t, "resets after a stale page", s.engine().Resets, 0)
		for at := 106.0; at < 112; at += 2 {
			s.page(at, says{born: 50, first: 1, finished: 1, http2xx: 7})
		}
		equal(t, "resets", s.engine().Resets, 1)
		equal(t, "sequences: no history is counted anew", total(s.engine().Ranks[0].Sequences), 2)
	})
	t.Run("an address that leads to two old processes in turn counts nothing twice", func(t *testing.T) {
		s := tell(t, 90)
		for i := range 10 {
			n := uint64(1000 + i)
			s.page(100+2*float64(i), says{born: 50 + 10*float64(i%2), first: n, finished: n, http2xx: n})
		}
		if n := total(s.engine().Ranks[0].Sequences); n > 10 {
			t.Errorf("%d sequences", n)
		}
	})
	t.Run("one failed poll hides no gauge; a page too old to be true now does", func(t *testing.T) {
		s := tell(t, 90).page(100, says{born: 50}).miss(102, fact.ReasonTimeout)
		equal(t, "fresh after one", s.engine().Ranks[0].Fresh, true)
		equal(t, "fresh after ten seconds", s.miss(111, fact.ReasonTimeout).engine().Ranks[0].Fresh, false)
	})
	t.Run("refused connections for ten seconds make what was in flight lost", func(t *testing.T) {
		s := tell(t, 90).page(100, says{born: 50}).page(102, says{born: 50, first: 4, finished: 1, http2xx: 1, running: 3})
		for at := 104.0; at < 113; at += 2 {
			s.miss(at, fact.ReasonRefused)
		}
		equal(t, "committed early", s.engine().Ledger.Committed, false)
		s.miss(114, fact.ReasonRefused)
		equal(t, "lost", s.engine().Ledger.Lost, Span{3, 3, true})
		equal(t, "phase", s.engine().Phase, PhaseDown)
	})
	t.Run("a target that vanishes leaves no gauge behind, its counters for one more window, then nothing", func(t *testing.T) {
		s := tell(t, 90).page(100, says{born: 50}).page(102, says{born: 50, first: 4, finished: 4, http2xx: 4})
		s.targets = nil
		s.round(104)
		equal(t, "engines", len(s.last.Engines), 1)
		equal(t, "fresh", s.engine().Ranks[0].Fresh, false)
		equal(t, "finished", s.engine().Ledger.Finished.Lower, 4)
		s.round(165)
		equal(t, "engines later", len(s.last.Engines), 0)
	})
	t.Run("GDP-13: an engine with work in flight and nothing moving is stalled, whatever its page is answered with", func(t *testing.T) {
		s := tell(t, 90)
		for at := 100.0; at < 220; at += 10 {
			s.page(at, says{born: 50, first: 24, running: 24, tokens: 100})
		}
		equal(t, "phase", s.engine().Phase, PhaseStalled)
	})
	t.Run("other ranks on the page start over without a loss", func(t *testing.T) {
		s := tell(t, 90).page(100, says{born: 50}).page(102, says{born: 50, first: 4, finished: 1, http2xx: 1, running: 3})
		s.page(104, says{born: 50, model: "n", first: 9, finished: 9, http2xx: 9}).page(106, says{born: 50, model: "n", first: 10, finished: 10, http2xx: 10}).end()
		equal(t, "lost", s.engine().Ledger.Lost, Span{0, 0, true})
		equal(t, "model", s.engine().Model, "n")
		equal(t, "sequences of the new model", total(s.engine().Ranks[0].Sequences), 1)
	})
}

// GDP-01: clients gave up on everything: tokens were made, nothing finished.
func TestGDP01WorkThrownAwayIsNoGoodput(t *testing.T) {
	s := tell(t, 90, objective_("x", 0.25, 0.025)).page(100, says{born: 50}).page(110, says{born: 50, first: 5, running: 5, tokens: 20})
	s.page(120, says{born: 50, first: 5, http2xx: 5, tokens: 40}).end()
	w := s.windows[0]
	equal(t, "requests", w.Requests, 0)
	equal(t, "upper", w.Upper, 0)
	equal(t, "cancelled", w.Cancelled.Lower, 5)
	equal(t, "tokens made", s.engine().Ranks[0].OutputTokens.V, 40)
	equal(t, "tokens of finished sequences", s.engine().Ranks[0].DoneOutput.V, 0)
}

// GDP-03: 80 first tokens, 40 finished: no ratio of the two populations is formed.
func TestGDP03OnePopulation(t *testing.T) {
	s := tell(t, 90, objective_("x", 0.25, 0.025)).page(100, says{born: 50}).page(110, says{born: 50, first: 80, finished: 40, http2xx: 40, running: 40}).end()
	equal(t, "requests", s.windows[0].Requests, 40)
	equal(t, "upper", s.windows[0].Upper, 40)
}

// GDP-07: engines are differenced one by one before anything is added.
func TestGDP07AReplicaThatLeavesIsNoNegativeRate(t *testing.T) {
	s := tell(t, 90)
	s.targets = []fact.Target{{ID: "a"}, {ID: "b"}}
	poll := func(id string, at float64, n uint64) fact.Poll {
		return fact.Poll{Target: id, Sent: at, Received: at, Sample: says{born: 50, first: n, finished: n, http2xx: n}.page()}
	}
	s.round(100, poll("a", 100, 100), poll("b", 100, 400))
	s.targets = s.targets[:1]
	s.round(110, poll("a", 110, 150)).end()
	sum := uint64(0)
	for _, e := range s.last.Engines {
		sum += e.Ledger.Finished.Lower
	}
	equal(t, "finished", sum, 50)
}

// Demand E3: A has eleven tokens and ten gaps of 40 ms, B two tokens and one gap of 500 ms. Percentiles of gaps and of
// requests are different numbers of different populations, under different names.
func TestE3GapsAndRequestsAreTwoPopulations(t *testing.T) {
	edges := []float64{.01, .025, .04, .05, .1, .5, 1}
	filled := func(values ...float64) hist.Histogram {
		h := hist.Histogram{Edges: edges, Counts: make([]uint64, len(edges)+1)}
		for _, v := range values {
			h.Counts[slices.IndexFunc(edges, func(e float64) bool { return v <= e })]++
			h.Sum += v
		}
		return h
	}
	after := says{born: 50, first: 2, finished: 2, http2xx: 2}.page()
	before := says{born: 50}.page()
	before.Ranks[0].Histograms[fact.TokenGap], before.Ranks[0].Histograms[fact.TPOT] = filled(), filled()
	after.Ranks[0].Histograms[fact.TokenGap] = filled(.04, .04, .04, .04, .04, .04, .04, .04, .04, .04, .5)
	after.Ranks[0].Histograms[fact.TPOT] = filled(.04, .5)
	s := tell(t, 90)
	s.round(100, fact.Poll{Target: "a", Sent: 100, Received: 100, Sample: before})
	s.round(102, fact.Poll{Target: "a", Sent: 102, Received: 102, Sample: after})
	for _, c := range []struct {
		of           fact.Family
		q            float64
		lower, upper float64
		count        uint64
	}{
		{fact.TokenGap, 0.9, .025, .04, 11}, {fact.TokenGap, 0.99, .1, .5, 11},
		{fact.TPOT, 0.5, .025, .04, 2}, {fact.TPOT, 0.9, .1, .5, 2}, // half of the requests stalled above 400 ms
	} {
		at := slices.IndexFunc(s.engine().Ranks[0].Quantiles, func(q Quantile) bool { return q.Metric == c.of && q.Q == c.q })
		q := s.engine().Ranks[0].Quantiles[at]
		if q.Lower != c.lower || q.Upper != c.upper || q.Count != c.count {
			t.Errorf("%s q%v: (%v, %v] of %d", c.of, c.q, q.Lower, q.Upper, q.Count)
		}
	}
	gaps := s.engine().Ranks[0].Histograms[fact.TokenGap]
	if mean := gaps.Sum / 11; math.Abs(mean-0.0818) > 0.0001 {
		t.Errorf("mean gap %v", mean)
	}
}

// MRG-01: data-parallel ranks add up where they count, and stay apart where they are ratios.
func TestMRG01RanksAddUpOnlyAsCounts(t *testing.T) {
	two := func(finished uint64) *fact.EngineSample {
		s := says{born: 50, first: finished, finished: finished, http2xx: 2 * finished, running: 3}.page()
		other := says{born: 50, first: finished, finished: finished, running: 9}.page().Ranks[0]
		other.Name = "1"
		s.Ranks[0].KVUsage, other.KVUsage = fact.Known(0.2), fact.Known(0.9)
		s.Ranks = append(s.Ranks, other)
		return s
	}
	s := tell(t, 90)
	s.round(100, fact.Poll{Target: "a", Sent: 100, Received: 100, Sample: two(0)})
	s.round(110, fact.Poll{Target: "a", Sent: 110, Received: 110, Sample: two(5)}).end()
	ranks := s.engine().Ranks
	equal(t, "ranks", ranks[0].ID+" "+ranks[1].ID, "a/0 a/1")
	equal(t, "running", ranks[0].Running.V+ranks[1].Running.V, 12)
	equal(t, "usage of the hottest", ranks[1].KVUsage.V, 0.9)
	equal(t, "finished at the endpoint", s.windows[0].Finished.Lower, 10)
	equal(t, "sequences judged at the endpoint", s.windows[0].Sequences, 10)
}
