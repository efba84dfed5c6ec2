package exporter

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// journal logs what has changed since the round before, once: engines that go and come back, objectives that cannot
// be judged, processes that were replaced. Repetition is logged at debug. It is used by one goroutine.
type journal struct {
	log     *slog.Logger
	engines map[string]*remembered
	behind  bool
	intake  rememberedIntake
	gpus    rememberedGPUs
	spans   *SpanIntake // of the round before
	besides besides
}

// remembered is what the journal knows of one engine.
type remembered struct {
	phase     fold.Phase // "" before the first round
	up, seen  bool       // at the last round, and ever
	downSince float64    // 0: never
	resets    uint64
	conflicts uint64
	spans     rememberedSpans
	refusals  map[string]string // why what cannot be judged, by objective; the ledger is ""
	told      map[string]bool   // what is told once an outage or once a process
}

func newJournal(log *slog.Logger) *journal {
	return &journal{log: log, engines: map[string]*remembered{}, intake: rememberedIntake{unmatched: map[string]uint64{}, told: map[string]float64{}}}
}

// note logs what a round has changed.
func (j *journal) note(v *view, targets []fact.Target) {
	current := map[string]bool{}
	for _, t := range targets {
		current[t.ID] = true
	}
	for id := range j.engines {
		if !current[id] {
			j.log.Info("engine is no target any more", "engine", id)
			delete(j.engines, id)
		}
	}
	j.besides.note(&v.snapshot.Unmatched, j.spans, v.snapshot.At)
	beside := j.besides.words(v.snapshot.At)
	for i := range v.snapshot.Engines {
		e := &v.snapshot.Engines[i]
		if !current[e.ID] {
			continue // stays in the snapshot until its last counters have been scraped
		}
		r := j.engines[e.ID]
		if r == nil {
			r = &remembered{refusals: map[string]string{}, told: map[string]bool{}}
			j.engines[e.ID] = r
		}
		log := j.log.With("engine", e.ID)
		noteUp(log, r, e, v)
		notePhase(log, r, e)
		noteEvents(log, r, e)
		noteSpans(log, r, e, v.snapshot.At, beside)
		noteRefusal(log, r, "", e.Ledger.Absent)
		for k := range e.SLOs {
			noteRefusal(log, r, e.SLOs[k].Objective.Name, e.SLOs[k].Absent)
		}
	}
	j.noteUnmatched(&v.snapshot.Unmatched, v.snapshot.At)
	j.noteGPUs(v.snapshot)
}

// pace logs that rounds were missed, and that they are on time again.
func (j *journal) pace(missed uint64, interval time.Duration) {
	switch {
	case missed > 0:
		level := slog.LevelWarn
		if j.behind {
			level = slog.LevelDebug
		}
		j.log.Log(context.Background(), level, "a round took too long, and rounds were missed", "missed", missed, "interval", interval)
	case j.behind:
		j.log.Info("rounds are on time again")
	}
	j.behind = missed > 0
}

// noteUp logs an engine that answers, or does not.
func noteUp(log *slog.Logger, r *remembered, e *fold.Engine, v *view) {
	switch {
	case e.Up && !r.seen:
		log.Info("engine is up", "url", shownURL(e.Target.URL), "dialect", e.Dialect, "version", e.Version, "model", e.Model)
	case e.Up && !r.up:
		log.Info("engine is up again", "after", seconds(v.snapshot.At-r.downSince))
	}
	if e.Up {
		r.forget("down ")
		r.up, r.seen = true, true
		return
	}
	if r.up || r.downSince == 0 {
		r.downSince = v.snapshot.At
	}
	r.up = false
	if e.Phase == fold.PhaseStarting {
		r.once(log, slog.LevelInfo, "starting", "engine is starting: it is asked until it answers, and is no outage until its pod has been ready", "url", shownURL(e.Target.URL))
		return
	}
	p, polled := v.down[e.ID]
	if !polled {
		return
	}
	// One outage may have several reasons in turn: each is told once.
	r.once(log, slog.LevelWarn, "down "+string(p.Reason), "engine is down", "url", shownURL(e.Target.URL), "reason", p.Reason, "detail", p.Detail)
}

// notePhase logs an engine that begins or ends to be judged or stalled.
func notePhase(log *slog.Logger, r *remembered, e *fold.Engine) {
	if e.Phase == r.phase {
		return
	}
	switch {
	case e.Phase == fold.PhaseStalled:
		log.Warn("engine is stalled: work is in flight, and nothing moves")
	case r.phase == fold.PhaseStalled && e.Up:
		log.Info("engine is progressing again")
	}
	if e.Phase == fold.PhaseJudging {
		r.once(log, slog.LevelInfo, "judging", "first judgement window was committed")
	}
	r.phase = e.Phase
}

// noteEvents logs what happened once: a new process, evidence that contradicts itself, a page that lacks something.
func noteEvents(log *slog.Logger, r *remembered, e *fold.Engine) {
	if e.Resets > r.resets {
		log.Info("engine has a new process", "resets", e.Resets)
		r.resets = e.Resets
		r.forget("page ")
	}
	if e.Conflicts > r.conflicts {
		r.conflicts = e.Conflicts
		r.once(log, slog.LevelWarn, "page conflict", "evidence of a judgement window contradicts itself", "conflicts", e.Conflicts)
	}
	for _, m := range e.Missing {
		r.once(log, slog.LevelInfo, "page lacks "+m.Field, "page lacks a field", "field", m.Field, "cost", m.Cost)
	}
	for _, w := range e.Warnings {
		r.once(log, slog.LevelWarn, "page warning "+w, "page is not as it should be", "warning", w)
	}
}

// noteRefusal logs both edges of something that cannot be judged; of the ledger when the objective is "".
func noteRefusal(log *slog.Logger, r *remembered, objective, absent string) {
	before, was := r.refusals[objective]
	if objective != "" {
		log = log.With("slo", objective)
	}
	what := map[bool]string{true: "ledger", false: "objective"}[objective == ""]
	switch {
	case absent != "" && (!was || absent != before):
		log.Warn(what+" cannot be judged", "reason", absent)
		r.refusals[objective] = absent
	case absent == "" && was:
		log.Info(what + " can be judged again")
		delete(r.refusals, objective)
	}
}

// once logs something the first time at its level, and again at debug only.
func (r *remembered) once(log *slog.Logger, level slog.Level, key, message string, args ...any) {
	if r.told[key] || len(r.told) >= maxTold {
		level = slog.LevelDebug
	} else {
		r.told[key] = true
	}
	log.Log(context.Background(), level, message, args...)
}

// maxTold bounds what is remembered, and so what is logged, of one engine between two restarts.
const maxTold = 100

// forget makes everything with a prefix new again.
func (r *remembered) forget(prefix string) {
	for key := range r.told {
		if strings.HasPrefix(key, prefix) {
			delete(r.told, key)
		}
	}
}
