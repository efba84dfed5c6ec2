package web

import (
	"cmp"
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// state is how a promise stands. The zero value is the best one; a worse state is a larger number.
type state int

const (
	kept      state = iota // even the lower end of the share is at the objective or above
	noTraffic              // nothing to judge
	warming                // no window has been judged yet
	undecided              // the objective lies inside the interval
	unknown                // the pages cannot answer
	broken                 // even the upper end of the share is below the objective
)

// word, mark and class of a state: what it is called, a sign beside the word so that colour is not needed, and how it
// is painted.
func (s state) word() string {
	return [...]string{"kept", "no traffic", "warming up", "cannot tell", "unknown", "broken"}[s]
}
func (s state) mark() string  { return [...]string{"✓", "–", "…", "?", "?", "✕"}[s] }
func (s state) class() string { return [...]string{"good", "calm", "calm", "warn", "warn", "bad"}[s] }

// judge compares a share with its objective. Counts are whole and the objective is a decimal, so equality within a
// billionth is equality: 95 of 100 keep 0.95.
func judge(objective float64, lower, upper, requests uint64) state {
	need := objective*float64(requests) - 1e-9*float64(requests)
	switch {
	case requests == 0:
		return noTraffic
	case float64(upper) < need:
		return broken
	case float64(lower) >= need:
		return kept
	}
	return undecided
}

// standingNow is how a promise stands over a group of engines.
type standingNow struct {
	state     state
	since     float64 // when the state began; 0: not known, or no state that begins
	always    bool    // the state has held for as long as is remembered
	now, hour tally
	reason    string   // of unknown and warming
	without   []string // engines that are in no share, because their pages cannot answer
}

// standingOf judges an objective over its engines.
func standingOf(g group, o *slo.Objective, terms fold.Terms, now float64) standingNow {
	out := standingNow{now: tallyOf(g.engines, o.Name, now-recent, now), hour: tallyOf(g.engines, o.Name, 0, now)}
	for _, e := range g.engines {
		if s := standing(e, o.Name); s != nil && s.Absent != "" {
			out.without = append(out.without, e.ID)
			out.reason = s.Absent
		}
	}
	switch {
	case len(out.without) == len(g.engines) && len(g.engines) > 0:
		out.state = unknown
		return out
	case out.hour.windows == 0 && !anyWarming(g.engines):
		out.state, out.reason = unknown, "no judgement window was committed in the last hour, and no engine is about to commit one"
		return out
	case out.hour.windows == 0:
		out.state, out.reason = warming, warmingReason(g.engines, terms, now)
		return out
	case out.now.windows == 0:
		out.state, out.reason = unknown, "no judgement window was committed in the last 5 min; the newest ended at "+stamp(out.hour.last, now)
		return out
	}
	out.state = judge(o.Objective, out.now.lower, out.now.upper, out.now.requests)
	out.since, out.always = sinceWhen(g.engines, o, out.state, now)
	return out
}

// sinceWhen goes back from window to window for as long as the share of the five minutes before each end gives the same
// state.
func sinceWhen(engines []*fold.Engine, o *slo.Objective, s state, now float64) (since float64, always bool) {
	type point struct {
		end                    float64
		requests, lower, upper uint64
	}
	var points []point
	for _, e := range engines {
		for i := range e.Past.Windows {
			w := &e.Past.Windows[i]
			if v := verdict(w, o.Name); v != nil && v.Judged && w.End <= now {
				points = append(points, point{w.End, v.Requests.N, v.Lower, v.Upper})
			}
		}
	}
	slices.SortFunc(points, func(a, b point) int { return cmp.Compare(a.end, b.end) })
	var sum point
	oldest := 0
	for i, p := range points {
		sum.requests, sum.lower, sum.upper = sum.requests+p.requests, sum.lower+p.lower, sum.upper+p.upper
		for points[oldest].end <= p.end-recent {
			out := points[oldest]
			sum.requests, sum.lower, sum.upper = sum.requests-out.requests, sum.lower-out.lower, sum.upper-out.upper
			oldest++
		}
		switch {
		case i+1 < len(points) && points[i+1].end == p.end: // the rest of this instant is still to come
		case judge(o.Objective, sum.lower, sum.upper, sum.requests) != s:
			since, always = 0, false
		case since == 0:
			since, always = p.end, p.end == points[0].end
		}
	}
	return since, always
}

func anyWarming(engines []*fold.Engine) bool {
	return slices.ContainsFunc(engines, func(e *fold.Engine) bool { return e.Up && !e.Gone && e.WindowStart > 0 })
}

// warmingReason says for how long until the first window.
func warmingReason(engines []*fold.Engine, terms fold.Terms, now float64) string {
	due := 0.0
	for _, e := range engines {
		if e.Up && !e.Gone && e.WindowStart > 0 {
			if at := e.WindowStart + terms.JudgementWindow; due == 0 || at < due {
				due = at
			}
		}
	}
	if due <= now {
		return "the first judgement window is due with the next page"
	}
	return "the first judgement window of " + duration(terms.JudgementWindow) + " ends in about " + ago(due-now)
}
