package cluster

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// front stands before the API server and is what the exporter is given as one: it writes down what is asked, and can cut
// connections or keep the exporter waiting, which a server would not do for us.
type front struct {
	url string

	mu    sync.Mutex
	asked []ask
	held  bool // requests wait, and get no answer
	open  map[net.Conn]bool
	to    *url.URL
}

// ask is one request.
type ask struct {
	path    string
	query   url.Values
	watched bool
	status  int
}

func newFront(t testing.TB, c *cluster) *front {
	t.Helper()
	f := &front{open: map[net.Conn]bool{}}
	f.lead(c.port)
	proxy := &httputil.ReverseProxy{
		Transport: c.http.Transport, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(f.target()) },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { panic(http.ErrAbortHandler) }, // as if there were no front
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{
		ErrorLog: log.New(io.Discard, "", 0), TLSConfig: &tls.Config{Certificates: []tls.Certificate{c.pki.pair}},
		ConnState: func(conn net.Conn, s http.ConnState) {
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.open[conn] = true; s == http.StateClosed || s == http.StateHijacked {
				delete(f.open, conn)
			}
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n, held := f.note(r)
			if held {
				<-r.Context().Done()
				return
			}
			proxy.ServeHTTP(&watching{w, func(status int) { f.answered(n, status) }}, r)
		}),
	}
	go server.ServeTLS(listener, "", "")
	t.Cleanup(func() { server.Close() })
	f.url = "https://" + listener.Addr().String()
	return f
}

// lead makes new requests go to another server.
func (f *front) lead(port int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.to = &url.URL{Scheme: "https", Host: fmt.Sprintf("127.0.0.1:%d", port)}
}

func (f *front) target() *url.URL {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.to
}

func (f *front) note(r *http.Request) (n int, held bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := r.URL.Query()
	f.asked = append(f.asked, ask{path: r.URL.Path, query: q, watched: q.Get("watch") != ""})
	return len(f.asked) - 1, f.held
}

func (f *front) answered(n, status int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked[n].status = status
}

// hold has requests wait from now on. What is under way goes on.
func (f *front) hold() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = true
}

// letGo ends what waits, and lets new requests through.
func (f *front) letGo() {
	f.mu.Lock()
	f.held = false
	f.mu.Unlock()
	f.cut()
}

// cut ends all connections.
func (f *front) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for conn := range f.open {
		conn.Close()
	}
}

// requests are those of a resource since the nth of all.
func (f *front) requests(since int, resource string, watched bool) (found []ask) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range f.asked[since:] {
		if strings.HasSuffix(a.path, "/"+resource) && a.watched == watched {
			found = append(found, a)
		}
	}
	return found
}

func (f *front) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.asked)
}

// watching tells of the status of an answer.
type watching struct {
	http.ResponseWriter
	tell func(int)
}

func (w *watching) WriteHeader(status int) {
	w.tell(status)
	w.ResponseWriter.WriteHeader(status)
}

func (w *watching) Unwrap() http.ResponseWriter { return w.ResponseWriter }
