package load

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// fake is an OpenAI-compatible engine as far as the load uses one. It takes its time by the clock of the test's bubble.
type fake struct {
	ttft, gap time.Duration
	refuse    int // status; 0: serve; inside: refuse in the stream
	breakAt   int // cut the connection at this chunk; 0: never

	mu    sync.Mutex
	asked []map[string]any // bodies of all requests
}

// inside is a status that stands for a refusal after the headers.
const inside = 1

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		panic(err)
	}
	f.mu.Lock()
	f.asked = append(f.asked, body)
	f.mu.Unlock()
	length, _ := body["max_tokens"].(float64)
	switch {
	case length < 1:
		http.Error(w, `{"error":{"message":"max_tokens must be at least 1"}}`, http.StatusBadRequest)
		return
	case body["model"] != "m":
		http.Error(w, `{"error":{"message":"no such model"}}`, http.StatusNotFound)
		return
	}
	switch f.refuse {
	case 0:
	case inside:
		fmt.Fprint(w, `data: {"error":{"message":"too many requests wait","code":503}}`+"\n\ndata: [DONE]\n\n")
		return
	default:
		http.Error(w, "too many requests wait", f.refuse)
		return
	}
	f.stream(w, r, int(length), int(body["n"].(float64)))
}

// stream sends length chunks for each of n sequences, the last with a finish reason.
func (f *fake) stream(w http.ResponseWriter, r *http.Request, length, n int) {
	w.Header().Set("Content-Type", "text/event-stream")
	flush := w.(http.Flusher)
	for i := range length {
		wait := f.gap
		if i == 0 {
			wait = f.ttft
		}
		select {
		case <-time.After(wait):
		case <-r.Context().Done():
			return
		}
		if f.breakAt > 0 && i == f.breakAt {
			panic(http.ErrAbortHandler)
		}
		for index := range n {
			reason := "null"
			if i == length-1 {
				reason = `"length"`
			}
			fmt.Fprintf(w, `data: {"choices":[{"index":%d,"text":"w1","finish_reason":%s}]}`+"\n\n", index, reason)
		}
		flush.Flush()
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// wire connects a client with a server in memory, so that both live on the clock of a synctest bubble.
type wire struct {
	conns chan net.Conn
	over  chan struct{} // closed at the end
}

func (l *wire) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.over:
		return nil, net.ErrClosed
	}
}
func (l *wire) Close() error   { return nil }
func (l *wire) Addr() net.Addr { return &net.UnixAddr{Name: "fake"} }

func (l *wire) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.over:
		return nil, net.ErrClosed
	}
}

// against returns a client of the fake; what was started ends with the test.
func against(t *testing.T, f *fake) *http.Client {
	t.Helper()
	l := &wire{conns: make(chan net.Conn), over: make(chan struct{})}
	server := &http.Server{Handler: f}
	go server.Serve(l) //nolint:errcheck // it ends when the test closes the wire
	transport := &http.Transport{DialContext: l.dial}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		close(l.over)
		server.Close()
	})
	return &http.Client{Transport: transport}
}
