package engine

import (
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// publicURL is the part of a target's URL that may be shown: scheme, host and path. Query and user hold secrets.
func publicURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return "(invalid url)"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// withheld is the text of a refusal, or a note in its place when the page repeats a secret of the target, in its URL or
// beside it, just where the text quotes the page. The texts of fetch quote nothing.
func withheld(raw, text string, beside ...string) string {
	all := beside
	if u, err := url.Parse(raw); err == nil {
		all = append(secrets(u), beside...)
	}
	for _, s := range all {
		if len(s) >= minSecret && strings.Contains(text, s) {
			return "the page was refused at a place that repeats a secret of the target, so that the details are withheld"
		}
	}
	return text
}

// repeatedBy reports whether something of a page that will be shown holds a credential. The query of a URL is not looked
// for: it may well name the model.
func (p *pass) repeatedBy(s *fact.EngineSample) bool {
	texts := slices.Clone(s.Warnings)
	for i := range s.Ranks {
		r := &s.Ranks[i]
		texts = append(texts, r.Name, r.Model)
		for _, c := range r.Finished {
			texts = append(texts, c.Reason)
		}
	}
	for _, c := range s.HTTP {
		texts = append(texts, c.Handler, c.Method)
	}
	for _, m := range s.Missing {
		texts = append(texts, m.Field, m.Cost)
	}
	return slices.ContainsFunc(texts, func(text string) bool {
		return slices.ContainsFunc(p.secrets, func(secret string) bool {
			return len(secret) >= minCredential && strings.Contains(text, secret)
		})
	})
}

// minCredential is the shortest credential that makes a page unusable: a shorter word may be in the name of a model.
const minCredential = 8

// Mask puts <secret> in the place of every secret of a URL that a text repeats, for whoever prints what a page says.
func Mask(rawURL, text string) string {
	r := Raw{secrets: repeatable(rawURL, nil)}
	return r.Mask(text)
}

// minSecret is the shortest text that is looked for: one or two characters stand in every message, and guard nothing.
const minSecret = 3

// secrets of a URL: those of its user, and the values of the query.
func secrets(u *url.URL) []string {
	var all []string
	if u.User != nil {
		all = userSecrets(u.User)
	}
	for _, values := range u.Query() {
		all = append(all, values...)
	}
	return all
}

// userSecrets are the password, or a token in the user's place, as given and as the Authorization header has them.
func userSecrets(u *url.Userinfo) []string {
	password, ok := u.Password()
	all := []string{password, base64.StdEncoding.EncodeToString([]byte(u.Username() + ":" + password))}
	if !ok {
		all = append(all, u.Username())
	}
	return all
}

// statusError judges the status line; its text is ours, since the server chooses its own.
func statusError(resp *http.Response) error {
	code := resp.StatusCode
	text := http.StatusText(code)
	switch {
	case code == http.StatusOK:
		return nil
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return refuse(fact.ReasonAuth, "HTTP %d %s: the page is guarded; set bearer_token_file or basic_auth under the target's access, see docs/operations.md, or free the path from the guard", code, text)
	case code == http.StatusNotFound:
		return refuse(fact.ReasonStatus, "HTTP %d %s instead of 200: something listens there, without a page at this path; set the target's url, for a pod engines.kubernetes.path or ports, to where the engine has its metrics", code, text)
	case code >= 300 && code < 400:
		return refuse(fact.ReasonRedirect, "HTTP %d %s that leads nowhere: set the target's url to the page itself", code, text)
	}
	return refuse(fact.ReasonStatus, "HTTP %d %s instead of 200", code, text)
}

// requestFailed reduces the error of a request without an answer. The chain ends in a *url.Error, whose text has the
// whole URL in it, and may hold what the server sent: only what kind of error it is goes further.
func (a *attempt) requestFailed(err error) error {
	const remedy = "set the target's url to where the page is"
	switch {
	case errors.Is(err, errOtherScheme):
		return refuse(fact.ReasonRedirect, "the answer is a redirect from http to https or back, which is not followed: "+remedy)
	case errors.Is(err, errOtherHost):
		return refuse(fact.ReasonRedirect, "the answer is a redirect to another host or port, which is not followed: "+remedy)
	case errors.Is(err, errCircle):
		return refuse(fact.ReasonRedirect, "more than %d redirects: "+remedy, maxRedirects)
	case timedOut(err) && a.connected.Load():
		return refuse(fact.ReasonTimeout, "connected, but no answer within %v (poll.timeout): the engine's event loop may be busy", a.limit)
	case timedOut(err):
		return refuse(fact.ReasonTimeout, "no connection within %v (poll.timeout)", a.limit)
	case errors.Is(err, context.Canceled):
		return refuse(fact.ReasonTimeout, "given up before the page was there")
	case errors.Is(err, syscall.ECONNREFUSED):
		return refuse(fact.ReasonRefused, "connection refused: nothing listens there; the engine is down, still loading, or on another port")
	}
	return refuse(fact.ReasonConnect, "%s", cause(err))
}

// bodyFailed reduces the error of a body that ended early. Whatever arrived is thrown away: half a page has true
// numbers for some families and none for others.
func (a *attempt) bodyFailed(err error) error {
	got := len(a.body)
	switch {
	case timedOut(err):
		return refuse(fact.ReasonTimeout, "no whole page within %v (poll.timeout); %d bytes had arrived", a.limit, got)
	case errors.Is(err, context.Canceled):
		return refuse(fact.ReasonTimeout, "given up before the page was whole; %d bytes had arrived", got)
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), isCorrupt(err):
		return refuse(fact.ReasonParse, "the page is announced as gzip and is not, or is damaged")
	}
	return refuse(fact.ReasonTruncated, "the connection ended in the middle of the page, after %d bytes: the page is thrown away whole", got)
}

func isCorrupt(err error) bool {
	_, ok := errors.AsType[flate.CorruptInputError](err)
	return ok
}

// timedOut is true of our deadline and of the dialer's, which may fire first.
func timedOut(err error) bool {
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

// cause says in our words why a connection failed; texts of the system and of certificates are safe, those of the HTTP
// reader repeat what the server sent.
func cause(err error) string {
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		if e.IsNotFound {
			return "no such host: the name of the target's host has no address"
		}
		return "the name of the target's host could not be looked up"
	}
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		return e.Error()
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok || errors.Is(err, http.ErrSchemeMismatch) {
		return "the server does not speak TLS: the target's url should begin with http://"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "the server's certificate is not accepted: " + certificateFault(err)
	}
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "remote error" {
		return "the server refused the TLS connection (" + e.Err.Error() + "): see cert_file if it wants a certificate"
	}
	return "the connection was closed without an HTTP answer, or what answers is not HTTP"
}

func certificateFault(err error) string {
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok && e.Reason == x509.Expired {
		return "it has expired or is not yet valid"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "it is signed by an unknown authority"
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "it is for another host"
	}
	return "it cannot be verified"
}
