package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// maxClasses bounds the values of the class label under one SLO, beside other.
const maxClasses = 20

// MaxAttribute is how many bytes of an attribute's value are compared with the values of classes. Values of the file are
// not longer, or they could fit no request.
const MaxAttribute = 64

func classesKeys() codec[Classes] {
	class := object("class", settleClass,
		bind("name", text("name", "short", badClass), func(c *Class) *string { return &c.Name },
			"Value of the class label; unique within the SLO, and not other.").must("name: short"),
		bind("at_most", given(whole(1, 100_000_000)), func(c *Class) *int { return &c.AtMost },
			"Tokens up to which a request is of the class. Larger from class to class; the last may do without, and takes the rest."),
		bind("values", list(text("attribute value", "gold", badAttributeValue), 1, 100, func() string { return "" }).that("", distinct), func(c *Class) *[]string { return &c.Values },
			"Values of the attribute, exactly as they are sent, that make a request one of the class. What is in no list is other."),
		bind("clauses", mapping(clauseNames(), duration("ms", time.Millisecond, 24*time.Hour), 1), func(c *Class) *map[fact.Family]time.Duration { return &c.Clauses },
			"What requests of the class must not exceed, in place of all clauses of the SLO; without it, those."),
	)
	return object("mapping", settleClasses,
		bind("by", oneOf(slo.ByPromptTokens, slo.ByOutputTokens, slo.ByAttribute), func(c *Classes) *slo.ClassBy { return &c.By },
			"What tells the class of a request: the length of its prompt, that of its answer, or an attribute.").must("by: prompt_tokens"),
		bind("attribute", text("attribute key", "tenant.tier", badAttributeKey), func(c *Classes) *string { return &c.Attribute },
			"Key of the attribute, with by: attribute. It is looked for on the request's span and else on the span's resource."),
		bind("list", list(class, 1, maxClasses, func() Class { return Class{} }), func(c *Classes) *[]Class { return &c.List },
			"The classes, in the order in which they are tried. A request of none is of the class other, under the clauses of the SLO.").
			must("list: [{name: short, at_most: 1000}, {name: long}]"),
	)
}

// given is a number that is 0 unless it is given, and is then not written.
func given(c codec[int]) codec[int] {
	write := c.write
	c.write = func(w writer, v int) *yaml.Node {
		if v == 0 {
			return nil
		}
		return write(w, v)
	}
	return c
}

func badClass(s string) (what, remedy string) {
	if s == slo.ClassOther {
		return quote(s) + " is the class of what no other takes", "use another name"
	}
	return badName(s)
}

var attributeForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./:-]{0,127}$`)

func badAttributeKey(s string) (what, remedy string) {
	if !attributeForm.MatchString(s) {
		return quote(s) + " is not the key of an attribute", "write it as it is sent, in letters, digits and _./:- such as tenant.tier"
	}
	return "", ""
}

func badAttributeValue(s string) (what, remedy string) {
	switch {
	case s == "":
		return "an empty value is no value", "remove it: a request without the attribute is of the class other"
	case len(s) > MaxAttribute:
		return fmt.Sprintf("is longer than %d bytes, of which more are not compared", MaxAttribute), "let callers send a short word"
	}
	return "", ""
}

func settleClass(r *reader, path string, c *Class) {
	settleClauses(r, join(path, "clauses"), c.Clauses)
}

// settleClasses refuses classes that no request could be told to be of.
func settleClasses(r *reader, path string, c *Classes) {
	if !r.sound(path) {
		return
	}
	unique(r, path+".list[%d].name", c.List, func(c Class) string { return c.Name })
	if c.By == slo.ByAttribute {
		settleByAttribute(r, path, c)
		return
	}
	if c.Attribute != "" {
		r.at(join(path, "attribute"), fmt.Sprintf("says nothing about classes by %s", c.By), "remove it, or write by: attribute")
	}
	last := -1 // the class with the largest at_most so far
	for i := range c.List {
		item := fmt.Sprintf("%s[%d]", join(path, "list"), i)
		of := &c.List[i]
		switch {
		case len(of.Values) > 0:
			r.at(join(item, "values"), fmt.Sprintf("says nothing about classes by %s", c.By), "give at_most in its place, or write by: attribute")
		case of.AtMost == 0 && i < len(c.List)-1:
			r.at(item, "has no at_most, so that no request is left for the classes after it", "give it one, or move it to the end")
		case of.AtMost == 0:
		case last >= 0 && of.AtMost <= c.List[last].AtMost:
			r.at(join(item, "at_most"), fmt.Sprintf("%d is not above %d of the class %s: no request is left for it", of.AtMost, c.List[last].AtMost, c.List[last].Name), "list the classes in increasing order of at_most")
		default:
			last = i
		}
	}
}

func settleByAttribute(r *reader, path string, c *Classes) {
	if c.Attribute == "" {
		r.at(join(path, "by"), "attribute needs the key of one", "add for example attribute: tenant.tier")
	}
	first := map[string]string{} // value: name of its class
	for i := range c.List {
		item := fmt.Sprintf("%s[%d]", join(path, "list"), i)
		of := &c.List[i]
		if of.AtMost != 0 {
			r.at(join(item, "at_most"), "says nothing about classes by attribute", "give values in its place")
			continue
		}
		if len(of.Values) == 0 {
			r.at(item, "has no values, so that no request is of it", "add for example values: [gold]; what is in no list is of the class other by itself")
		}
		for k, v := range of.Values {
			if before, again := first[v]; again {
				r.at(fmt.Sprintf("%s[%d]", join(item, "values"), k), quote(v)+" stands in the class "+before+" too", "keep it in one of the two")
			}
			first[v] = of.Name
		}
	}
}

// thresholds are those of the SLO on a family, those of its classes included.
func (s *SLO) thresholds(f fact.Family) (all []float64) {
	if t, has := s.Clauses[f]; has {
		all = append(all, seconds(t))
	}
	for _, c := range s.Classes.List {
		if t, has := c.Clauses[f]; has {
			all = append(all, seconds(t))
		}
	}
	return all
}

// judged are the classes as requests are sorted by, every request into one of them.
func (s *SLO) judged() slo.Classes {
	if s.Classes.By == "" {
		return slo.Classes{}
	}
	own := judgedClauses(s.Clauses)
	out := slo.Classes{By: s.Classes.By, Attribute: s.Classes.Attribute}
	rest := true // some requests are of no class of the list
	for _, c := range s.Classes.List {
		class := slo.Class{Name: c.Name, AtMost: c.AtMost, Values: c.Values, Clauses: own}
		if len(c.Clauses) > 0 {
			class.Clauses = judgedClauses(c.Clauses)
		}
		rest = rest && (c.AtMost > 0 || len(c.Values) > 0)
		out.List = append(out.List, class)
	}
	if rest {
		out.List = append(out.List, slo.Class{Name: slo.ClassOther, Clauses: own})
	}
	return out
}

// judgedClauses are clauses in seconds, in the order of the families.
func judgedClauses(clauses map[fact.Family]time.Duration) (all []slo.Clause) {
	for _, m := range clauseMetrics() {
		if t, has := clauses[m]; has {
			all = append(all, slo.Clause{Metric: m, Threshold: seconds(t)})
		}
	}
	return all
}

// SpanAttributes are the keys of the attributes by which requests are sorted into classes, sorted, each once.
func (c *Config) SpanAttributes() (keys []string) {
	for _, s := range c.SLOs {
		if s.Classes.By == slo.ByAttribute {
			keys = append(keys, s.Classes.Attribute)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// needSpans names, for a person, what an SLO asks of its requests that only spans tell.
func (s *SLO) needSpans() string {
	var what []string
	if s.Classes.By != "" {
		what = append(what, "classes")
	}
	if s.Policy.Retries == slo.RetriesLogical {
		what = append(what, "policy.retries: logical")
	}
	return strings.Join(what, " and ")
}
