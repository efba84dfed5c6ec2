package engine

import (
	"bytes"
	"compress/gzip"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

const testMaxBody = 1 << 20

// impatient is the timeout of polls that are meant to run into it; all others have patient.
const (
	impatient = 50 * time.Millisecond
	patient   = 10 * time.Second
)

func newFetcher(t *testing.T, timeout time.Duration) *Fetcher {
	t.Helper()
	f, err := New(FetcherConfig{Timeout: timeout, MaxBody: testMaxBody})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

// classicPage answers with a page, as the Python front end does.
func classicPage(page []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", textPlain)
		_, _ = w.Write(page)
	}
}

// spoken answers with these bytes, whatever HTTP makes of them, and hangs up.
func spoken(answer string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, answer)
	}
}

func gzipped(t *testing.T, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gzipPage(packed []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", textPlain)
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(packed)
	}
}

func redirect(code int, to string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(code)
	}
}

// hang holds the answer back until the client has gone.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

const metricsPage = "vllm:num_requests_running{" + only + "} 7\n"

// The credentials of every poll in this file. Whatever a server makes of them, none may be in a Detail.
const (
	testUser, testPassword, testToken = "alice", "s3cret-word", "t0ken-abc"
	testBasic                         = "YWxpY2U6czNjcmV0LXdvcmQ="
)

// guarded puts the credentials into a server's URL.
func guarded(server, path string) string {
	return strings.Replace(server, "http://", "http://"+testUser+":"+testPassword+"@", 1) + path + "?token=" + testToken
}

// checkFailure checks what holds of every poll that failed, and the reason and the text of this one.
func checkFailure(t *testing.T, p fact.Poll, shown string, reason fact.Reason, text string) {
	t.Helper()
	if p.Sample != nil || p.Reason != reason || !strings.Contains(p.Detail, text) {
		t.Errorf("got  %s: %s\nwant %s: ...%s...", p.Reason, p.Detail, reason, text)
	}
	if !strings.HasPrefix(p.Detail, shown+": ") {
		t.Errorf("%q does not begin with the target, %s", p.Detail, shown)
	}
	if strings.ContainsAny(p.Detail, "\r\n") || len(p.Detail) > 600 {
		t.Errorf("not one line of moderate length: %q", p.Detail)
	}
	for _, secret := range []string{testUser, testPassword, testToken, testBasic} {
		if strings.Contains(p.Detail, secret) {
			t.Errorf("%q holds %q", p.Detail, secret)
		}
	}
	if p.Received < p.Sent || p.Sent == 0 {
		t.Errorf("sent %v, received %v", p.Sent, p.Received)
	}
}
