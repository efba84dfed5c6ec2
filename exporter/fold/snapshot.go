package fold

import (
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// Snapshot is everything that is published after a round. It is never written to after Apply returned it, so any
// number of readers may share it. Times are unix seconds; counters run since Engine.Since.
type Snapshot struct {
	At      float64  // when the round ended
	Rounds  uint64   // rounds so far
	Engines []Engine // sorted by ID
	Windows []Window // judgement windows committed in this round, one for each objective
	// Quantiles are those of the sliding windows at the end of each window committed in this round.
	Quantiles []RankQuantile
	Layouts   [fact.NumFamilies]int // number of distinct bucket layouts in sight
	Models    []Model               // sorted by name; what is remembered of them
	Terms     Terms
	Unmatched Unmatched // spans
	GPUs      []GPU     // sorted by UUID, cards before their instances; nil while their source is down
	GPUSource GPUSource
}

// Terms are the lengths, in seconds, and the quantiles that the snapshot's numbers are in terms of.
type Terms struct {
	JudgementWindow float64
	History         float64   // for how long windows and percentiles are remembered
	Sliding         float64   // length of the sliding window of the remembered percentiles
	Quantiles       []float64 // of each LatencyPoint
}

// Phase says in one word what can be expected of an engine's numbers.
type Phase string

// The phases of an engine.
const (
	PhaseUnseen   Phase = "unseen"     // never a good page
	PhaseStarting Phase = "starting"   // never a good page, and none is expected yet
	PhaseWarming  Phase = "warming_up" // pages, but no judgement window has been committed yet
	PhaseJudging  Phase = "judging"    // windows are being committed
	PhaseDown     Phase = "down"       // the last poll brought no page
	PhaseStalled  Phase = "stalled"    // pages come, work is in flight, and nothing has moved for a while
	PhaseAsleep   Phase = "asleep"     // all its schedulers were put to sleep, and say so
)

// Seen reports whether there has been a page.
func (p Phase) Seen() bool { return p != PhaseUnseen && p != PhaseStarting }

// Engine is one endpoint: what holds for all its ranks together.
type Engine struct {
	ID     string
	Target fact.Target
	Model  string // "" unless the page names exactly one

	Phase    Phase
	Since    float64 // when our counters of this engine started: their created timestamp
	Gone     bool    // is no target any more; stays until its last commit has been on the page for a window
	Up       bool    // the last poll brought a page that was accepted or skipped as torn
	LastPoll float64 // receipt of the last accepted page; 0 none yet
	PollTook float64 // seconds the last poll took
	Failures []Tally // failed polls and refused pages by reason, sorted
	Skipped  []Tally // pages read but not judged, by reason, sorted
	Resets   uint64  // process changes seen

	Dialect, Version string
	Missing          []fact.Missing
	Warnings         []string
	Start            float64 // start time of the process; 0 unknown
	Series           int     // samples on the last page

	Ledger    Ledger
	SLOs      []SLO
	Fallbacks []Tally // windows that were judged by less than the best method, by reason
	Conflicts uint64  // windows in which the page contradicted itself
	Spans     EngineSpans
	GPUs      EngineGPUs
	Ranks     []Rank // sorted by ID

	WindowStart float64 // when the open judgement window began; 0 before the first page
	Past        Past
}

// Tally counts occurrences of a named thing.
type Tally struct {
	Name  string
	Count uint64
}

// Span is a count known as an interval; exact when Lower == Upper, unknown when !Known.
type Span struct {
	Lower, Upper uint64
	Known        bool
}

// Exact reports whether the span is a single known number.
func (s Span) Exact() bool { return s.Known && s.Lower == s.Upper }

// Ledger accounts for HTTP requests, committed at the end of each judgement window. At every commit
// arrived = finished + failed + cancelled + rejected + lost + the change of what is in flight since the baseline (0 for
// an engine that was seen since its birth), except for what Unexplained counts.
type Ledger struct {
	// Committed is false until the first window has ended: then nothing below is known yet.
	Committed bool
	Absent    string // why the ledger cannot be kept; "" when it can

	Arrived, Finished, Failed, Cancelled Span
	RejectedAdmission, RejectedClient    Span
	Lost, Unexplained                    Span

	// The parts of Failed and Cancelled that are in no finish count of the engine.
	failedBeside, cancelledBeside Span
}

// SLO is one objective on one engine. Requests, Lower and Upper count sequences and move together, once a window.
type SLO struct {
	Objective *slo.Objective
	Since     float64 // when the counters started, where that is not Engine.Since: the promise was changed or added since
	Judged    bool    // at least one window was committed with an interval
	Absent    string  // why there is no interval; "" when there is

	Requests     uint64 // the denominator under the objective's policy
	Lower, Upper uint64 // qualified: lower <= truth <= upper
	Violations   []Violation
	Tokens       Tokens
	Classes      []Class // in the order of the objective, ClassOther last; nil before spans were expected, and without classes
}

// Violation counts the observations over one clause's threshold: a marginal, in the population of that histogram
// (first tokens for TTFT, finished sequences for the rest). Upper counts those that may be over it.
type Violation struct {
	Metric       fact.Family
	Lower, Upper uint64
}

// Rank is one scheduler: ID equals the engine's without data parallelism, else engine/rank.
type Rank struct {
	ID    string
	Model string
	Since float64 // when its counters started; a rank that was away goes on where it stopped

	Fresh                      bool // the gauges below are of a page young enough to be true now
	Running, Waiting, KVUsage  fact.Number
	Sequences                  []fact.ReasonCount
	PromptTokens, OutputTokens fact.Number // processed, aborted sequences included
	DonePrompt, DoneOutput     fact.Number // of finished sequences
	Preemptions                fact.Number

	Histograms [fact.NumFamilies]*Projected // nil when the engine has no such histogram
	Quantiles  []Quantile
	Coverage   []Coverage
}

// Projected is a histogram on the shared grid. Floor and Ceil are counts per bucket (not cumulative),
// len(Grid)+1 long; Sum is the engine's own sum of values.
type Projected struct {
	Grid        []float64
	Floor, Ceil []uint64
	Sum         float64
}

// Quantile is the interval (Lower, Upper] of one order statistic over a sliding window of one rank.
type Quantile struct {
	Metric       fact.Family
	Q            float64
	Window       float64 // seconds
	Start, End   float64 // the polls between which the observations fell
	Lower, Upper float64 // Upper is +Inf in the overflow bucket
	Count        uint64
}

// Coverage is the share of a sliding window that polls covered.
type Coverage struct {
	Window float64 // seconds
	Ratio  float64
}

// Window is one committed judgement window of one engine under one objective.
type Window struct {
	Engine, Model, SLO string
	Start, End         float64 // when its first and last page were asked for
	Partial            bool    // shorter than the judgement window: the process ended, or the recording did

	Arrived, Finished, Failed, Cancelled Span // HTTP requests
	Rejected, Lost, Unexplained          Span
	Sequences                            uint64 // finished sequences
	SequencesOK                          bool   // Sequences is known

	Requests     uint64 // the denominator, sequences
	RequestsOK   bool   // Requests is known
	Lower, Upper uint64
	Violations   []Violation
	Evidence     Evidence
	Method       slo.Method // by which the histograms were judged; "" where they were not
	Note         string     // why a better method was not used
	Spans        WindowSpans
	Tokens       Tokens
	Classes      []Class
	Reason       string // why there is no interval
}

// Evidence says what an interval rests on.
type Evidence string

// The evidence of an interval; "" when there is none.
const (
	EvidenceHistogram Evidence = "histogram" // the page's histograms alone
	EvidenceSpans     Evidence = "spans"     // the spans alone: the histograms have no edge at a threshold
	EvidenceBoth      Evidence = "both"      // the spans' interval and the histograms', intersected
)

// WindowSpans is what spans contributed to a window.
type WindowSpans struct {
	Expected bool   // the window waited for them
	Seen     uint64 // sequences of the window with a span, of those in Window.Sequences
	// Unsure of these ended so close to an edge of the window that they may be of its neighbour: the interval counts
	// them as unseen. 0 where every span is there, for then the counts of the page tell.
	Unsure   uint64
	Complete bool // one span for each finished sequence, at every page of the window
	Conflict bool // the spans contradict the page, which was believed in what they contradict
}

// RankQuantile is a quantile with the rank it belongs to.
type RankQuantile struct {
	Engine, Model string
	Quantile
}
