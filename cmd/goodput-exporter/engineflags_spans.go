package main

import (
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/edges"
)

// spansSince is the first vLLM whose V1 engine sends a span for each request (vllm-project/vllm#20372).
const spansSince = "0.10.2"

// The names that OpenTelemetry's SDK reads. vLLM takes grpc without the first, whatever the endpoint says.
const (
	otlpProtocol = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	otlpInsecure = "OTEL_EXPORTER_OTLP_TRACES_INSECURE"
	otlpResource = "OTEL_RESOURCE_ATTRIBUTES"
	otlpOption   = "--otlp-traces-endpoint"
)

// askForSpans adds what makes the engine send its spans to where the configuration takes them in, and name itself in
// them: nothing else on a span tells which engine it is of.
func (f *engineFlags) askForSpans(cfg *config.Config, id string) {
	f.askForSpansOf(cfg, id, spansAreIdle(cfg))
}

func (f *engineFlags) askForSpansOf(cfg *config.Config, id string, idle bool) {
	listen, protocol := cfg.Spans.Listen, "http/protobuf"
	if listen == "" {
		listen, protocol = cfg.Spans.GRPCListen, "grpc"
	}
	switch {
	case listen == "":
		return
	case idle:
		f.spansIdle = "No flag asks the engine for spans: this version of the exporter takes none in, whatever spans says."
		return
	case edges.Older(f.Version, spansSince):
		f.spansIdle = "No flag asks the engine for spans: the V1 engine sends them since " + spansSince + "."
		return
	}
	endpoint, replaced := spansEndpoint(listen, protocol)
	set := func(name, value string) {
		f.Environment[name] = value
		f.spans = append(f.spans, "export "+name+"="+edges.Quote(value))
	}
	set(otlpProtocol, protocol)
	if protocol == "grpc" {
		set(otlpInsecure, "true") // versions before 0.16 ask for TLS otherwise
	}
	if id != "" {
		set(otlpResource, "goodput.engine="+url.PathEscape(id))
	}
	f.Arguments = append(f.Arguments, otlpOption, endpoint)
	if replaced {
		f.Notes = append(f.Notes, "The exporter listens for spans on all addresses; where the engine is on another host, put the exporter's in place of 127.0.0.1.")
	}
}

// spansAreIdle reports whether the exporter listens for no spans although the configuration has an address.
func spansAreIdle(cfg *config.Config) bool {
	for _, idle := range cfg.Idle() {
		if strings.HasPrefix(idle, "spans ") {
			return true
		}
	}
	return false
}

// spansEndpoint is where an engine on the same host reaches a listener. vLLM takes it as it is, so the path of OTLP over
// HTTP belongs to it. An address of all interfaces is replaced by loopback.
func spansEndpoint(listen, protocol string) (endpoint string, replaced bool) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		host, port = listen, "" // the configuration's reader refuses such an address
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host, replaced = "127.0.0.1", true
	}
	u := url.URL{Scheme: "http", Host: net.JoinHostPort(host, port)}
	if protocol != "grpc" {
		u.Path = "/v1/traces"
	}
	return u.String(), replaced
}
