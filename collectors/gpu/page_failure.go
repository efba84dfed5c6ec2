package gpu

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"syscall"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// statusFailure judges a status; nil for 200.
func statusFailure(code int) *failure {
	switch {
	case code == http.StatusOK:
		return nil
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return fail(fact.ReasonAuth, "HTTP %d: the page is guarded; give what it wants to see under the page's access, or a user in its url", code)
	case code >= 300 && code < 400:
		return fail(fact.ReasonRedirect, "HTTP %d: redirects are not followed; set the url to the page itself", code)
	case code == http.StatusInternalServerError:
		// One failing read of DCGM, or two equal series, makes the whole page fail.
		return fail(fact.ReasonStatus, "HTTP 500: one of dcgm-exporter's collectors failed, and with it the page; its log says which")
	}
	return fail(fact.ReasonStatus, "HTTP %d instead of 200", code)
}

// unanswered reduces the error of a request without an answer to our own words: its text has the whole URL in it, and may
// hold what the server sent.
func (p *Page) unanswered(err error) *failure {
	switch {
	case timedOut(err):
		return p.late()
	case errors.Is(err, context.Canceled):
		return fail(fact.ReasonTimeout, "given up before the page was there")
	case errors.Is(err, syscall.ECONNREFUSED):
		return fail(fact.ReasonRefused, "connection refused: nothing listens there; see whether dcgm-exporter runs on this node, and on which port")
	}
	return fail(fact.ReasonConnect, "%s", cause(err))
}

// late is the failure of a page that took too long: dcgm-exporter asks DCGM for one card after another while it is read.
func (p *Page) late() *failure {
	return fail(fact.ReasonTimeout, "no whole page within %v (gpu.timeout, or less where the round had less left); dcgm-exporter reads card by card while it answers, so a slow driver makes it slow", p.cfg.Timeout)
}

// timedOut is true of our deadline and of the dialer's.
func timedOut(err error) bool {
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

// cause says in our words why a connection failed; texts of the system are safe.
func cause(err error) string {
	if e, ok := errors.AsType[*net.DNSError](err); ok && e.IsNotFound {
		return "no such host"
	}
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		return e.Error()
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok || errors.Is(err, http.ErrSchemeMismatch) {
		return "the server does not speak TLS: the url should begin with http://"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "the server's certificate is not accepted: see ca_file and server_name"
	}
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "remote error" {
		return "the server refused the TLS connection: see cert_file if it wants a certificate"
	}
	return "the connection was closed without an HTTP answer, or what answers is not HTTP"
}
