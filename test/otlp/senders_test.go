package otlp

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// TestGoExporters sends an engine's spans by OpenTelemetry's exporters for Go, in every way that they have.
func TestGoExporters(t *testing.T) {
	const token = "a-token-of-the-test"
	ca := newAuthority(t)
	tokenFile := filepath.Join(t.TempDir(), "token")
	must(t, os.WriteFile(tokenFile, []byte(token+"\n"), 0o600))
	server := fmt.Sprintf("tls_config: {cert_file: %q, key_file: %q}", ca.cert, ca.key)
	mutual := fmt.Sprintf("tls_config: {cert_file: %q, key_file: %q, client_ca_file: %q}", ca.cert, ca.key, ca.ca)
	show := fmt.Sprintf("bearer_token_file: %q", tokenFile)
	bearer := map[string]string{"authorization": "Bearer " + token}
	trusting, known := &tls.Config{RootCAs: ca.pool}, &tls.Config{RootCAs: ca.pool, Certificates: []tls.Certificate{ca.sender}}
	for name, c := range map[string]struct {
		wire  wire
		spans []string
	}{
		"HTTP":                                {wire{}, nil},
		"HTTP, gzip":                          {wire{gzip: true}, nil},
		"gRPC":                                {wire{grpc: true}, nil},
		"gRPC, gzip":                          {wire{grpc: true, gzip: true}, nil},
		"HTTP with a token over TLS":          {wire{tls: trusting, headers: bearer, gzip: true}, []string{server, show}},
		"gRPC with a token over TLS":          {wire{grpc: true, tls: trusting, headers: bearer}, []string{server, show}},
		"HTTP with certificates on both ends": {wire{tls: known}, []string{mutual}},
		"gRPC with certificates on both ends": {wire{grpc: true, tls: known, gzip: true}, []string{mutual}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(t)
			to := serve(t, settings{engines: map[string]*engine{"a": e}, spans: c.spans})
			load := calls(7, 900, 12*time.Second)
			sender := newTracer(t, c.wire.client(to), sdktrace.AlwaysSample(), attribute.String("goodput.engine", "a"))
			e.serve(load, func(c *call, start time.Time) { sender.report(caller(true), c, start) })
			sender.close(t)
			protocol := "http"
			if c.wire.grpc {
				protocol = "grpc"
			}
			allThere(t, to, protocol, "engine", load)
			if strings.Contains(to.printed(t), token) {
				t.Error("the token is in the log")
			}
		})
	}
}

// allThere holds what the exporter says of an engine whose spans have all come to the truth about it.
func allThere(t *testing.T, to *serving, protocol, by string, load []call) {
	t.Helper()
	n := float64(len(load))
	s := to.committed(t, "a", len(load))
	s.want(t, n, "goodput_spans_received_total", label("outcome", "taken"))
	s.want(t, 0, "goodput_spans_received_total", label("outcome", "refused"))
	s.want(t, 0, "goodput_spans_unmatched_total")
	s.want(t, 0, "goodput_spans_unused_total")
	s.want(t, n, "goodput_spans_matched_total", label("engine", "a"), label("by", by))
	all, _ := s.sum("goodput_span_messages_total")
	if ok, _ := s.sum("goodput_span_messages_total", label("protocol", protocol), label("outcome", "ok")); ok == 0 || ok != all {
		t.Errorf("%v of %v messages were ok and came by %s", ok, all, protocol)
	}
	exact(t, s, "a", load)
}

// exact holds an engine's counters to the recount of its load: every sequence was seen, and lower is upper.
func exact(t *testing.T, s samples, engine string, load []call) {
	t.Helper()
	n, good := float64(len(load)), float64(qualified(load))
	of := label("engine", engine)
	s.want(t, n, "goodput_evidence_sequences_total", of, label("source", "spans"))
	s.want(t, n, "goodput_evidence_sequences_seen_total", of, label("source", "spans"))
	s.want(t, 0, "goodput_evidence_conflicts_total", of)
	s.want(t, good, "goodput_slo_qualified_requests_lower_total", of)
	s.want(t, good, "goodput_slo_qualified_requests_upper_total", of)
	windows, found := s.sum("goodput_evidence_windows_total", of)
	if all, _ := s.sum("goodput_evidence_exact_windows_total", of); !found || windows < 1 || windows != all {
		t.Errorf("%v of %v windows were exact", all, windows)
	}
	if v, found := s.sum("goodput_evidence_completeness_ratio", of); found && v != 1 {
		t.Errorf("the completeness of the last window is %v", v)
	}
	tokens, missed := 0.0, 0.0
	for i := range load {
		if load[i].qualifies() {
			tokens += float64(load[i].output)
		} else {
			missed += float64(load[i].output)
		}
	}
	s.want(t, tokens, "goodput_slo_qualified_tokens_lower_total", of)
	s.want(t, tokens, "goodput_slo_qualified_tokens_upper_total", of)
	s.want(t, missed, "goodput_slo_missed_tokens_lower_total", of)
	s.want(t, missed, "goodput_slo_missed_tokens_upper_total", of)
}
