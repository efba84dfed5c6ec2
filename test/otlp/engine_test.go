package otlp

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// The buckets of vLLM 0.32.
var (
	ttftBuckets    = []float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}
	tpotBuckets    = []float64{0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	requestBuckets = []float64{0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
	tokenBuckets   = []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000}
)

// engine stands in for a process of vLLM: a page whose counters move when sequences finish. The page is written by
// Prometheus's own library from vLLM's names.
type engine struct {
	url string

	mu                                                      sync.Mutex // a page is never half of an update
	page                                                    http.Handler
	running, waiting, kv                                    prometheus.Gauge
	prompt, generated                                       prometheus.Counter
	stop, length                                            prometheus.Counter
	answered                                                prometheus.Counter
	ttft, gap, tpot, e2e, queue, inference, prefill, decode prometheus.Observer
	promptTokens, outputTokens, n                           prometheus.Observer
}

// newEngine starts an engine without a past.
func newEngine(t testing.TB) *engine {
	registry := prometheus.NewRegistry()
	labels := prometheus.Labels{"engine": "0", "model_name": "tiny"}
	gauge := func(name string) prometheus.Gauge {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: name, ConstLabels: labels})
		registry.MustRegister(g)
		return g
	}
	counter := func(name string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: name, ConstLabels: labels})
		registry.MustRegister(c)
		return c
	}
	histogram := func(name string, buckets []float64) prometheus.Observer {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: name, ConstLabels: labels, Buckets: buckets})
		registry.MustRegister(h)
		return h
	}
	finished := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "vllm:request_success_total", Help: "by reason", ConstLabels: labels}, []string{"finished_reason"})
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "http_requests_total", Help: "HTTP requests"}, []string{"handler", "method", "status"})
	start := prometheus.NewGauge(prometheus.GaugeOpts{Name: "process_start_time_seconds", Help: "start"})
	start.Set(unix(time.Now()))
	registry.MustRegister(finished, requests, start)
	for _, reason := range []string{"stop", "length", "abort", "error"} {
		finished.WithLabelValues(reason)
	}
	e := &engine{
		page:    promhttp.HandlerFor(registry, promhttp.HandlerOpts{}),
		running: gauge("vllm:num_requests_running"), waiting: gauge("vllm:num_requests_waiting"), kv: gauge("vllm:kv_cache_usage_perc"),
		prompt: counter("vllm:prompt_tokens_total"), generated: counter("vllm:generation_tokens_total"),
		stop: finished.WithLabelValues("stop"), length: finished.WithLabelValues("length"), answered: requests.WithLabelValues("/v1/completions", "POST", "2xx"),
		ttft: histogram("vllm:time_to_first_token_seconds", ttftBuckets), gap: histogram("vllm:inter_token_latency_seconds", tpotBuckets),
		tpot: histogram("vllm:request_time_per_output_token_seconds", tpotBuckets), e2e: histogram("vllm:e2e_request_latency_seconds", requestBuckets),
		queue: histogram("vllm:request_queue_time_seconds", requestBuckets), inference: histogram("vllm:request_inference_time_seconds", requestBuckets),
		prefill: histogram("vllm:request_prefill_time_seconds", requestBuckets), decode: histogram("vllm:request_decode_time_seconds", requestBuckets),
		promptTokens: histogram("vllm:request_prompt_tokens", tokenBuckets), outputTokens: histogram("vllm:request_generation_tokens", tokenBuckets),
		n: histogram("vllm:request_params_n", []float64{1, 2, 5, 10, 20}),
	}
	counter("vllm:num_preemptions_total")
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	e.url = server.URL + "/metrics"
	return e
}

func (e *engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r.Header.Del("Accept") // vLLM knows the text format only
	e.page.ServeHTTP(w, r)
}

// arrives, first and finishes are the three moments of a sequence at which the page moves.
func (e *engine) arrives() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running.Inc()
}

func (e *engine) first(c *call) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ttft.Observe(c.ttft())
	e.prompt.Add(float64(c.prompt))
	e.generated.Inc()
}

func (e *engine) finishes(c *call) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running.Dec()
	e.stop.Inc()
	e.answered.Inc()
	for range c.output - 1 {
		e.gap.Observe(c.tpot())
	}
	e.generated.Add(float64(c.output - 1))
	e.tpot.Observe(c.tpot())
	e.e2e.Observe(c.e2e())
	e.queue.Observe(c.queue)
	e.inference.Observe(c.prefill + c.decode)
	e.prefill.Observe(c.prefill)
	e.decode.Observe(c.decode)
	e.promptTokens.Observe(float64(c.prompt))
	e.outputTokens.Observe(float64(c.output))
	e.n.Observe(1)
}

// serve lets a load pass through the engine in real time. report is called as each sequence finishes, with its start;
// it is how the engine tells its tracer.
func (e *engine) serve(all []call, report func(c *call, start time.Time)) {
	var wait sync.WaitGroup
	begin := time.Now()
	for i := range all {
		c := &all[i]
		wait.Go(func() {
			start := begin.Add(c.after)
			time.Sleep(time.Until(start))
			e.arrives()
			time.Sleep(time.Until(start.Add(seconds(c.ttft()))))
			e.first(c)
			time.Sleep(time.Until(start.Add(seconds(c.e2e()))))
			e.finishes(c)
			report(c, start)
		})
	}
	wait.Wait()
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func unix(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }
