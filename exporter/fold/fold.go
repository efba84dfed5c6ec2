// Package fold is the one reducer: what was polled in a round is folded into the state, and out comes a snapshot of
// everything that can be said. Pure: it does not know clocks, sockets, logs or Prometheus.
package fold

import (
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// Options is what the reducer is told once. All times in seconds.
type Options struct {
	Objectives []slo.Objective

	Started         float64 // when the exporter started: an engine born later is judged since its birth
	JudgementWindow float64 // 60
	Quantiles       []float64
	QuantileWindows []float64                   // 300 and 3600
	Grids           [fact.NumFamilies][]float64 // the shared grid of each family
	Stale           float64                     // age after which a page's gauges are no longer true now
	Stall           float64                     // time without progress after which an engine with work in flight is stalled
	OnePrompt       []string                    // handlers whose requests hold one prompt: the ledger counts these
	ManyPrompts     []string                    // handlers that break the ledger when they are used
}

// Round is what one round brought. Targets are all current targets, polled in this round or not; an engine whose
// target is not among them is gone.
type Round struct {
	At      float64
	Targets []fact.Target
	Polls   []fact.Poll
}
