package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

func classesBy(c *slo.Classes) string {
	if c.By == slo.ByAttribute {
		return "the attribute " + c.Attribute
	}
	return string(c.By)
}

// classTexts says of each class which requests are of it, and what they are promised.
func classTexts(o *slo.Objective) (all []string) {
	for _, c := range o.Classes.List {
		var which string
		switch {
		case c.Name == slo.ClassOther:
			which = "the rest"
		case len(c.Values) > 0:
			which = strings.Join(c.Values, " or ")
		case c.AtMost > 0:
			which = fmt.Sprintf("up to %d", c.AtMost)
		default:
			which = "any more"
		}
		all = append(all, fmt.Sprintf("%s (%s) %s", c.Name, which, promisesText(c.Clauses)))
	}
	return all
}

// everyClause lists what any request of an objective is promised, each clause once. Where classes take all requests,
// what none of them promises is judged for nobody.
func everyClause(o *slo.Objective) (all []slo.Clause) {
	if len(o.Classes.List) == 0 {
		return slices.Clone(o.Clauses)
	}
	for i := range o.Classes.Names() {
		for _, c := range o.Promised(i) {
			if !slices.Contains(all, c) {
				all = append(all, c)
			}
		}
	}
	return all
}

// classesWith names the classes of an objective that promise a clause; nil without classes.
func classesWith(o *slo.Objective, clause slo.Clause) (names []string) {
	for i, name := range o.Classes.Names() {
		if slices.Contains(o.Promised(i), clause) {
			names = append(names, name)
		}
	}
	return names
}

// ofClasses names classes behind what is theirs; "" for none.
func ofClasses(names []string) string {
	switch len(names) {
	case 0:
		return ""
	case 1:
		return ", of class " + printable(names[0])
	}
	return ", of the classes " + printable(strings.Join(names, ", "))
}

func promisesText(clauses []slo.Clause) string {
	var parts []string
	for _, c := range clauses {
		parts = append(parts, fmt.Sprintf("%s <= %s", c.Metric, configured(c.Threshold)))
	}
	return strings.Join(parts, ", ")
}
