package sim

import (
	"errors"
	"fmt"
)

// Dialect is what kind of server an engine is: the names that its page has, and what is counted under them.
type Dialect int

// The dialects. Those without a note count as V1 does.
const (
	V1    Dialect = iota // vLLM 0.32's Python front end
	V1Old                // vLLM 0.11.0: old names beside new ones, no admission limit, no finish reason for errors
	// Rust is vLLM 0.32's Rust front end, in OpenMetrics. Sequences that a client aborts are counted as finished, in every
	// histogram; responses are counted when they begin; n > 1 is refused; nothing counts refusals of a queue's limit, so there
	// is none here; all clients stream, since what a response that
	// does not stream is counted as was never seen.
	Rust
	// V0 is vLLM 0.6.6 with the V0 engine. Nothing of HTTP is on its page. A request's histograms count it once whatever
	// its n; the queue time begins at the arrival; a sequence that is computed again after a preemption counts another
	// first token.
	V0
	// Simulator is llm-d-inference-sim. Sequences whose client has gone go on; the time to first token is without the
	// queue, and the queue time is that of sequences that waited.
	Simulator
	numDialects
)

func (d Dialect) String() string {
	return [numDialects]string{"V1", "V1Old", "Rust", "V0", "Simulator"}[d]
}

// contentTypes are those of the pages.
var contentTypes = [numDialects]string{
	V1: ContentType, V1Old: ContentType, V0: "text/plain; version=0.0.4; charset=utf-8",
	Rust:      "application/openmetrics-text; version=1.0.0; charset=utf-8",
	Simulator: "text/plain; version=0.0.4; charset=utf-8; escaping=underscores",
}

// ContentType is that of an engine's page.
func (w *World) ContentType(engine string) string { return contentTypes[w.byID[engine].config.Dialect] }

// python reports whether the server is a Python front end with the pages of V1.
func (d Dialect) python() bool { return d == V1 || d == V1Old }

// validateDialect says what an engine of a dialect cannot be.
func (e *Engine) validateDialect() error {
	var errs []error
	need := func(ok bool, what string) {
		if !ok {
			errs = append(errs, fmt.Errorf("engine %q: a server of kind %s %s", e.ID, e.Dialect, what))
		}
	}
	if e.Dialect < 0 || e.Dialect >= numDialects {
		return fmt.Errorf("engine %q: no such dialect", e.ID)
	}
	need(e.Dialect == V1 || e.MaxQueued == 0, "has no admission limit: MaxQueued")
	need(e.Dialect.python() || e.Ranks <= 1, "has one rank here: Ranks")
	need(e.Dialect.python() || e.Torn == 0, "has no torn pages here: Torn")
	need(e.Dialect.python() || !e.MultiProcess, "has one kind of page: MultiProcess")
	return errors.Join(errs...)
}

// failing reports whether sequences of an engine can end with an error that its page can tell.
func (d Dialect) failing() bool { return d == V1 || d == Rust }

// queueOfV0 is a sequence's queue time as the V0 engine has it: from its arrival on.
func queueOfV0(q *sequence) float64 { return q.scheduled - q.request.arrived }

// finishing are the histograms of finished sequences of a dialect.
func (d Dialect) finishing() []finishFamily {
	if d == V1 || d == V1Old || d == Rust {
		return finishFamilies[:]
	}
	var own []finishFamily
	for i, f := range finishFamilies {
		switch {
		case d == V0 && i != outputRow:
			f.perRequest = true
			if i == queueRow {
				f.value = queueOfV0
			}
		case d == Simulator && i == queueRow:
			f.only = func(q *sequence) bool { return q.scheduled > q.queued }
		}
		own = append(own, f)
	}
	return own
}
