package web

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// why is what misses, where the time goes, and on which engines.
type why struct {
	Clauses []clauseRow
	Stages  []stageRow
	Losers  []loserTable

	Several     bool     // the stages are of several engines
	Populations []string // what the means are over
}

type loserTable struct {
	SLO  string
	Rows []loser
}

// clauseRow says how many observations were over one clause's threshold: a marginal, since a sequence may miss several
// clauses and is then in several rows.
type clauseRow struct {
	SLO, Clause, Now, Hour string
	Bad                    bool
}

func clauseRows(o *slo.Objective, now, hour *tally) []clauseRow {
	var out []clauseRow
	for i, c := range o.Clauses {
		cell := func(t *tally) string {
			if i >= len(t.violations) || t.of(c.Metric) == 0 {
				return "nothing observed"
			}
			v := t.violations[i]
			return fmt.Sprintf("%s of %s %s (%s)", counts(v.Lower, v.Upper), count(t.of(c.Metric)), population(c.Metric), share(v.Lower, min(v.Upper, t.of(c.Metric)), t.of(c.Metric)))
		}
		out = append(out, clauseRow{
			SLO: o.Name, Clause: metricNames[c.Metric] + " over " + duration(c.Threshold), Now: cell(now), Hour: cell(hour),
			Bad: i < len(now.violations) && float64(now.violations[i].Lower) > (1-o.Objective)*float64(now.of(c.Metric)),
		})
	}
	return out
}

// stageRow is the exact mean of a stage, over the last five minutes and over the hour, and where it is longest.
type stageRow struct {
	Name, Now, Hour, Worst, WorstLink string
	NowWidth, HourWidth               string // thousandths of the longest
	now, hour                         float64
}

var stageNames = [fold.NumStages]string{"queue", "prefill", "decode", "end to end", "TTFT"}

// stages fills in the stages of the engines' sequences.
func (y *why) stages(f frame, engines []*fold.Engine) {
	now, hour := spentOf(engines, f.now-recent, f.now), spentOf(engines, f.now-mostSpan, f.now)
	longest := 0.0
	y.Several = len(engines) > 1
	for _, stage := range []fold.Stage{fold.StageTTFT, fold.StageQueue, fold.StagePrefill, fold.StageDecode, fold.StageE2E} {
		if hour[stage].Count == 0 {
			continue
		}
		r := stageRow{Name: stageNames[stage], Now: "nothing observed"}
		r.hour, _ = mean(hour[stage])
		r.Hour = duration(r.hour)
		if m, ok := mean(now[stage]); ok {
			r.now, r.Now = m, duration(m)
		}
		longest = max(longest, r.now, r.hour)
		if id, v := worst(engines, stage, f.now-recent, f.now); id != "" && len(engines) > 1 {
			r.Worst, r.WorstLink = id+": "+duration(v), link("engine", id)
		}
		y.Stages = append(y.Stages, r)
	}
	for i := range y.Stages {
		r := &y.Stages[i]
		r.NowWidth, r.HourWidth = coordinate(1000*r.now/max(longest, 1e-9)), coordinate(1000*r.hour/max(longest, 1e-9))
	}
	for when, sum := range [][fold.NumStages]fold.Spent{now, hour} {
		y.Populations = append(y.Populations, fmt.Sprintf("%s: TTFT over %s first tokens, the others over %s finished sequences.",
			[]string{"Now", "Hour"}[when], count(sum[fold.StageTTFT].Count), count(sum[fold.StageE2E].Count)))
	}
}

// worst is the engine with the longest mean of a stage.
func worst(engines []*fold.Engine, stage fold.Stage, from, to float64) (id string, v float64) {
	for _, e := range engines {
		if m, ok := mean(spentOf([]*fold.Engine{e}, from, to)[stage]); ok && (id == "" || m > v) {
			id, v = e.ID, m
		}
	}
	return id, v
}

// loser is an engine and the sequences that certainly missed an objective on it.
type loser struct {
	ID, Link, Missed, Share string
	missed, requests        uint64
}

// losers are the engines with the most certain misses.
func losers(engines []*fold.Engine, name string, from, to float64) []loser {
	const shown = 5
	var out []loser
	for _, e := range engines {
		t := tallyOf([]*fold.Engine{e}, name, from, to)
		if t.missed() == 0 {
			continue
		}
		out = append(out, loser{
			ID: e.ID, Link: link("engine", e.ID), missed: t.missed(), requests: t.requests,
			Missed: fmt.Sprintf("%s of %s", count(t.missed()), count(t.requests)),
			Share:  share(t.requests-t.upper, t.requests-t.lower, t.requests),
		})
	}
	slices.SortStableFunc(out, func(a, b loser) int { return cmp.Compare(b.missed, a.missed) })
	return out[:min(len(out), shown)]
}

// hint is one place to look at.
type hint struct{ Text, Link, LinkText string }

// hints say where to look when a promise is not certainly kept: the clause that most observations miss, the stage that
// grew, the engine that loses most.
func (f frame) hints(g group, o *slo.Objective, s *standingNow) []hint {
	if s.state != broken && s.state != undecided {
		return nil
	}
	var out []hint
	t := &s.now
	for _, m := range f.overBudget(o, t) {
		v := t.violations[m]
		n := t.of(v.Metric)
		text := fmt.Sprintf("%s over %s: %s of %s", metricNames[v.Metric], duration(o.Clauses[m].Threshold), share(v.Lower, min(v.Upper, n), n), population(v.Metric))
		if h := f.stageHint(g.engines, v.Metric); h != "" {
			text += "; " + h
		}
		out = append(out, hint{Text: text})
	}
	if beside := t.requests - min(t.requests, t.sequences); beside > 0 {
		out = append(out, hint{Text: fmt.Sprintf("at least %s requests did not finish and count as bad (refused, failed or lost)", count(beside))})
	}
	if ls := losers(g.engines, o.Name, f.now-recent, f.now); len(ls) > 0 && len(g.engines) > 1 {
		out = append(out, hint{Text: "most on engine", Link: ls[0].Link, LinkText: ls[0].ID + " (" + ls[0].Missed + ")"})
	}
	return out
}

// overBudget are the clauses that more observations miss than the objective allows sequences to, worst first; where it
// is none of them, the one that is missed most.
func (f frame) overBudget(o *slo.Objective, t *tally) []int {
	part := func(i int) float64 {
		if n := t.of(t.violations[i].Metric); n > 0 {
			return float64(t.violations[i].Lower) / float64(n)
		}
		return 0
	}
	var out []int
	for i := range min(len(t.violations), len(o.Clauses)) {
		if part(i) > 0 {
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(part(b), part(a)) })
	for k, i := range out {
		if k > 0 && part(i) <= 1-o.Objective {
			return out[:k]
		}
	}
	return out
}

// stageHint compares the stages that a metric is made of with their means over the hour.
func (f frame) stageHint(engines []*fold.Engine, metric fact.Family) string {
	stages := []fold.Stage{fold.StageQueue, fold.StagePrefill, fold.StageDecode}
	switch metric {
	case fact.TTFT:
		stages = stages[:2]
	case fact.TPOT, fact.Decode:
		stages = stages[2:]
	case fact.Queue:
		stages = stages[:1]
	case fact.Prefill:
		stages = stages[1:2]
	}
	now, before := spentOf(engines, f.now-recent, f.now), spentOf(engines, f.now-mostSpan, f.now-recent)
	best, text := -1.0, ""
	for _, stage := range stages {
		m, ok := mean(now[stage])
		if !ok || m <= best {
			continue
		}
		best, text = m, fmt.Sprintf("mean %s time %s", stageNames[stage], duration(m))
		if b, ok := mean(before[stage]); ok {
			text += ", in the hour before " + duration(b)
		}
	}
	return text
}
