package fold

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// traced is a sequence with what its span says of it.
type traced struct {
	*sequence
	span fact.Span
}

// trace gives every finished sequence of a world its span. Some callers try again: a later request is then of the trace of
// an earlier one, with its prompt. Others do something else in one trace, with a prompt of its own. One in five comes with a tenant. Spans leave an engine in batches, and what has not left when the process
// dies is lost with it.
func (w *world) trace(rng *rand.Rand) []traced {
	var out []traced
	origin := &fact.Origin{Peer: "10.0.0.1"}
	type try struct {
		trace  [16]byte
		prompt int
	}
	var earlier []try
	next := func() (id uint64) { return rng.Uint64() | 1 }
	for i := range w.requests {
		q := &w.requests[i]
		_, died := w.process(q.arrival)
		var trace [16]byte
		var parent [8]byte
		binary.BigEndian.PutUint64(trace[:], next())
		prompt := 0
		if len(q.sequences) > 0 {
			prompt = q.sequences[0].prompt
		}
		if rng.IntN(3) == 0 {
			binary.BigEndian.PutUint64(parent[:], next())
			if len(earlier) > 0 && rng.IntN(2) == 0 {
				before := earlier[len(earlier)-1-rng.IntN(min(4, len(earlier)))]
				if trace = before.trace; rng.IntN(3) > 0 {
					prompt = before.prompt
				}
			}
			earlier = append(earlier, try{trace, prompt})
		}
		var attributes []fact.Attribute
		if rng.IntN(5) == 0 {
			attributes = []fact.Attribute{{Key: "tenant", Value: fmt.Sprint("t", rng.IntN(3))}}
		}
		for j := range q.sequences {
			s := &q.sequences[j]
			s.prompt = prompt
			if q.outcome != finishes || s.end >= died {
				continue
			}
			span := fact.Span{
				Request: fact.Request{
					End: epoch + s.end, TTFT: s.ttft, E2E: s.e2e, Queue: s.queue, Prefill: s.prefill, Decode: s.decode,
					PromptTokens: s.prompt, OutputTokens: s.output,
				},
				Trace: trace, Parent: parent, Call: fmt.Sprint("cmpl-", i), Attributes: attributes, Origin: origin,
			}
			binary.BigEndian.PutUint64(span.ID[:], next())
			if parent == [8]byte{} { // the engine begins a trace for each
				binary.BigEndian.PutUint64(span.Trace[:], next())
			}
			left := 5*float64(int(s.end/5)+1) + 0.4*rng.Float64()
			if span.Received = epoch + left; left < died {
				out = append(out, traced{s, span})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b traced) int { return cmp.Compare(a.span.Received, b.span.Received) })
	return out
}

// evidenceObjectives are one promise of each kind: what histograms can answer and what they cannot, with reasons that are
// no success, with classes, and with attempts taken together.
func evidenceObjectives() []slo.Objective {
	stop := objective_("stop", 0.5, 0.05)
	stop.Policy.Success = []string{"stop"}
	prompts := objective_("prompts", 0.5, 0.05)
	prompts.Classes = slo.Classes{By: slo.ByPromptTokens, List: []slo.Class{
		{Name: "short", AtMost: 200, Clauses: objective_("", 0.25, 0.025).Clauses}, {Name: "long", AtMost: 500, Clauses: objective_("", 1, 0).Clauses},
	}}
	tenants := objective_("tenants", 0.25, 0.025)
	tenants.Classes = slo.Classes{By: slo.ByAttribute, Attribute: "tenant", List: []slo.Class{{Name: "one", Values: []string{"t0"}}, {Name: "rest", Values: []string{"t1", "t2"}}}}
	logical := objective_("logical", 0.5, 0.05)
	logical.Policy.Retries = slo.RetriesLogical
	badly := objective_("logical and stop", 0.5, 0.05)
	badly.Policy.Retries, badly.Policy.Success = slo.RetriesLogical, []string{"stop"}
	return []slo.Objective{objective_("plain", 0.5, 0.05), objective_("off", 0.3, 0.03), stop, prompts, tenants, logical, badly}
}

// seenRun is one world watched twice: with spans, and from its pages alone.
type seenRun struct {
	run
	alone []*Snapshot
	all   map[*sequence]*fact.Span // of every span that was sent
	lost  float64                  // share of spans that do not come
	skew  float64                  // how far the engine's clock is ahead
}

func watchSpans(seed uint64) *seenRun {
	rng := rand.New(rand.NewPCG(seed, 77))
	length := 70 + 150*rng.Float64()
	w := newWorld(seed, length)
	for w.traits.AbortsFinish { // that front end sends no spans
		seed += 1 << 32
		w = newWorld(seed, length)
	}
	r := &seenRun{run: run{w: w, at: map[float64]float64{}}, all: map[*sequence]*fact.Span{}}
	r.lost = []float64{0, 0, 0, 0.01, 0.1, 0.5, 0.9}[rng.IntN(7)]
	r.skew = []float64{0, 0, 0, 0.05, 0.4, -0.4}[rng.IntN(6)]
	late := rng.IntN(4) == 0
	var sent []fact.Span
	for _, x := range w.trace(rng) {
		r.all[x.sequence] = &x.span
		if rng.Float64() < r.lost {
			continue
		}
		x.span.End += r.skew
		if late {
			x.span.Received += 14 * rng.Float64()
		}
		sent = append(sent, x.span)
		if rng.IntN(50) == 0 {
			sent = append(sent, x.span)
		}
	}
	slices.SortStableFunc(sent, func(a, b fact.Span) int { return cmp.Compare(a.Received, b.Received) })
	from := 0.0
	if rng.IntN(2) == 0 {
		from = length * 0.4 * rng.Float64()
	}
	options := testOptions(epoch + from)
	options.Objectives, options.Grace = evidenceObjectives(), 10
	alone := New(options)
	options.Spans = true
	r.state = New(options)
	round := Round{Targets: []fact.Target{{ID: "a"}}}
	r.polls(rng, from, length+70, func(p fact.Poll) {
		round.At, round.Polls, round.Spans = p.Received, []fact.Poll{p}, nil
		if seed%4 == 0 {
			r.alone = append(r.alone, alone.Apply(round))
		}
		n := 0
		for n < len(sent) && sent[n].Received <= p.Received {
			n++
		}
		round.Spans, sent = sent[:n], sent[n:]
		r.take(r.state.Apply(round))
	})
	r.alone = append(r.alone, alone.Flush(epoch+length+70))
	r.take(r.state.Flush(epoch + length + 70))
	return r
}

// TestTruthLiesInEveryIntervalOfAllEvidence is the claim of the whole package with spans in it: over random populations, of
// which spans come completely, sampled, late, twice or from a clock that is apart, every number is right or an interval
// around it, and where every span is there it is the number.
func TestTruthLiesInEveryIntervalOfAllEvidence(t *testing.T) {
	for shard := range uint64(shards) {
		t.Run(fmt.Sprintf("shard %d", shard), func(t *testing.T) {
			t.Parallel()
			seeds := uint64(worlds)
			if raced {
				seeds /= 10
			}
			windows, exact, both := 0, 0, 0
			for seed := shard; seed < seeds; seed += shards {
				r := watchSpans(seed)
				for i := range r.windows {
					r.checkEvidence(t, seed, &r.windows[i])
					r.checkLeft(t, seed, i)
					windows++
					if r.windows[i].Spans.Complete {
						exact++
					}
					if r.windows[i].Evidence == EvidenceBoth {
						both++
					}
				}
				r.checkMonotone(t, seed)
				r.checkSums(t, seed)
				if seed%4 == 0 {
					r.checkAlone(t, seed)
				}
			}
			t.Logf("%d windows, %d with evidence of both kinds, %d complete", windows, both, exact)
			if windows < int(20*seeds)/shards || exact < windows/5 || both < windows/2 {
				t.Error("too few")
			}
		})
	}
}

func (r *seenRun) checkEvidence(t *testing.T, seed uint64, w *Window) {
	t.Helper()
	o := objectiveNamed(r.state, w.SLO)
	x := r.truth(o, r.instant(w.Start), r.instant(w.End))
	fail := func(format string, args ...any) {
		t.Helper()
		t.Fatalf("seed %d, %g lost, %g s apart: %s: %s\n%+v\ntrue %+v", seed, r.lost, r.skew, describe(*w), fmt.Sprintf(format, args...), *w, x)
	}
	logical := o.Policy.Retries == slo.RetriesLogical
	complete := w.Spans.Complete
	switch {
	case w.Sequences != x.n:
		fail("%d sequences", w.Sequences)
	case w.Spans.Conflict:
		fail("what is true is contradicted")
	case w.Spans.Seen > x.n || w.Spans.Unsure > w.Spans.Seen:
		fail("seen")
	case w.Evidence == "":
		if w.SLO != "off" || w.Spans.Seen > 0 {
			fail("no interval: %s", w.Reason)
		}
		return
	case w.SLO == "off" && w.Evidence != EvidenceSpans:
		fail("judged by histograms that cannot")
	case w.Upper > w.Requests:
		fail("more qualified than requests")
	case logical && complete && (x.good < w.Lower || x.good > w.Upper):
		fail("wrong")
	case !logical && (x.good < w.Lower || x.good > w.Upper):
		fail("wrong")
	case complete && (x.bad == 0 || x.bad == x.n) && w.Lower != w.Upper:
		fail("complete and not exact")
	case !logical && w.Spans.Expected && w.Upper-w.Lower > x.n-(w.Spans.Seen-w.Spans.Unsure)+x.bad:
		fail("wider than what is unseen")
	}
	for _, v := range w.Violations {
		// Of TTFT the histograms count first tokens.
		if n := x.over[v.Metric]; v.Metric != fact.TTFT && (n < v.Lower || n > v.Upper || complete && v.Lower != v.Upper) {
			fail("%d over the clause on %s", n, v.Metric)
		}
	}
	r.checkTokens(w, &x, logical && !complete, fail)
	r.checkClasses(w, &x, fail)
}

// checkLeft: attempts that a later one superseded, and nothing else, are not in the denominator any more.
func (r *seenRun) checkLeft(t *testing.T, seed uint64, i int) {
	t.Helper()
	w := &r.windows[i]
	o := objectiveNamed(r.state, w.SLO)
	if o.Policy.Retries != slo.RetriesLogical {
		return
	}
	at := i - slices.IndexFunc(evidenceObjectives(), func(x slo.Objective) bool { return x.Name == w.SLO })
	plain, superseded := r.windows[at].Requests, r.truth(o, r.instant(w.Start), r.instant(w.End)).superseded
	if left := plain - w.Requests; left > superseded || w.Spans.Complete && left != superseded {
		t.Fatalf("seed %d: %s: %d of %d requests left, %d were superseded", seed, describe(*w), left, plain, superseded)
	}
}

func (r *seenRun) checkTokens(w *Window, x *truth, unknown bool, fail func(string, ...any)) {
	k := w.Tokens
	switch missed := x.tokens - x.goodTokens; {
	case !k.Known:
		if k != (Tokens{}) || w.Spans.Seen > 0 {
			fail("tokens are unknown")
		}
	case k.Lower > k.Upper || k.Lower+k.MissedUpper != x.tokens || k.Upper+k.MissedLower != x.tokens:
		fail("tokens do not add up")
	case unknown:
	case x.goodTokens < k.Lower || x.goodTokens > k.Upper || missed < k.MissedLower || missed > k.MissedUpper:
		fail("tokens")
	case w.Spans.Complete && x.bad == 0 && k.Lower != k.Upper:
		fail("tokens are not exact")
	}
}

func (r *seenRun) checkClasses(w *Window, x *truth, fail func(string, ...any)) {
	var lower, seen uint64
	for _, c := range w.Classes {
		n, good := x.ofClass[c.Name], x.goodOfClass[c.Name]
		if n < c.Seen || n > c.Seen+c.Unseen || good < c.Lower || good > c.Upper || c.TokensLower > x.goodTokensOfClass[c.Name] {
			fail("class %s: %d of %d, true %d of %d", c.Name, good, n, good, n)
		}
		lower, seen = lower+c.Lower, seen+c.Seen
	}
	if w.Classes != nil && (seen+w.Classes[0].Unseen != x.n || lower > w.Upper) {
		fail("classes do not add up")
	}
}

// checkSums: the counters are the windows, added up.
func (r *seenRun) checkSums(t *testing.T, seed uint64) {
	t.Helper()
	e := r.snapshots[len(r.snapshots)-1].Engines[0]
	want := map[string]SLO{}
	for _, w := range r.windows {
		s := want[w.SLO]
		if w.Evidence != "" {
			s.Requests, s.Lower, s.Upper = s.Requests+w.Requests, s.Lower+w.Lower, s.Upper+w.Upper
			s.Tokens.Add(w.Tokens)
			for i, c := range w.Classes {
				if len(s.Classes) <= i {
					s.Classes = append(s.Classes, Class{Name: c.Name})
				}
				s.Classes[i].Add(&c)
			}
			for i, v := range w.Violations {
				if len(s.Violations) <= i {
					s.Violations = append(s.Violations, Violation{Metric: v.Metric})
				}
				s.Violations[i].Lower += v.Lower
				s.Violations[i].Upper += v.Upper
			}
		}
		want[w.SLO] = s
	}
	for _, o := range e.SLOs {
		got := SLO{Requests: o.Requests, Lower: o.Lower, Upper: o.Upper, Tokens: o.Tokens, Classes: o.Classes, Violations: o.Violations}
		if !reflect.DeepEqual(got, want[o.Objective.Name]) {
			t.Fatalf("seed %d: %s\n%+v\nthe windows hold\n%+v", seed, o.Objective.Name, got, want[o.Objective.Name])
		}
	}
	c := e.Spans
	var seen, finished, exact uint64
	for _, w := range r.windows {
		if w.SLO == "plain" && w.Spans.Expected {
			seen, finished = seen+w.Spans.Seen, finished+w.Sequences
			if w.Spans.Complete {
				exact++
			}
		}
	}
	if c.Seen != seen || c.Finished != finished || c.Exact != exact || c.Logical > c.Attempts || c.Attempts > c.Seen {
		t.Fatalf("seed %d: %+v, the windows hold %d of %d, %d exact", seed, c, seen, finished, exact)
	}
}

// checkAlone: spans change nothing but the interval, which they only narrow.
func (r *seenRun) checkAlone(t *testing.T, seed uint64) {
	t.Helper()
	last, alone := r.snapshots[len(r.snapshots)-1].Engines[0], r.alone[len(r.alone)-1].Engines[0]
	if last.Ledger != alone.Ledger || !reflect.DeepEqual(last.Ranks, alone.Ranks) {
		t.Fatalf("seed %d: ledger %+v, without spans %+v", seed, last.Ledger, alone.Ledger)
	}
	var windows []Window
	for _, s := range r.alone {
		windows = append(windows, s.Windows...)
	}
	if len(windows) != len(r.windows) {
		t.Fatalf("seed %d: %d windows, without spans %d", seed, len(r.windows), len(windows))
	}
	for i, w := range r.windows {
		a := windows[i]
		logical := objectiveNamed(r.state, w.SLO).Policy.Retries == slo.RetriesLogical
		if a.Evidence != "" && !logical && (w.Requests != a.Requests || w.Lower < a.Lower || w.Upper > a.Upper) {
			t.Fatalf("seed %d: %+v\nwithout spans\n%+v", seed, w, a)
		}
		if w.Start != a.Start || w.End != a.End || w.Arrived != a.Arrived || w.Cancelled != a.Cancelled || w.SLO != a.SLO {
			t.Fatalf("seed %d: %+v\nwithout spans\n%+v", seed, w, a)
		}
	}
}

func spanCounters(out map[string]float64, name string, o *SLO) {
	k := o.Tokens
	for i, n := range []uint64{k.Lower, k.Upper, k.MissedLower, k.MissedUpper} {
		out[fmt.Sprint(name, "tokens", i)] = float64(n)
	}
	for _, c := range o.Classes {
		for i, n := range []uint64{c.Seen, c.Unseen, c.Lower, c.Upper, c.TokensLower} {
			out[fmt.Sprint(name, c.Name, i)] = float64(n)
		}
	}
	for i, v := range o.Violations {
		out[fmt.Sprint(name, "violations", i, "l")], out[fmt.Sprint(name, "violations", i, "u")] = float64(v.Lower), float64(v.Upper)
	}
}
