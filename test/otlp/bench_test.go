package otlp

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// The load of the benchmark: engines at work together for a while, and a batch as vLLM's SDK sends it.
const (
	benchEngines = 8
	benchEach    = 31 * 1024 // sequences of each engine: together nearly as many as may wait for their windows
	benchOthers  = 512 * 1024
	benchTime    = 8 * time.Second
	batchSize    = 512
)

// BenchmarkIntake sends the same bytes over HTTP to the exporter and to an OpenTelemetry Collector with its span metrics,
// the nearest thing that people run, each with GOMAXPROCS=1. What is counted is time of a processor, as the kernel
// accounts for it: for the exporter all of it from the first byte until the verdicts are on its page, half a minute of
// polls included; for the Collector until the last message is answered. A ratio above 1 says that the exporter takes less.
func BenchmarkIntake(b *testing.B) {
	for b.Loop() {
		others := foreign(b)
		to, engines := benchExporter(b)
		begin := time.Now().Add(30 * time.Second) // of the engines' work; the messages have to be ready before
		loads := map[string][]call{}
		var requests, early [][]byte
		for i := range benchEngines {
			id := fmt.Sprintf("e%d", i)
			loads[id] = calls(uint64(i), benchEach, benchTime)
			requests = append(requests, batches(b, id, loads[id], begin)...)
			early = append(early, batches(b, id, calls(99, 1, time.Second), begin.Add(-time.Hour))...)
		}
		post(b, to.http, early) // from now on windows wait for spans
		n := benchEngines * benchEach
		if late := time.Since(begin); late > 0 {
			b.Fatalf("the messages were ready %v after the engines were to begin", late)
		}
		play(engines, loads, begin)

		taken := spent(b, to.pid, func() { post(b, to.http, requests) })
		judged := taken + spent(b, to.pid, func() { verdicts(b, to, loads) })
		ourOthers := spent(b, to.pid, func() { post(b, to.http, others) })
		collector := benchCollector(b)
		theirs := spent(b, collector.pid, func() { post(b, collector.http, requests) })
		theirOthers := spent(b, collector.pid, func() { post(b, collector.http, others) })

		report := func(unit string, n int, ours, theirs time.Duration) {
			b.ReportMetric(float64(n)/ours.Seconds(), unit+"/core-s")
			b.ReportMetric(float64(n)/theirs.Seconds(), unit+"-collector/core-s")
			b.ReportMetric(theirs.Seconds()/ours.Seconds(), unit+"-ratio")
		}
		b.ReportMetric(float64(n)/taken.Seconds(), "requests-answered/core-s")
		report("requests", n, judged, theirs)
		report("others", benchOthers, ourOthers, theirOthers)
		b.ReportMetric(peakMemory(b, to.pid), "peak-MB")
		b.ReportMetric(peakMemory(b, collector.pid), "peak-MB-collector")
		b.ReportMetric(0, "ns/op") // the time of all of this says nothing
	}
}

func benchExporter(b *testing.B) (*serving, map[string]*engine) {
	engines := map[string]*engine{}
	for i := range benchEngines {
		engines[fmt.Sprintf("e%d", i)] = newEngine(b)
	}
	return serve(b, settings{engines: engines, spans: []string{"buffer: 1000000"}, poll: "2s", grace: "20s", environ: []string{"GOMAXPROCS=1"}}), engines
}

// benchCollector is a Collector that makes metrics of spans and sends them nowhere.
func benchCollector(b *testing.B) *serving {
	out := &serving{http: freeAddress(b), grpc: freeAddress(b)}
	dir := b.TempDir()
	config := filepath.Join(dir, "collector.yaml")
	must(b, os.WriteFile(config, fmt.Appendf(nil, `
receivers: {otlp: {protocols: {http: {endpoint: %q}}}}
connectors: {spanmetrics: {}}
exporters: {nop: {}}
service:
  pipelines:
    traces: {receivers: [otlp], exporters: [spanmetrics]}
    metrics: {receivers: [spanmetrics], exporters: [nop]}
`, out.http), 0o600))
	runCollector(b, out, dir, config, "GOMAXPROCS=1")
	return out
}

// batches are the messages of an engine's spans. A sequence ends when it has been on its way for after.
func batches(b *testing.B, id string, all []call, begin time.Time) (out [][]byte) {
	var spans []*tracepb.Span
	instance := randomHex(16)
	for i := range all {
		c := &all[i]
		spans = append(spans, spanOf(c, begin.Add(c.after-seconds(c.e2e()))))
		if len(spans) == batchSize || i == len(all)-1 {
			out = append(out, encoded(b, resourceSpans(spans, "service.name", "vllm", "service.instance.id", instance, "telemetry.sdk.language", "python", "goodput.engine", id)))
			spans = nil
		}
	}
	return out
}

// foreign are messages of spans as a web framework's instrumentation sends them.
func foreign(b *testing.B) (out [][]byte) {
	for range benchOthers / batchSize {
		var spans []*tracepb.Span
		for range batchSize {
			s := spanOf(&call{}, time.Now())
			s.Name, s.Attributes = "GET /metrics", nil
			for _, a := range [][2]string{{"http.scheme", "http"}, {"http.host", "127.0.0.1:8000"}, {"net.host.port", "8000"}, {"http.flavor", "1.1"}, {"http.target", "/metrics"},
				{"http.url", "http://127.0.0.1:8000/metrics"}, {"http.method", "GET"}, {"http.server_name", "127.0.0.1:8000"}, {"http.user_agent", "Prometheus/3.5.0"}, {"http.status_code", "200"}} {
				s.Attributes = append(s.Attributes, text(a[0], a[1]))
			}
			spans = append(spans, s)
		}
		out = append(out, encoded(b, resourceSpans(spans, "service.name", "vllm")))
	}
	return out
}

// play lets each engine's sequences finish at their times.
func play(engines map[string]*engine, loads map[string][]call, begin time.Time) {
	var work sync.WaitGroup
	for id, e := range engines {
		load := loads[id]
		work.Go(func() {
			for i := 0; i < len(load); time.Sleep(5 * time.Millisecond) {
				for ; i < len(load) && time.Now().After(begin.Add(load[i].after)); i++ {
					e.arrives()
					e.first(&load[i])
					e.finishes(&load[i])
				}
			}
		})
	}
	work.Wait()
}

// post sends messages by four connections and wants all of them to be taken.
func post(b *testing.B, address string, messages [][]byte) {
	var work sync.WaitGroup
	next := make(chan []byte)
	for range 4 {
		work.Go(func() {
			for body := range next {
				response, err := http.Post("http://"+address+"/v1/traces", "application/x-protobuf", bytes.NewReader(body))
				if err != nil {
					b.Error(err)
					continue
				}
				said, _ := io.ReadAll(response.Body) // all of it, so that the connection is used again
				response.Body.Close()
				if response.StatusCode != http.StatusOK {
					b.Errorf("%s: %q", response.Status, said)
				}
			}
		})
	}
	for _, m := range messages {
		next <- m
	}
	close(next)
	work.Wait()
}

// verdicts waits until all sequences are judged, each by its span. It asks seldom, for each time costs the exporter a page.
func verdicts(b *testing.B, to *serving, loads map[string][]call) {
	n, good := 0.0, 0.0
	for _, load := range loads {
		n, good = n+float64(len(load)), good+float64(qualified(load))
	}
	deadline := time.Now().Add(4 * judgement)
	for {
		time.Sleep(2 * time.Second)
		s := to.samples(b)
		if got, _ := s.sum("goodput_slo_requests_total"); got == n {
			s.want(b, good, "goodput_slo_qualified_requests_lower_total")
			s.want(b, good, "goodput_slo_qualified_requests_upper_total")
			return
		} else if time.Now().After(deadline) {
			b.Fatalf("%v of %v sequences are judged", got, n)
		}
	}
}

// spent is the time of a processor that a process has used while something was done.
func spent(b *testing.B, pid int, do func()) time.Duration {
	before := used(b, pid)
	do()
	return used(b, pid) - before
}

// used is the processor time of a process, from the kernel's account of its threads to a nanosecond where it has one.
func used(b *testing.B, pid int) time.Duration {
	var sum time.Duration
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	must(b, err)
	for _, path := range threads {
		text, err := os.ReadFile(path)
		must(b, err)
		onCPU, _, _ := strings.Cut(string(text), " ")
		ns, err := strconv.ParseInt(onCPU, 10, 64)
		must(b, err)
		sum += time.Duration(ns)
	}
	if sum == 0 {
		b.Skip("the kernel does not account for the time of processes (/proc/PID/task/*/schedstat)")
	}
	return sum
}

// peakMemory is the most memory that a process has had, in MB.
func peakMemory(b *testing.B, pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	must(b, err)
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, "VmHWM:"); found {
			kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			must(b, err)
			return kib / 1000
		}
	}
	b.Fatal("no peak of memory in the status of the process")
	return 0
}
