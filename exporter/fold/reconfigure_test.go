package fold

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// reconfigured follows one world with two states: one is left alone, the other is told other options now and then.
type reconfigured struct {
	alone, told []*Snapshot
}

// windowsOf are the committed windows of an objective.
func windowsOf(all []*Snapshot, name string) (out []Window) {
	for _, s := range all {
		for _, w := range s.Windows {
			if w.SLO == name {
				out = append(out, w)
			}
		}
	}
	return out
}

func follow(seed uint64, length float64, change func(round int, told *State)) reconfigured {
	w := newWorld(seed, length)
	rng := rand.New(rand.NewPCG(seed, 5))
	alone, told := New(testOptions(epoch)), New(testOptions(epoch))
	var out reconfigured
	targets := []fact.Target{{ID: "a"}}
	round := 0
	for t := 1.0; t < length; t += 2 {
		change(round, told)
		round++
		p := fact.Poll{Target: "a", Sent: epoch + t, Received: epoch + t + 0.02, Sample: w.page(t)}
		if p.Sample == nil || rng.IntN(40) == 0 {
			p.Sample, p.Reason = nil, fact.ReasonTimeout
		}
		r := Round{At: epoch + t + 0.03, Targets: targets, Polls: []fact.Poll{p}}
		out.alone, out.told = append(out.alone, alone.Apply(r)), append(out.told, told.Apply(r))
	}
	at := epoch + length
	out.alone, out.told = append(out.alone, alone.Flush(at)), append(out.told, told.Flush(at))
	return out
}

func last(all []*Snapshot) *Engine { return &all[len(all)-1].Engines[0] }

func sloNamed(e *Engine, name string) *SLO {
	for i := range e.SLOs {
		if e.SLOs[i].Objective.Name == name {
			return &e.SLOs[i]
		}
	}
	return nil
}

// TestReconfiguringLeavesAloneWhatItDoesNotChange: whatever else is changed and however often, an objective that stays has
// the same windows, and it, the ledger and the sequences have the same counts.
func TestReconfiguringLeavesAloneWhatItDoesNotChange(t *testing.T) {
	compared, complete := 0, 0
	for seed := range uint64(48) {
		rng := rand.New(rand.NewPCG(seed, 6))
		follow, spans := follow, seed%2 == 1
		if spans {
			follow = followSpans
		}
		r := follow(seed, 400, func(round int, s *State) {
			if rng.IntN(15) > 0 {
				return
			}
			o := testOptions(0)
			o.Spans, o.Grace = spans, 10
			o.Objectives = []slo.Objective{objective_("tight", 0.25, 0.025), objective_(fmt.Sprint("new", rng.IntN(3)), 0.5, 0.05)}
			o.Objectives[0].Objective, o.Objectives[0].Match.Engine = 0.5+0.4*rng.Float64(), regexp.MustCompile("^(?:a|b)$")
			o.Quantiles = o.Quantiles[:1+rng.IntN(3)]
			o.QuantileWindows = [][]float64{{300, 3600}, {60, 300}, {3600}}[rng.IntN(3)]
			o.Grids[fact.TTFT] = append([]float64{0.0005}, o.Grids[fact.TTFT][rng.IntN(3):]...)
			rng.Shuffle(2, func(i, k int) { o.Objectives[i], o.Objectives[k] = o.Objectives[k], o.Objectives[i] })
			s.Reconfigure(o)
		})
		a, b := windowsOf(r.alone, "tight"), windowsOf(r.told, "tight")
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("seed %d: windows\n%+v\nof a state that is left alone\n%+v", seed, b, a)
		}
		compared += len(a)
		for _, w := range a {
			if w.Spans.Complete {
				complete++
			}
		}
		x, y := last(r.alone), last(r.told)
		if !reflect.DeepEqual(x.Ledger, y.Ledger) {
			t.Errorf("seed %d: ledger %+v, left alone %+v", seed, y.Ledger, x.Ledger)
		}
		p, q := *sloNamed(x, "tight"), *sloNamed(y, "tight")
		p.Objective, q.Objective = nil, nil
		if !reflect.DeepEqual(p, q) {
			t.Errorf("seed %d: objective %+v, left alone %+v", seed, q, p)
		}
		c, d := x.Spans, y.Spans
		c.Histograms, d.Histograms = [fact.NumFamilies]*SpanHistogram{}, [fact.NumFamilies]*SpanHistogram{}
		if !reflect.DeepEqual(c, d) {
			t.Errorf("seed %d: spans %+v, left alone %+v", seed, d, c)
		}
		for i := range x.Ranks {
			sameCounts(t, seed, &x.Ranks[i], &y.Ranks[i])
		}
		neverFalls(t, seed, r.told)
	}
	if compared < 160 || complete < 20 {
		t.Fatalf("only %d windows were compared, %d complete", compared, complete)
	}
}

// sameCounts compares ranks: at each edge that both grids have, a histogram that was moved says as much as one that was
// not, or less where it was pushed further.
func sameCounts(t *testing.T, seed uint64, x, y *Rank) {
	t.Helper()
	if !reflect.DeepEqual(x.Sequences, y.Sequences) || x.OutputTokens != y.OutputTokens {
		t.Errorf("seed %d: sequences %v, left alone %v", seed, y.Sequences, x.Sequences)
	}
	for f := range x.Histograms {
		h, g := x.Histograms[f], y.Histograms[f]
		if (h == nil) != (g == nil) {
			t.Fatalf("seed %d: %s is gone", seed, fact.Family(f))
		}
		if h == nil {
			continue
		}
		if count := (hist.Histogram{Edges: g.Grid, Counts: g.Ceil}).Count(); count != (hist.Histogram{Edges: h.Grid, Counts: h.Ceil}).Count() || g.Sum != h.Sum {
			t.Errorf("seed %d: %s has %d observations", seed, fact.Family(f), count)
		}
		for i, edge := range h.Grid {
			at := slices.Index(g.Grid, edge)
			if at < 0 {
				continue
			}
			if c, d := below(h.Ceil, i), below(g.Ceil, at); d > c {
				t.Errorf("seed %d: %s: %d surely below %v, of at most %d", seed, fact.Family(f), d, edge, c)
			}
			if c, d := below(h.Floor, i), below(g.Floor, at); d < c {
				t.Errorf("seed %d: %s: %d possibly below %v, of at least %d", seed, fact.Family(f), d, edge, c)
			}
		}
	}
}

func below(counts []uint64, edge int) (n uint64) {
	for _, c := range counts[:edge+1] {
		n += c
	}
	return n
}

// neverFalls checks that cumulative counts at an edge that stays do not fall from one round to the next.
func neverFalls(t *testing.T, seed uint64, all []*Snapshot) {
	t.Helper()
	for k := 1; k < len(all); k++ {
		if len(all[k-1].Engines[0].Ranks) != len(all[k].Engines[0].Ranks) {
			continue
		}
		for i := range all[k].Engines[0].Ranks {
			h, g := all[k-1].Engines[0].Ranks[i].Histograms[fact.TTFT], all[k].Engines[0].Ranks[i].Histograms[fact.TTFT]
			if h == nil || g == nil {
				continue
			}
			for j, edge := range h.Grid {
				if at := slices.Index(g.Grid, edge); at >= 0 && (below(g.Ceil, at) < below(h.Ceil, j) || below(g.Floor, at) < below(h.Floor, j)) {
					t.Fatalf("seed %d: the count below %v fell", seed, edge)
				}
			}
		}
	}
}

// TestAChangedPromiseStartsAnew: what is counted under the old terms and under the new ones are two counters, which
// together hold each window once.
func TestAChangedPromiseStartsAnew(t *testing.T) {
	for name, change := range map[string]func(*slo.Objective){
		"a clause":         func(o *slo.Objective) { o.Clauses[0].Threshold = 0.5 },
		"one clause less":  func(o *slo.Objective) { o.Clauses = o.Clauses[:1] },
		"the policy":       func(o *slo.Objective) { o.Policy.Cancelled = slo.Bad },
		"what is success":  func(o *slo.Objective) { o.Policy.Success = []string{"stop"} },
		"models it covers": func(o *slo.Objective) { o.Match.Model = regexp.MustCompile("^(?:m.*)$") },
	} {
		t.Run(name, func(t *testing.T) {
			var before SLO
			var start float64
			r := follow(3, 300, func(round int, s *State) {
				if round != 70 { // in the middle of a window
					return
				}
				e := s.publish(0).Engines[0]
				before, start = *sloNamed(&e, "tight"), e.WindowStart
				o := testOptions(0)
				change(&o.Objectives[0])
				s.Reconfigure(o)
				e = s.publish(0).Engines[0]
				now := sloNamed(&e, "tight")
				if now.Since != start || now.Requests != 0 || !now.Judged || len(now.Violations) != len(o.Objectives[0].Clauses) {
					t.Errorf("at once %+v, want 0 since %v", now, start)
				}
				for _, w := range e.Past.Windows {
					if slices.ContainsFunc(w.Verdicts, func(v Verdict) bool { return v.Objective.Name == "tight" }) || len(w.Verdicts) != 2 {
						t.Errorf("remembered %+v", w.Verdicts)
					}
				}
			})
			if before.Requests == 0 || start == 0 {
				t.Fatal("nothing was counted before the change")
			}
			after := sloNamed(last(r.told), "tight")
			var old, young uint64
			windows := windowsOf(r.told, "tight")
			for _, w := range windows {
				if w.Start < start {
					old += w.Requests
				} else {
					young += w.Requests
				}
			}
			if old != before.Requests || young != after.Requests || young == 0 {
				t.Errorf("windows hold %d and %d, the counters %d and %d", old, young, before.Requests, after.Requests)
			}
			if other := windowsOf(r.alone, "tight"); len(other) != len(windows) || other[len(other)-1].End != windows[len(windows)-1].End {
				t.Errorf("%d windows, left alone %d", len(windows), len(other))
			}
		})
	}
}

// TestEveryTermOfAPolicyIsInItsCounters: a policy that gets a further field makes two objectives count differently too.
func TestEveryTermOfAPolicyIsInItsCounters(t *testing.T) {
	a := objective_("x", 0.25, 0)
	for i := range reflect.TypeFor[slo.Policy]().NumField() {
		b := objective_("x", 0.25, 0)
		switch f := reflect.ValueOf(&b.Policy).Elem().Field(i); f.Kind() {
		case reflect.String:
			f.SetString("other")
		default:
			f.Set(reflect.Zero(f.Type()))
		}
		if countsAlike(&a, &b) {
			t.Errorf("%s makes no difference", reflect.TypeFor[slo.Policy]().Field(i).Name)
		}
	}
	b := objective_("x", 0.25, 0)
	b.Policy.Success = []string{"length", "stop"}
	if !countsAlike(&a, &b) {
		t.Error("the order of finish reasons makes a difference")
	}
}

func TestPromisesComeAndGo(t *testing.T) {
	s := tell(t, 90, objective_("stays", 0.25, 0.025), objective_("goes", 0.25, 0))
	s.page(100, says{born: 50}).page(130, says{born: 50, first: 50, finished: 50, http2xx: 50})
	o := testOptions(90)
	o.Objectives = []slo.Objective{objective_("comes", 0.25, 0), objective_("stays", 0.25, 0.025)}
	s.state.Reconfigure(o)
	s.page(160, says{born: 50, first: 100, finished: 100, http2xx: 100}).end()
	e := s.engine()
	equal(t, "objectives", len(e.SLOs), 2)
	// The window that was open when it came is judged whole, so that its counter says that it began there.
	equal(t, "comes", sloNamed(&e, "comes").Requests, 100)
	equal(t, "since", sloNamed(&e, "comes").Since, 100)
	equal(t, "stays", sloNamed(&e, "stays").Requests, 100)
	equal(t, "since", sloNamed(&e, "stays").Since, 0)
	s.state.Reconfigure(testOptions(90))
	s.targets = append(s.targets, fact.Target{ID: "late"})
	s.round(162)
	equal(t, "engines", len(s.last.Engines), 2)
}

// TestTheLengthOfAWindowChanges: the open window ends by the new length, and no time is in two windows or in none.
func TestTheLengthOfAWindowChanges(t *testing.T) {
	for _, length := range []float64{20, 30, 120} {
		r := follow(4, 400, func(round int, s *State) {
			if round == 70 {
				o := testOptions(0)
				o.JudgementWindow = length
				s.Reconfigure(o)
			}
		})
		windows := windowsOf(r.told, "tight")
		var n uint64
		for i, w := range windows {
			n += w.Requests
			if i > 0 && w.Start != windows[i-1].End {
				t.Errorf("%v s: a window ends at %v and the next begins at %v", length, windows[i-1].End, w.Start)
			}
		}
		if got := sloNamed(last(r.told), "tight").Requests; got != n || n != sloNamed(last(r.alone), "tight").Requests {
			t.Errorf("%v s: %d requests, windows hold %d", length, got, n)
		}
	}
}

// TestHandlersChange: what a handler answered before it was counted does not arrive all at once.
func TestHandlersChange(t *testing.T) {
	s := tell(t, 90).page(100, says{born: 50}).page(130, says{born: 50, first: 50, finished: 50, http2xx: 50})
	o := testOptions(90)
	o.OnePrompt = []string{"/v1/chat/completions"}
	s.state.Reconfigure(o)
	s.page(140, says{born: 50, first: 50, finished: 50, http2xx: 50})
	s.state.Reconfigure(testOptions(90))
	s.page(150, says{born: 50, first: 60, finished: 60, http2xx: 60}).end()
	equal(t, "arrived", s.engine().Ledger.Arrived.Lower, 60)

	o.OnePrompt = []string{"/v1/chat/completions"}
	s = &story{t: t, state: New(o), targets: []fact.Target{{ID: "a"}}}
	s.page(100, says{born: 95}).page(130, says{born: 95, http4xx: 40}) // and nothing that is counted
	s.state.Reconfigure(testOptions(90))
	s.page(140, says{born: 95, http4xx: 43}).end()
	equal(t, "refused to clients", s.engine().Ledger.RejectedClient, Span{3, 3, true})
}

// TestSnapshotsOutliveAReconfiguration: what a reader holds is not written to.
func TestSnapshotsOutliveAReconfiguration(t *testing.T) {
	s := tell(t, 90).page(100, says{born: 50}).page(165, says{born: 50, first: 50, finished: 50, http2xx: 50})
	held := s.last
	name := held.Engines[0].Past.Windows[0].Verdicts[0].Objective.Name
	o := testOptions(90)
	o.Objectives = []slo.Objective{objective_("other", 1, 0)}
	s.state.Reconfigure(o)
	s.page(230, says{born: 50, first: 60, finished: 60, http2xx: 60})
	if got := held.Engines[0].Past.Windows[0].Verdicts; len(got) != 3 || got[0].Objective.Name != name {
		t.Errorf("held verdicts %+v", got)
	}
}

// TestTargetsThatLeaveLoseNothing: that an engine is not asked any more, or somewhere else, says nothing of what it had in
// flight, and a request in flight over a pause is counted once.
func TestTargetsThatLeaveLoseNothing(t *testing.T) {
	busy := func(s *story, url string) *story {
		s.targets = []fact.Target{{ID: "a", URL: url}}
		return s.page(100, says{born: 50}).page(120, says{born: 50, first: 12, finished: 10, http2xx: 10, running: 5})
	}
	t.Run("a target goes for good", func(t *testing.T) {
		s := busy(tell(t, 90), "http://h/metrics")
		s.targets = nil
		s.round(122)
		equal(t, "lost", s.engine().Ledger.Lost, Span{0, 0, true})
		equal(t, "arrived", s.engine().Ledger.Arrived, Span{15, 15, true})
	})
	t.Run("a target is away for a moment", func(t *testing.T) {
		s := busy(tell(t, 90), "http://h/metrics")
		all := s.targets
		s.targets = nil
		s.round(122)
		s.targets = all
		s.page(124, says{born: 50, first: 20, finished: 18, http2xx: 18, running: 2}).end()
		equal(t, "lost", s.engine().Ledger.Lost, Span{0, 0, true})
		equal(t, "arrived", s.engine().Ledger.Arrived, Span{20, 20, true})
		equal(t, "finished", s.engine().Ledger.Finished, Span{18, 18, true})
	})
	for name, c := range map[string]struct {
		url      string
		page     says
		finished uint64
		resets   uint64
	}{
		"another engine takes the id":                      {"http://other/metrics", says{born: 40, first: 500, finished: 500, http2xx: 500}, 10, 1},
		"another engine that does not say when it began":   {"http://other/metrics", says{first: 3, finished: 3, http2xx: 3}, 10, 1},
		"another one that does not say, and has done more": {"http://other/metrics", says{first: 900, finished: 900, http2xx: 900}, 10, 1},
		"the same engine under another name":               {"http://other/metrics", says{born: 50, first: 20, finished: 18, http2xx: 18, running: 2}, 18, 0},
		"the same engine with another credential":          {"http://u:p@h/metrics?key=new", says{born: 50, first: 20, finished: 18, http2xx: 18, running: 2}, 18, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := busy(tell(t, 90), "http://h/metrics?key=old")
			s.targets = []fact.Target{{ID: "a", URL: c.url}}
			for at := 122.0; at < 140; at += 2 {
				s.miss(at, fact.ReasonRefused)
			}
			if name == "the same engine with another credential" {
				s = busy(tell(t, 90), "http://h/metrics?key=old")
				s.targets = []fact.Target{{ID: "a", URL: c.url}}
			}
			if strings.Contains(name, "does not say") {
				s = tell(t, 90)
				s.targets = []fact.Target{{ID: "a", URL: "http://h/metrics"}}
				s.page(100, says{}).page(120, says{first: 12, finished: 10, http2xx: 10, running: 5})
				s.targets = []fact.Target{{ID: "a", URL: c.url}}
			}
			s.page(140, c.page).end()
			equal(t, "lost", s.engine().Ledger.Lost, Span{0, 0, true})
			equal(t, "finished", s.engine().Ledger.Finished, Span{c.finished, c.finished, true})
			equal(t, "resets", s.engine().Resets, c.resets)
		})
	}
}

// TestAPodThatTakesANameIsNotTheOneBefore: a pod that comes for another of its name is another process, at whatever address, and
// whatever its page says or leaves unsaid.
func TestAPodThatTakesANameIsNotTheOneBefore(t *testing.T) {
	const page = "http://10.0.0.7:8000/metrics"
	for name, c := range map[string]struct {
		url, before, now string
		was, is          says
		finished, resets uint64
	}{
		"at its address, and does not say when it began":  {page, "1", "2", says{}, says{first: 3, finished: 3, http2xx: 3}, 10, 1},
		"at its address, and has done more":               {page, "1", "2", says{}, says{first: 900, finished: 900, http2xx: 900}, 10, 1},
		"at its address, and says when it began":          {page, "1", "2", says{born: 50}, says{born: 130, first: 900, finished: 900, http2xx: 900}, 910, 1},
		"at another address, and has done more":           {"http://10.0.0.8:8000/metrics", "1", "2", says{}, says{first: 900, finished: 900, http2xx: 900}, 10, 1},
		"the same pod, that does not say":                 {page, "1", "1", says{}, says{first: 30, finished: 30, http2xx: 30}, 30, 0},
		"a target that is known to be a pod from now on":  {page, "", "2", says{}, says{first: 30, finished: 30, http2xx: 30}, 30, 0},
		"a target that is not known to be a pod any more": {page, "1", "", says{}, says{first: 30, finished: 30, http2xx: 30}, 30, 0},
		"the same pod, whose container was started anew":  {page, "1", "1", says{born: 50}, says{born: 130, first: 9, finished: 9, http2xx: 9}, 19, 1},
	} {
		t.Run(name, func(t *testing.T) {
			pod := func(uid, url string) []fact.Target {
				return []fact.Target{{ID: "a", URL: url, Labels: map[string]string{labelPodUID: uid}}}
			}
			s := tell(t, 90)
			s.targets = pod(c.before, page)
			s.page(100, c.was).page(120, says{born: c.was.born, first: 12, finished: 10, http2xx: 10})
			s.targets = pod(c.now, c.url)
			s.page(140, c.is).end()
			equal(t, "finished", s.engine().Ledger.Finished, Span{c.finished, c.finished, true})
			equal(t, "resets", s.engine().Resets, c.resets)
			equal(t, "up", s.engine().Up, true)
		})
	}
}

// TestARankThatIsAwayFollowsToo: a model that was unloaded when the grids changed comes back on the new ones, with what it
// had counted, so that the edges of all its series are the same.
func TestARankThatIsAwayFollowsToo(t *testing.T) {
	both := func(first, finished uint64) *fact.EngineSample {
		p := says{born: 50, first: first, finished: finished, http2xx: finished}.page()
		other := says{born: 50, first: 3, finished: 3}.page().Ranks[0]
		other.Model = "other"
		p.Ranks = append(p.Ranks, other)
		return p
	}
	s := tell(t, 90)
	show := func(at float64, p *fact.EngineSample) {
		s.round(at, fact.Poll{Target: "a", Sent: at, Received: at + 0.01, Sample: p})
	}
	show(98, both(4, 4))
	show(100, both(5, 5))
	s.page(102, says{born: 50, first: 6, finished: 6, http2xx: 6})
	o := testOptions(90)
	o.Grids[fact.TTFT] = append([]float64{0.0005}, o.Grids[fact.TTFT]...)
	s.state.Reconfigure(o)
	show(104, both(7, 7))
	show(106, both(8, 8))
	ranks := s.engine().Ranks
	equal(t, "ranks", len(ranks), 2)
	for _, r := range ranks {
		h := r.Histograms[fact.TTFT]
		if h == nil || !slices.Equal(h.Grid, o.Grids[fact.TTFT]) {
			t.Errorf("rank of model %s has the grid %v", r.Model, h)
		}
	}
}

// TestAnObjectiveThatComesToAnEngineBeginsThere: its counters on an engine that it was not about are as old as the window
// that is open.
func TestAnObjectiveThatComesToAnEngineBeginsThere(t *testing.T) {
	o := objective_("x", 0.25, 0.025)
	o.Match.Engine = regexp.MustCompile("^(?:b)$")
	s := tell(t, 90, o).page(100, says{born: 95}).page(160, says{born: 95, first: 10, finished: 10, http2xx: 10})
	equal(t, "objectives before", len(s.engine().SLOs), 0)
	start := s.engine().WindowStart
	options := testOptions(90)
	o.Match.Engine = regexp.MustCompile("^(?:a|b)$")
	options.Objectives = []slo.Objective{o}
	s.state.Reconfigure(options)
	s.page(220, says{born: 95, first: 30, finished: 30, http2xx: 30})
	x := sloNamed(new(s.engine()), "x")
	equal(t, "requests", x.Requests, 20)
	equal(t, "since", x.Since, start)
	s.state.Reconfigure(options)
	s.page(222, says{born: 95, first: 30, finished: 30, http2xx: 30})
	equal(t, "since, after another reload", sloNamed(new(s.engine()), "x").Since, start)
}
