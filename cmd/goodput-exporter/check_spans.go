package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/edges"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// checkSpans prints, as comments, where spans are taken in, what engines must be told, and what is open to whom.
func checkSpans(cfg *config.Config, out io.Writer) {
	for _, o := range cfg.Objectives() {
		if len(o.Classes.List) > 0 {
			fmt.Fprintf(out, "# SLO %s has classes by %s: %s\n", o.Name, classesBy(&o.Classes), strings.Join(classTexts(&o), "; "))
		}
	}
	if !cfg.Spans.Taken() {
		return
	}
	var at []string
	for _, l := range []struct{ key, address, protocol string }{
		{"spans.listen", cfg.Spans.Listen, "OTLP over HTTP"}, {"spans.grpc_listen", cfg.Spans.GRPCListen, "OTLP over gRPC"},
	} {
		if l.address != "" {
			at = append(at, fmt.Sprintf("%s (%s)", l.address, l.protocol))
		}
	}
	fmt.Fprintf(out, "# spans are taken in at %s; goodput-exporter engine-flags prints what each engine must be told to send them\n", strings.Join(at, " and "))
	for _, w := range openListeners(&cfg.Spans) {
		fmt.Fprintf(out, "# warning: %s\n", w)
	}
	for _, f := range []struct{ key, path string }{
		{"spans.tls_config.cert_file", cfg.Spans.TLS.CertFile}, {"spans.tls_config.key_file", cfg.Spans.TLS.KeyFile},
		{"spans.tls_config.client_ca_file", cfg.Spans.TLS.ClientCAFile}, {"spans.bearer_token_file", cfg.Spans.BearerTokenFile},
	} {
		if f.path == "" {
			continue
		}
		if why := unreadable(cfg.Path(f.path)); why != "" {
			fmt.Fprintf(out, "# warning: %s: %s cannot be read here (%s), and without it no span is taken in\n", f.key, cfg.Path(f.path), why)
		}
	}
}

// unreadable says why a file cannot be read; "" when it can.
func unreadable(path string) string {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return "not a regular file" // opening a pipe would wait for somebody to write to it
	}
	f, err := os.Open(path)
	if err != nil {
		var p *os.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		return err.Error()
	}
	f.Close() // only opened to see whether it can be
	return ""
}

// openListeners says which listeners can be reached from elsewhere without showing anything.
func openListeners(s *config.Spans) (warnings []string) {
	for _, l := range []struct{ key, address string }{{"spans.listen", s.Listen}, {"spans.grpc_listen", s.GRPCListen}} {
		if l.address == "" || loopback(l.address) {
			continue
		}
		switch {
		case s.BearerTokenFile == "" && s.TLS.ClientCAFile == "":
			warnings = append(warnings, fmt.Sprintf("%s: whoever reaches %s can say how well an engine does: set spans.bearer_token_file or spans.tls_config.client_ca_file, or let a network policy admit the engines only", l.key, l.address))
		case s.TLS.CertFile == "":
			warnings = append(warnings, fmt.Sprintf("%s: the token that senders show to %s can be read on its way: set spans.tls_config", l.key, l.address))
		}
	}
	return warnings
}

// loopback reports whether an address is reached from its own host only.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func classesBy(c *slo.Classes) string {
	if c.By == slo.ByAttribute {
		return "the attribute " + c.Attribute
	}
	return string(c.By)
}

// classTexts says of each class which requests are of it, and what they are promised.
func classTexts(o *slo.Objective) (all []string) {
	for _, c := range o.Classes.List {
		var which string
		switch {
		case c.Name == slo.ClassOther:
			which = "the rest"
		case len(c.Values) > 0:
			which = strings.Join(c.Values, " or ")
		case c.AtMost > 0:
			which = fmt.Sprintf("up to %d", c.AtMost)
		default:
			which = "any more"
		}
		all = append(all, fmt.Sprintf("%s (%s) %s", c.Name, which, promisesText(c.Clauses)))
	}
	return all
}

// everyClause lists what any class of an objective is promised, each clause once.
func everyClause(o *slo.Objective) []slo.Clause {
	all := slices.Clone(o.Clauses)
	for _, class := range o.Classes.List {
		for _, c := range class.Clauses {
			if !slices.Contains(all, c) {
				all = append(all, c)
			}
		}
	}
	return all
}

func promisesText(clauses []slo.Clause) string {
	var parts []string
	for _, c := range clauses {
		parts = append(parts, fmt.Sprintf("%s <= %s", c.Metric, configured(c.Threshold)))
	}
	return strings.Join(parts, ", ")
}

// sends reports whether an engine with such a page can send a span for each request; where it cannot, or it is not known,
// why says so.
func sends(s *fact.EngineSample) (can bool, why string) {
	switch s.Dialect {
	case "vllm-rust":
		return false, "vLLM's Rust front end sends none; its Python front end does since " + spansSince
	case "vllm-v1", "vllm-ray":
	default:
		return false, "vLLM's V1 engine sends them since " + spansSince + ", and of this engine it is not known"
	}
	if _, newest := versionRange(s.Version); newest != "" && !edges.Older(spansSince, newest) {
		return false, "vLLM sends them since " + spansSince
	}
	return true, ""
}
