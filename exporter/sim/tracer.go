package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Message is one batch of spans on its way from an engine to whoever takes in spans.
type Message struct {
	At       float64 // when it has come, unix seconds
	Engine   string  // that sent it; whoever takes it in is not told
	Peer     string  // address that it came from
	Body     []byte  // an ExportTraceServiceRequest of OTLP, protobuf
	Requests int     // finished sequences that it tells of
}

// How messages come: http/protobuf, which is one of the two protocols that vLLM speaks.
const (
	SpansPath        = "/v1/traces"
	SpansContentType = "application/x-protobuf"
)

// tracer is the batch processor of one process of an engine: spans wait in a queue, and a worker sends them. It sleeps
// between two batches unless the queue holds a full one (opentelemetry-sdk 1.45, _shared_internal.BatchProcessor).
type tracer struct {
	endpoint *endpoint
	config   Tracing
	process  int
	rng      *rand.Rand
	resource []Attribute

	queue     []span // the oldest first
	dropped   int
	exporting bool
	sleep     int     // number of the sleep that the worker is in: an earlier one was cut short
	scraped   float64 // until when foreign spans of scrapes have been told, seconds since the world's start
}

// bootTracers starts the tracers of a new process: one for each API server, of which data parallelism has several.
func (e *endpoint) bootTracers() {
	e.tracers = nil
	if e.config.Tracing == nil {
		return
	}
	servers := 1
	if e.config.MultiProcess {
		servers = e.config.Ranks
	}
	for i := range servers {
		rng := rand.New(rand.NewPCG(e.tracing.Uint64(), e.tracing.Uint64()))
		t := &tracer{endpoint: e, config: *e.config.Tracing, process: e.process, rng: rng, scraped: e.world.now}
		t.resource = t.describe("vllm.llm_engine", 6262+100*e.process+i)
		e.tracers = append(e.tracers, t)
		if e.config.Dialect == V1 {
			t.startUp()
		}
		t.rest(t.config.Delay * rng.Float64()) // it was created some time before the first request could come
	}
	if e.config.Dialect == V1 {
		e.startUpOfCores()
	}
}

// describe is a resource as the SDK and vLLM put it together. Of 0.11 it is the SDK's alone.
func (t *tracer) describe(module string, pid int) []Attribute {
	resource := []Attribute{
		{"telemetry.sdk.language", "python"}, {"telemetry.sdk.name", "opentelemetry"}, {"telemetry.sdk.version", "1.45.2"},
		{"service.instance.id", uuid(t.rng)},
	}
	resource = append(append(resource, t.config.Attributes...), Attribute{"service.name", t.config.Service})
	if t.endpoint.config.Dialect == V1 {
		resource = append(resource, Attribute{"vllm.instrumenting_module_name", module}, Attribute{"vllm.process_id", fmt.Sprint(pid)})
	}
	return resource
}

func uuid(rng *rand.Rand) string {
	a, b := rng.Uint64(), rng.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", a>>32, a>>16&0xffff, a&0xfff, b>>48&0x3fff|0x8000, b&0xffffffffffff)
}

// tracerOf is the tracer of the API server that has a request.
func (e *endpoint) tracerOf(r *request) *tracer {
	if len(e.tracers) == 0 {
		return nil
	}
	return e.tracers[r.id%uint64(len(e.tracers))]
}

// add takes a span that has ended.
func (t *tracer) add(s span) {
	if len(t.queue) == t.config.Queue {
		t.queue = t.queue[1:]
		t.dropped++
	}
	t.queue = append(t.queue, s)
	if len(t.queue) >= t.config.Batch && !t.exporting {
		t.export()
	}
}

// rest lets the worker sleep for some seconds, or until the queue holds a batch.
func (t *tracer) rest(seconds float64) {
	t.sleep++
	sleep := t.sleep
	t.endpoint.world.after(seconds, func() {
		if t.alive() && t.sleep == sleep && !t.exporting {
			t.export()
		}
	})
}

func (t *tracer) alive() bool { return t.endpoint.up && t.endpoint.process == t.process }

// export sends a batch, and others after it while the queue holds full ones. What is on the wire comes even if the process
// dies meanwhile.
func (t *tracer) export() {
	t.exporting = true // before spans are added that may fill a batch
	t.scrapes()
	if len(t.queue) == 0 {
		t.exporting = false
		t.rest(t.config.Delay)
		return
	}
	t.endpoint.world.after(t.send(t.takes()), func() {
		if t.exporting = false; !t.alive() {
			return
		}
		if len(t.queue) >= t.config.Batch {
			t.export()
		} else {
			t.rest(t.config.Delay)
		}
	})
}

// flush sends all that waits, batch after batch: a process that ends in order does so.
func (e *endpoint) flush() {
	for _, t := range e.tracers {
		for took := 0.0; len(t.queue) > 0; {
			took += t.takes()
			t.send(took)
		}
	}
}

// takes is how long the next batch is on its way, seconds.
func (t *tracer) takes() float64 {
	const sigma = 0.5
	return t.config.Export * math.Exp(sigma*t.rng.NormFloat64()-sigma*sigma/2)
}

// send takes a batch from the queue, and delivers it after some seconds, which it returns.
func (t *tracer) send(seconds float64) float64 {
	n := min(len(t.queue), t.config.Batch)
	t.endpoint.deliver(t.resource, t.queue[:n], seconds)
	t.queue = t.queue[n:]
	return seconds
}

// deliver brings spans of one resource to whoever listens.
func (e *endpoint) deliver(resource []Attribute, spans []span, after float64) {
	w := e.world
	if w.config.Spans == nil {
		return
	}
	m := Message{Engine: e.config.ID, Peer: e.config.Tracing.Peer, Body: w.encoder.encode(e.config.Dialect, resource, spans)}
	for i := range spans {
		if spans[i].other == nil {
			m.Requests++
		}
	}
	w.after(after, func() {
		m.At = w.Now()
		w.config.Spans(m)
	})
}
