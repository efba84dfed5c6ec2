package config

import (
	"reflect"
	"slices"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

func clauses(ttft, tpot float64) []slo.Clause {
	all := []slo.Clause{{Metric: fact.TTFT, Threshold: ttft}}
	if tpot > 0 {
		all = append(all, slo.Clause{Metric: fact.TPOT, Threshold: tpot})
	}
	return all
}

func TestClassesAreJudged(t *testing.T) {
	own := clauses(0.25, 0.025)
	for what, c := range map[string]struct {
		written string
		want    slo.Classes
	}{
		"an SLO without classes has none": {`{}`, slo.Classes{}},
		"a class without clauses has those of the SLO": {
			`{classes: {by: prompt_tokens, list: [{name: s, at_most: 10}, {name: l}]}}`,
			slo.Classes{By: slo.ByPromptTokens, List: []slo.Class{{Name: "s", AtMost: 10, Clauses: own}, {Name: "l", Clauses: own}}},
		},
		"a class's clauses stand in place of all of the SLO's": {
			`{classes: {by: prompt_tokens, list: [{name: s, at_most: 10, clauses: {ttft: 1s}}, {name: l}]}}`,
			slo.Classes{By: slo.ByPromptTokens, List: []slo.Class{{Name: "s", AtMost: 10, Clauses: clauses(1, 0)}, {Name: "l", Clauses: own}}},
		},
		"what is longer than the last class is other": {
			`{classes: {by: output_tokens, list: [{name: s, at_most: 10}]}}`,
			slo.Classes{By: slo.ByOutputTokens, List: []slo.Class{{Name: "s", AtMost: 10, Clauses: own}, {Name: slo.ClassOther, Clauses: own}}},
		},
		"an attribute that is in no list is other": {
			`{classes: {by: attribute, attribute: tier, list: [{name: g, values: [au, "1"]}]}}`,
			slo.Classes{By: slo.ByAttribute, Attribute: "tier", List: []slo.Class{{Name: "g", Values: []string{"au", "1"}, Clauses: own}, {Name: slo.ClassOther, Clauses: own}}},
		},
	} {
		t.Run(what, func(t *testing.T) {
			written := "slos: [{name: chat, clauses: {ttft: 250ms, tpot: 25ms}, objective: 0.95, " + c.written[1:] + "]\n"
			parsed, err := Parse([]byte(written), "f")
			if err != nil {
				t.Fatal(err)
			}
			if got := parsed.Objectives()[0].Classes; !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestClassesJoinGridsAndAttributes(t *testing.T) {
	c, err := Load("testdata/good/spans.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for family, thresholds := range map[fact.Family][]float64{fact.TTFT: {0.15, 0.25, 2}, fact.TPOT: {0.025, 0.05}, fact.E2E: {10, 30}} {
		for _, want := range thresholds {
			if edges := c.Grids()[family]; !slices.Contains(edges, want) {
				t.Errorf("the threshold %v of %v is no edge: %v", want, family, edges)
			}
		}
	}
	if got := c.SpanAttributes(); !slices.Equal(got, []string{"tenant.tier"}) {
		t.Errorf("attributes %q", got)
	}
}
