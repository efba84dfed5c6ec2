package config

import (
	"fmt"
	"net"
	"net/netip"
	"time"
)

func spansKeys() codec[Spans] {
	path := func(example string) codec[string] { return text("file path", example, badPath) }
	tls := object("mapping", settleServerTLS,
		bind("cert_file", path("/etc/goodput/tls.crt"), func(t *ServerTLS) *string { return &t.CertFile },
			"Certificate that is shown to senders, with which both listeners take TLS only. PEM; read again when it changes, as are the others. Together with key_file."),
		bind("key_file", path("/etc/goodput/tls.key"), func(t *ServerTLS) *string { return &t.KeyFile },
			"Key of cert_file."),
		bind("client_ca_file", path("/etc/goodput/clients.crt"), func(t *ServerTLS) *string { return &t.ClientCAFile },
			"Certificates of the authorities of which senders must show a certificate; without it, they need none."),
	)
	return object("mapping", settleSpans,
		bind("listen", text("address", "127.0.0.1:4318", badAddress), func(s *Spans) *string { return &s.Listen },
			"Address for OTLP over HTTP; empty: not taken in."),
		bind("grpc_listen", text("address", "127.0.0.1:4317", badAddress), func(s *Spans) *string { return &s.GRPCListen },
			"Address for OTLP over gRPC; empty: not taken in."),
		bind("grace", duration("s", 0, 2*time.Minute), func(s *Spans) *time.Duration { return &s.Grace },
			"How long a judgement window waits for the spans of its requests. A healthy engine's come up to 6.4s late. Later ones count as unseen."),
		bind("names", list(text("span name", "llm_request", badSpanName), 1, 20, func() string { return "" }).that("", distinct), func(s *Spans) *[]string { return &s.Names },
			"Names of the spans that stand for a request. Others are counted and dropped."),
		bind("buffer", whole(1000, 1_000_000), func(s *Spans) *int { return &s.Buffer },
			"Spans that may wait for the next round, for each listener. When they are as many, senders are told to come again. Each takes some 200 bytes."),
		bind("max_message", size(64<<10, 64<<20), func(s *Spans) *int64 { return &s.MaxMessage },
			"Largest message that is read, decompressed. vLLM's batch of 512 spans has some 300 KiB."),
		bind("tls_config", tls, func(s *Spans) *ServerTLS { return &s.TLS },
			"What the listeners show and ask for. Without it they speak plain text."),
		bind("bearer_token_file", path("/etc/goodput/span-token"), func(s *Spans) *string { return &s.BearerTokenFile },
			"File that holds a token which senders must send as Authorization: Bearer. Read again when it changes."),
	)
}

// Taken reports whether spans are taken in.
func (s *Spans) Taken() bool { return s.Listen != "" || s.GRPCListen != "" }

func badSpanName(s string) (what, remedy string) {
	if s == "" || len(s) > 128 {
		return "is not the name of a span", "write it as it is sent, in 1 to 128 bytes, such as llm_request"
	}
	return "", ""
}

// settleServerTLS refuses what cannot work or has no effect.
func settleServerTLS(r *reader, path string, t *ServerTLS) {
	if !settlePair(r, path, t.CertFile, t.KeyFile) {
		return
	}
	if t.ClientCAFile != "" && t.CertFile == "" && r.sound(join(path, "cert_file"), join(path, "key_file")) {
		r.at(join(path, "client_ca_file"), "stands without cert_file and key_file, and senders show certificates under TLS only", "give them too, or remove it")
	}
}

// settleSpans refuses two listeners at one port.
func settleSpans(r *reader, path string, s *Spans) {
	listen, grpc := join(path, "listen"), join(path, "grpc_listen")
	if r.sound(listen, grpc) && overlap(s.Listen, s.GRPCListen) {
		r.at(grpc, fmt.Sprintf("%s is taken by spans.listen (%s): HTTP and gRPC need a port each", s.GRPCListen, s.Listen), "give it another port, such as 4317")
	}
}

// overlap reports whether two addresses cannot both be listened at. Names of hosts are not resolved.
func overlap(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	hostA, portA, _ := net.SplitHostPort(a) // checked: see badAddress
	hostB, portB, _ := net.SplitHostPort(b)
	return portA == portB && (hostA == hostB || Unspecified(hostA) || Unspecified(hostB))
}

// Unspecified reports whether a host to listen at stands for all addresses.
func Unspecified(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "" || err == nil && ip.IsUnspecified()
}

// idleSpans lists what is said about spans and has no effect because none are taken in.
func (c *Config) idleSpans() (idle []string) {
	if c.Spans.Taken() {
		return nil
	}
	const none = " is not acted on: there is no spans.listen and no spans.grpc_listen"
	for i := range c.SLOs {
		if what := c.SLOs[i].needSpans(); what != "" {
			idle = append(idle, fmt.Sprintf("slos[%d] (%s): %s needs a span for each request, and none are taken in: set spans.listen or spans.grpc_listen, and see engine-flags for what engines must be told", i, c.SLOs[i].Name, what))
		}
	}
	if c.Spans.TLS != (ServerTLS{}) {
		idle = append(idle, "spans.tls_config"+none)
	}
	if c.Spans.BearerTokenFile != "" {
		idle = append(idle, "spans.bearer_token_file"+none)
	}
	return idle
}
