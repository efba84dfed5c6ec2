package fold

import (
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// examined is what the spans of a window say under an objective.
type examined struct {
	slo.Seen
	less       uint64 // by how many fewer are met as requests than as attempts
	tokens     Tokens
	classes    []Class
	violations []Violation // by the spans alone
	conflict   bool        // the spans contradict the page in what does not touch the verdict
}

// leaving is how many sequences leave the denominator for a later attempt. How many of them were not in it, because of
// their reasons, is not known; at most as many as there are, so that it is never too small.
func (x *examined) leaving(uncounted uint64) uint64 {
	return x.Superseded - min(x.Superseded, uncounted)
}

// spent collects the output tokens of the sequences that met their clauses. Each is needed where some of them did not
// succeed.
type spent struct {
	total uint64
	each  []int
}

func (t *spent) add(tokens int, apart bool) {
	t.total += uint64(max(0, tokens))
	if apart {
		t.each = append(t.each, max(0, tokens))
	}
}

// examine judges the spans of a window one by one.
func (s *State) examine(p *pending, j *judged, g *sighting) *examined {
	o := j.of
	x := &examined{Seen: slo.Seen{Finished: g.finished, Unsuccessful: j.bad}, classes: newClasses(o.Objective)}
	apart := j.bad > 0
	var met spent
	missed := uint64(0)
	byClass := make([]spent, len(x.classes))
	over := make([]uint64, len(o.tightest))
	logical := o.Policy.Retries == slo.RetriesLogical
	for i, w := range g.own {
		class := 0
		if x.classes != nil {
			class = o.Classes.Of(&w.Request, w.attributes)
		}
		clauses := o.Promised(class)
		count(over, o.tightest, clauses, &w.Request)
		ok, r := slo.Met(clauses, &w.Request), w.Request
		if logical {
			call := g.calls().of[i]
			if call.superseded {
				x.Superseded++
				missed += uint64(max(0, w.OutputTokens))
				if ok {
					x.less++
				}
				continue
			}
			r.TTFT, r.E2E = r.TTFT+call.waited, r.E2E+call.waited
			if ok && call.waited > 0 && !slo.Met(clauses, &r) {
				ok = false
				x.less++
			}
		}
		if x.classes != nil {
			x.classes[class].Seen++
		}
		if !ok {
			x.Missed++
			missed += uint64(max(0, w.OutputTokens))
			continue
		}
		x.Met++
		met.add(w.OutputTokens, apart)
		if x.classes != nil {
			x.classes[class].Lower++
			byClass[class].add(w.OutputTokens, apart)
		}
	}
	x.bound(p, met, missed, byClass)
	for i, c := range o.tightest {
		x.violations = append(x.violations, Violation{Metric: c.Metric, Lower: over[i], Upper: over[i] + x.Unseen()})
	}
	return x
}

// bound turns what was counted into intervals. Where the sequences that were seen have more output tokens than the page
// counts for all, the spans say nothing of tokens.
func (x *examined) bound(p *pending, met spent, missed uint64, byClass []spent) {
	if p.output.Known {
		all := uint64(p.output.V)
		qualified, ok := x.OutputTokens(all, missed, met.total, met.each)
		x.conflict = !ok
		x.tokens = Tokens{
			Known: true, Lower: qualified.Lower, Upper: qualified.Upper, MissedLower: all - qualified.Upper, MissedUpper: all - qualified.Lower,
		}
	}
	for i := range x.classes {
		c := &x.classes[i]
		of := x.OfClass(c.Lower)
		c.Lower, c.Upper, c.Unseen = of.Lower, of.Upper, x.Unseen()
		c.TokensLower = byClass[i].total
		if x.Unsuccessful > 0 {
			c.TokensLower = x.LeastTokens(c.TokensLower, byClass[i].each)
		}
		if x.conflict {
			c.TokensLower = 0
		}
	}
}

// refine makes the violations that the histograms tell those of the spans, which are all there: for the clauses on what is
// observed when a sequence finishes, for those are the sequences that are seen. What the spans say outside of the
// histograms' interval contradicts the page, which is believed.
func (x *examined) refine(violations []Violation) []Violation {
	out := slices.Clone(violations)
	for i := range out {
		v, n := &out[i], x.violations[i].Lower
		switch {
		case v.Metric == fact.TTFT || v.Metric == fact.TokenGap: // of first tokens, and of the pauses between tokens
		case n < v.Lower || n > v.Upper:
			x.conflict = true
		default:
			v.Lower, v.Upper = n, n
		}
	}
	return out
}

// count counts which of its clauses a request misses, each at its metric's place in all clauses: as the engine observed it,
// whatever it is a try of.
func count(over []uint64, all, clauses []slo.Clause, r *fact.Request) {
	for _, c := range clauses {
		if slo.Misses(c, r) {
			over[slices.IndexFunc(all, func(a slo.Clause) bool { return a.Metric == c.Metric })]++
		}
	}
}

// newClasses lists the classes of an objective with nothing in them; nil when it has none.
func newClasses(o *slo.Objective) []Class {
	var out []Class
	for _, name := range o.Classes.Names() {
		out = append(out, Class{Name: name})
	}
	return out
}

// Add adds what another window says of the class.
func (c *Class) Add(d *Class) {
	c.Seen += d.Seen
	c.Unseen += d.Unseen
	c.Lower += d.Lower
	c.Upper += d.Upper
	c.TokensLower += d.TokensLower
}

// Add adds the tokens of another window.
func (t *Tokens) Add(u Tokens) {
	t.Known = t.Known || u.Known
	t.Lower += u.Lower
	t.Upper += u.Upper
	t.MissedLower += u.MissedLower
	t.MissedUpper += u.MissedUpper
}
