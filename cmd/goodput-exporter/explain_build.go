package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/collectors/engine"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// explanation puts together what a watch saw.
func explanation(w *engineWatch) *explained {
	seen := &w.snapshot.Engines[0]
	e := &explained{Source: w.source, Engine: w.target.ID, Notes: w.notes, Page: explainPage(w.sample), Polls: explainPolls(w, seen)}
	last, hour := spans(seen.Past.Windows)
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

// spans are the last whole judgement window, or the last at all where none is whole, and all windows that are
// remembered.
func spans(windows []fold.PastWindow) (last, hour []fold.PastWindow) {
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
	for _, c := range o.Clauses {
		s.Clauses = append(s.Clauses, explainedClause{Metric: c.Metric.String(), Threshold: c.Threshold, Answer: "edge"})
	}
	for i := range w.sample.Ranks {
		rank := &w.sample.Ranks[i]
		if !o.Covers(w.target.ID, rank.Model) {
			continue
		}
		s.Covers = true
		for k := range o.Clauses {
			refused := slo.Refusals(o.Clauses[k:k+1], func(f fact.Family) ([]float64, bool) {
				return rank.Histograms[f].Edges, rank.Histograms[f].Known()
			})
			if len(refused) > 0 {
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

// explainVerdict adds up the windows that were judged under an objective.
func explainVerdict(period string, o *slo.Objective, windows []fold.PastWindow) explainedVerdict {
	v := explainedVerdict{Period: period}
	var methods, doubts, unjudged tallied
	for _, c := range o.Clauses {
		v.Over = append(v.Over, explainedMarginal{Metric: c.Metric.String(), Population: population(c.Metric)})
	}
	for i := range windows {
		for k := range windows[i].Verdicts {
			x := &windows[i].Verdicts[k]
			if x.Objective.Name != o.Name {
				continue
			}
			if !x.Judged {
				unjudged.add(x.Reason)
				continue
			}
			v.Windows++
			v.Requests, v.Lower, v.Upper = v.Requests+x.Requests.N, v.Lower+x.Lower, v.Upper+x.Upper
			methods.add(string(x.Method))
			doubts.add(x.Note)
			for n, violation := range x.Violations {
				m := &v.Over[n]
				m.Lower, m.Upper = m.Lower+violation.Lower, m.Upper+violation.Upper
				if m.Of += x.Sequences.N; violation.Metric == fact.TTFT {
					m.Of += x.FirstTokens - x.Sequences.N
				}
			}
		}
	}
	if v.Windows == 0 {
		v.Over = nil
	}
	if v.Requests > 0 {
		width := 100 * float64(v.Upper-v.Lower) / float64(v.Requests)
		v.Width = &width
	}
	v.Holds = holds(o.Objective, v)
	v.Methods, v.Doubts, v.Unjudged = methods, doubts, unjudged
	return v
}

// holds says whether the share that was promised was kept, as far as the interval tells.
func holds(objective float64, v explainedVerdict) string {
	need := objective * float64(v.Requests) * (1 - 1e-12)
	switch {
	case v.Requests == 0:
		return "unknown"
	case float64(v.Lower) >= need:
		return "yes"
	case float64(v.Upper) < need:
		return "no"
	}
	return "undecided"
}

// tallied counts texts, in the order in which they came.
type tallied []explainedTally

func (t *tallied) add(text string) {
	if text == "" {
		return
	}
	i := slices.IndexFunc(*t, func(x explainedTally) bool { return x.Reason == text })
	if i < 0 {
		*t = append(*t, explainedTally{Reason: text, Count: 1})
		return
	}
	(*t)[i].Count++
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

// narrower says what would make the intervals of an objective narrower, and by how much where that can be seen from here.
func narrower(w *engineWatch, o *slo.Objective, windows []fold.PastWindow) (out []explainedNarrow) {
	v := explainVerdict("", o, windows)
	refused := slices.ContainsFunc(explainObjective(*o, w).Clauses, func(c explainedClause) bool { return c.Answer == "refused" })
	if refused {
		out = append(out, explainedNarrow{By: "edges", Says: "A clause is refused, so there is no interval at all. goodput-exporter engine-flags prints what to start the engine with, or what the SLO can say instead."})
	}
	if v.Width == nil || v.Upper == v.Lower {
		return out
	}
	if len(windows) == 1 && windows[0].Partial {
		out = append(out, explainedNarrow{By: "time", Says: "Less than one judgement window was seen, and of what was in flight when it began little is known. Watch for longer."})
	}
	if says := fromPolls(w, o, v); says != "" {
		out = append(out, explainedNarrow{By: "polls", Says: says})
	}
	if says := fromEdges(w, o); says != "" {
		out = append(out, explainedNarrow{By: "edges", Says: says})
	}
	if missed := slices.DeleteFunc(slices.Clone(v.Over), func(m explainedMarginal) bool { return m.Upper == 0 }); len(missed) > 1 {
		out = append(out, explainedNarrow{By: "spans", Says: "More than one clause is missed, and no histogram says whether by the same sequences. Only a span for each request does."})
	} else {
		out = append(out, explainedNarrow{By: "spans", Says: "First tokens and finished sequences are counted at different times, and no histogram says which belong together. A span for each request does."})
	}
	return out
}

// fromPolls compares the width with that of every second page: what twice as many pages have brought already says
// whether more would bring more.
func fromPolls(w *engineWatch, o *slo.Objective, v explainedVerdict) string {
	if w.sparser == nil || len(w.sparser.Engines) == 0 || w.good < 2 {
		return ""
	}
	half := explainVerdict("", o, w.sparser.Engines[0].Past.Windows)
	if half.Width == nil {
		return ""
	}
	every := (w.last - w.first) / float64(w.good-1)
	says := fmt.Sprintf("With every second page only, the interval would be %s points wide instead of %s.", points(*half.Width), points(*v.Width))
	switch gain := *half.Width - *v.Width; {
	case gain < 0.05*(*half.Width) || gain < 0.1:
		return says + " More polls would hardly help."
	case every > 1.05:
		return says + fmt.Sprintf(" Pages came every %s; polls every second may help as much again. Each costs the engine 11 to 42 ms of its event loop.", seconds3(every))
	}
	return says + " Pages came as often as they may on an engine that serves people."
}

// fromEdges compares the engine's layout with the one that engine-flags would give it.
func fromEdges(w *engineWatch, o *slo.Objective) string {
	for _, c := range o.Clauses {
		if c.Metric != fact.TTFT {
			continue
		}
		for i := range w.sample.Ranks {
			queue := w.sample.Ranks[i].Histograms[fact.Queue]
			if queue.Known() && (len(queue.Edges) == 0 || queue.Edges[0] > c.Threshold/2) {
				return fmt.Sprintf("The first edge of queue and prefill times lies above half of the threshold of ttft, %s, so they cannot tell which first tokens were slow. Finer edges of request_latency would: see engine-flags.", configured(c.Threshold))
			}
		}
	}
	return ""
}
