package slo

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

func TestClassesOfRequests(t *testing.T) {
	lengths := Classes{By: ByPromptTokens, List: []Class{{Name: "short", AtMost: 100}, {Name: "long", AtMost: 1000}}}
	outputs := Classes{By: ByOutputTokens, List: []Class{{Name: "few", AtMost: 10}, {Name: "many"}}}
	tenants := Classes{By: ByAttribute, Attribute: "tenant", List: []Class{{Name: "a", Values: []string{"x", "y"}}, {Name: "b", Values: []string{"z"}}}}
	rest := tenants
	rest.List = append(slices.Clone(rest.List), Class{Name: ClassOther})
	attribute := func(key, value string) []fact.Attribute {
		return []fact.Attribute{{Key: "first", Value: "x"}, {Key: key, Value: value}}
	}
	for name, c := range map[string]struct {
		classes    Classes
		r          fact.Request
		attributes []fact.Attribute
		want       string
	}{
		"at the limit":                            {lengths, fact.Request{PromptTokens: 100, OutputTokens: 5000}, nil, "short"},
		"over the limit":                          {lengths, fact.Request{PromptTokens: 101}, nil, "long"},
		"over all limits":                         {lengths, fact.Request{PromptTokens: 1001}, nil, ClassOther},
		"by output":                               {outputs, fact.Request{PromptTokens: 5000, OutputTokens: 10}, nil, "few"},
		"a class without a limit takes the rest":  {outputs, fact.Request{OutputTokens: 1 << 30}, nil, "many"},
		"one of several values":                   {tenants, fact.Request{}, attribute("tenant", "y"), "a"},
		"another class":                           {tenants, fact.Request{}, attribute("tenant", "z"), "b"},
		"a value that nobody listed":              {tenants, fact.Request{}, attribute("tenant", "zz"), ClassOther},
		"a value of another key":                  {tenants, fact.Request{}, attribute("team", "x"), ClassOther},
		"no attribute":                            {tenants, fact.Request{}, nil, ClassOther},
		"other may be listed, with its own terms": {rest, fact.Request{}, nil, ClassOther},
	} {
		t.Run(name, func(t *testing.T) {
			names := c.classes.Names()
			if got := names[c.classes.Of(&c.r, c.attributes)]; got != c.want {
				t.Errorf("%s of %v, want %s", got, names, c.want)
			}
			if leaves := c.classes.By != ByOutputTokens; slices.Contains(names, ClassOther) != leaves {
				t.Errorf("%v, and that some requests are of no class of the list is %v", names, leaves)
			}
		})
	}
	if (&Classes{}).Names() != nil {
		t.Error("no classes have names")
	}
}

// TestExtremesHoldForEveryClass: whoever meets the tightest clauses meets its own, and whoever meets its own meets the
// loosest, whatever its class.
func TestExtremesHoldForEveryClass(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	clauses := func(least int) (out []Clause) {
		for f := fact.TTFT; f <= fact.Inference; f++ {
			if rng.IntN(3) == 0 || len(out) < least && f > fact.Queue {
				out = append(out, Clause{f, float64(1+rng.IntN(4)) / 4})
			}
		}
		return out
	}
	inner, outer := 0, 0
	for range 20_000 {
		o := Objective{Clauses: clauses(1), Classes: Classes{By: ByPromptTokens}}
		for i := range rng.IntN(4) {
			o.Classes.List = append(o.Classes.List, Class{Name: string(rune('a' + i)), AtMost: 10 * (i + 1), Clauses: clauses(0)})
		}
		if rng.IntN(4) == 0 && len(o.Classes.List) > 0 {
			o.Classes.List = append(o.Classes.List, Class{Name: ClassOther, Clauses: clauses(0)})
		}
		tightest, loosest := o.Extremes()
		r := fact.Request{TTFT: rng.Float64(), E2E: rng.Float64(), Queue: rng.Float64(), Prefill: rng.Float64() / 2, Decode: rng.Float64(), OutputTokens: 2, PromptTokens: rng.IntN(50)}
		met := Met(o.Promised(o.Classes.Of(&r, nil)), &r)
		tight, loose := Met(tightest, &r), Met(loosest, &r)
		if tight && !met || met && !loose {
			t.Fatalf("%+v of %+v: meets the tightest %v, its own %v, the loosest %v", r, o, tight, met, loose)
		}
		if met && !tight {
			inner++
		}
		if loose && !met {
			outer++
		}
	}
	if inner == 0 || outer == 0 {
		t.Errorf("the extremes were put to no test: %d, %d", inner, outer)
	}
	o := Objective{Clauses: clauses(1)}
	if a, b := o.Extremes(); &a[0] != &o.Clauses[0] || &b[0] != &o.Clauses[0] {
		t.Error("without classes the extremes are not the objective's clauses")
	}
}

func TestClassesAreEqualOrNot(t *testing.T) {
	a := Classes{By: ByAttribute, Attribute: "k", List: []Class{{Name: "n", AtMost: 3, Values: []string{"v"}, Clauses: []Clause{{fact.TTFT, 1}}}}}
	for name, change := range map[string]func(*Classes){
		"by":        func(c *Classes) { c.By = ByPromptTokens },
		"attribute": func(c *Classes) { c.Attribute = "other" },
		"name":      func(c *Classes) { c.List[0].Name = "other" },
		"limit":     func(c *Classes) { c.List[0].AtMost = 4 },
		"values":    func(c *Classes) { c.List[0].Values = []string{"w"} },
		"clauses":   func(c *Classes) { c.List[0].Clauses = []Clause{{fact.TTFT, 2}} },
		"length":    func(c *Classes) { c.List = nil },
	} {
		b := a
		b.List = slices.Clone(a.List)
		if !a.Equal(&b) {
			t.Fatal("a copy is another")
		}
		if change(&b); a.Equal(&b) {
			t.Errorf("%s makes no difference", name)
		}
	}
}
