package exporter

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// TestJournalTellsOfFalls plays windows of a minute to the journal, each of some sequences of which a share has a span:
// a fall is one line, a whole engine's is told as missing spans, and chance and few sequences are none.
func TestJournalTellsOfFalls(t *testing.T) {
	type windows struct {
		n        int
		finished uint64
		percent  uint64
	}
	for name, c := range map[string]struct {
		play []windows
		want []string // a part of each line, in order
	}{
		"as many as ever":                            {[]windows{{90, 100, 62}}, nil},
		"a little less":                              {[]windows{{60, 100, 62}, {30, 100, 50}}, nil},
		"a fifth less, and nothing":                  {[]windows{{60, 100, 62}, {5, 100, 50}, {20, 100, 0}}, []string{`level=WARN msg="fewer sequences have a span than before|engine=a completeness=0.00 before=0.6`}},
		"a third less":                               {[]windows{{60, 100, 62}, {20, 100, 29}}, []string{`completeness=0.29 before=0.62 in=1m0s came_beside="40 spans unmatched (pod), 3 spans refused (long), 7 messages turned away (http too_large)"`}},
		"nothing, where few finish":                  {[]windows{{60, 3, 67}, {12, 3, 0}}, []string{`completeness=0.11 before=0.66`}},
		"nothing, where almost none finishes":        {[]windows{{60, 1, 100}, {5, 1, 0}}, []string{`msg="spans of the engine are missing`}},
		"nothing of a thin sample":                   {[]windows{{60, 100, 5}, {12, 100, 0}}, []string{`completeness=0.00 before=0.05`}},
		"a whole engine":                             {[]windows{{60, 100, 100}, {12, 100, 30}}, []string{`msg="spans of the engine are missing|completeness=0.3 |came_beside="40 spans`}},
		"a whole engine in two steps":                {[]windows{{60, 100, 100}, {2, 100, 85}, {12, 100, 30}}, []string{"spans of the engine are missing", `completeness=0.30 before=0.9`}},
		"too young to know":                          {[]windows{{8, 100, 62}, {3, 100, 0}}, nil},
		"and back":                                   {[]windows{{60, 100, 62}, {3, 100, 0}, {9, 100, 60}}, []string{"fewer sequences", `level=INFO msg="as many sequences have a span again as before" engine=a completeness=0.60 after=3m0s`}},
		"what lasts an hour is the rule":             {[]windows{{60, 100, 62}, {90, 100, 30}, {9, 100, 0}}, []string{"before=0.62", `completeness=0.00 before=0.30`}},
		"nothing finishes in between and it goes on": {[]windows{{60, 100, 62}, {30, 0, 0}, {9, 100, 62}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			j := newJournal(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelInfo})))
			e := fold.Engine{ID: "a", Target: fact.Target{ID: "a"}, Up: true, Phase: fold.PhaseJudging}
			s, at := &e.Spans, 1e9
			var none fold.Unmatched
			var intake SpanIntake
			for part, w := range c.play {
				if part == 1 {
					none.Counts = tally(fold.UnmatchedPod, 40)
					intake.Refused = tally("long", 3)
					intake.Messages = []MessageTally{{"http", "ok", 900}, {"http", "too_large", 7}}
				}
				for range w.n {
					s.Windows, s.Finished, s.Seen = s.Windows+1, s.Finished+w.finished, s.Seen+w.finished*w.percent/100
					if s.Completeness = (fact.Number{}); w.finished > 0 {
						s.Completeness = fact.Known(float64(w.finished*w.percent/100) / float64(w.finished))
					}
					for range 6 {
						at += 10
						s.Last, s.Expected = at, true
						j.noteIntake(&intake, at)
						j.note(&view{snapshot: &fold.Snapshot{At: at, Engines: []fold.Engine{e}, Unmatched: none}}, []fact.Target{e.Target})
					}
				}
			}
			var got []string
			for line := range strings.Lines(log.String()) {
				if !strings.Contains(line, "engine is up") && !strings.Contains(line, "first ") && !strings.Contains(line, "of some sequences only") && !strings.Contains(line, "match no engine") {
					got = append(got, line)
				}
			}
			if len(got) != len(c.want) {
				t.Fatalf("%d lines, want %d:\n%s", len(got), len(c.want), strings.Join(got, ""))
			}
			for i, want := range c.want {
				for part := range strings.SplitSeq(want, "|") {
					if !strings.Contains(got[i], part) {
						t.Errorf("%q is not in %q", part, got[i])
					}
				}
			}
		})
	}
}

// TestWhatCameBesideIsOfLate: what came before the last ten minutes is not told, and nothing is said to be so.
func TestWhatCameBesideIsOfLate(t *testing.T) {
	var b besides
	unmatched := func(n uint64) *fold.Unmatched { return &fold.Unmatched{Counts: tally(fold.UnmatchedPod, n)} }
	b.note(&fold.Unmatched{}, nil, 0)
	b.note(unmatched(5), nil, 100)
	if got := b.words(100); got != "5 spans unmatched (pod)" {
		t.Error(got)
	}
	b.note(unmatched(5), nil, 1000)
	if got := b.words(1000); !strings.HasPrefix(got, "nothing that was turned away") {
		t.Error(got)
	}
	b.note(unmatched(7), &SpanIntake{Messages: []MessageTally{{"grpc", "partial", 9}, {"grpc", "unauthorized", 1}}}, 1100)
	if got := b.words(1200); got != "2 spans unmatched (pod), 1 messages turned away (grpc unauthorized)" {
		t.Error(got)
	}
	for i := range uint64(3 * mostMarks) {
		b.note(unmatched(10+i), nil, 1200+float64(i)/1000)
	}
	if len(b.kept) > mostMarks {
		t.Errorf("%d are kept", len(b.kept))
	}
}
