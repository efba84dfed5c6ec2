package otlp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// protocols are the two ways, by the official client.
var protocols = map[string]wire{"http": {}, "http, gzip": {gzip: true}, "grpc": {grpc: true}, "grpc, gzip": {grpc: true, gzip: true}}

// TestLargeMessages: more than the 4 MiB that gRPC servers take by default is no matter; more than max_message is
// refused as the protocol has it, in a way that no client tries again.
func TestLargeMessages(t *testing.T) {
	e := newEngine(t)
	to := serve(t, settings{engines: map[string]*engine{"a": e}, spans: []string{"max_message: 8MiB"}})
	for name, w := range protocols {
		t.Run(name, func(t *testing.T) {
			client := w.client(to)
			must(t, client.Start(t.Context()))
			defer client.Stop(context.Background()) //nolint:errcheck // nothing is held back
			before := to.samples(t)
			protocol, _, _ := strings.Cut(name, ",")
			must(t, client.UploadTraces(t.Context(), message(t, 5<<20)))
			until(t, 10*time.Second, "the spans of 5 MiB", func() error { return grown(before, to.samples(t), 1, "goodput_span_messages_total", protocol, "ok") })
			ctx, release := context.WithTimeout(t.Context(), 20*time.Second)
			defer release()
			began := time.Now()
			err := client.UploadTraces(ctx, message(t, 9<<20))
			if err == nil || ctx.Err() != nil {
				t.Fatalf("a message of 9 MiB: %v", err)
			}
			if words := []string{"413", "ResourceExhausted"}; !strings.Contains(err.Error(), words[0]) && !strings.Contains(err.Error(), words[1]) {
				t.Errorf("it says neither of %v: %v", words, err)
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("the client tried again for %v", took)
			}
			until(t, 10*time.Second, "the refusal", func() error {
				return grown(before, to.samples(t), 1, "goodput_span_messages_total", protocol, "too_large")
			})
		})
	}
}

// TestFullBuffer fills the buffer faster than rounds empty it. The exporter sends the sender away with a hint when to
// come again, and OpenTelemetry's exporter does: nothing is lost and nothing doubled.
func TestFullBuffer(t *testing.T) {
	for name, w := range map[string]wire{"http": {}, "grpc": {grpc: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(t)
			to := serve(t, settings{engines: map[string]*engine{"a": e}, only: name, spans: []string{"buffer: 1000"}, poll: "2s", grace: "40s"})
			load := calls(11, 3000, 5*time.Second)
			sender := newTracer(t, w.client(to), sdktrace.AlwaysSample(), attribute.String("goodput.engine", "a"))
			var held []func()
			report := make(chan func(), len(load))
			e.serve(load, func(c *call, start time.Time) { report <- func() { sender.report(caller(true), c, start) } })
			close(report)
			for f := range report {
				held = append(held, f)
			}
			for _, f := range held { // all at once
				f()
			}
			sender.close(t)
			s := to.committed(t, "a", len(load))
			if full, _ := s.sum("goodput_span_messages_total", label("protocol", name), label("outcome", "full")); full == 0 {
				t.Error("the buffer was never full: the test shows nothing")
			}
			s.want(t, float64(len(load)), "goodput_spans_received_total", label("outcome", "taken"))
			s.want(t, float64(len(load)), "goodput_spans_matched_total")
			s.want(t, 1000, "goodput_spans_buffer_size")
			s.want(t, 0, "goodput_spans_unused_total")
			exact(t, s, "a", load)
		})
	}
}

// TestImpossibleValues: what cannot be true is refused and counted by its reason, and the sender's SDK hears of it as a
// partial success.
func TestImpossibleValues(t *testing.T) {
	e := newEngine(t)
	to := serve(t, settings{engines: map[string]*engine{"a": e}})
	sender := newTracer(t, wire{}.client(to), sdktrace.AlwaysSample(), attribute.String("goodput.engine", "a"))
	good := &call{queue: 0.1, prefill: 0.1, decode: 0.5, prompt: 5, output: 9}
	start := time.Now().Add(-2 * time.Second)
	sender.report(context.Background(), good, start)
	wrong := map[string]struct {
		start time.Time
		value attribute.KeyValue // in place of what is right
	}{
		"negative": {start, attribute.Float64("gen_ai.latency.time_to_first_token", -3)},
		"infinite": {start, attribute.Float64("gen_ai.latency.time_in_model_decode", math.NaN())},
		"part":     {start, attribute.Float64("gen_ai.latency.time_in_queue", 40)},
		"long":     {start, attribute.Float64("gen_ai.latency.e2e", 3e6)},
		"tokens":   {start, attribute.Int("gen_ai.usage.completion_tokens", -1)},
		"time":     {start.Add(-72 * time.Hour), attribute.Bool("no.matter", true)},
		"missing":  {start, attribute.String("gen_ai.latency.e2e", "soon")},
	}
	for _, c := range wrong {
		_, span := sender.tracer.Start(context.Background(), "llm_request", trace.WithTimestamp(c.start), trace.WithAttributes(good.attributes()...), trace.WithAttributes(c.value))
		span.End(trace.WithTimestamp(c.start.Add(time.Second)))
	}
	_, span := sender.tracer.Start(context.Background(), "GET /metrics")
	span.End()
	sender.close(t)
	n := float64(len(wrong))
	until(t, 10*time.Second, "the spans", func() error { return grown(nil, to.samples(t), n, "goodput_spans_received_total", "", "refused") })
	s := to.samples(t)
	s.want(t, 1, "goodput_spans_received_total", label("outcome", "taken"))
	s.want(t, 1, "goodput_spans_received_total", label("outcome", "other_name"))
	s.want(t, n, "goodput_spans_refused_total")
	for reason := range wrong {
		s.want(t, 1, "goodput_spans_refused_total", label("reason", reason))
	}
	s.want(t, 1, "goodput_span_messages_total", label("outcome", "partial"))
	heard := fmt.Sprintf("%d spans rejected", len(wrong))
	if said := complained(); !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, "partial success") && strings.Contains(s, heard) }) {
		t.Errorf("the SDK was not told %q; it heard %q", heard, said)
	}
}

// TestWrongToken: the sender gets the protocol's answer and does not try again, and no token is told to anybody.
func TestWrongToken(t *testing.T) {
	const right, wrong = "the-right-token", "the-wrong-token"
	file := filepath.Join(t.TempDir(), "token")
	must(t, os.WriteFile(file, []byte(right), 0o600))
	e := newEngine(t)
	to := serve(t, settings{engines: map[string]*engine{"a": e}, spans: []string{"bearer_token_file: " + file}})
	for name, headers := range map[string]map[string]string{"a wrong token": {"authorization": "Bearer " + wrong}, "no token": nil} {
		for protocol, word := range map[string]string{"http": "401", "grpc": "Unauthenticated"} {
			t.Run(name+" by "+protocol, func(t *testing.T) {
				client := wire{grpc: protocol == "grpc", headers: headers}.client(to)
				must(t, client.Start(t.Context()))
				defer client.Stop(context.Background()) //nolint:errcheck // nothing is held back
				before := to.samples(t)
				ctx, release := context.WithTimeout(t.Context(), 20*time.Second)
				defer release()
				err := client.UploadTraces(ctx, message(t, 1000))
				if err == nil || !strings.Contains(err.Error(), word) {
					t.Errorf("want %s, got %v", word, err)
				}
				if ctx.Err() != nil {
					t.Error("the client tried again until its time was over")
				}
				until(t, 10*time.Second, "the refusal", func() error {
					return grown(before, to.samples(t), 1, "goodput_span_messages_total", protocol, "unauthorized")
				})
			})
		}
	}
	page, err := fetch(to.base + "/metrics")
	must(t, err)
	for _, secret := range []string{right, wrong} {
		if strings.Contains(to.printed(t)+page, secret) {
			t.Errorf("%q is in the log or on the page", secret)
		}
	}
}

// TestOnlyTraces: what sends metrics and logs to the same address is told so, and not that all is well.
func TestOnlyTraces(t *testing.T) {
	e := newEngine(t)
	to := serve(t, settings{engines: map[string]*engine{"a": e}})
	for _, path := range []string{"/v1/metrics", "/v1/logs"} {
		response, err := http.Post("http://"+to.http+path, "application/x-protobuf", bytes.NewReader(nil))
		must(t, err)
		body, err := io.ReadAll(response.Body)
		must(t, err)
		response.Body.Close()
		if response.StatusCode != http.StatusNotFound || !strings.Contains(string(body), "traces") {
			t.Errorf("%s: %s %q", path, response.Status, body)
		}
	}
}

// grown is an error unless a counter of a protocol ("" for any) and an outcome has grown by at least so much.
func grown(before, after samples, by float64, name, protocol, outcome string) error {
	pairs := []string{label("outcome", outcome)}
	if protocol != "" {
		pairs = append(pairs, label("protocol", protocol))
	}
	then, _ := before.sum(name, pairs...)
	now, _ := after.sum(name, pairs...)
	if now < then+by {
		return fmt.Errorf("%s%v went from %v to %v", name, pairs, then, now)
	}
	return nil
}
