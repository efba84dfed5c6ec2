package exporter

import (
	"context"
	"log/slog"
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// quiet is for how many seconds something must not have happened before it is told anew.
const quiet = 3600

// rememberedSpans is what the journal knows of the spans of one engine.
type rememberedSpans struct {
	seen       bool   // one has come, ever
	expected   bool   // windows waited for them at the last round
	judged     bool   // how complete they are has been known
	incomplete bool   // the last window lacked more than a tenth of them
	conflicts  uint64 // of spans and pages
	last       float64
	fall       rememberedFall
	finished   uint64 // sequences that had finished when the newest span came
}

// complete is the share of sequences with a span from which on nothing needs to be told: late ones and a restart cost
// a few.
const complete = 0.9

// noteSpans logs an engine that begins or ceases to send spans, or sends too few, or such as contradict its page.
func noteSpans(log *slog.Logger, r *remembered, e *fold.Engine, at float64, beside string) {
	now, was := &e.Spans, &r.spans
	if now.Last > 0 && !was.seen {
		was.seen = true
		log.Info("the first span of the engine came: windows wait for them from now on", "matched_by", names(now.Matched))
	} else if now.Expected && !was.expected {
		log.Info("spans of the engine come again", "after", seconds(now.Last-was.last))
	}
	if was.expected && !now.Expected && now.Last > 0 {
		noteSilence(log, was, e, beside)
	}
	was.expected = now.Expected
	if now.Last != was.last {
		was.last, was.finished = now.Last, finished(e)
	}
	if now.Expected {
		warned := now.Completeness.Known && noteCompleteness(log, was, now, beside)
		noteFall(log, &was.fall, now, at, beside, warned)
	}
	if now.Conflicts > was.conflicts {
		was.conflicts = now.Conflicts
		r.once(log, slog.LevelWarn, "page span conflict", "spans contradict the page in a judgement window: the page was believed; there are more spans than sequences, or they have other latencies or tokens than the page: spans of two engines may be matched to one, a Collector may repeat them, or clocks may be apart; see what comes with goodput-exporter explain --spans, and docs/spans.md",
			append([]any{"conflicts", now.Conflicts}, contradiction(e)...)...)
	}
}

// contradiction is how many spans the newest window with a conflict has, of how many sequences.
func contradiction(e *fold.Engine) []any {
	for _, w := range slices.Backward(e.Past.Windows) {
		for i := range w.Verdicts {
			if v := &w.Verdicts[i]; v.Spans.Conflict {
				return []any{"spans", v.Spans.Seen, "finished", v.Sequences.N}
			}
		}
	}
	return nil
}

// noteCompleteness logs that spans went missing, or came to be complete. Where they never were complete somebody may
// mean it so: a sampler is no fault. It reports whether it warned.
func noteCompleteness(log *slog.Logger, was *rememberedSpans, now *fold.EngineSpans, beside string) (warned bool) {
	missing := now.Completeness.V < complete
	switch {
	case missing && !was.judged:
		log.Info("the engine sends spans of some sequences only: goodput is an interval; sampling is one cause, a full queue of the sender another", "completeness", now.Completeness.V)
	case missing && !was.incomplete:
		log.Warn("spans of the engine are missing: goodput is an interval; sampling is one cause, a full queue of the sender another", "completeness", now.Completeness.V,
			"late", now.Late, "outside", now.Outside, "dropped", now.Dropped, "came_beside", beside)
		warned = true
	case !missing && was.incomplete:
		log.Info("spans of the engine are complete", "completeness", now.Completeness.V)
	}
	was.judged, was.incomplete = true, missing
	return warned
}

// noteSilence logs that no span has come for so long that windows do not wait for them. An engine without work sends none.
func noteSilence(log *slog.Logger, was *rememberedSpans, e *fold.Engine, beside string) {
	if n := finished(e); n > was.finished {
		log.Warn("spans of the engine have stopped: windows do not wait for them any more", "finished_since", n-was.finished, "came_beside", beside)
		return
	}
	log.Info("no span of the engine has come for long, and nothing has finished: windows do not wait for them any more")
}

// finished counts the sequences that the engine's page says have finished.
func finished(e *fold.Engine) (n uint64) {
	for i := range e.Ranks {
		for _, c := range e.Ranks[i].Sequences {
			n += c.Count
		}
	}
	return n
}

// rememberedIntake is what the journal knows of the spans that are no engine's, or not yet.
type rememberedIntake struct {
	unmatched map[string]uint64  // by reason: how many
	told      map[string]float64 // by reason: when one last came
	full      uint64
	fullAt    float64 // when there was last no room; 0: never, or long ago
}

// noteUnmatched logs spans that no engine can be found for, once for each reason until there was none for an hour.
func (j *journal) noteUnmatched(u *fold.Unmatched, now float64) {
	in := &j.intake
	for _, t := range u.Counts {
		if t.Count <= in.unmatched[t.Name] {
			continue
		}
		in.unmatched[t.Name] = t.Count
		level := slog.LevelWarn
		if at, told := in.told[t.Name]; told && now-at < quiet {
			level = slog.LevelDebug
		}
		in.told[t.Name] = now
		meaning, remedy := catalog.UnmatchedMeaning(t.Name)
		args := []any{"reason", t.Name, "why", meaning, "remedy", remedy, "spans", t.Count}
		for _, l := range u.Last {
			if l.Reason == t.Name {
				args = append(args, origin(&l)...)
			}
		}
		j.log.Log(context.Background(), level, "spans came that match no engine", args...)
	}
}

// origin is where a span came from, as far as it is known.
func origin(l *fold.UnmatchedOrigin) (args []any) {
	o := &l.Origin
	for _, part := range []struct{ key, value string }{
		{"peer", o.Peer}, {"goodput_engine", o.Engine}, {"pod", o.PodName}, {"pod_namespace", o.PodNamespace}, {"pod_uid", o.PodUID}, {"service_instance", o.Instance},
	} {
		if part.value != "" {
			args = append(args, part.key, labelValue(part.value))
		}
	}
	return args
}

// noteIntake logs that there was no room for spans, once until there has been room for an hour.
func (j *journal) noteIntake(s *SpanIntake, now float64) {
	j.spans = s
	if s == nil {
		return
	}
	in := &j.intake
	full := uint64(0)
	for _, t := range s.Spans {
		if t.Name == "full" {
			full = t.Count
		}
	}
	if full > in.full {
		level := slog.LevelWarn
		if in.fullAt > 0 && now-in.fullAt < quiet {
			level = slog.LevelDebug
		}
		in.fullAt = now
		j.log.Log(context.Background(), level, "there was no room for spans that came: their senders were told to come again; more of them fit with a larger spans.buffer or a shorter poll.interval",
			"turned_away", full, "room", s.Room)
	}
	in.full = full
}

func names(tallies []fold.Tally) string {
	out := make([]string, len(tallies))
	for i, t := range tallies {
		out[i] = t.Name
	}
	return list(out)
}
