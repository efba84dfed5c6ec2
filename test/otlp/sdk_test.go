package otlp

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/credentials"
)

// wire is how OpenTelemetry's exporter for Go is set up.
type wire struct {
	grpc, gzip bool
	tls        *tls.Config // nil: none
	headers    map[string]string
}

// client makes the official client of OTLP for an exporter's address.
func (w wire) client(to *serving) otlptrace.Client {
	if w.grpc {
		options := []otlptracegrpc.Option{otlptracegrpc.WithEndpoint(to.grpc), otlptracegrpc.WithHeaders(w.headers)}
		if w.tls != nil {
			options = append(options, otlptracegrpc.WithTLSCredentials(credentials.NewTLS(w.tls)))
		} else {
			options = append(options, otlptracegrpc.WithInsecure())
		}
		if w.gzip {
			options = append(options, otlptracegrpc.WithCompressor("gzip"))
		}
		return otlptracegrpc.NewClient(options...)
	}
	options := []otlptracehttp.Option{otlptracehttp.WithEndpoint(to.http), otlptracehttp.WithHeaders(w.headers)}
	if w.tls != nil {
		options = append(options, otlptracehttp.WithTLSClientConfig(w.tls))
	} else {
		options = append(options, otlptracehttp.WithInsecure())
	}
	if w.gzip {
		options = append(options, otlptracehttp.WithCompression(otlptracehttp.GzipCompression))
	}
	return otlptracehttp.NewClient(options...)
}

// tracer is an SDK as vLLM sets it up: a batch processor before an exporter.
type tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// newTracer sends through a client. attributes are those of OTEL_RESOURCE_ATTRIBUTES.
func newTracer(t testing.TB, client otlptrace.Client, sampler sdktrace.Sampler, attributes ...attribute.KeyValue) *tracer {
	t.Helper()
	exporter, err := otlptrace.New(t.Context(), client)
	must(t, err)
	attributes = append(attributes, attribute.String("service.name", "vllm"), attribute.String("service.instance.id", randomHex(16)))
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter, sdktrace.WithBatchTimeout(500*time.Millisecond), sdktrace.WithMaxQueueSize(1<<16)),
		sdktrace.WithResource(resource.NewSchemaless(attributes...)), sdktrace.WithSampler(sampler),
	)
	return &tracer{provider: provider, tracer: provider.Tracer("vllm.tracing.otel")}
}

// report sends the span of a sequence. vLLM begins and ends it when the sequence is done, with the arrival as its start.
func (s *tracer) report(ctx context.Context, c *call, start time.Time) {
	_, span := s.tracer.Start(ctx, "llm_request", trace.WithTimestamp(start), trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(c.attributes()...))
	span.End(trace.WithTimestamp(start.Add(seconds(c.e2e()) + time.Millisecond)))
}

// close sends what is left.
func (s *tracer) close(t testing.TB) {
	t.Helper()
	ctx, release := context.WithTimeout(context.Background(), time.Minute)
	defer release()
	must(t, s.provider.Shutdown(ctx))
}

// caller is the context of a request that came with a traceparent.
func caller(sampled bool) context.Context {
	config := trace.SpanContextConfig{Remote: true}
	rand.Read(config.TraceID[:]) //nolint:errcheck // never fails
	rand.Read(config.SpanID[:])  //nolint:errcheck // never fails
	if sampled {
		config.TraceFlags = trace.FlagsSampled
	}
	return trace.ContextWithRemoteSpanContext(context.Background(), trace.NewSpanContext(config))
}

func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b) //nolint:errcheck // never fails
	return hex.EncodeToString(b)
}

// complaints holds what OpenTelemetry's SDK told its error handler, which all tests of the process share.
var complaints struct {
	sync.Mutex
	texts []string
}

func init() {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		complaints.Lock()
		defer complaints.Unlock()
		complaints.texts = append(complaints.texts, err.Error())
	}))
}

func complained() []string {
	complaints.Lock()
	defer complaints.Unlock()
	return append([]string(nil), complaints.texts...)
}
