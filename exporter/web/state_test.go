package web

import (
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

func TestJudgingAShare(t *testing.T) {
	for name, c := range map[string]struct {
		objective              float64
		lower, upper, requests uint64
		want                   state
	}{
		"exactly the objective is kept":          {0.95, 95, 95, 100, kept},
		"one below is broken":                    {0.95, 94, 94, 100, broken},
		"an interval around it is undecided":     {0.95, 90, 98, 100, undecided},
		"an interval that ends at it, undecided": {0.95, 90, 95, 100, undecided},
		"an interval that begins at it is kept":  {0.95, 95, 100, 100, kept},
		"an interval below it is broken":         {0.95, 10, 94, 100, broken},
		"nothing is neither":                     {0.95, 0, 0, 0, noTraffic},
		"a decimal that no float is":             {0.999, 999, 999, 1000, kept},
	} {
		if got := judge(c.objective, c.lower, c.upper, c.requests); got != c.want {
			t.Errorf("%s: %s, want %s", name, got.word(), c.want.word())
		}
	}
}

func TestSinceWhen(t *testing.T) {
	o := chat()
	good, bad := [2]uint64{100, 100}, [2]uint64{100, 0}
	for name, c := range map[string]struct {
		windows [][2]uint64 // sequences and those that qualified, the newest last
		state   state
		since   float64 // minutes ago
		always  bool
	}{
		"always kept":                     {[][2]uint64{good, good, good}, kept, 2, true},
		"broken since two windows":        {[][2]uint64{good, good, good, bad, bad}, broken, 1, false},
		"kept again once five have been":  {[][2]uint64{bad, good, good, good, good, good, good}, kept, 1, false},
		"a state that no window is in":    {[][2]uint64{good, good}, broken, 0, false},
		"no traffic since five windows":   {[][2]uint64{good, {}, {}, {}, {}, {}, {}}, noTraffic, 1, false},
		"nothing remembered, no duration": {nil, kept, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := &fold.Engine{}
			for i, w := range c.windows {
				end := now - 60*float64(len(c.windows)-1-i)
				e.Past.Windows = append(e.Past.Windows, fold.PastWindow{Start: end - 60, End: end,
					Verdicts: []fold.Verdict{{Objective: o, Judged: true, Requests: known(w[0]), Lower: w[1], Upper: w[1]}}})
			}
			since, always := sinceWhen([]*fold.Engine{e}, o, c.state, now)
			want := now - 60*c.since
			if c.since == 0 {
				want = 0
			}
			if since != want || always != c.always {
				t.Errorf("since %v s ago, always %v", now-since, always)
			}
		})
	}
}

// TestSharesAreSumsOfCounts: a busy window weighs more than an idle one.
func TestSharesAreSumsOfCounts(t *testing.T) {
	busy := engine("a", "m", 0, func(int) (uint64, uint64, uint64) { return 900, 450, 450 }, chat())
	idle := engine("b", "m", 0, func(int) (uint64, uint64, uint64) { return 100, 100, 100 }, chat())
	got := tallyOf([]*fold.Engine{&busy, &idle}, "chat", now-recent, now)
	if got.requests != 5000 || got.lower != 2750 || share(got.lower, got.upper, got.requests) != "55.0"+nbsp+"%" {
		t.Errorf("%+v", got)
	}
}

func TestHintsNameClauseStageAndEngine(t *testing.T) {
	v := viewOf(engine("fine", "m", 0, steady, chat()), engine("sick", "m", 0, collapse, chat()))
	m := maker(v, chat())
	g := groups(v.Snapshot)[0]
	s := standingOf(g, chat(), v.Snapshot.Terms, now)
	hints := m.frame.hints(g, chat(), &s)
	if len(hints) != 3 || hints[2].LinkText != "sick (240 of 600)" || hints[2].Link != "engine/sick" {
		t.Fatalf("%+v", hints)
	}
	if want := "TTFT over 250" + nbsp + "ms: 27.2" + nbsp + "% of first tokens; mean queue time 573" + nbsp + "ms, in the hour before 114" + nbsp + "ms"; hints[0].Text != want {
		t.Errorf("%q, want %q", hints[0].Text, want)
	}
	s.state = kept
	if h := m.frame.hints(g, chat(), &s); h != nil {
		t.Errorf("a promise that is kept has hints: %+v", h)
	}
}

func TestPoliciesAreSaid(t *testing.T) {
	o := chat()
	o.Policy.Cancelled = slo.Bad
	got := policyTerms(o)
	if got[2].Value != "count as bad" || got[3].Value != "are not counted" {
		t.Errorf("%+v", got)
	}
}
