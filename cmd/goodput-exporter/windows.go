package main

import (
	"encoding/json"
	"io"
	"math"
	"time"

	"github.com/prometheus/common/model"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// windowLine is a committed judgement window of one engine under one SLO, as replay --format=windows prints it. What
// is unknown is left out. Times are unix seconds of the polls that open and close the window.
type windowLine struct {
	Engine  string  `json:"engine"`
	Model   string  `json:"model,omitempty"`
	SLO     string  `json:"slo"`
	Start   float64 `json:"start"`
	End     float64 `json:"end"`
	Partial bool    `json:"partial,omitempty"` // shorter than the judgement window

	// HTTP requests, exact; where only an interval is known, its two ends stand under _lower and _upper.
	Arrived        *uint64 `json:"arrived,omitempty"`
	Finished       *uint64 `json:"finished,omitempty"`
	Sequences      *uint64 `json:"sequences,omitempty"` // finished, whatever their reason
	Cancelled      *uint64 `json:"cancelled,omitempty"`
	CancelledLower *uint64 `json:"cancelled_lower,omitempty"`
	CancelledUpper *uint64 `json:"cancelled_upper,omitempty"`
	Rejected       *uint64 `json:"rejected,omitempty"`
	Failed         *uint64 `json:"failed,omitempty"`
	FailedLower    *uint64 `json:"failed_lower,omitempty"`
	FailedUpper    *uint64 `json:"failed_upper,omitempty"`
	Lost           *uint64 `json:"lost,omitempty"`
	Unexplained    *uint64 `json:"unexplained,omitempty"`

	// Sequences: the SLO's denominator, and how many of them qualified.
	Requests *uint64           `json:"requests,omitempty"`
	Lower    *uint64           `json:"lower,omitempty"`
	Upper    *uint64           `json:"upper,omitempty"`
	Clauses  map[string]uint64 `json:"clauses,omitempty"` // observations certainly over the threshold
	Evidence string            `json:"evidence,omitempty"`
	Method   string            `json:"method,omitempty"`
	Note     string            `json:"note,omitempty"`   // why a better method was not used
	Reason   string            `json:"reason,omitempty"` // why there is no interval

	// Where the window waited for spans.
	Seen         *uint64     `json:"seen,omitempty"`         // sequences with a span
	Completeness *float64    `json:"completeness,omitempty"` // seen / sequences
	Unsure       uint64      `json:"unsure,omitempty"`       // of the seen: near an edge, counted as unseen
	Conflict     bool        `json:"conflict,omitempty"`     // the spans contradict the page, which was believed
	Tokens       *tokensLine `json:"tokens,omitempty"`
	Classes      []classLine `json:"classes,omitempty"`
}

// tokensLine is output tokens of finished sequences, by whether the sequence qualified.
type tokensLine struct {
	Lower       uint64 `json:"lower"`
	Upper       uint64 `json:"upper"`
	MissedLower uint64 `json:"missed_lower"`
	MissedUpper uint64 `json:"missed_upper"`
}

// classLine is one class of the SLO, in finished sequences.
type classLine struct {
	Class       string `json:"class"`
	Seen        uint64 `json:"seen"`
	Unseen      uint64 `json:"unseen,omitempty"` // of the SLO: each may be of this class
	Lower       uint64 `json:"lower"`
	Upper       uint64 `json:"upper"`
	TokensLower uint64 `json:"tokens_lower"`
}

// quantileLine is one order statistic over a sliding window that ended with a committed judgement window: it lies in
// (lower, upper]; upper is left out in the overflow bucket.
type quantileLine struct {
	Engine string   `json:"engine"`
	Model  string   `json:"model,omitempty"`
	Metric string   `json:"metric"`
	Q      float64  `json:"q"`
	Window string   `json:"window"`
	Start  float64  `json:"start"`
	End    float64  `json:"end"`
	Lower  float64  `json:"lower"`
	Upper  *float64 `json:"upper,omitempty"`
	Count  uint64   `json:"count"`
}

// windowSink prints windows and quantiles as they are committed.
type windowSink struct{ out io.Writer }

func (s *windowSink) Take(snapshot *fold.Snapshot) error {
	encoder := json.NewEncoder(s.out)
	encoder.SetEscapeHTML(false)
	for i := range snapshot.Windows {
		if err := encoder.Encode(newWindowLine(&snapshot.Windows[i])); err != nil {
			return err
		}
	}
	for i := range snapshot.Quantiles {
		if err := encoder.Encode(newQuantileLine(&snapshot.Quantiles[i])); err != nil {
			return err
		}
	}
	return nil
}

func (s *windowSink) Close() error { return nil }

func newWindowLine(w *fold.Window) windowLine {
	line := windowLine{
		Engine: w.Engine, Model: w.Model, SLO: w.SLO, Start: w.Start, End: w.End, Partial: w.Partial,
		Arrived: exact(w.Arrived), Finished: exact(w.Finished), Cancelled: exact(w.Cancelled),
		Rejected: exact(w.Rejected), Failed: exact(w.Failed), Lost: exact(w.Lost), Unexplained: exact(w.Unexplained),
		Evidence: string(w.Evidence), Method: string(w.Method), Note: w.Note, Reason: w.Reason,
	}
	line.CancelledLower, line.CancelledUpper = interval(w.Cancelled)
	line.FailedLower, line.FailedUpper = interval(w.Failed)
	if w.SequencesOK {
		line.Sequences = &w.Sequences
	}
	if w.RequestsOK {
		line.Requests = &w.Requests
	}
	line.addSpans(w)
	if w.Evidence == "" {
		return line
	}
	line.Lower, line.Upper = &w.Lower, &w.Upper
	line.Clauses = make(map[string]uint64, len(w.Violations))
	for _, v := range w.Violations {
		line.Clauses[v.Metric.String()] = v.Lower
	}
	return line
}

// addSpans adds what spans say, where they were waited for.
func (line *windowLine) addSpans(w *fold.Window) {
	if !w.Spans.Expected {
		return
	}
	line.Seen, line.Unsure, line.Conflict = &w.Spans.Seen, w.Spans.Unsure, w.Spans.Conflict
	if w.SequencesOK && w.Sequences > 0 {
		share := float64(w.Spans.Seen) / float64(w.Sequences)
		line.Completeness = &share
	}
	if t := w.Tokens; t.Known {
		line.Tokens = &tokensLine{Lower: t.Lower, Upper: t.Upper, MissedLower: t.MissedLower, MissedUpper: t.MissedUpper}
	}
	for _, c := range w.Classes {
		line.Classes = append(line.Classes, classLine{Class: c.Name, Seen: c.Seen, Unseen: c.Unseen, Lower: c.Lower, Upper: c.Upper, TokensLower: c.TokensLower})
	}
}

func exact(s fold.Span) *uint64 {
	if !s.Exact() {
		return nil
	}
	return &s.Lower
}

func interval(s fold.Span) (lower, upper *uint64) {
	if !s.Known || s.Exact() {
		return nil, nil
	}
	return &s.Lower, &s.Upper
}

func newQuantileLine(q *fold.RankQuantile) quantileLine {
	line := quantileLine{
		Engine: q.Engine, Model: q.Model, Metric: fact.Family(q.Metric).String(), Q: q.Q, Window: promDuration(q.Window),
		Start: q.Start, End: q.End, Lower: q.Lower, Count: q.Count,
	}
	if !math.IsInf(q.Upper, 1) {
		line.Upper = &q.Upper
	}
	return line
}

// promDuration prints seconds as Prometheus writes durations: 5m, 1h.
func promDuration(seconds float64) string {
	return model.Duration(time.Duration(seconds * float64(time.Second))).String()
}
