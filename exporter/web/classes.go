package web

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// tokenRow is the output tokens of a model's finished sequences under an objective.
type tokenRow struct{ Model, When, Qualified, Missed, Of string }

// tokenRows are the tokens of the last five minutes and of the hour; none where no window waited for spans.
func tokenRows(model string, now, hour *tally) []tokenRow {
	var out []tokenRow
	for _, part := range []struct {
		when string
		t    *fold.Tokens
	}{{"now", &now.tokens}, {"hour", &hour.tokens}} {
		t := part.t
		if !t.Known {
			continue
		}
		all := t.Lower + t.MissedUpper
		out = append(out, tokenRow{
			Model: model, When: part.when, Of: count(all),
			Qualified: fmt.Sprintf("%s (%s)", counts(t.Lower, t.Upper), share(t.Lower, min(t.Upper, all), all)),
			Missed:    fmt.Sprintf("%s (%s)", counts(t.MissedLower, t.MissedUpper), shareOver(t.MissedLower, min(t.MissedUpper, all), all)),
		})
	}
	return out
}

// unseenWords name the engines that have sequences without a span in windows that ended in (from, to].
func unseenWords(engines []*fold.Engine, objective string, from, to float64) []string {
	var out []string
	for _, e := range engines {
		t := tallyOf([]*fold.Engine{e}, objective, from, to)
		if b := t.backing; b.seen < b.finished {
			out = append(out, fmt.Sprintf("%s (%s of %s)", e.ID, count(b.finished-b.seen), count(b.finished)))
		}
	}
	return out
}

// unseenNote is what makes the classes and the tokens intervals.
func unseenNote(engines []string) string {
	if len(engines) == 0 {
		return ""
	}
	return "Sequences of the hour without a span are of " + list(engines) + "."
}

// classRow is how one class of an objective stands on the engines of a model.
type classRow struct{ Model, Name, Takes, Clauses, Sequences, Now, Hour, Tokens string }

func classRows(model string, o *slo.Objective, now, hour *tally) []classRow {
	var out []classRow
	for i := range hour.classes {
		c := &hour.classes[i]
		r := classRow{Model: model, Name: c.Name, Sequences: counts(c.Seen, c.Seen+c.Unseen), Now: "nothing was seen", Hour: classShare(c), Tokens: "at least " + count(c.TokensLower)}
		for k := range now.classes {
			if now.classes[k].Name == c.Name {
				r.Now = classShare(&now.classes[k])
			}
		}
		r.Takes, r.Clauses = classTerms(o, c.Name)
		out = append(out, r)
	}
	return out
}

// classShare is the interval of a class's share of sequences that met its clauses. What was not seen may be of the class
// and have missed, which makes the least, or be of the class and have met them: (g+u)/(s+u) grows with u.
func classShare(c *fold.Class) string {
	all := c.Seen + c.Unseen
	return share(c.Lower, min(c.Upper, all), all)
}

// classTerms say what a class takes and what it promises.
func classTerms(o *slo.Objective, name string) (takes, promises string) {
	at := slices.IndexFunc(o.Classes.List, func(c slo.Class) bool { return c.Name == name })
	if at < 0 {
		return "what no other class takes", clauseWords(o.Clauses)
	}
	return classTakes(&o.Classes, at), clauseWords(o.Promised(at))
}

// classTakes says which sequences the i-th class takes.
func classTakes(cs *slo.Classes, i int) string {
	c := cs.List[i]
	if c.Name == slo.ClassOther {
		return "what no other class takes"
	}
	if cs.By == slo.ByAttribute {
		return cs.Attribute + " is " + list(c.Values)
	}
	unit := strings.ReplaceAll(string(cs.By), "_", " ")
	switch {
	case c.AtMost > 0 && i > 0:
		return fmt.Sprintf("%s to %s %s", count(cs.List[i-1].AtMost+1), count(c.AtMost), unit)
	case c.AtMost > 0:
		return fmt.Sprintf("up to %s %s", count(c.AtMost), unit)
	case i > 0:
		return fmt.Sprintf("more than %s %s", count(cs.List[i-1].AtMost), unit)
	}
	return "any number of " + unit
}

// addClasses adds the classes of a window to a sum.
func addClasses(sum []fold.Class, classes []fold.Class) []fold.Class {
	for i := range classes {
		c := &classes[i]
		at := slices.IndexFunc(sum, func(s fold.Class) bool { return s.Name == c.Name })
		if at < 0 {
			sum = append(sum, *c)
			continue
		}
		sum[at].Add(c)
	}
	return sum
}
