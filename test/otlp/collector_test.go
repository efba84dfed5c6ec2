package otlp

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

var collectorBinary = flag.String("collector", "../../bin/otel-collector", "the `binary` of the module in collector")

// TestCollector puts an OpenTelemetry Collector with the configurations of docs/spans.md between two engines and the
// exporter. Both engines have the Collector's address, so what they say of themselves has to tell them apart.
func TestCollector(t *testing.T) {
	for name, c := range map[string]struct {
		document string
		change   []string // of the document: old, new
		engines  map[string][]attribute.KeyValue
		labels   map[string]string
		by       string
		sampled  bool // less than all reaches the exporter
		backend  [2]float64
	}{
		"one copy to the backend and one to the exporter": {
			document: "otel-collector.yaml",
			engines:  map[string][]attribute.KeyValue{"a": {attribute.String("goodput.engine", "a")}, "b": {attribute.String("goodput.engine", "b")}},
			by:       "engine", backend: [2]float64{1, 1},
		},
		"as JSON, of pods": {
			document: "otel-collector.yaml",
			change:   []string{"endpoint: http://goodput-exporter.example:4318", "endpoint: http://goodput-exporter.example:4318\n    encoding: json"},
			engines:  map[string][]attribute.KeyValue{"a": {attribute.String("k8s.pod.uid", "uid-1")}, "b": {attribute.String("k8s.pod.name", "vllm-b"), attribute.String("k8s.namespace.name", "serving")}},
			labels:   map[string]string{"a": "pod_uid: uid-1, pod_name: vllm-a, pod_namespace: serving", "b": "pod_uid: uid-2, pod_name: vllm-b, pod_namespace: serving"},
			by:       "pod", backend: [2]float64{1, 1},
		},
		"the backend gets one of ten, the exporter all": {
			document: "otel-collector-sampling.yaml",
			engines:  map[string][]attribute.KeyValue{"a": {attribute.String("goodput.engine", "a")}, "b": {attribute.String("goodput.engine", "b")}},
			by:       "engine", backend: [2]float64{0.02, 0.25},
		},
		"the sampler before the exporter": {
			document: "otel-collector-sampling.yaml",
			change:   []string{"processors: [batch]\n      exporters: [otlphttp/goodput]", "processors: [probabilistic_sampler, batch]\n      exporters: [otlphttp/goodput]", "sampling_percentage: 10", "sampling_percentage: 40"},
			engines:  map[string][]attribute.KeyValue{"a": {attribute.String("goodput.engine", "a")}, "b": {attribute.String("goodput.engine", "b")}},
			by:       "engine", sampled: true, backend: [2]float64{0.3, 0.5},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engines := map[string]*engine{}
			for id := range c.engines {
				engines[id] = newEngine(t)
			}
			to := serve(t, settings{engines: engines, labels: c.labels})
			tracing := newBackend(t)
			through := startCollector(t, c.document, append(slices.Clone(c.change), "http://goodput-exporter.example:4318", "http://"+to.http, "otlp/backend:\n    endpoint: tempo.example:4317", "otlphttp/backend:\n    endpoint: "+tracing.url, "[otlp/backend", "[otlphttp/backend")...)
			loads := map[string][]call{}
			var work sync.WaitGroup
			for id, attributes := range c.engines {
				loads[id] = calls(uint64(id[0]), 700, 12*time.Second)
				w := wire{grpc: id == "a"}
				sender := newTracer(t, w.client(through), sdktrace.AlwaysSample(), attributes...)
				work.Go(func() {
					engines[id].serve(loads[id], func(one *call, start time.Time) { sender.report(context.Background(), one, start) })
					sender.close(t)
				})
			}
			work.Wait()
			for id, load := range loads {
				s := to.committed(t, id, len(load))
				if c.sampled {
					partly(t, s, id, load)
				} else {
					s.want(t, float64(len(load)), "goodput_spans_matched_total", label("engine", id), label("by", c.by))
					exact(t, s, id, load)
				}
				s.want(t, 0, "goodput_spans_unmatched_total")
			}
			if got := float64(tracing.spans.Load()) / 1400; got < c.backend[0] || got > c.backend[1] {
				t.Errorf("the backend got %v of the spans, want %v", got, c.backend)
			}
		})
	}
}

// TestEnginesThatDoNotNameThemselves are not told apart behind a Collector, and nothing is guessed.
func TestEnginesThatDoNotNameThemselves(t *testing.T) {
	engines := map[string]*engine{"a": newEngine(t), "b": newEngine(t)}
	to := serve(t, settings{engines: engines})
	through := startCollector(t, "otel-collector.yaml", "http://goodput-exporter.example:4318", "http://"+to.http)
	for word, attributes := range map[string][]attribute.KeyValue{"ambiguous": nil, "engine": {attribute.String("goodput.engine", "c")}} {
		sender := newTracer(t, wire{}.client(through), sdktrace.AlwaysSample(), attributes...)
		one := &calls(5, 1, time.Second)[0]
		sender.report(context.Background(), one, time.Now().Add(-5*time.Second))
		sender.close(t)
		until(t, 20*time.Second, "the span is counted as "+word, func() error {
			s := to.samples(t)
			if got, _ := s.sum("goodput_spans_unmatched_total", label("reason", word)); got != 1 {
				all, _ := s.sum("goodput_spans_unmatched_total")
				return fmt.Errorf("%v of %v unmatched spans", got, all)
			}
			return nil
		})
	}
	s := to.samples(t)
	s.want(t, 0, "goodput_spans_matched_total")
}

// backend stands for what people send their traces to.
type backend struct {
	url   string
	spans atomic.Int64
}

func newBackend(t *testing.T) *backend {
	b := &backend{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		message := &collectorpb.ExportTraceServiceRequest{}
		if err == nil {
			err = proto.Unmarshal(body, message)
		}
		if err != nil {
			t.Error(err)
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		for _, r := range message.ResourceSpans {
			for _, s := range r.ScopeSpans {
				b.spans.Add(int64(len(s.Spans)))
			}
		}
	}))
	t.Cleanup(server.Close)
	b.url = server.URL + "\n    compression: none"
	return b
}

// startCollector starts a Collector with a configuration that docs/spans.md shows, in which pairs of texts are
// exchanged, and returns its addresses.
func startCollector(t testing.TB, document string, change ...string) *serving {
	t.Helper()
	out := &serving{http: freeAddress(t), grpc: freeAddress(t)}
	dir := t.TempDir()
	text := shown(t, "../../docs/spans.md", document)
	for i, pairs := 0, append([]string{"0.0.0.0:4317", out.grpc, "0.0.0.0:4318", out.http}, change...); i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("%s no longer has %q:\n%s", document, pairs[i], text)
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	config := filepath.Join(dir, "collector.yaml")
	must(t, os.WriteFile(config, []byte(text), 0o600))
	runCollector(t, out, dir, config)
	return out
}

// runCollector starts a Collector with a configuration and waits until it listens.
func runCollector(t testing.TB, out *serving, dir, config string, environ ...string) {
	t.Helper()
	// A second file of settings goes over the first: several run at once, and its own telemetry has a fixed port.
	quiet := filepath.Join(dir, "quiet.yaml")
	must(t, os.WriteFile(quiet, []byte("service: {telemetry: {metrics: {level: none}}}\n"), 0o600))
	out.log = filepath.Join(dir, "log")
	log, err := os.Create(out.log)
	must(t, err)
	defer log.Close()
	cmd := exec.Command(*collectorBinary, "--config="+config, "--config="+quiet)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), environ...)
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v: `make otlp` builds it", err)
	}
	out.pid = cmd.Process.Pid
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { out.end(t, cmd, ended) })
	until(t, 20*time.Second, "the Collector listens", func() error {
		if errors.Is(syscall.Kill(out.pid, 0), syscall.ESRCH) {
			t.Fatalf("the Collector ended:\n%s", out.printed(t))
		}
		c, err := net.Dial("tcp", out.http)
		if err == nil {
			err = c.Close()
		}
		return err
	})
}

// shown is the block of a document whose first line is a comment that begins with a name.
func shown(t testing.TB, path, name string) string {
	t.Helper()
	body, err := os.ReadFile(path)
	must(t, err)
	_, rest, found := strings.Cut(string(body), "```yaml\n# "+name)
	block, _, closed := strings.Cut(rest, "```")
	_, block, _ = strings.Cut(block, "\n")
	if !found || !closed {
		t.Fatalf("%s has no block that begins with # %s", path, name)
	}
	return block
}
