package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// explainVerdict adds up the windows that were judged under an objective.
func explainVerdict(period string, o *slo.Objective, windows []fold.PastWindow) explainedVerdict {
	v := explainedVerdict{Period: period}
	var evidence, methods, doubts, unjudged tallied
	tightest, _ := o.Extremes() // what violations are counted against
	for _, c := range tightest {
		v.Over = append(v.Over, explainedMarginal{Metric: c.Metric.String(), Population: population(c.Metric)})
	}
	for i := range windows {
		for k := range windows[i].Verdicts {
			x := &windows[i].Verdicts[k]
			if x.Objective.Name != o.Name {
				continue
			}
			v.addSpans(x)
			if !x.Judged {
				unjudged.add(x.Reason)
				continue
			}
			v.Windows++
			v.Requests, v.Lower, v.Upper = v.Requests+x.Requests.N, v.Lower+x.Lower, v.Upper+x.Upper
			evidence.add(string(x.Evidence))
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
	v.Doubts, v.Unjudged = doubts, unjudged
	for _, e := range evidence {
		v.Evidence = append(v.Evidence, explainedEvidence{Evidence: e.Reason, Count: e.Count})
	}
	for _, m := range methods {
		v.Methods = append(v.Methods, explainedMethod{Method: m.Reason, Count: m.Count})
	}
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

// narrower says what would make the intervals of an objective narrower, and by how much where that can be seen from here.
func narrower(w *engineWatch, o *slo.Objective, windows []fold.PastWindow) (out []explainedNarrow) {
	v := explainVerdict("", o, windows)
	about := explainObjective(*o, w)
	if about.Unlike != "" {
		return nil
	}
	var lacking, inside []string
	for _, c := range about.Clauses {
		switch {
		case c.Answer != "refused" || slices.Contains(lacking, c.Metric) || slices.Contains(inside, c.Metric):
		case c.missing:
			lacking = append(lacking, c.Metric)
		default:
			inside = append(inside, c.Metric)
		}
	}
	none := "so there is no interval at all"
	if len(o.Classes.List) > 0 {
		none = "so histograms alone give no interval, or a wider one" // by the tightest and the loosest clauses
	}
	if len(lacking) > 0 {
		out = append(out, explainedNarrow{By: "clauses", Says: "The engine has no histogram of " + strings.Join(lacking, ", ") + ", " + none + ": remove these clauses, or start a version that has it."})
	}
	if len(inside) > 0 {
		out = append(out, explainedNarrow{By: "edges", Says: "The engine has no edge at the threshold of " + strings.Join(inside, ", ") + ", " + none + ". goodput-exporter engine-flags prints what to start the engine with, or what the SLO can say instead."})
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
	return append(out, explainedNarrow{By: "spans", Says: fromSpans(w, v)})
}

// fromPolls compares the width with that of every second page: what twice as many pages have brought already says
// whether more would bring more.
func fromPolls(w *engineWatch, o *slo.Objective, v explainedVerdict) string {
	if w.sparser == nil || w.good < 2 {
		return ""
	}
	half := explainVerdict("", o, w.seen(w.sparser).Past.Windows)
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
	tightest, _ := o.Extremes()
	for _, c := range tightest {
		if c.Metric != fact.TTFT {
			continue
		}
		for i := range w.sample.Ranks {
			queue := w.sample.Ranks[i].Histograms[fact.Queue]
			if queue.Known() && (len(queue.Edges) == 0 || queue.Edges[0] > c.Threshold/2) {
				return fmt.Sprintf("The first edge of queue and prefill times lies above half of the threshold of ttft, %s, so they hardly tell which first tokens were slow. With the edges of request_latency that engine-flags prints, simulated intervals were up to 2.5 points narrower.", configured(c.Threshold))
			}
		}
	}
	return ""
}
