package fold

import (
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// Past is what is remembered of an engine, oldest first. Snapshots share it and nobody writes to it: the reducer only
// appends behind what a snapshot holds, and forgets by moving the beginning.
//
// An hour of an engine with one rank and one objective takes 67 kB, and 17 kB more for each further objective, room for
// the next windows included (BenchmarkHistoryBytes).
type Past struct {
	Windows []PastWindow
	Latency []LatencyPoint // of each rank at the end of each window
}

// PastWindow is one committed judgement window of an engine: what holds for the whole endpoint, and a verdict for each
// objective that was about it.
type PastWindow struct {
	Start, End float64 // when its first and last page were asked for
	Partial    bool    // shorter than the judgement window: the process ended

	// Ledger is what the window added, in HTTP requests. It accounts for the time since From, which is before Start
	// where the pages of earlier windows lacked what the accounting needs.
	From     float64
	Ledger   Ledger
	InFlight int64 // change of what is in flight from From to End: the ledger's last part

	Sequences Number // finished, whatever their reason, over all ranks
	Spent     [NumStages]Spent
	Verdicts  []Verdict
}

// Number is a count that may be unknown.
type Number struct {
	N     uint64
	Known bool
}

// Stage indexes the stages of a sequence whose mean duration is exact: the page has their sum and count.
type Stage int

// The stages. TTFT is counted at the first token, the others when a sequence finishes: two populations.
const (
	StageQueue Stage = iota
	StagePrefill
	StageDecode
	StageE2E
	StageTTFT
	NumStages
)

// stageFamilies is the family of each stage.
var stageFamilies = [NumStages]fact.Family{fact.Queue, fact.Prefill, fact.Decode, fact.E2E, fact.TTFT}

// Spent is a sum of durations and how many were added. A count of 0 has no mean.
type Spent struct {
	Seconds float64
	Count   uint64
}

// Verdict is what one objective says of one window, in sequences.
type Verdict struct {
	Objective    *slo.Objective
	Judged       bool   // Lower and Upper are known
	Reason       string // why they are not
	Requests     Number // the denominator
	Lower, Upper uint64
	Violations   []Violation
	Sequences    Number // finished, of the ranks that the objective is about: the population of all clauses but TTFT
	FirstTokens  uint64 // of these ranks: the population of a TTFT clause
	Method       slo.Method
	Note         string // why a better method was not used
	Evidence     Evidence
	Spans        WindowSpans
	Tokens       Tokens
	Classes      []Class
}

// PastFamilies are the latencies that are remembered, in the order of LatencyPoint.
var PastFamilies = [...]fact.Family{fact.TTFT, fact.TPOT, fact.E2E, fact.Queue, fact.Prefill, fact.TokenGap}

// LatencyPoint holds the intervals of the configured quantiles over the shortest sliding window that ended at At.
type LatencyPoint struct {
	From, At  float64 // the polls between which the observations fell
	Rank      string  // "" for a whole model
	Ranks, Of int     // ranks whose observations are in it, of how many

	Counts [len(PastFamilies)]uint64 // observations by family; 0: nothing is known
	Bounds []Bound                   // family by family in the order of PastFamilies, quantile by quantile
}

// Bound is the interval (Lower, Upper] of one order statistic; Upper is +Inf in the overflow bucket.
type Bound struct{ Lower, Upper float64 }

// Intervals are the intervals of a family, one for each configured quantile; nil where nothing is known.
func (p *LatencyPoint) Intervals(f fact.Family) []Bound {
	at := slices.Index(PastFamilies[:], f)
	if at < 0 || p.Counts[at] == 0 {
		return nil
	}
	n := len(p.Bounds) / len(PastFamilies)
	return p.Bounds[at*n : (at+1)*n]
}

// Count is the number of a family's observations.
func (p *LatencyPoint) Count(f fact.Family) uint64 {
	if at := slices.Index(PastFamilies[:], f); at >= 0 {
		return p.Counts[at]
	}
	return 0
}

// remembered is the history of one engine while it grows.
type remembered struct {
	windows []PastWindow
	latency []LatencyPoint
	from    float64 // since when an account runs that was put off; 0: none was
}

// publish hands out the history without the room behind it, so that an append by a reader cannot reach it.
func (m *remembered) publish() Past {
	return Past{Windows: slices.Clip(m.windows), Latency: slices.Clip(m.latency)}
}

// trim forgets what ended before the limit.
func (m *remembered) trim(limit float64) {
	m.windows = after(m.windows, limit, func(w *PastWindow) float64 { return w.End })
	m.latency = after(m.latency, limit, func(p *LatencyPoint) float64 { return p.At })
}

// after cuts off the items whose time is before the limit. What remains moves to new memory with the next append that
// finds no room, so the forgotten are freed by then.
func after[T any](items []T, limit float64, at func(*T) float64) []T {
	cut := 0
	for cut < len(items) && at(&items[cut]) < limit {
		cut++
	}
	if cut == len(items) {
		return nil
	}
	return items[cut:]
}

// account says since when the ledger of a window that began at start runs. putOff is true for a window whose outcomes
// will be committed with a later one.
func (m *remembered) account(start float64, putOff bool) (from float64) {
	from = start
	if m.from > 0 {
		from = m.from
	}
	if m.from = 0; putOff {
		m.from = from
	}
	return from
}

// latencyPoint is what a rank's shortest sliding window says; false when that is nothing.
func (s *State) latencyPoint(windows []*sliding, aborts []uint64) (LatencyPoint, bool) {
	p := LatencyPoint{Bounds: make([]Bound, len(PastFamilies)*len(s.opts.Quantiles))}
	any := false
	for at, f := range PastFamilies {
		floor, ceil := union(windows, f)
		others := uint64(0)
		if f != fact.TTFT && f != fact.TokenGap {
			for _, n := range aborts {
				others += n
			}
		}
		for i, q := range s.opts.Quantiles {
			lower, upper, ok := hist.ImageQuantile(floor, ceil, q, others)
			if !ok {
				break
			}
			any = true
			p.Counts[at] = floor.Count() - others
			p.Bounds[at*len(s.opts.Quantiles)+i] = Bound{lower, upper}
		}
	}
	return p, any
}

// shortest is the rank's sliding window that is remembered; nil where none is configured or nothing was seen.
func (r *rank) shortest() *sliding {
	var out *sliding
	for _, w := range r.sliding {
		if len(w.entries) > 0 && (out == nil || w.length < out.length) {
			out = w
		}
	}
	return out
}

// abortedIn is how many of a sliding window's finish-time observations are of aborted sequences.
func (w *sliding) abortedIn(t fact.Traits) uint64 {
	n := uint64(0)
	if t.AbortsFinish {
		for i := range w.entries {
			n += w.entries[i].aborted
		}
	}
	return n
}

// rememberRank notes a rank's percentiles at the end of a window.
func (s *State) rememberRank(points []LatencyPoint, e *engine, r *rank, end float64) []LatencyPoint {
	w := r.shortest()
	if s.opts.History <= 0 || w == nil {
		return points
	}
	p, ok := s.latencyPoint([]*sliding{w}, []uint64{w.abortedIn(e.last.sample.Traits)})
	if !ok {
		return points
	}
	p.Rank, p.Ranks, p.Of = r.id, 1, 1
	p.From, p.At = w.entries[0].from, end
	return append(points, p)
}
