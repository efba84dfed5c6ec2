package fold

import (
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// twice shows two pages of one process half a minute apart, changed in some way, and ends the window there.
func (s *story) twice(before, after says, change func(*fact.EngineSample)) *story {
	for i, p := range []says{before, after} {
		sample := p.page()
		change(sample)
		at := 100 + 30*float64(i)
		s.round(at, fact.Poll{Target: "a", Sent: at, Received: at + 0.01, Sample: sample})
	}
	return s.end()
}

// What a page's histograms hold is not always what a clause is about: then there is no interval, and a reason.
func TestObjectivesThatAPageCannotAnswer(t *testing.T) {
	embeds := func(s *fact.EngineSample) {
		r := &s.Ranks[0]
		r.OutputTokens = fact.Known(0)
		r.Histograms[fact.OutputTokens].Sum = 0
	}
	split := func(s *fact.EngineSample) { s.Disaggregated = "made up" }
	groups := func(s *fact.EngineSample) {
		s.Traits = fact.Traits{RequestHistograms: true, NoFrontEnd: true}
		r := &s.Ranks[0]
		for i := range r.Finished {
			r.Finished[i].Count *= 2
		}
		for i := range r.Histograms[fact.OutputTokens].Counts {
			r.Histograms[fact.OutputTokens].Counts[i] *= 2
		}
	}
	clause := func(f fact.Family, threshold float64) slo.Objective {
		return slo.Objective{Name: "x", Objective: 0.9, Policy: slo.DefaultPolicy(), Clauses: []slo.Clause{{Metric: f, Threshold: threshold}}}
	}
	for name, c := range map[string]struct {
		objective slo.Objective
		change    func(*fact.EngineSample)
		reason    string // "": it is judged
	}{
		"embeddings have no first token":                        {clause(fact.TTFT, 0.25), embeds, "generates no tokens"},
		"embeddings have no time per output token":              {clause(fact.TPOT, 0.025), embeds, "generates no tokens"},
		"embeddings have a latency":                             {clause(fact.E2E, 0.5), embeds, ""},
		"a first token after another engine's prefill":          {clause(fact.TTFT, 0.25), split, "(made up)"},
		"a joint promise about two engines":                     {objective_("x", 0.25, 0.025), split, "different engines"},
		"the decoding of a prompt that another engine computed": {clause(fact.TPOT, 0.025), split, ""},
		"reasons and histograms that count different things":    {clause(fact.TTFT, 0.25), groups, "n > 1"},
		"a simulator whose numbers mean something else":         {clause(fact.E2E, 0.5), func(s *fact.EngineSample) { s.Traits.Unjudged = "made up" }, "made up"},
		"an engine like any other":                              {objective_("x", 0.25, 0.025), func(*fact.EngineSample) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := tell(t, 90, c.objective).twice(says{born: 50}, says{born: 50, first: 8, finished: 8, http2xx: 8}, c.change)
			w := s.windows[0]
			if judged := w.Evidence != ""; judged != (c.reason == "") || !strings.Contains(w.Reason, c.reason) {
				t.Errorf("evidence %q, reason %q, want %q", w.Evidence, w.Reason, c.reason)
			}
			if c.reason == "" && (w.Lower != 8 || w.Upper != 8) {
				t.Errorf("[%d, %d], all 8 qualify", w.Lower, w.Upper)
			}
			equal(t, "shown beside the objective", s.engine().SLOs[0].Absent, w.Reason)
		})
	}
}

// A page that will never have the front end's counters is not waited for: what finished is told, what else became of
// requests is unknown, and why.
func TestLedgerWithoutAFrontEnd(t *testing.T) {
	bad := objective_("x", 0.25, 0.025)
	bad.Policy.Cancelled = slo.Bad
	v0 := func(s *fact.EngineSample) { s.Traits.NoFrontEnd = true }
	s := tell(t, 90, bad).twice(says{noHTTP: true}, says{first: 9, finished: 8, noHTTP: true}, v0)
	l := s.engine().Ledger
	equal(t, "finished", l.Finished, Span{8, 8, true})
	equal(t, "lost", l.Lost, Span{0, 0, true})
	for what, span := range map[string]Span{"arrived": l.Arrived, "cancelled": l.Cancelled, "failed": l.Failed, "refused": l.RejectedAdmission, "bad requests": l.RejectedClient} {
		equal(t, what+" is known", span.Known, false)
	}
	equal(t, "why", l.Absent, noResponses)
	equal(t, "a promise that cancellations break", s.windows[0].Reason, "cancelled requests count as bad and are unknown: "+noResponses)

	s = tell(t, 90)
	for at, p := range []says{{noHTTP: true}, {first: 1, finished: 1, noHTTP: true}, {first: 9, finished: 8, http2xx: 9}} {
		sample := p.page()
		v0(sample)
		s.round(100+59*float64(at), fact.Poll{Target: "a", Sent: 100 + 59*float64(at), Received: 100 + 59*float64(at), Sample: sample})
	}
	s.end()
	equal(t, "cancelled, where responses came after the first request had finished", s.engine().Ledger.Cancelled, Span{1, 1, true})

	s = tell(t, 90).twice(says{}, says{first: 9, finished: 8, http2xx: 9}, v0)
	equal(t, "cancelled, where the page has responses", s.engine().Ledger.Cancelled, Span{1, 1, true})
}

// An engine that was put to sleep says so: it has not stalled, whatever was in flight.
func TestAsleepIsNotStalled(t *testing.T) {
	for state, want := range map[string]Phase{"": PhaseStalled, "weights_offloaded": PhaseAsleep} {
		s := tell(t, 90)
		for at := 100.0; at <= 300; at += 10 {
			sample := says{born: 50, first: 3, finished: 1, http2xx: 1, running: 2}.page()
			sample.Ranks[0].Sleep = state
			s.round(at, fact.Poll{Target: "a", Sent: at, Received: at, Sample: sample})
		}
		equal(t, "phase in state "+state, s.engine().Phase, want)
	}
}

// of makes a page of several ranks, each with a number of finished sequences; the name says which model.
func of(born float64, finished map[string]uint64) *fact.EngineSample {
	page := says{born: born}.page()
	page.Ranks = nil
	for _, name := range []string{"0", "1"} {
		if n, has := finished[name]; has {
			r := says{born: born, first: n, finished: n, tokens: float64(30 * n)}.page().Ranks[0]
			r.Name = name
			page.Ranks = append(page.Ranks, r)
		}
	}
	return page
}

// A rank that leaves the page and returns goes on counting where it stopped, under one name.
func TestARankThatReturnsGoesOnCounting(t *testing.T) {
	s := tell(t, 90)
	counted := map[string]uint64{}
	since := map[string]float64{}
	at := 100.0
	show := func(finished map[string]uint64) *Snapshot {
		at += 2
		s.round(at, fact.Poll{Target: "a", Sent: at, Received: at, Sample: of(50, finished)})
		for _, r := range s.engine().Ranks {
			if n := total(r.Sequences); n < counted[r.ID] {
				t.Errorf("%s fell from %d to %d", r.ID, counted[r.ID], n)
			} else if counted[r.ID] = n; since[r.ID] != 0 && since[r.ID] != r.Since {
				t.Errorf("%s counts since %v, and since %v before", r.ID, r.Since, since[r.ID])
			}
			since[r.ID] = r.Since
		}
		return s.last
	}
	show(map[string]uint64{"0": 10})
	show(map[string]uint64{"0": 15})
	equal(t, "the only rank", counted["a"], 5)
	show(map[string]uint64{"0": 15, "1": 100})
	show(map[string]uint64{"0": 18, "1": 107})
	equal(t, "the same rank under a name of its own", counted["a/0"], 8)
	equal(t, "the other rank", counted["a/1"], 7)
	show(map[string]uint64{"0": 20})
	show(map[string]uint64{"0": 21})
	equal(t, "ranks shown", len(s.engine().Ranks), 1)
	show(map[string]uint64{"0": 22, "1": 200})
	show(map[string]uint64{"0": 22, "1": 204})
	equal(t, "the other rank, when it is back", counted["a/1"], 11)
	if since["a/1"] <= since["a"] {
		t.Errorf("the second rank counts since %v, the first since %v", since["a/1"], since["a"])
	}
	if _, renamed := counted["a"]; !renamed || len(counted) != 3 {
		t.Errorf("names %v", counted)
	}
}

// Names of replicas have no end, so those that have gone are forgotten one day; the one that returns then is a new one.
func TestRanksAreNotRememberedWithoutEnd(t *testing.T) {
	s := tell(t, 90)
	for i := range 3 * knownRanks {
		page := of(50, map[string]uint64{"0": uint64(i), "1": uint64(i)})
		page.Ranks[1].Name = strings.Repeat("x", 1+i)
		s.round(100+2*float64(i), fact.Poll{Target: "a", Sent: 100 + 2*float64(i), Received: 100 + 2*float64(i), Sample: page})
	}
	equal(t, "remembered", len(s.state.engines["a"].known) <= knownRanks+2, true)
	equal(t, "the oldest counts since", s.engine().Ranks[0].Since, 100)
	equal(t, "the newest is new", s.engine().Ranks[1].Since > 100+4*knownRanks, true)
}

// An upgrade from an engine whose rank has no name to one whose rank has: the series keep their names, and go on.
func TestTheOnlyRankKeepsItsName(t *testing.T) {
	old := func(p says) *fact.EngineSample {
		sample := p.page()
		sample.Dialect, sample.Ranks[0].Name, sample.Traits.NoFrontEnd = "vllm-v0", "", true
		return sample
	}
	s := tell(t, 90)
	s.round(100, fact.Poll{Target: "a", Sent: 100, Received: 100, Sample: old(says{finished: 500, first: 500, noHTTP: true})})
	s.round(110, fact.Poll{Target: "a", Sent: 110, Received: 110, Sample: old(says{finished: 520, first: 525, noHTTP: true, running: 5})})
	for at := 112.0; at < 150; at += 2 {
		s.miss(at, fact.ReasonRefused)
	}
	s.page(150, says{born: 148, finished: 3, first: 3, http2xx: 3}).page(170, says{born: 148, finished: 9, first: 9, http2xx: 9}).end()
	e := s.engine()
	equal(t, "resets", e.Resets, 1)
	equal(t, "name", e.Ranks[0].ID, "a")
	equal(t, "sequences of both versions", total(e.Ranks[0].Sequences), 20+9)
	equal(t, "lost in between", e.Ledger.Lost, Span{5, 5, true})
}
