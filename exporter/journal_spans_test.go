package exporter

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// TestJournalTellsOfSpansOnce notes what happens to the spans of an engine and to those of none, a minute a step: each
// change is one line, and a step that changes nothing is none.
func TestJournalTellsOfSpansOnce(t *testing.T) {
	var log bytes.Buffer
	j := newJournal(slog.New(slog.NewTextHandler(&log, nil)))
	e := fold.Engine{ID: "a", Target: fact.Target{ID: "a"}, Up: true, Phase: fold.PhaseJudging, Ranks: []fold.Rank{{ID: "a", Sequences: []fact.ReasonCount{{Reason: "stop", Count: 5}}}}}
	s := &e.Spans
	var none fold.Unmatched
	intake := SpanIntake{Spans: []fold.Tally{{Name: "full"}}, Room: 1000}
	at := 1e9
	j.note(&view{snapshot: &fold.Snapshot{At: at, Engines: []fold.Engine{e}}}, []fact.Target{e.Target}) // the engine itself
	span := func() { s.Last, s.Expected = at, true }
	for _, step := range []struct {
		happens string
		change  func()
		want    string // parts of the line, separated by |; "" for no line
	}{
		{"no span came", func() {}, ""},
		{"the first span comes", func() { span(); s.Matched = tally(fold.ByAddress, 3) }, `level=INFO msg="the first span of the engine came: windows wait for them from now on" engine=a matched_by=address`},
		{"a window is complete", func() { span(); s.Completeness = fact.Known(1) }, ""},
		{"a tenth is missing", func() { span(); s.Completeness = fact.Known(0.9) }, ""},
		{"more is missing", func() { span(); s.Completeness, s.Late = fact.Known(0.89), 4 }, `level=WARN msg="spans of the engine are missing|engine=a completeness=0.89 late=4 outside=0 dropped=0`},
		{"still more is missing", func() { span(); s.Completeness = fact.Known(0.3) }, ""},
		{"nothing finishes in a window", func() { span(); s.Completeness = fact.Number{} }, ""},
		{"it is complete again", func() { span(); s.Completeness = fact.Known(0.97) }, `level=INFO msg="spans of the engine are complete" engine=a completeness=0.97`},
		{"spans contradict the page", func() {
			span()
			s.Conflicts++
			e.Past.Windows = []fold.PastWindow{conflict(9, 7), conflict(240, 120), {}}
		}, `level=WARN msg="spans contradict the page in a judgement window: the page was believed; there are more spans than sequences,|spans of two engines may be matched to one,|explain --spans, and docs/spans.md" engine=a conflicts=1 spans=240 finished=120`},
		{"and do so again", func() { span(); s.Conflicts++ }, ""},
		{"sequences finish without spans", func() { e.Ranks[0].Sequences[0].Count = 12 }, ""},
		{"for so long that windows do not wait", func() { s.Expected = false }, `level=WARN msg="spans of the engine have stopped: windows do not wait for them any more" engine=a finished_since=7`},
		{"that lasts", func() {}, ""},
		{"spans come again", span, `level=INFO msg="spans of the engine come again" engine=a after=4m0s`},
		{"there is no work for as long", func() { s.Expected = false }, `level=INFO msg="no span of the engine has come for long, and nothing has finished`},
		{"a span is no engine's", func() {
			none.Counts = tally(fold.UnmatchedPod, 1)
			none.Last = []fold.UnmatchedOrigin{{Reason: fold.UnmatchedNothing, Origin: fact.Origin{Peer: "::1"}}, {Reason: fold.UnmatchedPod, Origin: fact.Origin{Peer: "10.0.0.9", PodName: "v 7", PodUID: "u"}}}
		}, `level=WARN msg="spans came that match no engine" reason=pod why="no target is of its pod" remedy="give its target the label pod_uid, or|spans=1 peer=10.0.0.9 pod="v 7" pod_uid=u` + "\n"},
		{"so are more", func() { none.Counts = tally(fold.UnmatchedPod, 9) }, ""},
		{"and some for another reason", func() { none.Counts = append(none.Counts, tally(fold.UnmatchedNothing, 1)...) }, `level=WARN msg="spans came that match no engine" reason=nothing|OTEL_RESOURCE_ATTRIBUTES=goodput.engine=ID|peer=::1`},
		{"nothing more comes", func() {}, ""},
		{"an hour later", func() { at += 3600 }, ""},
		{"one is no engine's again", func() { none.Counts[0].Count++ }, `reason=pod`},
		{"there is no room", func() { intake.Spans[0].Count = 7 }, `level=WARN msg="there was no room for spans that came: their senders were told to come again; more of them fit with a larger spans.buffer or a shorter poll.interval" turned_away=7 room=1000`},
		{"still none", func() { intake.Spans[0].Count = 8 }, ""},
		{"none an hour later", func() { at += 3600; intake.Spans[0].Count = 9 }, `turned_away=9`},
	} {
		at += 60
		step.change()
		log.Reset()
		j.note(&view{snapshot: &fold.Snapshot{At: at, Engines: []fold.Engine{e}, Unmatched: none}}, []fact.Target{e.Target})
		j.noteIntake(&intake, at)
		j.noteIntake(nil, at)
		got := log.String()
		if step.want == "" && got != "" || step.want != "" && strings.Count(got, "\n") != 1 {
			t.Errorf("%s: log is %q", step.happens, got)
		}
		for part := range strings.SplitSeq(step.want, "|") {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %q is not in %q", step.happens, part, got)
			}
		}
	}
}

// TestUnmatchedOriginsAreCutAndQuoted: what a sender says of itself is one value of one line.
func TestUnmatchedOriginsAreCutAndQuoted(t *testing.T) {
	var log bytes.Buffer
	j := newJournal(slog.New(slog.NewTextHandler(&log, nil)))
	j.noteUnmatched(&fold.Unmatched{Counts: tally(fold.UnmatchedPod, 1), Last: []fold.UnmatchedOrigin{{Reason: fold.UnmatchedPod,
		Origin: fact.Origin{PodName: strings.Repeat("\nlevel=ERROR ", 1000)}}}}, 1e9)
	if got := log.String(); strings.Count(got, "\n") != 1 || len(got) > 2000 {
		t.Errorf("%d bytes, %d lines", len(got), strings.Count(got, "\n"))
	}
}

// TestJournalTakesASamplerForNoFault: what never was complete is told once, and not as a warning.
func TestJournalTakesASamplerForNoFault(t *testing.T) {
	var log bytes.Buffer
	j := newJournal(slog.New(slog.NewTextHandler(&log, nil)))
	e := fold.Engine{ID: "a", Target: fact.Target{ID: "a"}, Up: true, Spans: fold.EngineSpans{Last: 1e9, Expected: true, Completeness: fact.Known(0.3)}}
	for range 3 {
		j.note(&view{snapshot: &fold.Snapshot{At: 1e9, Engines: []fold.Engine{e}}}, []fact.Target{e.Target})
	}
	if got := log.String(); strings.Count(got, "of some sequences only") != 1 || strings.Contains(got, "level=WARN") {
		t.Error(got)
	}
}

func conflict(seen, finished uint64) fold.PastWindow {
	return fold.PastWindow{Verdicts: []fold.Verdict{{}, {Sequences: fold.Number{N: finished, Known: true}, Spans: fold.WindowSpans{Conflict: true, Seen: seen}}}}
}
