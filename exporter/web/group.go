package web

import (
	"cmp"
	"slices"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// recent is the length of time, in seconds, whose share says how things stand now: five judgement windows. A single
// window of a minute often holds too few requests for its share to mean much.
const recent = 300

// group is the engines that serve the same model, or the same set of models.
type group struct {
	name    string
	models  []string
	engines []*fold.Engine
}

// groups sorts the engines by what they serve. An engine that has never shown a page serves nothing yet.
func groups(s *fold.Snapshot) []group {
	var out []group
	for i := range s.Engines {
		e := &s.Engines[i]
		models := modelsOf(e)
		if len(models) == 0 {
			continue
		}
		at := slices.IndexFunc(out, func(g group) bool { return slices.Equal(g.models, models) })
		if at < 0 {
			at = len(out)
			out = append(out, group{name: groupName(models), models: models})
		}
		out[at].engines = append(out[at].engines, e)
	}
	slices.SortFunc(out, func(a, b group) int { return cmp.Compare(a.name, b.name) })
	return out
}

func modelsOf(e *fold.Engine) []string {
	var models []string
	for i := range e.Ranks {
		models = append(models, e.Ranks[i].Model)
	}
	slices.Sort(models)
	return slices.Compact(models)
}

func groupName(models []string) string {
	names := slices.Clone(models)
	for i := range names {
		if names[i] == "" {
			names[i] = "(no model name on the page)"
		}
	}
	return strings.Join(names, " + ")
}

// objectives are those that are about an engine of the group, by name.
func (g group) objectives() []*slo.Objective {
	var out []*slo.Objective
	for _, e := range g.engines {
		for i := range e.SLOs {
			o := e.SLOs[i].Objective
			if !slices.ContainsFunc(out, func(x *slo.Objective) bool { return x.Name == o.Name }) {
				out = append(out, o)
			}
		}
	}
	slices.SortFunc(out, func(a, b *slo.Objective) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// under are the group's engines that an objective is about.
func (g group) under(name string) group {
	g.engines = slices.DeleteFunc(slices.Clone(g.engines), func(e *fold.Engine) bool { return standing(e, name) == nil })
	return g
}

// standing is an objective's state on an engine; nil when the objective is not about it.
func standing(e *fold.Engine, name string) *fold.SLO {
	for i := range e.SLOs {
		if e.SLOs[i].Objective.Name == name {
			return &e.SLOs[i]
		}
	}
	return nil
}

// verdict is what an objective says of a window; nil when nothing.
func verdict(w *fold.PastWindow, name string) *fold.Verdict {
	for i := range w.Verdicts {
		if w.Verdicts[i].Objective.Name == name {
			return &w.Verdicts[i]
		}
	}
	return nil
}

// tally is the sum of the verdicts of some windows. Shares come from it, never from averages of shares.
type tally struct {
	windows, unjudged      int
	reason                 string // why the newest window that was not judged was not
	requests, lower, upper uint64
	sequences, firstTokens uint64
	violations             []fold.Violation // in the order of the clauses
	first, last            float64          // start of the oldest and end of the newest judged window
	backing                backing
	tokens                 fold.Tokens
	classes                []fold.Class // in the order of the objective
}

// tallyOf adds up the judged windows that ended in (from, to].
func tallyOf(engines []*fold.Engine, name string, from, to float64) (t tally) {
	newest := 0.0
	for _, e := range engines {
		for i := range e.Past.Windows {
			w := &e.Past.Windows[i]
			if w.End <= from || w.End > to {
				continue
			}
			v := verdict(w, name)
			if v == nil {
				continue
			}
			t.backing.add(v)
			t.tokens.Add(v.Tokens)
			t.classes = addClasses(t.classes, v.Classes)
			if !v.Judged {
				t.unjudged++
				if w.End > newest {
					newest, t.reason = w.End, v.Reason
				}
				continue
			}
			t.add(w, v)
		}
	}
	return t
}

func (t *tally) add(w *fold.PastWindow, v *fold.Verdict) {
	if t.windows == 0 || w.Start < t.first {
		t.first = w.Start
	}
	t.last = max(t.last, w.End)
	t.windows++
	t.requests += v.Requests.N
	t.lower += v.Lower
	t.upper += v.Upper
	t.sequences += v.Sequences.N
	t.firstTokens += v.FirstTokens
	if t.violations == nil {
		t.violations = make([]fold.Violation, len(v.Violations))
	}
	for i := range min(len(v.Violations), len(t.violations)) {
		t.violations[i].Metric = v.Violations[i].Metric
		t.violations[i].Lower += v.Violations[i].Lower
		t.violations[i].Upper += v.Violations[i].Upper
	}
}

// of is the size of the population that a clause's violations are counted in.
func (t *tally) of(f fact.Family) uint64 {
	if f == fact.TTFT {
		return t.firstTokens
	}
	return t.sequences
}

// missed is the number of sequences that certainly did not qualify.
func (t *tally) missed() uint64 { return t.requests - min(t.requests, t.upper) }

// spentOf adds up the stages of the windows that ended in (from, to].
func spentOf(engines []*fold.Engine, from, to float64) (sum [fold.NumStages]fold.Spent) {
	for _, e := range engines {
		for i := range e.Past.Windows {
			w := &e.Past.Windows[i]
			if w.End <= from || w.End > to {
				continue
			}
			for stage, s := range w.Spent {
				sum[stage].Seconds += s.Seconds
				sum[stage].Count += s.Count
			}
		}
	}
	return sum
}

// mean is the exact mean of a stage; false when nothing was counted.
func mean(s fold.Spent) (float64, bool) {
	if s.Count == 0 {
		return 0, false
	}
	return s.Seconds / float64(s.Count), true
}
