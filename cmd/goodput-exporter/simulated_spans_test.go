package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/spans"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/sim"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// tenantKey is the attribute by which callers say who they are.
const tenantKey = "tenant"

// spanObjectives are promises that spans alone can answer, beside those that pages can: thresholds between two edges,
// classes of each kind, and requests that were tried more than once.
func spanObjectives() []config.SLO {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	all := simObjectives()
	of := func(name string, change func(*config.SLO)) {
		o := config.SLO{
			Name: name, Clauses: map[fact.Family]time.Duration{fact.TTFT: ms(500), fact.TPOT: ms(25)},
			Objective: 0.95, Window: 720 * time.Hour, Policy: slo.DefaultPolicy(),
		}
		change(&o)
		all = append(all, o)
	}
	of("between edges", func(o *config.SLO) {
		o.Clauses = map[fact.Family]time.Duration{fact.TTFT: ms(170), fact.TPOT: ms(17)}
	})
	of("by prompt", func(o *config.SLO) {
		o.Classes = config.Classes{By: slo.ByPromptTokens, List: []config.Class{
			{Name: "short", AtMost: 300, Clauses: map[fact.Family]time.Duration{fact.TTFT: ms(250), fact.TPOT: ms(25)}},
			{Name: "long", AtMost: 2000}, {Name: "endless", Clauses: map[fact.Family]time.Duration{fact.TTFT: ms(5000)}},
		}}
	})
	of("by answer", func(o *config.SLO) {
		o.Classes = config.Classes{By: slo.ByOutputTokens, List: []config.Class{{Name: "short", AtMost: 100}, {Name: "long", AtMost: 400}}}
	})
	of("by tenant", func(o *config.SLO) {
		o.Classes = config.Classes{By: slo.ByAttribute, Attribute: tenantKey, List: []config.Class{
			{Name: "gold", Values: []string{"acme"}, Clauses: map[fact.Family]time.Duration{fact.TTFT: ms(100)}}, {Name: "silver", Values: []string{"bolt", "crow"}},
		}}
	})
	of("logical", func(o *config.SLO) { o.Policy.Retries = slo.RetriesLogical })
	return all
}

// teller is a way in which an engine's spans come, or do not.
type teller struct {
	name    string
	tracing *sim.Tracing // nil: none comes
	caller  float64      // share of the callers' traces that are sampled
}

var tellers = []teller{
	{"complete", &sim.Tracing{}, 1},
	{"one of ten", &sim.Tracing{Ratio: 0.1}, 0.1},
	{"a half", &sim.Tracing{Ratio: 0.5}, 0.5},
	{"nine of ten, among others", &sim.Tracing{Ratio: 0.9, Foreign: true}, 0.9},
	{"a queue that drops", &sim.Tracing{Queue: 24, Batch: 12, Export: 3}, 1},
	{"too late", &sim.Tracing{Delay: 20}, 1},
}

// tracedScenario is a scenario whose engines and callers trace, with a second tenant beside its first load, so that there
// are requests of two tenants and of none.
func tracedScenario(s sim.Scenario, by teller) sim.Scenario {
	s.Engines, s.Loads = slices.Clone(s.Engines), slices.Clone(s.Loads)
	for i := range s.Engines {
		s.Engines[i].Tracing = nil
		if by.tracing != nil {
			t := *by.tracing
			if len(s.Engines) > 1 {
				t.Attributes = []sim.Attribute{{Key: "goodput.engine", Value: s.Engines[i].ID}}
			}
			s.Engines[i].Tracing = &t
		}
	}
	s.Loads[0].Caller = &sim.Caller{Ratio: by.caller, Attributes: []sim.Attribute{{Key: tenantKey, Value: "acme"}}}
	second := s.Loads[0]
	second.Name, second.Rate, second.Burst, second.Closed = tenantOfSecond, sim.Constant(0.4), nil, nil
	second.Mix = slices.Clone(second.Mix)
	for i := range second.Mix {
		second.Mix[i].Name = tenantOfSecond
	}
	second.Caller = &sim.Caller{Ratio: by.caller, Attributes: []sim.Attribute{{Key: tenantKey, Value: tenantOfSecond}}}
	s.Loads = append(s.Loads, second)
	return s
}

const tenantOfSecond = "bolt"

// tracedWorld is a world that was watched with spans, and what became of them.
type tracedWorld struct {
	*judgedWorld
	scenario sim.Scenario
	came     map[string][]float64 // when the spans of a request came, by its number and engine
	asked    map[uint64]sim.Request
}

var tracedOnce sync.Map

func watchedSpans(t *testing.T, s sim.Scenario, by teller) *tracedWorld {
	t.Helper()
	run, _ := tracedOnce.LoadOrStore(s.Name+" "+by.name, sync.OnceValue(func() *tracedWorld {
		var box *mail
		if by.tracing != nil {
			box = &mail{}
		}
		w := &tracedWorld{scenario: tracedScenario(s, by), came: map[string][]float64{}, asked: map[uint64]sim.Request{}}
		w.judgedWorld = watchWith(t, w.scenario, 11, 12*time.Minute, spanObjectives(), box)
		decoder := spans.NewDecoder([]string{"llm_request"}, nil, 16<<20)
		for _, m := range w.messages {
			batch, err := decoder.Decode(receivedMessage(recordedMessage(&m)))
			if err != nil || len(batch.Spans) != m.Requests || len(batch.Refused) > 0 {
				t.Fatalf("%v: %d spans of %d, refused %v", err, len(batch.Spans), m.Requests, batch.Refused)
			}
			for _, s := range batch.Spans {
				key := m.Engine + " " + strings.TrimPrefix(s.Call, "chatcmpl-r")
				w.came[key] = append(w.came[key], m.At)
			}
		}
		w.messages = nil
		for _, r := range w.requests {
			w.asked[r.ID] = r
		}
		return w
	}))
	return run.(func() *tracedWorld)()
}

// inTime counts the sequences of a window whose spans had come when it was settled: at least, and at most. It is settled in
// the first round behind its grace; that of a process that ended, whenever its end is noticed.
func (w *tracedWorld) inTime(in []sim.Sequence, window *fold.Window) (least, most uint64) {
	cfg := config.Default()
	grace := window.End + simPageTook + cfg.Spans.Grace.Seconds()
	seen := map[string]int{}
	for _, q := range in {
		key := q.Engine + " " + strconv.FormatUint(q.Request, 10)
		i := seen[key]
		seen[key]++
		if i >= len(w.came[key]) {
			continue
		}
		if w.came[key][i] <= grace {
			least++
		}
		if w.came[key][i] <= grace+cfg.Poll.Interval.Seconds()+simPageTook || window.Partial {
			most++
		}
	}
	return least, most
}

// verdictOn is the truth of a window under an objective.
type verdictOn struct {
	good, requests, goodTokens, tokens uint64
	classes                            map[string]*classTruth
}

type classTruth struct{ all, good, goodTokens uint64 }

// judge decides for each sequence of a window by itself, from everything that the world knows.
func (w *tracedWorld) judge(o *config.SLO, in []sim.Sequence) verdictOn {
	v := verdictOn{classes: map[string]*classTruth{}}
	for _, q := range in {
		v.tokens += uint64(q.Values.OutputTokens) // those of superseded attempts are spent as well
	}
	if o.Policy.Retries == slo.RetriesLogical {
		in = w.logical(in)
	}
	for _, q := range in {
		name, clauses := classOf(o, q, w.tenant(w.asked[q.Request]))
		if v.classes[name] == nil {
			v.classes[name] = &classTruth{}
		}
		c, tokens := v.classes[name], uint64(q.Values.OutputTokens)
		v.requests++
		c.all++
		if meets(config.SLO{Clauses: clauses, Policy: o.Policy}, q) {
			v.good++
			v.goodTokens += tokens
			c.good++
			c.goodTokens += tokens
		}
	}
	return v
}

// logical leaves of each work the sequences of its last attempt, on a clock that began with the first. Attempts of callers
// that do not trace are works of their own, but none of them is tried again here.
func (w *tracedWorld) logical(in []sim.Sequence) (last []sim.Sequence) {
	first, latest := map[uint64]float64{}, map[uint64]sim.Request{}
	for _, q := range in {
		r := w.asked[q.Request]
		if at, seen := first[r.Logical]; !seen || r.Arrived < at {
			first[r.Logical] = r.Arrived
		}
		if r.Attempt > latest[r.Logical].Attempt {
			latest[r.Logical] = r
		}
	}
	for _, q := range in {
		r := w.asked[q.Request]
		if latest[r.Logical].ID == r.ID {
			q.Values.TTFT += r.Arrived - first[r.Logical]
			q.Values.E2E += r.Arrived - first[r.Logical]
			last = append(last, q)
		}
	}
	return last
}

// tenant is what the spans of a request say under tenantKey.
func (w *tracedWorld) tenant(r sim.Request) string {
	switch {
	case r.Class == tenantOfSecond:
		return tenantOfSecond
	case r.Class == "coda" || !slices.Contains(w.scenario.Loads[0].Engines, r.Engine):
		return ""
	}
	return "acme"
}

func classOf(o *config.SLO, q sim.Sequence, tenant string) (string, map[fact.Family]time.Duration) {
	for _, c := range o.Classes.List {
		is := false
		switch o.Classes.By {
		case slo.ByPromptTokens:
			is = c.AtMost == 0 || q.Values.PromptTokens <= c.AtMost
		case slo.ByOutputTokens:
			is = c.AtMost == 0 || q.Values.OutputTokens <= c.AtMost
		case slo.ByAttribute:
			is = slices.Contains(c.Values, tenant)
		}
		if is && c.Clauses != nil {
			return c.Name, c.Clauses
		}
		if is {
			return c.Name, o.Clauses
		}
	}
	return slo.ClassOther, o.Clauses
}

// tellersOf are the ways that are tried with a scenario: complete spans, and one of the others in turn. GOODPUT_SPANS=all in
// the environment tries all of them with all scenarios, which takes twice as long.
func tellersOf(scenario int) []teller {
	if os.Getenv("GOODPUT_SPANS") == "all" {
		return tellers
	}
	return []teller{tellers[0], tellers[1+scenario%(len(tellers)-1)]}
}

// spansHeld is how the windows of a world did.
type spansHeld struct{ windows, exact, both, alone, histogram, whole, conflicts, width, requests int }

// TestTruthOfEveryScenarioLiesInEveryWindowWithSpans: however spans come, the truth lies in the interval of every window; it is
// the interval where all spans are there; and no interval is wider than what is unseen, or than the page alone allows.
func TestTruthOfEveryScenarioLiesInEveryWindowWithSpans(t *testing.T) {
	computes(t)
	for i, s := range sim.Scenarios() {
		for _, by := range tellersOf(i) {
			t.Run(s.Name+"/"+by.name, func(t *testing.T) {
				t.Parallel()
				plain, w := watchedSpans(t, s, teller{name: "no spans", caller: by.caller}), watchedSpans(t, s, by)
				if len(plain.said.windows) != len(w.said.windows) || len(w.said.windows) == 0 {
					t.Fatalf("%d windows with spans, %d without", len(w.said.windows), len(plain.said.windows))
				}
				held := spansHeld{}
				for _, window := range w.said.windows {
					w.hold(t, window, plain.windowLike(window), &held)
				}
				w.holdCounters(t)
				if by.name == "complete" && len(s.Outages) == 0 && s.Name != "errors" && held.exact != held.windows {
					t.Errorf("%d of %d windows are exact", held.exact, held.windows)
				}
				t.Logf("%d windows: %d exact, %d whole, %d by both, %d by spans alone, %d by the page alone, %d conflicts, mean width %.2f points",
					held.windows, held.exact, held.whole, held.both, held.alone, held.histogram, held.conflicts, 100*float64(held.width)/float64(max(1, held.requests)))
			})
		}
	}
}

func (j *judgedWorld) windowLike(w fold.Window) *fold.Window {
	for i := range j.said.windows {
		if v := &j.said.windows[i]; v.Engine == w.Engine && v.SLO == w.SLO && v.Start == w.Start {
			return v
		}
	}
	return nil
}

// hold holds one window against the truth, and against the same window without spans.
func (w *tracedWorld) hold(t *testing.T, window fold.Window, alone *fold.Window, held *spansHeld) {
	t.Helper()
	all := spanObjectives()
	o := all[slices.IndexFunc(all, func(o config.SLO) bool { return o.Name == window.SLO })]
	in := w.within(window.Engine, window.Start, window.End)
	s := window.Spans
	if o.Policy.Retries == slo.RetriesLogical && !s.Complete {
		return // which attempts are known to be further ones depends on what is seen
	}
	truth := w.judge(&o, in)
	f, bad := uint64(len(in)), uint64(0)
	for _, q := range in {
		if !o.Policy.Succeeds(q.Reason) {
			bad++
		}
	}
	came, most := w.inTime(in, &window)
	fail := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s %s (%.0f, %.0f] %s, %d finished (%d without success), %d spans came: %s", window.Engine, window.SLO, window.Start-simStart, window.End-simStart,
			window.Evidence, f, bad, came, fmt.Sprintf(format, args...))
	}
	if alone == nil {
		fail("no such window without spans")
		return
	}
	held.windows++
	if s.Conflict {
		held.conflicts++
		fail("a conflict, and nothing contradicts itself: %+v", s)
	}
	if window.Sequences != f {
		fail("%d sequences, %d are true", window.Sequences, f)
	}
	if s.Expected {
		w.holdCompleteness(fail, s, f, came, most)
	}
	switch window.Evidence {
	case fold.EvidenceSpans:
		held.alone++
	case fold.EvidenceBoth:
		held.both++
	case fold.EvidenceHistogram:
		held.histogram++
	default:
		if s.Expected || alone.Evidence != "" {
			fail("no interval: %s", window.Reason)
		}
		return
	}
	if s.Complete {
		held.whole++
	}
	if truth.good < window.Lower || truth.good > window.Upper {
		fail("truth %d outside [%d, %d] %+v", truth.good, window.Lower, window.Upper, s)
	}
	held.width, held.requests = held.width+int(window.Upper-window.Lower), held.requests+int(f)
	if window.Lower == window.Upper {
		held.exact++
	}
	// Where it is not known which failures are in the finish counts, the denominator holds more, and so does the upper end.
	width, unseen := window.Upper-window.Lower, f-min(f, s.Seen)+s.Unsure+bad+window.Failed.Upper-window.Failed.Lower
	if logical := o.Policy.Retries == slo.RetriesLogical; !logical && alone.Evidence != "" && width > alone.Upper-alone.Lower {
		fail("[%d, %d] is wider than [%d, %d] without spans", window.Lower, window.Upper, alone.Lower, alone.Upper)
	}
	if s.Expected && width > unseen {
		fail("[%d, %d] is wider than the %d unseen: %+v", window.Lower, window.Upper, unseen, s)
	}
	if s.Expected {
		w.holdParts(fail, &o, window, truth, bad)
	}
	if superseded := f - truth.requests; alone.Requests-window.Requests != superseded {
		fail("%d requests, %d without spans, %d attempts were superseded", window.Requests, alone.Requests, superseded)
	}
}

// holdCompleteness: a window is whole when all spans came in time, and the share that is seen is that which came, but for
// those at its edges, of which it is not known whose they are.
func (w *tracedWorld) holdCompleteness(fail func(string, ...any), s fold.WindowSpans, f, came, most uint64) {
	if came == f && !s.Complete {
		fail("all spans came and the window is not whole: %+v", s)
	}
	if s.Complete && (s.Seen != f || s.Unsure != 0 || most < f) {
		fail("it is called whole: %+v", s)
	}
	if s.Seen > f || s.Unsure > s.Seen || s.Seen > most+s.Unsure || came > s.Seen+s.Unsure {
		fail("seen %d, of these %d unsure, and between %d and %d came", s.Seen, s.Unsure, came, most)
	}
}

// holdParts: tokens and classes.
func (w *tracedWorld) holdParts(fail func(string, ...any), o *config.SLO, window fold.Window, truth verdictOn, bad uint64) {
	if k := window.Tokens; k.Known {
		missed := truth.tokens - truth.goodTokens
		if truth.goodTokens < k.Lower || truth.goodTokens > k.Upper || missed < k.MissedLower || missed > k.MissedUpper {
			fail("tokens %+v, %d of %d are true", k, truth.goodTokens, truth.tokens)
		}
		if window.Spans.Complete && bad == 0 && (k.Lower != k.Upper || k.MissedLower != k.MissedUpper) {
			fail("tokens are not exact: %+v", k)
		}
	} else {
		fail("no tokens")
	}
	if (window.Classes == nil) != (o.Classes.List == nil) {
		fail("classes %+v", window.Classes)
	}
	seen := uint64(0)
	for _, c := range window.Classes {
		is := truth.classes[c.Name]
		if is == nil {
			is = &classTruth{}
		}
		seen += c.Seen
		if c.Seen > is.all || c.Seen+c.Unseen < is.all || is.good < c.Lower || is.good > c.Upper || c.TokensLower > is.goodTokens {
			fail("class %+v, %+v is true", c, *is)
		}
		if window.Spans.Complete && bad == 0 && (c.Lower != c.Upper || c.TokensLower != is.goodTokens) {
			fail("class %+v is not exact: %+v", c, *is)
		}
	}
	if window.Classes != nil && seen+window.Classes[0].Unseen != window.Sequences {
		fail("%d seen and %d unseen of %d", seen, window.Classes[0].Unseen, window.Sequences)
	}
}

// holdCounters: what the engine's counters have come to is the sum of its windows.
func (w *tracedWorld) holdCounters(t *testing.T) {
	t.Helper()
	for _, e := range w.said.snapshots[len(w.said.snapshots)-1].Engines {
		finished, seen := uint64(0), uint64(0)
		for _, s := range e.SLOs {
			var want fold.SLO
			for _, v := range w.said.windows {
				if v.Engine != e.ID || v.SLO != s.Objective.Name {
					continue
				}
				if v.Evidence != "" {
					want.Requests, want.Lower, want.Upper = want.Requests+v.Requests, want.Lower+v.Lower, want.Upper+v.Upper
				}
				want.Tokens.Lower, want.Tokens.Upper = want.Tokens.Lower+v.Tokens.Lower, want.Tokens.Upper+v.Tokens.Upper
				if s.Objective.Name == "first" && v.Spans.Expected {
					finished, seen = finished+v.Sequences, seen+v.Spans.Seen
				}
			}
			if s.Requests != want.Requests || s.Lower != want.Lower || s.Upper != want.Upper || s.Tokens.Lower != want.Tokens.Lower || s.Tokens.Upper != want.Tokens.Upper {
				t.Errorf("%s %s: %d requests in [%d, %d], tokens %+v; its windows come to %d in [%d, %d], %+v", e.ID, s.Objective.Name,
					s.Requests, s.Lower, s.Upper, s.Tokens, want.Requests, want.Lower, want.Upper, want.Tokens)
			}
		}
		if e.Spans.Finished != finished || e.Spans.Seen != seen || e.Spans.Conflicts > 0 {
			t.Errorf("%s: %d seen of %d, %d conflicts; its windows come to %d of %d", e.ID, e.Spans.Seen, e.Spans.Finished, e.Spans.Conflicts, seen, finished)
		}
	}
}

// TestTheOracleOfSpansNotices is the control: held against the truth of windows that begin and end one poll later, exact
// windows must be found wrong.
func TestTheOracleOfSpansNotices(t *testing.T) {
	computes(t)
	s, _ := sim.ScenarioNamed("ramp")
	w := watchedSpans(t, s, tellers[0])
	wrong, exact := 0, 0
	all := spanObjectives()
	for _, v := range w.said.windows {
		o := all[slices.IndexFunc(all, func(o config.SLO) bool { return o.Name == v.SLO })]
		if truth := w.judge(&o, w.within(v.Engine, v.Start+2, v.End+2)); v.Lower == v.Upper {
			if exact++; truth.good != v.Lower {
				wrong++
			}
		}
	}
	if exact < 50 || wrong < exact/3 {
		t.Errorf("%d of %d exact windows are wrong against the truth of other moments", wrong, exact)
	}
}

// TestRetriesAreTold: attempts and works as the callers' traces show them, in windows whose spans are all there.
func TestRetriesAreTold(t *testing.T) {
	computes(t)
	s, _ := sim.ScenarioNamed("errors")
	w := watchedSpans(t, s, tellers[0])
	attempts, logical := 0, 0
	for _, v := range w.said.windows {
		if v.SLO != "first" {
			continue
		}
		calls, works := map[uint64]bool{}, map[uint64]bool{}
		for _, q := range w.within(v.Engine, v.Start, v.End) {
			r := w.asked[q.Request]
			calls[r.ID] = true
			works[r.Logical] = true
		}
		attempts, logical = attempts+len(calls), logical+len(works)
	}
	e := w.said.snapshots[len(w.said.snapshots)-1].Engines[0]
	if e.Spans.Attempts != uint64(attempts) || e.Spans.Logical != uint64(logical) || attempts-logical < 20 {
		t.Errorf("%d attempts at %d works; %d at %d are true", e.Spans.Attempts, e.Spans.Logical, attempts, logical)
	}
}
