package exporter

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// TestJournalTellsEdgesOnce notes what an engine goes through, step by step: each change is one line, and a step that
// changes nothing is none.
func TestJournalTellsEdgesOnce(t *testing.T) {
	o := objectives()
	var log bytes.Buffer
	plain := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	j := newJournal(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: plain})))
	e := fold.Engine{ID: "a", Target: fact.Target{ID: "a", URL: secretURL}, Phase: fold.PhaseUnseen, SLOs: []fold.SLO{{Objective: &o[0]}}}
	down := map[string]fact.Poll{}
	at := 1000.0
	for _, step := range []struct {
		happens string
		change  func()
		want    string // parts of the line, separated by |; "" for no line
	}{
		{"the first poll is refused", func() { down["a"] = fact.Poll{Reason: fact.ReasonRefused, Detail: "nothing listens"} },
			`WARN msg="engine is down" engine=a url=http://10.0.0.7:8000/metrics reason=refused detail="nothing listens"`},
		{"it stays refused", func() {}, ""},
		{"it times out instead", func() { down["a"] = fact.Poll{Reason: fact.ReasonTimeout} }, `WARN msg="engine is down"|reason=timeout`},
		{"it comes up", func() { clear(down); e.Up, e.Phase, e.Dialect, e.Model = true, fold.PhaseWarming, "vllm-v1", "m" }, `INFO msg="engine is up" engine=a|dialect=vllm-v1|model=m`},
		{"a window is committed", func() { e.Phase = fold.PhaseJudging }, `INFO msg="first judgement window was committed"`},
		{"it stalls", func() { e.Phase = fold.PhaseStalled }, `WARN msg="engine is stalled: work is in flight, and nothing moves"`},
		{"it stays stalled", func() {}, ""},
		{"it moves again", func() { e.Phase = fold.PhaseJudging }, `INFO msg="engine is progressing again"`},
		{"it goes down", func() { e.Up, e.Phase = false, fold.PhaseDown; down["a"] = fact.Poll{Reason: fact.ReasonRefused} }, `WARN msg="engine is down"|reason=refused`},
		{"it comes back 20 s later", func() { at += 10; clear(down); e.Up, e.Phase = true, fold.PhaseJudging }, `INFO msg="engine is up again" engine=a after=20s`},
		{"its process is a new one", func() { e.Resets++ }, `INFO msg="engine has a new process" engine=a resets=1`},
		{"evidence contradicts itself", func() { e.Conflicts++ }, `WARN msg="evidence of a judgement window contradicts itself"|conflicts=1`},
		{"and does so again", func() { e.Conflicts++ }, ""},
		{"its page lacks a field", func() { e.Missing = []fact.Missing{{Field: "queue", Cost: "no queue times"}} }, `INFO msg="page lacks a field" engine=a field=queue cost="no queue times"`},
		{"its page is odd", func() { e.Warnings = []string{"two of a kind"} }, `WARN msg="page is not as it should be" engine=a warning="two of a kind"`},
		{"nothing changes", func() {}, ""},
		{"the ledger cannot be kept", func() { e.Ledger.Absent = "why" }, `WARN msg="ledger cannot be judged" engine=a reason=why`},
		{"the ledger can be kept", func() { e.Ledger.Absent = "" }, `INFO msg="ledger can be judged again" engine=a`},
		{"an objective cannot be judged", func() { e.SLOs[0].Absent = "no tpot histogram" }, `WARN msg="objective cannot be judged" engine=a slo=chat reason="no tpot histogram"`},
		{"for another reason", func() { e.SLOs[0].Absent = "no ttft histogram" }, `WARN msg="objective cannot be judged"|reason="no ttft histogram"`},
		{"it can", func() { e.SLOs[0].Absent = "" }, `INFO msg="objective can be judged again" engine=a slo=chat`},
		{"it is no target any more", func() { e.Gone = true }, `INFO msg="engine is no target any more" engine=a`},
		{"and stays in the snapshot for a while", func() {}, ""},
	} {
		step.change()
		log.Reset()
		at += 10
		var targets []fact.Target
		if !e.Gone {
			targets = []fact.Target{e.Target}
		}
		j.note(&view{snapshot: &fold.Snapshot{At: at, Engines: []fold.Engine{e}}, down: down}, targets)
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

// TestJournalIsBounded: an engine that invents warnings does not fill the log.
func TestJournalIsBounded(t *testing.T) {
	var log bytes.Buffer
	j := newJournal(slog.New(slog.NewTextHandler(&log, nil)))
	e := fold.Engine{ID: "a", Target: fact.Target{ID: "a"}, Up: true}
	for i := range 10 * maxTold {
		e.Warnings = []string{strings.Repeat("x", i)}
		j.note(&view{snapshot: &fold.Snapshot{Engines: []fold.Engine{e}}}, []fact.Target{e.Target})
	}
	if n := strings.Count(log.String(), "\n"); n > maxTold+1 {
		t.Errorf("%d lines, want at most %d", n, maxTold+1)
	}
}
