package fold

import (
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
)

// How a span was matched to its engine: a closed set, fit for a label, in the order in which they are tried.
const (
	ByEngine   = "engine"   // its resource names the target (goodput.engine)
	ByPod      = "pod"      // its resource names the pod of exactly one target
	ByInstance = "instance" // its process was matched before, and its address tells nothing
	ByAddress  = "address"  // it came from the address of exactly one target
	ByOnly     = "only"     // there is one target, and nothing on the span contradicts it
)

// Why a span was matched to no engine: a closed set, fit for a label.
const (
	UnmatchedEngine    = "engine"    // its resource names a target that there is not
	UnmatchedPod       = "pod"       // its resource names a pod that no target is of
	UnmatchedAmbiguous = "ambiguous" // several targets are, or may be, of its pod or at its address, or that and its process tell different ones
	UnmatchedNothing   = "nothing"   // nothing on it tells which of several targets it is of, or whether it is of one that has just gone
	UnmatchedNoTarget  = "no_target" // there is no target
)

// Unmatched counts the spans of which it is not known what engine they are of.
type Unmatched struct {
	Counts []Tally // by reason, sorted
	// Last is the origin of the newest such span for each reason, for a person; no reason is in it twice.
	Last []UnmatchedOrigin
}

// UnmatchedOrigin is where a span came from that was matched to no engine.
type UnmatchedOrigin struct {
	Reason string
	Origin fact.Origin
	At     float64 // when it came, unix seconds
}

// EngineSpans is what the spans of one engine say. Counters run since Engine.Since.
type EngineSpans struct {
	Expected bool    // windows wait for them: some came not long ago
	Last     float64 // receipt of the newest; 0: none ever came
	Matched  []Tally // spans by how they were matched, sorted

	Late      uint64 // came after their window was committed: they count as unseen
	Outside   uint64 // ended at a time that no window covers: before the first page, or while a process was replaced
	Duplicate uint64 // came before, not long ago
	Dropped   uint64 // more than is kept for one engine's open windows, or for those of all engines: they count as unseen
	OneToken  uint64 // sequences of at most one token: they have no TPOT and meet a TPOT clause by definition

	// Of committed windows while spans were expected, in sequences.
	Finished uint64 // by the page
	Seen     uint64 // of these, with a span in their window
	Windows  uint64 // that were committed
	Exact    uint64 // of these, windows whose spans are all there: one for each finished sequence
	// Completeness is Seen / Finished of the newest committed window; unknown when nothing finished in it.
	Completeness fact.Number
	Conflicts    uint64 // windows in which the spans contradicted the page: the wider claim was kept

	Attempts uint64 // requests seen in committed windows, as the engine counts them
	Logical  uint64 // of these, the ones that are no further attempt of another in the same window

	Histograms [fact.NumFamilies]*SpanHistogram // TTFT, TPOT and E2E; nil before the first observation
}

// SpanHistogram holds the exact values of the sequences that were seen: on native buckets, and counted at the
// thresholds of the objectives. Every span that was matched is in it, whatever became of its window, but for duplicates.
type SpanHistogram struct {
	Since  float64 // when it began: it begins anew when the thresholds change
	Native hist.Native
	Edges  []float64  // thresholds of all objectives and classes on the family, seconds, increasing
	Counts []uint64   // per bucket of Edges, not cumulative; one more than edges
	Newest []Exemplar // of each bucket of Edges; At is 0 where there is none
}

// Exemplar is one observation with the trace that it belongs to.
type Exemplar struct {
	Value float64 // seconds
	Trace [16]byte
	At    float64 // when the sequence ended, unix seconds
}

// Tokens is output tokens of finished sequences under an objective, in committed windows while spans were expected.
type Tokens struct {
	Known        bool   // some window was committed with spans expected
	Lower, Upper uint64 // of sequences that qualified
	// Of sequences that finished and did not qualify: spent, and on nobody's account.
	MissedLower, MissedUpper uint64
}

// Class is what spans say of one class of an objective, in finished sequences of committed windows while spans were
// expected: what did not finish, and what has no span, has no class.
type Class struct {
	Name         string
	Seen         uint64 // sequences of the class that were seen
	Unseen       uint64 // sequences of the objective that were not seen: each may be of this class
	Lower, Upper uint64 // qualified: at least so many of the seen; at most so many, all unseen included
	TokensLower  uint64 // output tokens of the sequences that surely qualified
}
