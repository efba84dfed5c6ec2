package kube

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodput-exporter/goodput-exporter/internal/kube/kubetest"
)

// thing is what these tests list and watch.
type thing struct {
	Object
	Spec struct {
		Colour string `json:"colour"`
	} `json:"spec"`
}

var things = Query{Version: "v1", Resource: "pods"}

func object(name, colour string) kubetest.Object {
	return kubetest.Object{
		"metadata": map[string]any{"namespace": "serving", "name": name, "uid": "uid-" + name},
		"spec":     map[string]any{"colour": colour, "secret": "hunter2"},
	}
}

// box is a sink that keeps what it is told.
type box struct {
	mu       sync.Mutex
	have     map[string]string // colours by name
	replaced int
	states   []State // without repetitions
	words    int
}

func (b *box) Replace(all []thing) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.have = map[string]string{}
	for _, t := range all {
		b.have[t.Metadata.Name] = t.Spec.Colour
	}
	b.replaced++
}

func (b *box) Put(t thing) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.have[t.Metadata.Name] = t.Spec.Colour
}

func (b *box) Delete(m Metadata) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.have, m.Name)
}

func (b *box) Told(s State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.words++
	if n := len(b.states); n == 0 || b.states[n-1].Up != s.Up || b.states[n-1].Problem != s.Problem {
		b.states = append(b.states, s)
	}
}

// String is what is in the box.
func (b *box) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []string
	for _, name := range slices.Sorted(maps.Keys(b.have)) {
		all = append(all, name+"="+b.have[name])
	}
	return strings.Join(all, " ")
}

func (b *box) state() State {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.states) == 0 {
		return State{}
	}
	return b.states[len(b.states)-1]
}

// told is how many lists the box was given, and how often it was told how the following stands.
func (b *box) told() (lists, words int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.replaced, b.words
}

// world is an API server, and somebody who follows it, within a bubble of synctest.
type world struct {
	*testing.T
	*kubetest.Server
	box    *box
	client *Client
	log    *bytes.Buffer
	wire   *wire
	begin  func() // of the following; at the first passing of time
}

// small are limits that are soon reached.
var small = limits{object: 64 << 10, page: 1 << 20}

// inWorld runs a test with a server that one can only reach within the test.
func inWorld(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, Server: kubetest.New("/api/v1", "pods"), box: &box{}, log: &bytes.Buffer{}, wire: newWire()}
		srv := &http.Server{Handler: w.Server, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
		go func() { _ = srv.Serve(w.wire) }()
		var err error
		w.client, err = NewClient(Config{Server: "http://127.0.0.1:6443", Logger: slog.New(slog.NewTextHandler(w.log, nil)), dial: w.wire.dial, limits: small})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		w.begin = sync.OnceFunc(func() { go func() { Follow[thing](ctx, w.client, things, w.box); close(done) }() })
		t.Cleanup(func() {
			w.begin()
			cancel()
			<-done
			w.client.http.CloseIdleConnections()
			_ = srv.Close()
		})
		test(w)
	})
}

// after lets time pass.
func (w *world) after(d time.Duration) {
	w.begin()
	time.Sleep(d)
	synctest.Wait()
}

// holds checks what is known.
func (w *world) holds(up bool, want string) {
	w.Helper()
	synctest.Wait()
	if got := w.box.String(); got != want {
		w.Fatalf("known is %q, want %q; state %+v", got, want, w.box.state())
	}
	if w.box.state().Up != up {
		w.Fatalf("up is %v, want %v: %+v\n%s", w.box.state().Up, up, w.box.state(), w.log)
	}
}

// said checks how often a text is in the log.
func (w *world) said(times int, text string) {
	w.Helper()
	if n := strings.Count(w.log.String(), text); n != times {
		w.Errorf("said %d times %q, want %d\n%s", n, text, times, w.log)
	}
}

// wire is a listener of which connections are made by hand.
type wire struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
	mu     sync.Mutex
	dead   bool // nobody answers there
}

func newWire() *wire { return &wire{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (w *wire) cut(dead bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead = dead
}

func (w *wire) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	w.mu.Lock()
	dead := w.dead
	w.mu.Unlock()
	if dead {
		return nil, fmt.Errorf("connection refused")
	}
	here, there := net.Pipe()
	select {
	case w.conns <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (w *wire) Accept() (net.Conn, error) {
	select {
	case c := <-w.conns:
		return c, nil
	case <-w.closed:
		return nil, io.EOF
	}
}

func (w *wire) Close() error { w.once.Do(func() { close(w.closed) }); return nil }

func (w *wire) Addr() net.Addr { return &net.TCPAddr{} }
