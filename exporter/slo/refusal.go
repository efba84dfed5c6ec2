package slo

import (
	"fmt"
	"math"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
)

// Refusal says why a clause cannot be judged from an engine's histograms: its threshold lies inside a bucket, whose
// observations may be on either side of it, or the engine has no such histogram.
type Refusal struct {
	Clause  Clause
	Missing bool
	// The neighbouring edges of the threshold, seconds, when not Missing: 0 below the first edge, +Inf above the last.
	Below, Above float64
}

// Refusals lists the clauses that an engine's layouts cannot answer, in the order of the clauses. edges tells the
// finite bucket edges of a family, in increasing order, and whether the engine has it.
func Refusals(clauses []Clause, edges func(fact.Family) (edges []float64, known bool)) []Refusal {
	var refused []Refusal
	for _, c := range clauses {
		layout, known := edges(c.Metric)
		if !known {
			refused = append(refused, Refusal{Clause: c, Missing: true})
			continue
		}
		below, above := hist.Neighbours(layout, c.Threshold)
		if below > 0 && atLeast(below, c.Threshold) || atMost(above, c.Threshold) {
			continue
		}
		refused = append(refused, Refusal{Clause: c, Below: below, Above: above})
	}
	return refused
}

// Error is the refusal for a person: the clause, its threshold, the edges around it and what to do.
func (r Refusal) Error() string {
	what := fmt.Sprintf("%s <= %s", r.Clause.Metric, seconds(r.Clause.Threshold))
	if r.Missing {
		return fmt.Sprintf("%s: the engine has no %s histogram; remove the clause, or leave this engine out of the objective by match", what, r.Clause.Metric)
	}
	const remedy = "give the engine an edge at the threshold (--custom-histogram-buckets)"
	switch {
	case r.Below == 0 && math.IsInf(r.Above, 1):
		return fmt.Sprintf("%s: the engine's %s histogram has no edges; %s", what, r.Clause.Metric, remedy)
	case r.Below == 0:
		return fmt.Sprintf("%s: the threshold lies below the engine's first bucket edge %s; use that edge, %s", what, seconds(r.Above), remedy)
	case math.IsInf(r.Above, 1):
		return fmt.Sprintf("%s: the threshold lies above the engine's last bucket edge %s; use that edge, %s", what, seconds(r.Below), remedy)
	}
	return fmt.Sprintf("%s: the threshold lies inside a bucket, between the engine's edges %s and %s; use one of them, %s",
		what, seconds(r.Below), seconds(r.Above), remedy)
}

func (r Refusal) String() string { return r.Error() }

// seconds prints a latency as a person writes it: 250ms, 2.5s, 2m0s; a number of seconds where a Duration overflows.
func seconds(s float64) string {
	d := s * float64(time.Second)
	if !(math.Abs(d) < math.MaxInt64) {
		return fmt.Sprintf("%gs", s)
	}
	return time.Duration(math.Round(d)).String()
}
