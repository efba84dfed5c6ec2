package sim

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Tracing is what an engine's tracer does when it is told to (--otlp-traces-endpoint): a span for each sequence that comes
// to its end, in the batches of OpenTelemetry's Python SDK. Cancelled and rejected requests have none. What is left out is
// the SDK's default.
type Tracing struct {
	Peer       string      // address that its messages come from; "127.0.0.1" by default
	Service    string      // OTEL_SERVICE_NAME; "vllm" by default
	Attributes []Attribute // OTEL_RESOURCE_ATTRIBUTES, such as goodput.engine or k8s.pod.name
	// Ratio is the share of the traces that the engine begins and keeps: parentbased_traceidratio in OTEL_TRACES_SAMPLER.
	// 0 is 1: all of them. Where a caller began the trace, the engine does what the caller's flag says.
	Ratio float64

	Delay float64 // seconds between two batches: OTEL_BSP_SCHEDULE_DELAY; 5 by default
	Batch int     // spans in one at most: OTEL_BSP_MAX_EXPORT_BATCH_SIZE; 512 by default
	Queue int     // spans that wait; when it is full the oldest is dropped: OTEL_BSP_MAX_QUEUE_SIZE; 2048 by default
	// Export is the mean time, in seconds, that a batch takes to its receiver; 0.012 by default, as on loopback. The tracer
	// sends one at a time, so a slow receiver fills the queue.
	Export float64

	// Foreign: FastAPI's own instrumentation ends three spans of other names for each HTTP request, and sends them in the
	// same batches. So did vLLM 0.11 with a current FastAPI.
	Foreign bool
}

// Attribute is a name and a text on a span or on a resource.
type Attribute struct{ Key, Value string }

// Caller is a load whose clients trace what they do, and say so in their requests' headers: all attempts at the same work
// are of one trace, in which each has a span of its own.
type Caller struct {
	Ratio float64 // share of their traces that are sampled; 0 is 1: all of them
	// Attributes are what a span of their requests says of them. vLLM puts none there by itself: a span processor beside it,
	// or a Collector, takes them from the caller's baggage.
	Attributes []Attribute
}

// tracing are the dialects that tell of requests in spans. V0's have no times in the model, so that there is no TPOT on
// them; they are not simulated.
var tracing = []Dialect{V1, V1Old}

func (e *Engine) validateTracing() error {
	t := e.Tracing
	if t == nil {
		return nil
	}
	var errs []error
	need := func(ok bool, what string) {
		if !ok {
			errs = append(errs, fmt.Errorf("engine %q: %s", e.ID, what))
		}
	}
	need(slices.Contains(tracing, e.Dialect), fmt.Sprintf("a server of kind %s sends no spans here: Tracing", e.Dialect))
	need(t.Ratio >= 0 && t.Ratio <= 1, "Tracing.Ratio is a share, from 0 to 1")
	need(t.Delay >= 0 && t.Export >= 0, "Tracing.Delay and Tracing.Export must not be negative")
	need(t.Batch >= 0 && t.Queue >= 0, "Tracing.Batch and Tracing.Queue must not be negative")
	need(legible(append([]Attribute{{e.Handler, t.Service}, {t.Peer, ""}}, t.Attributes...)), "what spans say must be UTF-8: Tracing and Handler")
	full := t.withDefaults()
	need(full.Batch <= full.Queue, "a batch must fit into the queue: Tracing.Batch and Tracing.Queue")
	return errors.Join(errs...)
}

// legible reports whether texts are fit for a protobuf message.
func legible(texts []Attribute) bool {
	return !slices.ContainsFunc(texts, func(a Attribute) bool { return !utf8.ValidString(a.Key) || !utf8.ValidString(a.Value) })
}

// withDefaults fills in what was left out.
func (t Tracing) withDefaults() Tracing {
	fill := func(v *float64, d float64) {
		if *v == 0 {
			*v = d
		}
	}
	fill(&t.Ratio, 1)
	fill(&t.Delay, 5)
	fill(&t.Export, 0.012)
	if t.Batch == 0 {
		t.Batch = 512
	}
	if t.Queue == 0 {
		t.Queue = 2048
	}
	if t.Peer == "" {
		t.Peer = "127.0.0.1"
	}
	if t.Service == "" {
		t.Service = "vllm"
	}
	return t
}
