package main

import (
	"net"
	"net/url"

	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/edges"
)

// spansSince is the first vLLM whose V1 engine sends a span for each request (vllm-project/vllm#20372).
const spansSince = "0.10.2"

// The names that OpenTelemetry's SDK for Python reads. vLLM takes grpc without the first, whatever the endpoint says.
//
// Certificates go by the variables for all signals: a vLLM of 0.16 and later tells the gRPC exporter to be insecure, which
// an https endpoint overrules, and the exporter then no longer reads those for traces.
const (
	otlpProtocol    = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	otlpInsecure    = "OTEL_EXPORTER_OTLP_TRACES_INSECURE"
	otlpHeaders     = "OTEL_EXPORTER_OTLP_TRACES_HEADERS"
	otlpCA          = "OTEL_EXPORTER_OTLP_CERTIFICATE"
	otlpCertificate = "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"
	otlpKey         = "OTEL_EXPORTER_OTLP_CLIENT_KEY"
	otlpResource    = "OTEL_RESOURCE_ATTRIBUTES"
	otlpDelay       = "OTEL_BSP_SCHEDULE_DELAY"
	otlpQueue       = "OTEL_BSP_MAX_QUEUE_SIZE"
	otlpOption      = "--otlp-traces-endpoint"
)

// What the engine's batch processor is told in place of its own 5000 ms and 2048 spans.
const (
	sentEvery = "1000"  // milliseconds
	sentQueue = "32768" // spans
)

// askForSpans adds what makes the engine send its spans to where the configuration takes them in, and name itself in
// them: nothing else on a span tells which engine it is of.
func (f *engineFlags) askForSpans(cfg *config.Config, id string) {
	listen, protocol := cfg.Spans.Listen, "http/protobuf"
	if listen == "" {
		listen, protocol = cfg.Spans.GRPCListen, "grpc"
	}
	switch {
	case listen == "":
		return
	case edges.Older(f.Version, spansSince):
		f.withoutSpans = "No flag asks the engine for spans: the V1 engine sends them since " + spansSince + "."
		return
	}
	tls := cfg.Spans.TLS != config.ServerTLS{}
	endpoint, replaced := spansEndpoint(listen, protocol, tls)
	f.set(otlpProtocol, protocol)
	if protocol == "grpc" && !tls {
		f.set(otlpInsecure, "true") // versions before 0.16 ask for TLS otherwise
	}
	if id != "" {
		f.set(otlpResource, "goodput.engine="+url.PathEscape(id))
	}
	f.set(otlpDelay, sentEvery)
	f.set(otlpQueue, sentQueue)
	f.Arguments = append(f.Arguments, otlpOption, endpoint)
	if id == "" {
		f.Notes = append(f.Notes, "Have the engine name itself too, with the id that its target is going to have: "+otlpResource+"=goodput.engine=ID.")
	}
	f.Notes = append(f.Notes,
		"The exporter takes a span for each request: the SLOs are then judged exactly, for as long as every span comes. Spans leave the engine every second in place of every 5 ("+
			otlpDelay+"), well within spans.grace; up to "+sentQueue+" wait in it in place of 2048 ("+otlpQueue+"), beyond which OpenTelemetry's SDK drops them without a word.")
	f.askForCredentials(cfg)
	if replaced {
		f.Notes = append(f.Notes, "The exporter listens for spans on all addresses; where the engine is on another host, put the exporter's in place of 127.0.0.1.")
	}
}

// askForCredentials adds what the engine must show and believe. What is a secret, or a file on the engine's host, stands as
// a variable of the shell that the reader has to fill.
func (f *engineFlags) askForCredentials(cfg *config.Config) {
	if cfg.Spans.BearerTokenFile != "" {
		f.setFromShell(otlpHeaders, "authorization=Bearer%20", "GOODPUT_SPAN_TOKEN")
		f.Notes = append(f.Notes, "GOODPUT_SPAN_TOKEN is to hold the token of spans.bearer_token_file, with %-escapes for all but letters, digits and -._~.")
	}
	if cfg.Spans.TLS == (config.ServerTLS{}) {
		return
	}
	f.setFromShell(otlpCA, "", "GOODPUT_CA_FILE")
	f.Notes = append(f.Notes, "GOODPUT_CA_FILE is to hold the path, on the engine's host, of the certificate of the authority that signed the exporter's. The endpoint's host must stand in the exporter's certificate.")
	if cfg.Spans.TLS.ClientCAFile != "" {
		f.setFromShell(otlpCertificate, "", "GOODPUT_CERT_FILE")
		f.setFromShell(otlpKey, "", "GOODPUT_KEY_FILE")
		f.Notes = append(f.Notes, "GOODPUT_CERT_FILE and GOODPUT_KEY_FILE are to hold the paths of the engine's certificate, of an authority in spans.tls_config.client_ca_file, and of its key.")
	}
}

// set adds a variable to the engine's environment.
func (f *engineFlags) set(name, value string) {
	f.Environment[name] = value
	f.spans = append(f.spans, "export "+name+"="+edges.Quote(value))
}

// setFromShell adds one whose value ends with that of a variable of the shell.
func (f *engineFlags) setFromShell(name, head, variable string) {
	f.Environment[name] = head + "$" + variable
	f.spans = append(f.spans, "export "+name+`="`+head+"$"+variable+`"`)
}

// spansEndpoint is where an engine on the same host reaches a listener. vLLM takes it as it is, so the path of OTLP over
// HTTP belongs to it. An address of all interfaces is replaced by loopback.
func spansEndpoint(listen, protocol string, tls bool) (endpoint string, replaced bool) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		host, port = listen, "" // the configuration's reader refuses such an address
	}
	if config.Unspecified(host) {
		host, replaced = "127.0.0.1", true
	}
	scheme := "http"
	if tls {
		scheme = "https"
	}
	u := url.URL{Scheme: scheme, Host: net.JoinHostPort(host, port)}
	if protocol != "grpc" {
		u.Path = "/v1/traces"
	}
	return u.String(), replaced
}
