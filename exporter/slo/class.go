package slo

import (
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// ClassBy is what requests are sorted into classes by.
type ClassBy string

// What classes can be told by.
const (
	ByPromptTokens ClassBy = "prompt_tokens"
	ByOutputTokens ClassBy = "output_tokens"
	ByAttribute    ClassBy = "attribute"
)

// ClassOther is the class of requests that no class of the list takes.
const ClassOther = "other"

// Classes sorts the requests of an objective into a closed list of kinds, each with clauses of its own. The zero value
// has none: all requests are of one kind.
type Classes struct {
	By        ClassBy
	Attribute string  // the key, for ByAttribute
	List      []Class // in the order in which they are tried; the last may be ClassOther
}

// Class is one kind of request.
type Class struct {
	Name    string
	AtMost  int      // tokens, for the token counts; 0: any number
	Values  []string // for ByAttribute
	Clauses []Clause // in the order of the families; none: those of the objective
}

// Of is the place in the list of the class that a request is of; the length of the list where none takes it.
func (c *Classes) Of(r *fact.Request, attributes []fact.Attribute) int {
	for i := range c.List {
		if c.takes(&c.List[i], r, attributes) {
			return i
		}
	}
	return len(c.List)
}

func (c *Classes) takes(class *Class, r *fact.Request, attributes []fact.Attribute) bool {
	if class.Name == ClassOther {
		return true
	}
	switch c.By {
	case ByPromptTokens:
		return class.AtMost == 0 || r.PromptTokens <= class.AtMost
	case ByOutputTokens:
		return class.AtMost == 0 || r.OutputTokens <= class.AtMost
	}
	for i := range attributes {
		if attributes[i].Key == c.Attribute {
			return slices.Contains(class.Values, attributes[i].Value)
		}
	}
	return false
}

// Names lists the classes that a request may be of, in the order of Of: ClassOther last, unless the list takes every
// request. nil without classes.
func (c *Classes) Names() []string {
	if len(c.List) == 0 {
		return nil
	}
	var names []string
	for _, class := range c.List {
		names = append(names, class.Name)
	}
	if !c.whole() {
		names = append(names, ClassOther)
	}
	return names
}

// whole reports whether the list takes every request.
func (c *Classes) whole() bool {
	return slices.ContainsFunc(c.List, func(class Class) bool {
		return class.Name == ClassOther || c.By != ByAttribute && class.AtMost == 0
	})
}

// Promised is what requests of the class at a place of Of are promised.
func (o *Objective) Promised(class int) []Clause {
	if class < len(o.Classes.List) && len(o.Classes.List[class].Clauses) > 0 {
		return o.Classes.List[class].Clauses
	}
	return o.Clauses
}

// Extremes returns two lists of clauses for whoever cannot tell the classes apart. Whatever its class, a request that
// meets the tightest meets its own: each metric that any class has, at the lowest threshold. A request that meets its own
// meets the loosest: the metrics that all classes have, at the highest. Both are the objective's own without classes.
func (o *Objective) Extremes() (tightest, loosest []Clause) {
	if len(o.Classes.List) == 0 {
		return o.Clauses, o.Clauses
	}
	sets := [][]Clause{}
	for i := range o.Classes.Names() {
		sets = append(sets, o.Promised(i))
	}
	for f := range fact.NumFamilies {
		least, most, in := 0.0, 0.0, 0
		for _, set := range sets {
			at := slices.IndexFunc(set, func(c Clause) bool { return c.Metric == f })
			if at < 0 {
				continue
			}
			if least, most = min(least, set[at].Threshold), max(most, set[at].Threshold); in == 0 {
				least = set[at].Threshold
			}
			in++
		}
		if in > 0 {
			tightest = append(tightest, Clause{Metric: f, Threshold: least})
		}
		if in == len(sets) {
			loosest = append(loosest, Clause{Metric: f, Threshold: most})
		}
	}
	return tightest, loosest
}

// Equal reports whether two ways of sorting are the same.
func (c *Classes) Equal(d *Classes) bool {
	return c.By == d.By && c.Attribute == d.Attribute && slices.EqualFunc(c.List, d.List, func(a, b Class) bool {
		return a.Name == b.Name && a.AtMost == b.AtMost && slices.Equal(a.Values, b.Values) && slices.Equal(a.Clauses, b.Clauses)
	})
}
