package main

// explained is everything that explain says of one engine. The keys are stable: docs/explain.md lists them. Times are unix
// seconds, durations seconds; what is unknown is left out.
type explained struct {
	Source      string                `json:"source"`
	Engine      string                `json:"engine"`
	Notes       []string              `json:"notes,omitempty"`
	Page        explainedPage         `json:"page"`
	Polls       explainedPolls        `json:"polls"`
	Periods     []explainedPeriod     `json:"periods,omitempty"`
	SLOs        []explainedSLO        `json:"slos"`
	Percentiles []explainedPercentile `json:"percentiles,omitempty"`
}

// explainedPage is what the last good page is, and what it lacks.
type explainedPage struct {
	Dialect    string             `json:"dialect"`
	Writer     string             `json:"writer,omitempty"`
	Recognised string             `json:"recognised_by,omitempty"`
	Unlike     []string           `json:"unlike_vllm_v1,omitempty"`
	Versions   string             `json:"versions,omitempty"`
	Started    float64            `json:"process_start,omitempty"`
	Bytes      int                `json:"bytes"`
	Series     int                `json:"series"`
	Ranks      []explainedRank    `json:"ranks"`
	Missing    []explainedMissing `json:"missing,omitempty"`
	Forgiven   []string           `json:"forgiven,omitempty"`
}

type explainedRank struct {
	Rank  string `json:"rank,omitempty"`
	Model string `json:"model,omitempty"`
}

type explainedMissing struct {
	What string `json:"what"`
	Cost string `json:"cost"`
}

// explainedPolls is how the pages were had.
type explainedPolls struct {
	From     float64          `json:"from,omitempty"` // when the first and the last good page were asked for; 0: there is one
	To       float64          `json:"to,omitempty"`
	Good     int              `json:"good"`
	Every    float64          `json:"mean_seconds_between,omitempty"`
	Took     float64          `json:"last_took_seconds,omitempty"`
	Failed   []explainedTally `json:"failed,omitempty"`
	Skipped  []explainedTally `json:"skipped,omitempty"`
	Restarts uint64           `json:"restarts"`
	Phase    string           `json:"phase,omitempty"`
}

type explainedTally struct {
	Reason string `json:"reason"`
	Count  uint64 `json:"count"`
}

// explainedPeriod is the last judgement window, or all of the hour.
type explainedPeriod struct {
	Name      string           `json:"period"` // last_window or hour
	From      float64          `json:"from"`
	To        float64          `json:"to"`
	Windows   int              `json:"windows"`
	Partial   bool             `json:"partial,omitempty"`
	Ledger    explainedLedger  `json:"ledger"`
	Sequences *uint64          `json:"finished_sequences,omitempty"`
	Stages    []explainedStage `json:"stages,omitempty"`
}

// explainedLedger counts HTTP requests. Absent says why there is none, or of which windows it is not.
type explainedLedger struct {
	Absent            string         `json:"absent,omitempty"`
	Arrived           *explainedSpan `json:"arrived,omitempty"`
	Finished          *explainedSpan `json:"finished,omitempty"`
	Cancelled         *explainedSpan `json:"cancelled,omitempty"`
	RejectedAdmission *explainedSpan `json:"rejected_by_admission,omitempty"`
	RejectedClient    *explainedSpan `json:"rejected_as_client_errors,omitempty"`
	Failed            *explainedSpan `json:"failed,omitempty"`
	Lost              *explainedSpan `json:"lost,omitempty"`
	Unexplained       *explainedSpan `json:"unexplained,omitempty"`
	InFlight          *int64         `json:"change_of_in_flight,omitempty"`
}

type explainedSpan struct {
	Lower uint64 `json:"lower"`
	Upper uint64 `json:"upper"`
}

// explainedStage is the exact mean time of a stage.
type explainedStage struct {
	Stage      string  `json:"stage"`
	Population string  `json:"population"`
	Mean       float64 `json:"mean_seconds"`
	Count      uint64  `json:"count"`
}

// explainedSLO is one objective on the engine.
type explainedSLO struct {
	Name       string             `json:"slo"`
	Covers     bool               `json:"covers"`
	Objective  float64            `json:"objective"`
	Population string             `json:"population"`
	Unlike     string             `json:"unjudged_because,omitempty"` // why no edges could help
	Clauses    []explainedClause  `json:"clauses"`
	Verdicts   []explainedVerdict `json:"verdicts,omitempty"`
	Narrow     []explainedNarrow  `json:"narrower_by,omitempty"`
}

// explainedClause says whether the engine's edges can answer a clause.
type explainedClause struct {
	Metric    string   `json:"metric"`
	Threshold float64  `json:"threshold_seconds"`
	Classes   []string `json:"classes,omitempty"` // that promise it
	Answer    string   `json:"answer"`            // edge or refused
	Why       string   `json:"why,omitempty"`

	missing bool // refused because the engine has no such histogram
}

// explainedVerdict is the interval of a period, in sequences.
type explainedVerdict struct {
	Period   string                    `json:"period"`
	Windows  int                       `json:"windows"` // with an interval
	Requests uint64                    `json:"requests"`
	Lower    uint64                    `json:"lower"`
	Upper    uint64                    `json:"upper"`
	Width    *float64                  `json:"width_points,omitempty"`
	Holds    string                    `json:"objective_held"` // yes, no, undecided or unknown
	Evidence []explainedEvidence       `json:"evidence,omitempty"`
	Spans    *explainedEvidenceOfSpans `json:"spans,omitempty"` // of the windows that waited for spans
	Methods  []explainedMethod         `json:"methods,omitempty"`
	Doubts   []explainedTally          `json:"notes,omitempty"`
	Unjudged []explainedTally          `json:"unjudged,omitempty"`
	Over     []explainedMarginal       `json:"over_threshold,omitempty"`
}

// explainedMethod is how the intervals of some windows were obtained.
type explainedMethod struct {
	Method string `json:"method"`
	Count  uint64 `json:"count"`
}

// explainedEvidence is what the intervals of some windows rest on: histogram, spans or both.
type explainedEvidence struct {
	Evidence string `json:"evidence"`
	Count    uint64 `json:"count"`
}

// explainedEvidenceOfSpans is what spans said of the windows that waited for them, in finished sequences.
type explainedEvidenceOfSpans struct {
	Windows   int         `json:"windows"`
	Exact     int         `json:"exact_windows"` // with a span for each sequence
	Conflicts int         `json:"conflicts"`     // contradicted by the page, which was believed
	Finished  uint64      `json:"finished"`
	Seen      uint64      `json:"seen"`
	Tokens    *tokensLine `json:"output_tokens,omitempty"`
	Classes   []classLine `json:"classes,omitempty"`
}

// explainedMarginal is how many observations exceed one clause's threshold.
type explainedMarginal struct {
	Metric     string `json:"metric"`
	Population string `json:"population"`
	Lower      uint64 `json:"lower"`
	Upper      uint64 `json:"upper"`
	Of         uint64 `json:"of"`
}

// explainedNarrow is something that would make the interval narrower.
type explainedNarrow struct {
	By   string `json:"by"` // clauses, edges, polls, spans or time
	Says string `json:"says"`
}

// explainedPercentile is the intervals of one latency over one sliding window.
type explainedPercentile struct {
	Rank       string              `json:"rank,omitempty"`
	Metric     string              `json:"metric"`
	Population string              `json:"population"`
	Window     float64             `json:"window_seconds"`
	From       float64             `json:"from"`
	To         float64             `json:"to"`
	Count      uint64              `json:"count"`
	Quantiles  []explainedQuantile `json:"quantiles"`
}

// explainedQuantile lies in (Lower, Upper]; above Lower where Upper is left out.
type explainedQuantile struct {
	Q     float64  `json:"q"`
	Lower float64  `json:"lower_seconds"`
	Upper *float64 `json:"upper_seconds,omitempty"`
}
