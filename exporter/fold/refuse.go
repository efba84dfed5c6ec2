package fold

import (
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// Unlike says why clauses cannot be judged together on a rank of a page, although it has their histograms with the
// right edges; "" when they can. Whoever says before an engine is polled what can be judged has to ask this too.
func Unlike(clauses []slo.Clause, s *fact.EngineSample, r *fact.Rank) string {
	return unlike(clauses, s, r)
}
