package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/goodput-exporter/goodput-exporter/collectors/engine"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/edges"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// remedy is what makes objectives answerable: lists of edges for an engine that takes some, else what the objectives can
// say in place of what they say.
type remedy struct {
	lists    []edges.List
	instead  []string // sentences and, indented, YAML
	answered bool     // the engine's own edges answer everything
}

// remedyOf is the one place that knows it: engine-flags prints it before an engine is started, check for one that runs.
// own are the engine's edges as they are, none for a family that it lacks. Version "0" is of an engine of which only the
// edges are known.
func remedyOf(version string, objectives []slo.Objective, grids, own [fact.NumFamilies][]float64) remedy {
	known := func(f fact.Family) ([]float64, bool) { return own[f], len(own[f]) > 0 }
	r := remedy{answered: true}
	custom := !edges.Older(version, edges.Since)
	if custom {
		r.lists = edges.For(objectives, grids)
	}
	for _, o := range objectives {
		refused := slo.Refusals(o.Clauses, known)
		r.answered = r.answered && len(refused) == 0
		if custom {
			refused = slices.DeleteFunc(refused, func(x slo.Refusal) bool { return !x.Missing })
		}
		if len(refused) > 0 {
			r.instead = append(r.instead, insteadOf(version, o, refused)...)
		}
	}
	return r
}

// edgesOf are the edges that a version of vLLM has without being told.
func edgesOf(version string) [fact.NumFamilies][]float64 {
	none := config.Default()
	own := edges.Fixed(version, none.Grids())
	for f := range own {
		if since := engine.Since(fact.Family(f)); since != "" && edges.Older(version, since) {
			own[f] = nil
		}
	}
	return own
}

// insteadOf says what an objective cannot ask of an engine with fixed edges, and the nearest clauses that it could.
func insteadOf(version string, o slo.Objective, refused []slo.Refusal) []string {
	var out []string
	below, above := slices.Clone(o.Clauses), slices.Clone(o.Clauses)
	for _, r := range refused {
		out = append(out, fmt.Sprintf("SLO %s: %s.", o.Name, placeOf(version, r)))
		if below != nil {
			below = replaced(below, r, r.Below)
		}
		above = replaced(above, r, r.Above)
	}
	var lines []string
	switch {
	case slices.Equal(below, above):
		lines = append(lines, clausesYAML(above, ""))
	default:
		lines = append(lines, clausesYAML(below, "at the edges below"), clausesYAML(above, "at the edges above"))
	}
	lines = slices.DeleteFunc(lines, func(l string) bool { return l == "" })
	if len(lines) == 0 {
		return append(out, "No clause is left that this engine's histograms can answer: it needs another version, or spans.")
	}
	out = append(out, "What its histograms can answer in place of that:")
	for _, l := range lines {
		out = append(out, "  "+l)
	}
	return out
}

// placeOf says where the threshold of a refused clause lies.
func placeOf(version string, r slo.Refusal) string {
	what := fmt.Sprintf("%s <= %s", r.Clause.Metric, configured(r.Clause.Threshold))
	switch {
	case r.Missing:
		if since := engine.Since(r.Clause.Metric); since != "" && version != "0" {
			return fmt.Sprintf("%s: vLLM %s has no such histogram; it came with %s", what, version, since)
		}
		return what + ": the engine has no such histogram"
	case r.Below == 0:
		return fmt.Sprintf("%s lies below the first edge, %s", what, configured(r.Above))
	case math.IsInf(r.Above, 1):
		return fmt.Sprintf("%s lies above the last edge, %s", what, configured(r.Below))
	}
	return fmt.Sprintf("%s lies between the edges %s and %s", what, configured(r.Below), configured(r.Above))
}

// replaced puts another threshold into the clause of a refusal. Above the last edge the clause is dropped, since no
// finite threshold is as loose as that; below the first edge there is nothing as strict, and the answer is nil.
func replaced(clauses []slo.Clause, r slo.Refusal, threshold float64) []slo.Clause {
	i := slices.IndexFunc(clauses, func(c slo.Clause) bool { return c.Metric == r.Clause.Metric })
	switch {
	case i < 0:
		return clauses
	case r.Missing || math.IsInf(threshold, 1):
		return slices.Delete(slices.Clone(clauses), i, i+1)
	case threshold == 0:
		return nil
	}
	out := slices.Clone(clauses)
	out[i].Threshold = threshold
	return out
}

// clausesYAML is the key of an objective as the configuration has it; "" without clauses.
func clausesYAML(clauses []slo.Clause, what string) string {
	if len(clauses) == 0 {
		return ""
	}
	var all []string
	for _, c := range clauses {
		all = append(all, fmt.Sprintf("%s: %s", c.Metric, configured(c.Threshold)))
	}
	text := "clauses: {" + strings.Join(all, ", ") + "}"
	if what != "" {
		text += " # " + what
	}
	return text
}

// configured prints seconds as the configuration has durations: 250ms, 7s500ms, 2h8m.
func configured(seconds float64) string {
	return model.Duration(math.Round(seconds*1000) * float64(time.Millisecond)).String()
}
