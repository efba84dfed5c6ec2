package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/edges"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// checkSpans prints, as comments, where spans are taken in, what engines must be told, and what is open to whom. The error
// is of files that are needed and are not there.
func checkSpans(cfg *config.Config, out io.Writer) error {
	for _, o := range cfg.Objectives() {
		if len(o.Classes.List) > 0 {
			fmt.Fprintf(out, "# SLO %s has classes by %s: %s\n", o.Name, classesBy(&o.Classes), strings.Join(classTexts(&o), "; "))
		}
	}
	if !cfg.Spans.Taken() {
		if keys := idleSpanKeys(&cfg.Spans); len(keys) > 0 {
			fmt.Fprintf(out, "# note: no spans are taken in, whatever %s says: set spans.listen or spans.grpc_listen\n", strings.Join(keys, ", "))
		}
		return nil
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
	var missing []error
	for _, f := range []struct{ key, path string }{
		{"spans.tls_config.cert_file", cfg.Spans.TLS.CertFile}, {"spans.tls_config.key_file", cfg.Spans.TLS.KeyFile},
		{"spans.tls_config.client_ca_file", cfg.Spans.TLS.ClientCAFile}, {"spans.bearer_token_file", cfg.Spans.BearerTokenFile},
	} {
		if f.path == "" {
			continue
		}
		why := unreadable(cfg.Path(f.path))
		switch {
		case why == "":
		case belongsHere(cfg.Path(f.path)):
			missing = append(missing, fmt.Errorf("%s: %s cannot be used: %s; without it no span is taken in: write the file, or correct its path", f.key, cfg.Path(f.path), why))
		default:
			fmt.Fprintf(out, "# warning: %s: %s cannot be read here (%s), and without it no span is taken in\n", f.key, cfg.Path(f.path), why)
		}
	}
	return errors.Join(missing...)
}

// belongsHere reports whether a file that cannot be read should be on this machine: its folder is, and this user may look
// into it. A configuration may also be checked where it is written and not where it is used; then there is no such
// folder, or the file is for another user's eyes.
func belongsHere(path string) bool {
	folder, err := os.Stat(filepath.Dir(path))
	if err != nil || !folder.IsDir() {
		return false
	}
	info, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular()
}

// idleSpanKeys are the keys under spans that are not at their defaults and that nothing else of check speaks about.
func idleSpanKeys(s *config.Spans) (keys []string) {
	usual := config.Default().Spans
	for _, k := range []struct {
		key     string
		changed bool
	}{
		{"spans.grace", s.Grace != usual.Grace}, {"spans.names", !slices.Equal(s.Names, usual.Names)},
		{"spans.buffer", s.Buffer != usual.Buffer}, {"spans.max_message", s.MaxMessage != usual.MaxMessage},
	} {
		if k.changed {
			keys = append(keys, k.key)
		}
	}
	return keys
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
