package main

import (
	"math"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/collectors/engine"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// explanation puts together what a watch saw.
func explanation(w *engineWatch) *explained {
	seen := w.seen(w.snapshot)
	e := &explained{Source: w.source, Engine: w.target.ID, Notes: w.notes, Page: explainPage(w.sample), Polls: explainPolls(w, seen)}
	last, hour := periods(seen.Past.Windows)
	if len(last) > 0 {
		e.Periods = append(e.Periods, explainPeriod("last_window", last), explainPeriod("hour", hour))
	}
	for _, o := range w.cfg.Objectives() {
		s := explainObjective(o, w)
		if s.Covers && len(last) > 0 {
			s.Verdicts = []explainedVerdict{explainVerdict("last_window", &o, last), explainVerdict("hour", &o, hour)}
		}
		if s.Covers {
			s.Narrow = narrower(w, &o, hour)
		}
		e.SLOs = append(e.SLOs, s)
	}
	for i := range seen.Ranks {
		e.Percentiles = append(e.Percentiles, explainPercentiles(&seen.Ranks[i], len(seen.Ranks) > 1)...)
	}
	return e
}

func explainPage(s *fact.EngineSample) explainedPage {
	p := explainedPage{Dialect: s.Dialect, Versions: s.Version, Started: s.ProcessStart, Bytes: s.Bytes, Series: s.Series, Forgiven: s.Warnings}
	if about, known := engine.AboutDialect(s.Dialect); known {
		p.Writer, p.Recognised = about.Who, about.Sign
		if s.Dialect != "vllm-v1" { // what older versions of it lack stands among what the page lacks
			p.Unlike = about.Unlike
		}
	}
	for i := range s.Ranks {
		p.Ranks = append(p.Ranks, explainedRank{Rank: s.Ranks[i].Name, Model: s.Ranks[i].Model})
	}
	for _, m := range s.Missing {
		p.Missing = append(p.Missing, explainedMissing{What: m.Field, Cost: m.Cost})
	}
	return p
}

func explainPolls(w *engineWatch, seen *fold.Engine) explainedPolls {
	p := explainedPolls{
		Good: w.good, Took: w.took, Restarts: seen.Resets,
		Failed: explainTallies(seen.Failures), Skipped: explainTallies(seen.Skipped),
	}
	if !w.onePage {
		p.Phase = string(seen.Phase)
	}
	if w.good > 1 {
		p.From, p.To, p.Every = w.first, w.last, (w.last-w.first)/float64(w.good-1)
	}
	return p
}

func explainTallies(all []fold.Tally) (out []explainedTally) {
	for _, t := range all {
		out = append(out, explainedTally{Reason: t.Name, Count: t.Count})
	}
	return out
}

// periods are the last whole judgement window, or the last at all where none is whole, and all windows that are
// remembered.
func periods(windows []fold.PastWindow) (last, hour []fold.PastWindow) {
	for i := len(windows) - 1; i >= 0; i-- {
		if !windows[i].Partial {
			return windows[i : i+1], windows
		}
	}
	if len(windows) == 0 {
		return nil, nil
	}
	return windows[len(windows)-1:], windows
}

func explainPeriod(name string, windows []fold.PastWindow) explainedPeriod {
	p := explainedPeriod{Name: name, From: windows[0].Start, To: windows[len(windows)-1].End, Windows: len(windows), Partial: len(windows) == 1 && windows[0].Partial}
	p.Ledger = explainLedger(windows)
	n, known := uint64(0), true
	for i := range windows {
		n, known = n+windows[i].Sequences.N, known && windows[i].Sequences.Known
	}
	if known {
		p.Sequences = &n
	}
	for stage := range fold.NumStages {
		var sum fold.Spent
		for i := range windows {
			sum.Seconds += windows[i].Spent[stage].Seconds
			sum.Count += windows[i].Spent[stage].Count
		}
		if sum.Count > 0 {
			family := [fold.NumStages]fact.Family{fact.Queue, fact.Prefill, fact.Decode, fact.E2E, fact.TTFT}[stage]
			p.Stages = append(p.Stages, explainedStage{Stage: family.String(), Population: population(family), Mean: sum.Seconds / float64(sum.Count), Count: sum.Count})
		}
	}
	return p
}

// population is what a family counts: its observations are added up with those of no other.
func population(f fact.Family) string {
	switch f {
	case fact.TTFT:
		return "first tokens"
	case fact.TokenGap:
		return "token gaps"
	}
	return "finished sequences"
}

// explainLedger adds up what is known of the windows. What is unknown in a window that no later one accounts for is left
// out of that row, and Absent says so.
func explainLedger(windows []fold.PastWindow) explainedLedger {
	var l explainedLedger
	flight, whole := int64(0), true
	for i := range windows {
		w := &windows[i].Ledger
		for _, row := range []struct {
			to   **explainedSpan
			from fold.Span
		}{
			{&l.Arrived, w.Arrived}, {&l.Finished, w.Finished}, {&l.Cancelled, w.Cancelled}, {&l.RejectedAdmission, w.RejectedAdmission},
			{&l.RejectedClient, w.RejectedClient}, {&l.Failed, w.Failed}, {&l.Lost, w.Lost}, {&l.Unexplained, w.Unexplained},
		} {
			if !row.from.Known {
				continue
			}
			if *row.to == nil {
				*row.to = &explainedSpan{}
			}
			(*row.to).Lower += row.from.Lower
			(*row.to).Upper += row.from.Upper
		}
		flight += windows[i].InFlight
		if !w.Arrived.Known {
			whole = false
			l.Absent = w.Absent
			if l.Absent == "" {
				l.Absent = "the page lacked the counters for a while"
			}
		}
	}
	if !whole && l.Arrived != nil {
		l.Absent = "not of all windows: " + l.Absent
	}
	if whole {
		l.InFlight = &flight
	}
	return l
}

// explainObjective says whether an objective is about the engine, and which of its clauses the edges can answer.
func explainObjective(o slo.Objective, w *engineWatch) explainedSLO {
	s := explainedSLO{Name: o.Name, Objective: o.Objective, Population: counted(o.Policy)}
	clauses := everyClause(&o)
	for _, c := range clauses {
		s.Clauses = append(s.Clauses, explainedClause{Metric: c.Metric.String(), Threshold: c.Threshold, Classes: classesWith(&o, c), Answer: "edge"})
	}
	for i := range w.sample.Ranks {
		rank := &w.sample.Ranks[i]
		if !o.Covers(w.target.ID, rank.Model) {
			continue
		}
		s.Covers = true
		if why := fold.Unlike(clauses, w.sample, rank); why != "" {
			s.Unlike = why
		}
		for k := range clauses {
			refused := slo.Refusals(clauses[k:k+1], func(f fact.Family) ([]float64, bool) {
				return rank.Histograms[f].Edges, rank.Histograms[f].Known()
			})
			if len(refused) > 0 {
				s.Clauses[k].missing = refused[0].Missing
				s.Clauses[k].Answer, s.Clauses[k].Why = "refused", refused[0].Error()+absence(refused[0], w.sample)
			}
		}
	}
	return s
}

// counted says what a policy puts into the denominator.
func counted(p slo.Policy) string {
	var bad []string
	for _, c := range []struct {
		name string
		how  slo.Disposition
	}{
		{"cancelled", p.Cancelled}, {"answered 4xx", p.ClientErrors}, {"refused by the admission limit", p.Admission}, {"failed", p.Failed}, {"lost", p.Lost},
	} {
		if c.how == slo.Bad {
			bad = append(bad, c.name)
		}
	}
	if len(bad) == 0 {
		return "finished sequences"
	}
	return "finished sequences, and as bad the requests that were " + strings.Join(bad, ", ")
}

// explainPercentiles lists a rank's quantiles by window and latency.
func explainPercentiles(r *fold.Rank, named bool) (out []explainedPercentile) {
	for _, q := range r.Quantiles {
		if n := len(out); n == 0 || out[n-1].Metric != q.Metric.String() || out[n-1].Window != q.Window {
			p := explainedPercentile{Metric: q.Metric.String(), Population: population(q.Metric), Window: q.Window, From: q.Start, To: q.End, Count: q.Count}
			if named {
				p.Rank = r.ID
			}
			if q.Metric == fact.TPOT {
				p.Population = "finished sequences of more than one token"
			}
			out = append(out, p)
		}
		x := explainedQuantile{Q: q.Q, Lower: q.Lower}
		if !math.IsInf(q.Upper, 1) {
			x.Upper = &q.Upper
		}
		out[len(out)-1].Quantiles = append(out[len(out)-1].Quantiles, x)
	}
	return out
}
