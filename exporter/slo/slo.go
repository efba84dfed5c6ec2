// Package slo says whether work met its promise: exactly for one request, as an interval for a window of histogram
// slices. Pure; it does not know where objectives are configured, how pages look, or how windows are cut.
package slo

import (
	"regexp"
	"slices"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// Clause is one condition of an objective: the latency must be at most the threshold.
type Clause struct {
	Metric    fact.Family // TTFT, TPOT, E2E, Queue, Prefill, Decode or Inference
	Threshold float64     // seconds
}

// Disposition says how an outcome enters an objective's accounting.
type Disposition string

// The dispositions. Bad outcomes stay in the denominator and never qualify; excluded ones are not counted.
const (
	Bad     Disposition = "bad"
	Exclude Disposition = "exclude"
)

// Policy is how outcomes other than a judged finish enter an objective. Each is published in goodput_slo_info.
type Policy struct {
	Success      []string    // finish reasons that may qualify
	Cancelled    Disposition // requests that the client gave up
	ClientErrors Disposition // HTTP 4xx
	Admission    Disposition // refused by the engine's admission limit
	Failed       Disposition // HTTP 5xx and finish reason error
	Lost         Disposition // in flight when their process died

	// Retries says what a request is where the caller's trace shows that it was tried more than once.
	Retries Retries
}

// Retries says whether each attempt counts, or only what they come to.
type Retries string

// What attempts of one trace count as. A trace can be told from spans only, so RetriesLogical needs them.
const (
	RetriesAttempts Retries = "attempts" // each for itself
	RetriesLogical  Retries = "logical"  // together one request, which began with the first and is judged by the last
)

// DefaultPolicy is the policy of design and of vLLM's finish reasons: a sequence qualifies when it stopped by itself or
// at its length limit; what the client did is excluded, what the service did is bad.
func DefaultPolicy() Policy {
	return Policy{
		Success: []string{"stop", "length"}, Cancelled: Exclude, ClientErrors: Exclude,
		Admission: Bad, Failed: Bad, Lost: Bad, Retries: RetriesAttempts,
	}
}

// Succeeds reports whether a finish reason may qualify.
func (p Policy) Succeeds(reason string) bool { return slices.Contains(p.Success, reason) }

// Match selects the engines that an objective is about; nil matches everything. Patterns are anchored at both ends.
type Match struct {
	Model, Engine *regexp.Regexp
}

// Objective is one promise: the share of requests that meet all clauses is at least Objective over Window.
type Objective struct {
	Name      string
	Match     Match
	Clauses   []Clause // at least one; each metric at most once. Of requests of no class
	Classes   Classes
	Objective float64 // in (0, 1)
	Window    time.Duration
	Policy    Policy
}

// Covers reports whether the objective is about an engine that serves a model.
func (o *Objective) Covers(engine, model string) bool {
	return (o.Match.Model == nil || o.Match.Model.MatchString(model)) &&
		(o.Match.Engine == nil || o.Match.Engine.MatchString(engine))
}

// value is the latency of a request that a clause judges; ok is false where the request has none.
func value(r fact.Request, m fact.Family) (v float64, ok bool) {
	switch m {
	case fact.TTFT:
		return r.TTFT, true
	case fact.TPOT:
		return r.TPOT()
	case fact.E2E:
		return r.E2E, true
	case fact.Queue:
		return r.Queue, true
	case fact.Prefill:
		return r.Prefill, true
	case fact.Decode:
		return r.Decode, true
	case fact.Inference:
		return r.Prefill + r.Decode, true
	}
	return 0, false
}

// Meets reports whether one request meets all clauses, and which it misses. A request of one token has no TPOT and
// meets a TPOT clause by definition, as in vLLM's own histogram and benchmark.
func (o *Objective) Meets(r fact.Request) (ok bool, missed []fact.Family) {
	for _, c := range o.Clauses {
		if v, has := value(r, c.Metric); has && !(v <= c.Threshold) {
			missed = append(missed, c.Metric)
		}
	}
	return len(missed) == 0, missed
}
