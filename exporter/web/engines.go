package web

import (
	"fmt"
	"math"
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// engineRow is one engine in the table.
type engineRow struct {
	ID, Link, Model, URL                   string
	Phase, PhaseClass, Reason              string
	Page, Poll, Queue, KV, Coverage, Reads string
	Remarks                                []string
}

// phaseWord says in words what can be expected of an engine, why, and how it is painted.
func phaseWord(e *fold.Engine, down map[string]fact.Poll, terms fold.Terms, now float64) (word, reason, class string) {
	if e.Gone {
		return "gone", "is no target any more; it leaves this page soon", "calm"
	}
	if p, failed := down[e.ID]; failed {
		reason = string(p.Reason)
		if p.Detail != "" {
			reason += ": " + p.Detail
		}
	}
	switch e.Phase {
	case fold.PhaseWarming:
		return "warming up", warmingReason([]*fold.Engine{e}, terms, now), "calm"
	case fold.PhaseJudging:
		return "judging", "", "good"
	case fold.PhaseStalled:
		return "stalled", "work is in flight, and nothing has moved for a minute", "bad"
	case fold.PhaseAsleep:
		return "asleep", "it was put to sleep, and serves nothing until it is woken", "calm"
	case fold.PhaseStarting:
		if reason != "" {
			reason = " (" + reason + ")"
		}
		return "starting", "its pod has not become ready, as while a model is loaded; no page is expected yet" + reason, "calm"
	case fold.PhaseUnseen:
		return "never seen", reason, "bad"
	case fold.PhaseDown:
		if reason == "" {
			reason = "the last poll brought no page that could be used"
		}
		return "down", reason, "bad"
	}
	return string(e.Phase), reason, "bad"
}

func (p *pageMaker) engineRows() []engineRow {
	out := make([]engineRow, 0, len(p.view.Snapshot.Engines))
	for i := range p.view.Snapshot.Engines {
		out = append(out, p.engineRow(&p.view.Snapshot.Engines[i]))
	}
	// What wants a look comes first.
	slices.SortStableFunc(out, func(a, b engineRow) int { return weight(a.PhaseClass) - weight(b.PhaseClass) })
	return out
}

func weight(class string) int {
	if class == "bad" {
		return 0
	}
	return 1
}

func (p *pageMaker) engineRow(e *fold.Engine) engineRow {
	now := p.now
	r := engineRow{ID: e.ID, Link: link("engine", e.ID), URL: p.address(e.Target.URL), Page: "never", Poll: "–", Queue: "unknown", KV: "unknown", Coverage: "unknown", Reads: "unknown"}
	r.Model = groupName(modelsOf(e))
	r.Phase, r.Reason, r.PhaseClass = phaseWord(e, p.view.Down, p.view.Snapshot.Terms, now)
	if e.LastPoll > 0 {
		r.Page = ago(now-e.LastPoll) + " ago"
	}
	if e.PollTook > 0 {
		r.Poll = duration(e.PollTook)
	}
	if e.Dialect != "" {
		r.Reads = e.Dialect
		if e.Version != "" {
			r.Reads += " " + e.Version
		}
	}
	running, waiting, kv := 0.0, 0.0, -1.0
	known := false
	for i := range e.Ranks {
		k := &e.Ranks[i]
		if !k.Fresh || !k.Running.Known || !k.Waiting.Known {
			continue
		}
		known = true
		running, waiting = running+k.Running.V, waiting+k.Waiting.V
		if k.KVUsage.Known {
			kv = max(kv, k.KVUsage.V)
		}
	}
	if known {
		r.Queue = fmt.Sprintf("%s running, %s waiting", count(int64(running)), count(int64(waiting)))
	}
	if kv >= 0 {
		r.KV = ratio(kv)
		if len(e.Ranks) > 1 {
			r.KV += " on the fullest rank"
		}
	}
	if c := coverage(e); c != "" {
		r.Coverage = c
	}
	r.Remarks = append(remarks(e), gpuRemark(e)...)
	if every := p.view.Intervals[e.ID]; every > 1.001*p.view.Interval.Seconds() {
		r.Remarks = append(r.Remarks, "polled every "+duration(every)+" only: its page is dear")
	}
	if s := &e.Spans; s.Expected && s.Completeness.Known {
		r.Remarks = append(r.Remarks, "spans of "+ratio(s.Completeness.V)+" of sequences in its newest window")
	}
	return r
}

// coverage is the least share of each sliding window that polls covered, over the engine's ranks.
func coverage(e *fold.Engine) string {
	text := ""
	var windows []fold.Coverage
	for i := range e.Ranks {
		for _, c := range e.Ranks[i].Coverage {
			at := slices.IndexFunc(windows, func(w fold.Coverage) bool { return w.Window == c.Window })
			if at < 0 {
				windows = append(windows, c)
				continue
			}
			windows[at].Ratio = math.Min(windows[at].Ratio, c.Ratio)
		}
	}
	for _, w := range windows {
		if text != "" {
			text += ", "
		}
		text += ratio(w.Ratio) + " of " + length(w.Window)
	}
	return text
}

// remarks are what limits an engine's numbers, shortly; its own page has them in full.
func remarks(e *fold.Engine) []string {
	var out []string
	add := func(n int, one, many string) {
		if n > 0 {
			out = append(out, plural(n, one, many))
		}
	}
	if e.Ledger.Absent != "" {
		out = append(out, "no ledger")
	}
	if u := e.Ledger.Unexplained; u.Known && u.Lower > 0 {
		out = append(out, counts(u.Lower, u.Upper)+" requests unexplained")
	}
	unanswerable := 0
	for i := range e.SLOs {
		if e.SLOs[i].Absent != "" {
			unanswerable++
		}
	}
	add(unanswerable, "SLO cannot be answered", "SLOs cannot be answered")
	add(len(e.Missing), "field missing", "fields missing")
	add(len(e.Warnings), "warning about the page", "warnings about the page")
	add(int(e.Resets), "restart seen", "restarts seen")
	return out
}
