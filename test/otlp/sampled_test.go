package otlp

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// TestSampling: a sender that keeps only some of its spans shows as less evidence, never as fewer requests.
func TestSampling(t *testing.T) {
	for name, c := range map[string]struct {
		sampler sdktrace.Sampler
		caller  func(i int) context.Context
	}{
		"callers that sample two of five requests": {
			sdktrace.ParentBased(sdktrace.AlwaysSample()), // the SDK's default
			func(i int) context.Context { return caller(i%5 < 2) },
		},
		"OTEL_TRACES_SAMPLER=traceidratio": {
			sdktrace.TraceIDRatioBased(0.3),
			func(int) context.Context { return context.Background() },
		},
		"OTEL_TRACES_SAMPLER=parentbased_traceidratio, callers without a trace": {
			sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0.7)),
			func(int) context.Context { return context.Background() },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(t)
			to := serve(t, settings{engines: map[string]*engine{"a": e}})
			load := calls(9, 1500, 12*time.Second)
			sender := newTracer(t, wire{}.client(to), c.sampler, attribute.String("goodput.engine", "a"))
			var asked atomic.Int64
			e.serve(load, func(one *call, start time.Time) { sender.report(c.caller(int(asked.Add(1))), one, start) })
			sender.close(t)
			partly(t, to.committed(t, "a", len(load)), "a", load)
		})
	}
}

// partly holds what is said of an engine, some of whose spans came, to the truth: every sequence is counted, the truth
// is inside the interval, which is no wider than what was not seen, and the completeness is the share that came.
func partly(t *testing.T, s samples, engine string, load []call) {
	t.Helper()
	n, good, of := float64(len(load)), float64(qualified(load)), label("engine", engine)
	s.want(t, n, "goodput_evidence_sequences_total", of)
	came, _ := s.sum("goodput_spans_matched_total", of)
	seen, _ := s.sum("goodput_evidence_sequences_seen_total", of)
	if came < 0.1*n || came > 0.9*n {
		t.Fatalf("%v of %v spans came: the sender was to send some of them", came, n)
	}
	// A span near an edge of a window is counted in the nearer one; at most those of an edge's moment are off.
	if math.Abs(seen-came) > 0.02*n {
		t.Errorf("%v spans came, and %v sequences were seen", came, seen)
	}
	lower, _ := s.sum("goodput_slo_qualified_requests_lower_total", of)
	upper, _ := s.sum("goodput_slo_qualified_requests_upper_total", of)
	if lower > good || upper < good {
		t.Errorf("the interval is %v to %v, and %v qualified", lower, upper, good)
	}
	// Sequences at the edges of windows are unsure: a tenth of a second on either side, of ten seconds.
	if width := upper - lower; width > n-came+0.05*n {
		t.Errorf("the interval %v to %v is wider than the %v that were not seen", lower, upper, n-came)
	}
	ratio, found := s.sum("goodput_evidence_completeness_ratio", of)
	if found && (ratio <= 0 || ratio >= 1) {
		t.Errorf("the completeness of the last window is %v", ratio)
	}
	s.want(t, 0, "goodput_evidence_conflicts_total", of)
}
