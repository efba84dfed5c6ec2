package boards

import (
	"math"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
)

// quotient is a rule of what qualified work costs, as a panel shows it: both ends, and what is true of it.
type quotient struct {
	panel string
	// used is what engines used in the five minutes up to a time, and qualified what qualified of the windows that were committed
	// in them.
	used      func(n *node, engine string, at float64) float64
	qualified func(n *node, engine string, at float64) float64
}

const ruleWindow = 300 // seconds: 5m

var quotients5m = []quotient{
	{"GPU energy per output token of sequences that met all clauses, last 5 min", (*node).joules, (*node).tokens},
	{"GPU energy per sequence that met all clauses, of all sequences, last 5 min", (*node).joules, (*node).requests},
	{"GPU cost per output token of sequences that met all clauses, last 5 min", (*node).money, (*node).tokens},
	{"GPU cost per sequence that met all clauses, of all sequences, last 5 min", (*node).money, (*node).requests},
}

func (n *node) joules(engine string, at float64) (sum float64) {
	last, _ := n.sampleAt(at)
	first, _ := n.sampleAt(at - ruleWindow)
	for i, g := range last.gpus {
		if g.Engine == engine {
			sum += g.EnergyJoules - first.gpus[i].EnergyJoules
		}
	}
	return sum
}

func (n *node) money(engine string, at float64) float64 {
	cards := 0.0
	for _, g := range n.samples[0].gpus {
		if g.Engine == engine {
			cards++
		}
	}
	return cards*ruleWindow/3600*nodeHour + n.joules(engine, at)/3.6e6*nodeKWh
}

func (n *node) requests(engine string, at float64) float64 {
	good, _ := n.good(engine, at)
	return good
}

func (n *node) tokens(engine string, at float64) float64 {
	_, tokens := n.good(engine, at)
	return tokens
}

// good counts the sequences that met all clauses, and their output tokens, of the windows that were committed in the five
// minutes up to a time.
func (n *node) good(engine string, at float64) (sequences, tokens float64) {
	for _, w := range n.committed {
		if w.Engine != engine || w.at > at || w.at <= at-ruleWindow {
			continue
		}
		for _, q := range n.sequences[engine] {
			if ok, _ := n.objective.Meets(q.Values); ok && n.objective.Policy.Succeeds(q.Reason) && q.Values.End > w.Start && q.Values.End <= w.End {
				sequences++
				tokens += float64(q.Values.OutputTokens)
			}
		}
	}
	return sequences, tokens
}

// quotientOf is the quotient of sums over engines; used are those above the line, and qualified those below.
func (q *quotient) of(n *node, used, qualified []string, at float64) float64 {
	above, below := 0.0, 0.0
	for _, e := range used {
		above += q.used(n, e, at)
	}
	for _, e := range qualified {
		below += q.qualified(n, e, at)
	}
	return above / below
}

// judgedModels are the models whose engines have whole cards alone. Neither the energy of others nor the work of wrong may be
// taken for theirs; with one span of ten missing the ends are too far apart to tell engines by their work.
var judgedModels = map[string]struct {
	engines, others, wrong []string
	least                  int                      // moments
	judged                 func(after float64) bool // whether all was there in the five minutes before, seconds since the start
}{
	"whole": {[]string{"pair", "hot"}, []string{"pair", "fallen"}, []string{"pair", "fallen"}, 15, func(float64) bool { return true }},
	"lost":  {[]string{"fallen"}, []string{"hot"}, nil, 7, func(after float64) bool { return after < 600 || after > 900+ruleWindow }},
}

// rulesTellTheTruth holds the recording rules of what qualified work costs, as their panels show them, against what the GPUs
// used and what truly qualified: the quotient lies between the two ends, which are one where every span was seen.
func rulesTellTheTruth(t *testing.T, r *replayed) {
	b := boards(t)[2]
	options := b.options(t, r)
	for _, rule := range quotients5m {
		ends := map[string]map[float64]float64{} // by model and target, by time
		for _, q := range b.questions(t, r.when, options, all(options), scrape) {
			if q.panel != rule.panel {
				continue
			}
			got, err := r.ask(q)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range got {
				model := s.Labels[catalog.LabelModel]
				if _, judged := judgedModels[model]; !judged {
					t.Errorf("%s: %v, whose GPUs are shared or parts of a card", q, s.Labels)
				}
				ends[model+q.ref] = map[float64]float64{}
				for i, at := range s.Times {
					ends[model+q.ref][at-r.later] = s.Values[i]
				}
			}
		}
		for model := range judgedModels {
			r.between(t, &rule, model, ends[model+"B"], ends[model+"A"])
		}
	}
}

// between holds both ends of a rule against the truth, at each time.
func (r *replayed) between(t *testing.T, rule *quotient, model string, lower, upper map[float64]float64) {
	t.Helper()
	m := judgedModels[model]
	compared, fooled, widest := 0, 0, 0.0
	slack := 1e-5
	if r.stretches(t) {
		slack = 1.5 * scrape / ruleWindow
	}
	for at, most := range upper {
		least, has := lower[at]
		first := r.when.from - r.later
		at := math.Floor((at-first)/60)*60 + first // when the rule was evaluated
		if !m.judged(at - nodeStart) {
			continue
		}
		inside := func(v float64) bool { return v >= least*(1-slack) && v <= most*(1+slack) }
		truth := rule.of(r.node, m.engines, m.engines, at)
		if compared++; !has || !inside(truth) {
			t.Errorf("%s of %s after %.0f s: from %v to %v, in truth %v", rule.panel, model, at-nodeStart, least, most, truth)
		}
		if inside(rule.of(r.node, m.others, m.engines, at)) || m.wrong != nil && inside(rule.of(r.node, m.engines, m.wrong, at)) {
			fooled++
		}
		widest = max(widest, most/least-1)
	}
	if compared < m.least {
		t.Errorf("%s of %s: only %d moments were compared", rule.panel, model, compared)
	}
	if fooled > 0 && !r.stretches(t) {
		t.Errorf("%s of %s: in %d moments of %d the energy or the work of another engine is taken for the truth", rule.panel, model, fooled, compared)
	}
	t.Logf("%s of %s: %d moments; the ends are at most %.2f %% apart", rule.panel, model, compared, 100*widest)
}
