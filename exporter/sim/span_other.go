package sim

import (
	"fmt"
	"math"
	"strings"
)

// otherSpan is a span that stands for no request. Whoever takes in spans has to tell it by its name.
type otherSpan struct {
	scope      string
	name       string
	server     bool        // its kind: SERVER, with a port and a status; else INTERNAL
	attributes []Attribute // texts
	status     int         // HTTP; 0: none
	failed     string      // error.type; "": none
}

// fastAPI is the scope of the spans of FastAPI's own instrumentation.
const fastAPI = "fastapi"

// startSpan is a step of vLLM's start: what the processes of 0.32 tell before any request.
type startSpan struct {
	scope, name, function, file string
	line                        int
	share                       float64 // of the time that loading takes
}

// The spans of the start by process, in the order in which they end.
var (
	startOfServer = []startSpan{
		{"vllm.v1.engine.core_client", "AsyncMPClient init", "AsyncMPClient.__init__", "v1/engine/core_client.py", 1109, 1},
		{"vllm.v1.engine.core_client", "Overall Loading", "EngineCoreClient.make_async_mp_client", "v1/engine/core_client.py", 135, 1},
	}
	startOfCore = []startSpan{
		{"vllm.v1.executor.abstract", "Executor init", "Executor.__init__", "v1/executor/abstract.py", 111, 0.9},
		{"vllm.v1.engine.core", "Prepare model", "EngineCore._initialize_kv_caches", "v1/engine/core.py", 260, 0.05},
		{"vllm.v1.engine.core", "EngineCoreProc init", "EngineCoreProc.__init__", "v1/engine/core.py", 1134, 0.95},
	}
	startOfWorker = []startSpan{
		{"vllm.v1.worker.worker_base", "Worker init", "WorkerWrapperBase.init_worker", "v1/worker/worker_base.py", 259, 0.2},
		{"vllm.model_executor.model_loader.utils", "Initialize model", "initialize_model", "model_executor/model_loader/utils.py", 73, 0.1},
		{"vllm.model_executor.model_loader.base_loader", "Load model", "BaseModelLoader.load_model", "model_executor/model_loader/base_loader.py", 62, 0.6},
		{"vllm.v1.worker.gpu_worker", "Allocate KV cache", "Worker.initialize_from_config", "v1/worker/gpu_worker.py", 852, 0.05},
	}
)

// started are the spans of a process that has just come up: one trace.
func (t *tracer) started(steps []startSpan) (spans []span) {
	trace, now := newTrace(t.rng), t.endpoint.world.Now()
	root := spanID(t.rng.Uint64())
	for i, s := range steps {
		out := span{trace: trace, parent: root, start: now - s.share*loading, end: now, other: &otherSpan{scope: s.scope, name: s.name, attributes: []Attribute{
			{"code.function", s.function}, {"code.namespace", s.scope}, {"code.filepath", "/opt/venv/lib/python3.11/site-packages/vllm/" + s.file}, {"code.lineno", fmt.Sprint(s.line)},
		}}}
		out.id = spanID(t.rng.Uint64())
		if i == len(steps)-1 {
			out.id, out.parent = root, [8]byte{}
		}
		spans = append(spans, out)
	}
	return spans
}

// startUp puts the spans of the start into the queue, before all others.
func (t *tracer) startUp() { t.queue = append(t.queue, t.started(startOfServer)...) }

// startUpOfCores has the engine cores and their workers, processes of their own, tell of their start.
func (e *endpoint) startUpOfCores() {
	t := e.tracers[0]
	for i := range e.ranks {
		for j, p := range []struct {
			module, kind, name string
			steps              []startSpan
		}{{"vllm.engine_core", "engine_core", "EngineCore", startOfCore}, {"vllm.worker", "worker", fmt.Sprintf("Worker_%d", i), startOfWorker}} {
			resource := append(t.describe(p.module, 6400+100*e.process+2*i+j), Attribute{"vllm.process_kind", p.kind}, Attribute{"vllm.process_name", p.name})
			e.deliver(resource, t.started(p.steps), t.config.Delay*t.rng.Float64())
		}
	}
}

// scrapeEvery is how often somebody reads the engine's page, as far as foreign spans tell, seconds. Who really does, must
// leave no trace in the world.
const scrapeEvery = 15

// scrapes adds the foreign spans of scrapes since the last batch.
func (t *tracer) scrapes() {
	if !t.config.Foreign {
		return
	}
	now := t.endpoint.world.now
	for at := scrapeEvery * (math.Floor(t.scraped/scrapeEvery) + 1); at <= now; at += scrapeEvery {
		t.foreign("GET", "/metrics", "prometheus_client.exposition.metrics_app", at, at+0.015, 200, "")
	}
	t.scraped = now
}

// responseSpans are what FastAPI's instrumentation tells of a request at the end of its response.
func (e *endpoint) responseSpans(r *request, status int, o Outcome) {
	t := e.tracerOf(r)
	if t == nil || !t.config.Foreign {
		return
	}
	failed := ""
	if o == Cancelled {
		failed = "ConnectionError"
	}
	function := strings.TrimSuffix(strings.ReplaceAll(strings.TrimPrefix(e.config.Handler, "/v1"), "/", "_"), "s") // create_chat_completion
	t.foreign("POST", e.config.Handler, "vllm.entrypoints.openai.api_server.create"+function, r.arrived, e.world.now, status, failed)
}

// foreign adds the three spans of a request that began and ended at some seconds since the world's start. They end one
// after the other, here all with the response.
func (t *tracer) foreign(method, path, function string, start, end float64, status int, failed string) {
	trace := newTrace(t.rng)
	if !sampledTrace(trace, t.config.Ratio) {
		return
	}
	start, end = t.endpoint.world.config.Start+start, t.endpoint.world.config.Start+end
	root := spanID(t.rng.Uint64())
	for _, name := range []string{"fastapi.dependencies", "fastapi.endpoint"} {
		s := span{trace: trace, parent: root, start: start, end: min(start+0.0002, end), other: &otherSpan{
			scope: fastAPI, name: name, attributes: []Attribute{{"code.function.name", function}},
		}}
		s.id = spanID(t.rng.Uint64())
		t.add(s)
	}
	t.add(span{trace: trace, id: root, start: start, end: end, other: &otherSpan{
		scope: fastAPI, name: method + " " + path, server: true, status: status, failed: failed, attributes: []Attribute{
			{"server.address", t.config.Peer}, {"url.path", path}, {"url.scheme", "http"}, {"http.request.method", method}, {"network.protocol.version", "1.1"}, {"http.route", path},
		},
	}})
}
