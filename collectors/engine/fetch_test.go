package engine

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

func TestPollFailures(t *testing.T) {
	cutAtLineEnd := "vllm:time_to_first_token_seconds_bucket{le=\"1\"," + only + "} 1\n"
	echo := "Bearer " + testToken + " Basic " + testBasic + " " + testPassword
	half := gzipped(t, bytes.Repeat([]byte(metricsPage), 100))
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		timeout time.Duration
		reason  fact.Reason
		text    string
	}{
		"a server that does not answer": {hang, impatient, fact.ReasonTimeout, "connected, but no answer within 50ms (poll.timeout)"},
		"a server that stops in the middle of the page": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", textPlain)
			_, _ = io.WriteString(w, metricsPage)
			_ = http.NewResponseController(w).Flush()
			hang(w, r)
		}, impatient, fact.ReasonTimeout, fmt.Sprintf("no whole page within 50ms (poll.timeout); %d bytes had arrived", len(metricsPage))},

		"an error of the server": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, echo, http.StatusInternalServerError) },
			patient, fact.ReasonStatus, "HTTP 500 Internal Server Error instead of 200"},
		"nothing at this path": {http.NotFound, patient, fact.ReasonStatus, "HTTP 404 Not Found instead of 200: something listens there, without a page at this path; set the target's url, for a pod engines.kubernetes.path or ports, to where the engine has its metrics"},
		"no content":           {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, patient, fact.ReasonStatus, "HTTP 204"},
		// HTP-05 and SEC-07: the guard repeats what it was given.
		"a guard that does not know us": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "scheme or token does not match: "+echo, http.StatusUnauthorized)
		}, patient, fact.ReasonAuth, "HTTP 401 Unauthorized: the page is guarded"},
		"a guard that forbids":                   {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, echo, http.StatusForbidden) }, patient, fact.ReasonAuth, "HTTP 403 Forbidden"},
		"a status line that repeats the secrets": {spoken("HTTP/1.1 418 " + echo + "\r\nContent-Length: 0\r\n\r\n"), patient, fact.ReasonStatus, "HTTP 418 I'm a teapot instead of 200"},
		"a header that is none and repeats them": {spoken("HTTP/1.1 200 OK\r\n" + echo + "\r\n\r\n"), patient, fact.ReasonConnect, "what answers is not HTTP"},
		"a page that repeats them": {classicPage([]byte("error=" + testPassword + "\n")), patient, fact.ReasonParse,
			"the page was refused at a place that repeats a secret"},
		"a content type that repeats them": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/"+testToken)
		}, patient, fact.ReasonNotMetrics, "the page was refused at a place that repeats a secret"},
		"a server that speaks another protocol": {spoken("220 mail ESMTP " + echo + "\r\n"), patient, fact.ReasonConnect, "what answers is not HTTP"},
		"a server that hangs up":                {spoken(""), patient, fact.ReasonConnect, "closed without an HTTP answer"},

		// HTP-01: the cut falls on the end of a line, so the page alone does not show it.
		"a page shorter than announced": {spoken("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 90000\r\n\r\n" + cutAtLineEnd), patient, fact.ReasonTruncated,
			fmt.Sprintf("the connection ended in the middle of the page, after %d bytes: the page is thrown away whole", len(cutAtLineEnd))},
		"a chunked page without its last chunk": {spoken(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(cutAtLineEnd), cutAtLineEnd)),
			patient, fact.ReasonTruncated, fmt.Sprintf("after %d bytes", len(cutAtLineEnd))},
		"a gzip page without its end":         {gzipPage(half[:len(half)-4]), patient, fact.ReasonTruncated, "the connection ended in the middle of the page"},
		"a gzip page with a wrong sum":        {gzipPage(append(bytes.Clone(half[:len(half)-8]), make([]byte, 8)...)), patient, fact.ReasonParse, "announced as gzip and is not, or is damaged"},
		"a page that is not the gzip it says": {gzipPage([]byte(strings.Repeat(metricsPage, 9))), patient, fact.ReasonParse, "announced as gzip and is not"},
		"an encoding that was not asked for": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "br-"+testToken)
		}, patient, fact.ReasonNotMetrics, "an encoding other than gzip"},
		"a page that announces to be over the limit": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(testMaxBody+1))
			w.WriteHeader(http.StatusOK)
		}, patient, fact.ReasonTooLarge, "the page has 1048577 bytes: the limit is 1048576 bytes (poll.max_body"},
		"a page over the limit that did not say so": {classicPage([]byte(strings.Repeat("# ", testMaxBody))), patient, fact.ReasonTooLarge,
			"the page has more bytes than allowed: the limit is 1048576 bytes"},
		"an empty page": {classicPage(nil), patient, fact.ReasonNotMetrics, "the page is empty (0 bytes"},
		"a login page": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<!DOCTYPE html><html>"+echo) }, patient, fact.ReasonNotMetrics,
			`the page is "text/html"`},
		"a page of another emitter": {classicPage([]byte("go_goroutines 12\n")), patient, fact.ReasonDialect, "not an engine"},

		"a redirect to another port":   {redirect(302, "http://127.0.0.1:1/?x="+testToken), patient, fact.ReasonRedirect, "a redirect to another host or port, which is not followed"},
		"a redirect to another scheme": {redirect(301, "https://127.0.0.1/"+testToken), patient, fact.ReasonRedirect, "a redirect from http to https"},
		"a redirect in a circle": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) },
			patient, fact.ReasonRedirect, "more than 5 redirects"},
		"a redirect to nowhere": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTemporaryRedirect) }, patient, fact.ReasonRedirect,
			"HTTP 307 Temporary Redirect that leads nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, c.handler)
			p := newFetcher(t, c.timeout).Poll(t.Context(), fact.Target{ID: "a", URL: guarded(server, "/metrics")})
			checkFailure(t, p, server+"/metrics", c.reason, c.text)
		})
	}
}

func TestFailuresBeforeTheRequest(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + listener.Addr().String()
	listener.Close()
	f := newFetcher(t, patient)
	checkFailure(t, f.Poll(t.Context(), fact.Target{URL: guarded(closed, "/metrics")}), closed+"/metrics", fact.ReasonRefused, "connection refused: nothing listens there")
	plain := serve(t, classicPage([]byte(metricsPage)))
	tls := strings.Replace(guarded(plain, "/metrics"), "http://", "https://", 1)
	checkFailure(t, f.Poll(t.Context(), fact.Target{URL: tls}), strings.Replace(plain, "http://", "https://", 1)+"/metrics", fact.ReasonConnect, "does not speak TLS")
	secure := httptest.NewUnstartedServer(classicPage([]byte(metricsPage)))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	checkFailure(t, f.Poll(t.Context(), fact.Target{URL: secure.URL + "/metrics"}), secure.URL+"/metrics", fact.ReasonConnect, "certificate is not accepted: it is signed by an unknown authority")
	for _, bad := range []string{"", "/metrics", "ftp://alice:s3cret-word@host/", "http://", "http://alice:s3cret-word%zz@host/", "alice:s3cret-word@host:8000/metrics"} {
		p := f.Poll(t.Context(), fact.Target{URL: bad})
		if p.Reason != fact.ReasonConnect || !strings.Contains(p.Detail, "the target's url is not http://") || strings.Contains(p.Detail, testPassword) {
			t.Errorf("%q: %s: %s", bad, p.Reason, p.Detail)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	checkFailure(t, f.Poll(ended, fact.Target{URL: guarded(plain, "/metrics")}), plain+"/metrics", fact.ReasonTimeout, "given up before the page was there")
}

// The round's deadline goes before the poll's own.
func TestTheEarlierDeadlineHolds(t *testing.T) {
	server := serve(t, hang)
	ctx, cancel := context.WithTimeout(t.Context(), impatient)
	defer cancel()
	p := newFetcher(t, patient).Poll(ctx, fact.Target{URL: server})
	checkFailure(t, p, server, fact.ReasonTimeout, "no answer within")
	if took := p.Received - p.Sent; took > patient.Seconds()/2 {
		t.Errorf("took %v s", took)
	}
}

// SEC-03 and HTP-03: the credentials work, on a page behind a redirect too, and what is asked for is what is meant.
func TestPollReadsAPage(t *testing.T) {
	body, _ := sample(t, "vllm-0.32-live")
	packed := gzipped(t, body)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", redirect(http.StatusTemporaryRedirect, "/metrics/?token="+testToken))
	mux.HandleFunc("GET /metrics/", func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if user != testUser || password != testPassword || r.URL.Query().Get("token") != testToken {
			http.Error(w, "who?", http.StatusUnauthorized)
			return
		}
		if r.Header.Get("User-Agent") != "goodput-exporter" || !strings.HasPrefix(r.Header.Get("Accept"), "text/plain;version=0.0.4") || r.Header.Get("Referer") != "" {
			http.Error(w, "what?", http.StatusBadRequest)
			return
		}
		if r.Header.Get("Accept-Encoding") != "gzip" {
			http.Error(w, "how?", http.StatusBadRequest)
			return
		}
		gzipPage(packed)(w, r)
	})
	server := serve(t, mux.ServeHTTP)
	f := newFetcher(t, patient)
	for _, path := range []string{"/metrics", "/metrics/"} {
		p := f.Poll(t.Context(), fact.Target{ID: "a", URL: guarded(server, path)})
		if p.Sample == nil || p.Reason != "" || p.Detail != "" || p.Target != "a" {
			t.Fatalf("%s: %+v", path, p)
		}
		if p.Sample.Bytes != len(body) || p.Sample.Ranks[0].Sequences() != 2668 {
			t.Errorf("%s: %d bytes, %d sequences", path, p.Sample.Bytes, p.Sample.Ranks[0].Sequences())
		}
		if now := float64(time.Now().UnixNano()) / 1e9; p.Sent > p.Received || p.Received > now || p.Sent < now-60 {
			t.Errorf("sent %v, received %v, now %v", p.Sent, p.Received, now)
		}
	}
}

func TestNothingGoesToAnotherHost(t *testing.T) {
	var asked atomic.Int32
	other := serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	server := serve(t, redirect(http.StatusFound, other+"/metrics"))
	p := newFetcher(t, patient).Poll(t.Context(), fact.Target{URL: guarded(server, "/metrics")})
	checkFailure(t, p, server+"/metrics", fact.ReasonRedirect, "another host or port")
	if asked.Load() != 0 {
		t.Error("the other host was asked")
	}
}

func TestSameHostIsTheSameSchemeHostAndPort(t *testing.T) {
	for name, c := range map[string]struct {
		from, to string
		want     error
	}{
		"another path":                   {"http://a/x", "http://a/y", nil},
		"the default port, said":         {"http://a/x", "http://A:80/x/", nil},
		"the default port of https":      {"https://a:443/", "https://a/", nil},
		"another port":                   {"http://a:8000/", "http://a:8001/", errOtherHost},
		"a name that begins alike":       {"http://a/", "http://a.example/", errOtherHost},
		"an address that ends alike":     {"http://[::1]:80/", "http://[::2]:80/", errOtherHost},
		"from https to http, downgraded": {"https://a/", "http://a/", errOtherScheme},
	} {
		request := func(raw string) *http.Request {
			u, err := url.Parse(raw)
			if err != nil {
				t.Fatal(err)
			}
			return &http.Request{URL: u, Header: http.Header{}}
		}
		if got := checkRedirect(request(c.to), []*http.Request{request(c.from)}); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// A page of 24 MiB that travels as 24 KiB stops at the limit.
func TestAGzipBombStopsAtTheLimit(t *testing.T) {
	bomb := gzipped(t, make([]byte, 24*testMaxBody))
	server := serve(t, gzipPage(bomb))
	f := newFetcher(t, patient)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p := f.Poll(t.Context(), fact.Target{URL: guarded(server, "/metrics")})
	runtime.ReadMemStats(&after)
	checkFailure(t, p, server+"/metrics", fact.ReasonTooLarge, "more bytes than allowed: the limit is 1048576 bytes (poll.max_body, decompressed)")
	if cost := after.TotalAlloc - before.TotalAlloc; cost > 8*testMaxBody {
		t.Errorf("it allocated %d bytes", cost)
	}
}

// A page of exactly the limit is read, one byte more is not, plain and packed.
func TestTheLimitIsExact(t *testing.T) {
	for size := testMaxBody - 1; size <= testMaxBody+1; size++ {
		page := []byte(metricsPage + "#" + strings.Repeat(" ", size-len(metricsPage)-2) + "\n")
		for how, handler := range map[string]http.HandlerFunc{"plain": classicPage(page), "gzip": gzipPage(gzipped(t, page))} {
			p := newFetcher(t, patient).Poll(t.Context(), fact.Target{URL: serve(t, handler)})
			if read := p.Sample != nil && p.Sample.Bytes == size; read != (size <= testMaxBody) {
				t.Errorf("%s page of %d bytes under a limit of %d: read %t, %s", how, size, testMaxBody, read, p.Detail)
			}
		}
	}
}

// Polls of one target and of many at the same time keep their pages apart, and Close leaves no connection.
func TestPollsAtTheSameTime(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "vllm:num_requests_running{engine=\"0\",model_name=%q} 7\n", r.URL.Path)
	}))
	var opened atomic.Int32
	closed := make(chan struct{}, 100)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			opened.Add(1)
		case http.StateClosed:
			closed <- struct{}{}
		}
	}
	server.Start()
	defer server.Close()
	f := newFetcher(t, patient)
	var polls sync.WaitGroup
	for i := range 32 {
		polls.Go(func() {
			path := fmt.Sprintf("/%d", i%4)
			p := f.Poll(t.Context(), fact.Target{ID: path, URL: server.URL + path})
			if p.Sample == nil || p.Sample.Ranks[0].Model != path || p.Target != path {
				t.Errorf("%s: %+v", path, p)
			}
			if i%7 == 0 {
				f.Forget(path)
			}
		})
	}
	polls.Wait()
	f.Close()
	for n := range opened.Load() {
		select {
		case <-closed:
		case <-time.After(patient):
			t.Fatalf("%d of %d connections were closed", n, opened.Load())
		}
	}
}

// The decoder of a target outlives its polls, so that layouts are shared; Forget lets go of it.
func TestForget(t *testing.T) {
	body, _ := sample(t, "vllm-0.32-live")
	server := serve(t, classicPage(body))
	f := newFetcher(t, patient)
	edge := func() *float64 {
		p := f.Poll(t.Context(), fact.Target{ID: "a", URL: server})
		if p.Sample == nil {
			t.Fatal(p.Detail)
		}
		return &p.Sample.Ranks[0].Histograms[fact.TTFT].Edges[0]
	}
	first, second := edge(), edge()
	f.Forget("a")
	if third := edge(); first != second || second == third {
		t.Errorf("layouts at %p, %p and, forgotten, %p", first, second, third)
	}
}

func TestNewNamesTheSettingAtFault(t *testing.T) {
	for want, cfg := range map[string]FetcherConfig{
		"engine fetcher: timeout 0s must be positive":   {MaxBody: 1},
		"engine fetcher: body limit 0 must be positive": {Timeout: 1},
	} {
		if f, err := New(cfg); err == nil || err.Error() != want || f != nil {
			t.Errorf("%+v: %v, want %s", cfg, err, want)
		}
	}
}
