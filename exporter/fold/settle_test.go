package fold

import (
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// hear is tell for an exporter that takes spans in and has them wait for ten seconds.
func hear(t *testing.T, objectives ...slo.Objective) *story {
	o := testOptions(90)
	o.Objectives, o.Spans, o.Grace = objectives, true, 10
	return &story{t: t, state: New(o), targets: []fact.Target{{ID: "a"}}}
}

// heard is a round that brings spans and no page.
func (s *story) heard(at float64, spans ...fact.Span) *story {
	s.last = s.state.Apply(Round{At: at, Targets: s.targets, Spans: spans})
	s.windows = append(s.windows, s.last.Windows...)
	return s
}

var spanCount uint64

// spansAt are spans of sequences that ended at these times, with the values that says gives every sequence.
func spansAt(ends ...float64) []fact.Span {
	var out []fact.Span
	for _, end := range ends {
		spanCount++
		s := fact.Span{
			Request:  fact.Request{End: end, TTFT: 0.15, E2E: 0.35, Queue: 0.05, Prefill: 0.05, Decode: 0.2, PromptTokens: 40, OutputTokens: 30},
			Received: end + 2, Call: fmt.Sprint("c", spanCount), Origin: fromA,
		}
		binary.BigEndian.PutUint64(s.Trace[:], spanCount)
		binary.BigEndian.PutUint64(s.ID[:], spanCount)
		out = append(out, s)
	}
	return out
}

// each changes spans.
func each(spans []fact.Span, change func(i int, s *fact.Span)) []fact.Span {
	for i := range spans {
		change(i, &spans[i])
	}
	return spans
}

// done is a page on which so many sequences have finished.
func done(n uint64) says { return says{born: 50, first: n, finished: n, http2xx: n} }

func TestWindowsWait(t *testing.T) {
	plain := objective_("x", 0.25, 0.025)
	begun := func(t *testing.T) *story {
		return hear(t, plain).page(100, done(0)).page(130, done(2)).heard(131, spansAt(110, 120)...)
	}
	t.Run("a window of an engine that sends spans is committed when they have had time to come, and moves everything then", func(t *testing.T) {
		s := begun(t).page(160, done(4))
		for _, at := range []float64{160, 165, 170} {
			if s.heard(at); len(s.windows) > 0 || s.engine().Ledger.Committed || s.engine().SLOs[0].Judged || len(s.engine().Past.Windows) > 0 || s.engine().Phase != PhaseWarming {
				t.Fatalf("at %v: committed: %+v", at, s.engine())
			}
		}
		equal(t, "start of the open window", s.engine().WindowStart, 160)
		s.heard(166, spansAt(140, 150)...).heard(170.02)
		equal(t, "windows", len(s.windows), 1)
		e := s.engine()
		equal(t, "phase", e.Phase, PhaseJudging)
		equal(t, "finished", e.Ledger.Finished, Span{4, 4, true})
		equal(t, "requests", e.SLOs[0].Requests, 4)
		equal(t, "lower", e.SLOs[0].Lower, 4)
		equal(t, "remembered", e.Past.Windows[0].Verdicts[0].Evidence, EvidenceBoth)
		equal(t, "seen", e.Past.Windows[0].Verdicts[0].Spans, WindowSpans{Expected: true, Seen: 4, Complete: true})
		equal(t, "percentiles", len(s.last.Quantiles) > 0, true)
	})
	t.Run("a window of an engine that sends none is committed at once", func(t *testing.T) {
		s := hear(t, plain).page(100, done(0)).page(160, done(4))
		equal(t, "windows", len(s.windows), 1)
		equal(t, "spans", s.windows[0].Spans, WindowSpans{})
		equal(t, "evidence", s.windows[0].Evidence, EvidenceHistogram)
		equal(t, "finished by the page, with spans expected", s.engine().Spans.Finished, 0)
	})
	t.Run("the end of a recording commits what waits", func(t *testing.T) {
		s := begun(t).page(160, done(4)).page(170, done(5)).end()
		equal(t, "windows", len(s.windows), 2)
		equal(t, "sequences", s.windows[0].Sequences+s.windows[1].Sequences, 5)
		equal(t, "finished", s.engine().Ledger.Finished, Span{5, 5, true})
	})
	t.Run("an engine that goes is there until its last window was committed and has stood on the page", func(t *testing.T) {
		s := begun(t)
		s.targets = nil
		s.heard(140)
		equal(t, "committed early", len(s.windows), 0)
		s.heard(152)
		equal(t, "windows", len(s.windows), 1)
		equal(t, "lower", s.windows[0].Lower, 2)
		s.heard(205)
		equal(t, "engines", len(s.last.Engines), 1)
		equal(t, "engines", len(s.heard(213).last.Engines), 0)
	})
	t.Run("windows are committed in order, also when spans are not taken in any more", func(t *testing.T) {
		s := begun(t).page(160, done(4)).heard(165, spansAt(140, 150)...)
		o := testOptions(90)
		o.Objectives = []slo.Objective{plain}
		s.state.Reconfigure(o)
		s.heard(166)
		equal(t, "windows", len(s.windows), 1)
		s.page(220, done(5))
		equal(t, "windows", len(s.windows), 2)
		equal(t, "first", s.windows[0].End, 160)
		equal(t, "second waits for nothing", s.windows[1].Spans, WindowSpans{})
	})
	t.Run("spans that are taken in from the middle of a window on begin to count with the next", func(t *testing.T) {
		s := hear(t, plain)
		o := s.state.opts
		o.Spans = false
		s.state.Reconfigure(o)
		s.page(100, done(0)).page(130, done(2))
		o.Spans = true
		s.state.Reconfigure(o)
		s.heard(132, spansAt(110, 120)...).page(160, done(4)).heard(166, spansAt(140, 150)...).page(220, done(6)).heard(226, spansAt(180, 190)...).heard(231)
		equal(t, "windows", len(s.windows), 2)
		equal(t, "first", s.windows[0].Spans, WindowSpans{Expected: true})
		equal(t, "second", s.windows[1].Spans, WindowSpans{Expected: true, Seen: 2, Complete: true})
		equal(t, "finished", s.engine().Spans.Finished, 2)
	})
}

func TestSpansAndTheirWindows(t *testing.T) {
	plain := objective_("x", 0.25, 0.025)
	t.Run("what comes after its window was committed is late, and unseen", func(t *testing.T) {
		s := hear(t, plain).page(100, done(0)).heard(115, spansAt(110)...).page(160, done(2)).heard(171)
		s.heard(172, spansAt(120)...).page(220, done(2)).heard(231)
		equal(t, "late", s.engine().Spans.Late, 1)
		equal(t, "seen", s.engine().Spans.Seen, 1)
		equal(t, "finished", s.engine().Spans.Finished, 2)
		equal(t, "completeness of a window in which nothing finished", s.engine().Spans.Completeness, fact.Number{})
		equal(t, "exact windows", s.engine().Spans.Exact, 1)
	})
	t.Run("one that comes again after its window was committed is in no other", func(t *testing.T) {
		s := hear(t, plain).page(100, done(0))
		sent := spansAt(110, 159.5) // nothing ended after the second
		s.heard(115, sent[:1]...).page(160, done(2)).heard(162, sent[1:]...).heard(171)
		equal(t, "first", s.windows[0].Spans, WindowSpans{Expected: true, Seen: 2, Complete: true})
		s.heard(172, sent...)
		equal(t, "came before", s.engine().Spans.Duplicate, 2)
		s.state.engines["a"].spans.spent = [2]map[spanID]struct{}{} // as if so many had come since that they are not known
		s.heard(173, sent...)
		equal(t, "late", s.engine().Spans.Late, 2)
		s.heard(195, spansAt(180)...).page(220, done(4)).heard(231)
		equal(t, "second", s.windows[1].Spans, WindowSpans{Expected: true, Seen: 1})
	})
	t.Run("spans from before the first page and from between two processes are in no window", func(t *testing.T) {
		s := hear(t, plain).page(100, says{born: 50, first: 7, finished: 7, http2xx: 7}).heard(103, spansAt(80, 90, 95)...)
		s.page(110, says{born: 50, first: 8, finished: 8, http2xx: 8}).heard(112, spansAt(105)...)
		s.heard(125, spansAt(112, 113)...) // after its last page, and then it died
		s.page(150, says{born: 140, first: 1, finished: 1, http2xx: 1}).heard(152, spansAt(145)...).page(190, says{born: 140, first: 1, finished: 1, http2xx: 1}).end()
		equal(t, "outside", s.engine().Spans.Outside, 3+2)
		equal(t, "seen", s.engine().Spans.Seen, 2)
		for _, w := range s.windows {
			equal(t, fmt.Sprint("complete to ", w.End), w.Spans.Complete, true)
		}
	})
	t.Run("spans beside the edge of a window are of neither when some are missing", func(t *testing.T) {
		s := hear(t, plain).page(100, done(0)).heard(105, spansAt(101.5)...).page(160, done(4))
		other := each(spansAt(160.5), func(_ int, s *fact.Span) { s.Decode = 0.21 })
		s.heard(165, append(other, spansAt(130, 159.995)...)...).page(220, done(6))
		s.heard(226, each(spansAt(200), func(_ int, s *fact.Span) { s.Decode = 0.23 })...).heard(231)
		first, second := s.windows[0], s.windows[1]
		equal(t, "first", first.Spans, WindowSpans{Expected: true, Seen: 3, Unsure: 1})
		equal(t, "second", second.Spans, WindowSpans{Expected: true, Seen: 2, Unsure: 1})
		equal(t, "completeness", s.engine().Spans.Completeness, fact.Known(1))
	})
	t.Run("more spans than sequences contradict the page, and change nothing", func(t *testing.T) {
		s := hear(t, plain).page(100, done(0)).page(130, done(1))
		s.heard(145, each(spansAt(110, 111, 112, 140, 141), func(_ int, s *fact.Span) { s.TTFT = 0.9 })...).page(160, done(2)).heard(171)
		w := s.windows[0]
		equal(t, "spans", w.Spans, WindowSpans{Expected: true, Seen: 2, Unsure: 2, Conflict: true})
		equal(t, "evidence", w.Evidence, EvidenceHistogram)
		equal(t, "lower", w.Lower, 2)
		equal(t, "tokens", w.Tokens, Tokens{Known: true, Upper: 60, MissedUpper: 60})
		equal(t, "conflicts", s.engine().Spans.Conflicts, 1)
	})
	t.Run("spans that say the opposite of the histograms contradict them, under that objective", func(t *testing.T) {
		s := hear(t, plain, objective_("decode", 0, 0.025)).page(100, done(0))
		s.heard(145, each(spansAt(110, 140), func(_ int, s *fact.Span) { s.TTFT = 0.9 })...).page(160, done(2)).heard(171)
		equal(t, "conflict", s.windows[0].Spans, WindowSpans{Expected: true, Seen: 2, Complete: true, Conflict: true})
		equal(t, "lower", s.windows[0].Lower, 2)
		equal(t, "evidence", s.windows[0].Evidence, EvidenceHistogram)
		equal(t, "tokens", s.windows[0].Tokens, Tokens{Known: true, Upper: 60, MissedUpper: 60})
		equal(t, "no conflict", s.windows[1].Spans.Conflict, false)
		equal(t, "conflicts", s.engine().Spans.Conflicts, 1)
	})
	t.Run("spans that came before their sequences ended are from a clock that is wrong", func(t *testing.T) {
		s := hear(t, plain).page(100, done(0))
		s.heard(115, each(spansAt(110), func(_ int, s *fact.Span) { s.Received = s.End - 3 })...).page(160, done(2)).heard(171)
		equal(t, "conflict", s.windows[0].Spans.Conflict, true)
	})
	t.Run("a span from another time spoils one window at most, and does not wait for ever", func(t *testing.T) {
		s := hear(t, plain).page(100, done(0)).heard(115, spansAt(110)...)
		s.heard(120, each(spansAt(1e9, 1e9), func(i int, s *fact.Span) { s.Received = 120 })...)
		for at := 160.0; at < 300; at += 60 {
			s.page(at, done(1)).heard(at + 11)
			equal(t, "conflict", s.windows[len(s.windows)-1].Spans.Conflict, false)
		}
		equal(t, "waiting", len(s.state.engines["a"].spans.waiting), 0)
		equal(t, "outside", s.engine().Spans.Outside, 2)
	})
	t.Run("spans that leave behind no process are let go of", func(t *testing.T) {
		s := hear(t, plain).page(100, done(0)).page(110, done(1)).heard(112, spansAt(105)...)
		for at := 114.0; at < 130; at += 2 {
			s.miss(at, fact.ReasonRefused)
		}
		s.heard(136, spansAt(111, 112)...).heard(300)
		equal(t, "waiting", len(s.state.engines["a"].spans.waiting), 0)
		equal(t, "outside", s.engine().Spans.Outside, 2)
	})
	t.Run("the marks of pages are kept for as long as a window needs them", func(t *testing.T) {
		s := hear(t, plain).page(100, done(0)).heard(103, spansAt(101)...)
		for at := 102.0; at < 400; at += 2 {
			s.page(at, done(1))
		}
		if n := len(s.state.engines["a"].marks); n > 40 {
			t.Errorf("%d marks", n)
		}
	})
}

func TestWhatSpansCannotAnswer(t *testing.T) {
	plain := objective_("x", 0.25, 0.025)
	pages := func(t *testing.T, o slo.Objective, change func(*fact.EngineSample)) Window {
		s := hear(t, o)
		for i, at := range []float64{100, 130, 160} {
			s.heard(at-1, spansAt([][]float64{nil, {110, 120}, {140, 150}}[i]...)...)
			p := done(2 * uint64(i)).page()
			change(p)
			s.round(at, fact.Poll{Target: "a", Sent: at, Received: at + 0.01, Sample: p})
		}
		return s.heard(171).windows[0]
	}
	off := objective_("off", 0.3, 0.025)
	for name, c := range map[string]struct {
		change func(*fact.EngineSample)
		says   string
	}{
		"without finish reasons what succeeded is unknown":   {func(p *fact.EngineSample) { p.Ranks[0].Finished = nil }, "no finish reasons"},
		"an engine on whose pages nothing can be judged":     {func(p *fact.EngineSample) { p.Traits.Unjudged = "made up" }, "made up"},
		"V0 counts requests where spans stand for sequences": {func(p *fact.EngineSample) { p.Traits.RequestHistograms = true }, "between the engine's edges"},
		"an engine that does not see whole requests":         {func(p *fact.EngineSample) { p.Disaggregated = "made up" }, "do not see whole requests"},
	} {
		t.Run(name, func(t *testing.T) {
			w := pages(t, off, c.change)
			if w.Evidence != "" || w.Lower+w.Upper != 0 || !strings.Contains(strings.ReplaceAll(w.Reason, "does not see", "do not see"), c.says) {
				t.Errorf("%+v", w)
			}
		})
	}
	t.Run("an objective that is about some of an engine's models has no spans of its own", func(t *testing.T) {
		o := plain
		o.Match.Model = regexp.MustCompile("^(?:m)$")
		w := pages(t, o, func(p *fact.EngineSample) {
			p.Ranks = append(p.Ranks, says{}.page().Ranks[0])
			p.Ranks[1].Model = "n"
		})
		equal(t, "evidence", w.Evidence, EvidenceHistogram)
		equal(t, "spans", w.Spans, WindowSpans{Expected: true})
		equal(t, "tokens", w.Tokens, Tokens{})
	})
	t.Run("without a length histogram tokens are unknown", func(t *testing.T) {
		w := pages(t, plain, func(p *fact.EngineSample) {
			p.Ranks[0].OutputTokens.V, p.Ranks[0].Histograms[fact.OutputTokens] = 9, hist.Histogram{}
		})
		equal(t, "evidence", w.Evidence, EvidenceBoth)
		equal(t, "tokens", w.Tokens, Tokens{})
	})
	t.Run("without a decode histogram nothing shows that spans are complete", func(t *testing.T) {
		w := pages(t, plain, func(p *fact.EngineSample) { p.Ranks[0].Histograms[fact.Decode] = hist.Histogram{} })
		equal(t, "spans", w.Spans, WindowSpans{Expected: true, Seen: 4})
		equal(t, "lower", w.Lower, 4)
	})
	t.Run("a threshold off the edges is judged by spans while they come, and not before or after", func(t *testing.T) {
		s := hear(t, off).page(100, done(0)).page(160, done(2))
		equal(t, "before", s.windows[0].Evidence, "")
		equal(t, "absent", s.engine().SLOs[0].Absent != "", true)
		slow := each(spansAt(180, 190), func(i int, s *fact.Span) { s.TTFT = 0.29 + 0.02*float64(i) })
		s.heard(195, slow...).page(220, done(5)).heard(231)
		w := s.windows[1]
		equal(t, "evidence", w.Evidence, EvidenceSpans)
		equal(t, "reason, method and note", w.Reason+string(w.Method)+w.Note, "")
		equal(t, "interval", fmt.Sprint(w.Lower, w.Upper, w.Requests), "1 2 3")
		if !slices.Equal(w.Violations, []Violation{{fact.TTFT, 1, 2}, {fact.TPOT, 0, 1}}) {
			t.Errorf("violations %+v", w.Violations)
		}
		equal(t, "absent", s.engine().SLOs[0].Absent, "")
		equal(t, "requests", s.engine().SLOs[0].Requests, 3)
		for at := 250.0; at < 4000; at += 60 {
			s.page(at, done(5))
		}
		equal(t, "after an hour without", s.windows[len(s.windows)-1].Evidence, "")
		equal(t, "absent", s.engine().SLOs[0].Absent != "", true)
		equal(t, "expected", s.engine().Spans.Expected, false)
	})
}

func TestAttemptsOfOneRequest(t *testing.T) {
	o := objective_("x", 0.25, 0.025)
	o.Policy.Retries = slo.RetriesLogical
	retried := each(spansAt(110, 112, 114, 140), func(i int, s *fact.Span) {
		if i < 3 {
			s.Trace, s.Parent, s.Call = [16]byte{9}, [8]byte{byte(i + 1)}, fmt.Sprint("try", min(i, 1))
		}
		if i == 2 { // a second sequence of the second try
			s.Parent, s.E2E = [8]byte{2}, s.E2E+2
		}
	})
	s := hear(t, o, objective_("attempts", 0.25, 0.025)).page(100, done(0)).heard(145, retried...).page(160, done(4)).heard(171)
	w := s.windows[0]
	equal(t, "requests", w.Requests, 3)
	equal(t, "only the one that was tried once met its promise, for the others had waited", fmt.Sprint(w.Lower, w.Upper), "1 1")
	equal(t, "tokens", w.Tokens, Tokens{true, 30, 30, 90, 90})
	equal(t, "attempts for themselves", fmt.Sprint(s.windows[1].Lower, s.windows[1].Requests), "4 4")
	equal(t, "attempts", s.engine().Spans.Attempts, 3)
	equal(t, "logical", s.engine().Spans.Logical, 2)
}

func TestPromptsOfABatchAreRequestsOfTheirOwn(t *testing.T) {
	o := objective_("x", 0.25, 0.025)
	o.Policy.Retries = slo.RetriesLogical
	batch := each(spansAt(110, 110, 110), func(i int, s *fact.Span) {
		s.Trace, s.Parent, s.Call = [16]byte{9}, [8]byte{1}, fmt.Sprint("cmpl-x-", i)
	})
	s := hear(t, o).page(100, done(0)).heard(145, batch...).page(160, done(3)).heard(171)
	equal(t, "requests", s.windows[0].Requests, 3)
	equal(t, "attempts", s.engine().Spans.Attempts, 3)
	equal(t, "logical", s.engine().Spans.Logical, 3)
}

func TestStepsOfAnAgentAreRequestsOfTheirOwn(t *testing.T) {
	o := objective_("x", 0.25, 0.025)
	o.Policy.Retries = slo.RetriesLogical
	steps := each(spansAt(110, 115, 120), func(i int, s *fact.Span) {
		s.Trace, s.Parent, s.Call, s.PromptTokens = [16]byte{9}, [8]byte{byte(i + 1)}, fmt.Sprint("step", i), []int{40, 4000, 40}[i]
	})
	s := hear(t, o).page(100, done(0)).heard(145, steps...).page(160, done(3)).heard(171)
	equal(t, "the one with the same prompt is a try of the first, whatever came in between", s.windows[0].Requests, 2)
	equal(t, "the one with another prompt has not waited, and the other has", s.windows[0].Lower, 1)
	equal(t, "attempts", s.engine().Spans.Attempts, 3)
	equal(t, "logical", s.engine().Spans.Logical, 2)
}

// TestViolationsOfASeenWindow: of two classes the histograms do not tell which sequence is held to which threshold, and
// spans do. What the engine observed of a try is over the threshold or not, whatever it is a try of.
func TestViolationsOfASeenWindow(t *testing.T) {
	o := objective_("x", 0.1, 0)
	o.Policy.Retries = slo.RetriesLogical
	o.Clauses = append(o.Clauses, slo.Clause{Metric: fact.E2E, Threshold: 0.3})
	o.Classes = slo.Classes{By: slo.ByPromptTokens, List: []slo.Class{
		{Name: "short", AtMost: 100, Clauses: []slo.Clause{{Metric: fact.TTFT, Threshold: 0.25}, {Metric: fact.E2E, Threshold: 0.5}}},
	}}
	sent := func() []fact.Span {
		return each(spansAt(110, 120, 130, 140), func(i int, s *fact.Span) {
			if i < 3 { // over the thresholds of other, and not over those of short
				s.PromptTokens = 400
			}
			if i < 2 {
				s.Trace, s.Parent, s.Call = [16]byte{9}, [8]byte{byte(i + 1)}, fmt.Sprint("try", i)
			}
		})
	}
	told := func(spans ...fact.Span) (violations []Violation, w Window) {
		s := hear(t, o).page(100, done(0)).heard(115, spansAt(90)...).heard(145, spans...).page(160, done(4)).heard(171)
		return s.windows[0].Violations, s.windows[0]
	}
	alone, _ := told()
	equal(t, "without spans", fmt.Sprint(alone), fmt.Sprint([]Violation{{fact.TTFT, 0, 4}, {fact.E2E, 0, 4}}))
	all, w := told(sent()...)
	equal(t, "complete", w.Spans, WindowSpans{Expected: true, Seen: 4, Complete: true})
	equal(t, "with all spans, both tries among them", fmt.Sprint(all), fmt.Sprint([]Violation{{fact.TTFT, 0, 4}, {fact.E2E, 3, 3}}))
	part, _ := told(sent()[:3]...)
	equal(t, "with some", fmt.Sprint(part), fmt.Sprint(alone))
}

// TestMoreTokensThanThePageCounts: the verdict on requests stands, tokens are not known, and the window counts as one in
// which spans contradict the page.
func TestMoreTokensThanThePageCounts(t *testing.T) {
	o := objective_("x", 0.25, 0.025)
	o.Classes = slo.Classes{By: slo.ByPromptTokens, List: []slo.Class{{Name: "short", AtMost: 100}}}
	sent := each(spansAt(110, 120, 130, 140), func(i int, s *fact.Span) { s.OutputTokens = 31 + i })
	s := hear(t, o).page(100, done(0)).heard(145, sent...).page(160, done(4)).heard(171)
	w := s.windows[0]
	equal(t, "requests", fmt.Sprint(w.Lower, w.Upper, w.Requests, w.Evidence), "4 4 4both")
	equal(t, "tokens", w.Tokens, Tokens{Known: true, Upper: 120, MissedUpper: 120})
	equal(t, "tokens of a class", w.Classes[0].TokensLower, 0)
	equal(t, "conflict", w.Spans, WindowSpans{Expected: true, Seen: 4, Complete: true, Conflict: true})
	equal(t, "windows in conflict", s.engine().Spans.Conflicts, 1)
}
