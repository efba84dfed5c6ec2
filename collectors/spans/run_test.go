package spans

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// pipes is a listener in memory, so that time can be virtual.
type pipes struct {
	calls  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{calls: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.calls:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (p *pipes) dial(context.Context, string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.calls <- server:
		return client, nil
	case <-p.closed:
		return nil, errors.New("closed")
	}
}

// inMemory runs a receiver over pipes in a bubble of virtual time. A goroutine that is left behind fails the test: the
// bubble cannot end.
func inMemory(t *testing.T, test func(t *testing.T, r *Receiver, http, grpc *pipes)) {
	t.Helper()
	inMemoryWith(t, usualConfig(), test)
}

func inMemoryWith(t *testing.T, c Config, test func(t *testing.T, r *Receiver, http, grpc *pipes)) {
	synctest.Test(t, func(t *testing.T) {
		h, g := newPipes(), newPipes()
		s, err := newSettings(c, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := &Receiver{http: h, grpc: g, log: (&notes{}).logger(), grpcLimit: s.MaxMessage, door: newDoor(s.MaxMessage)}
		r.settings.Store(s)
		r.buffer.room = s.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		test(t, r, h, g)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// A sender that stops in the middle must not keep its place for ever.
func TestASenderThatHangsIsLeftAfterAWhile(t *testing.T) {
	head := "POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\nContent-Length: 1000\r\n"
	for name, c := range map[string]struct {
		sends  string
		within time.Duration
		status int
	}{
		"in the middle of a body":   {head + "\r\n" + strings.Repeat("x", 500), readTime, 408},
		"in the middle of a header": {head, headerTime, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(t *testing.T, r *Receiver, h, _ *pipes) {
				conn, err := h.dial(t.Context(), "")
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				begin := time.Now()
				go io.WriteString(conn, c.sends)
				got := 0
				if a, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
					got = a.StatusCode
				}
				if took := time.Since(begin); took < c.within || took > c.within+time.Second || got != c.status {
					t.Errorf("status %d after %v, want %d after %v", got, took, c.status, c.within)
				}
				if c.status != 0 {
					equal(t, "messages", r.Stats().messages(), map[string]uint64{"http broken": 1})
				}
			})
		})
	}
}

func TestASenderThatHangsOverGRPCIsLeftAfterAWhile(t *testing.T) {
	inMemory(t, func(t *testing.T, r *Receiver, _, g *pipes) {
		c, err := grpc.NewClient("passthrough:///pipe", grpc.WithContextDialer(g.dial), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		begin := time.Now()
		stream, err := c.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, exportMethod)
		if err != nil {
			t.Fatal(err)
		}
		err = stream.RecvMsg(&tracepb.TracesData{}) // nothing was sent
		if took := time.Since(begin); status.Code(err) != codes.DeadlineExceeded || took < readTime || took > readTime+time.Second {
			t.Errorf("%v after %v", err, took)
		}
		equal(t, "messages", r.Stats().messages(), map[string]uint64{"grpc broken": 1})
	})
}

// Those who hang take places, of which there is a bounded number; who comes then is told to come again, over either
// protocol, and finds a place when the others have been left.
func TestMoreMessagesThanPlacesAreToldToComeAgain(t *testing.T) {
	inMemory(t, func(t *testing.T, r *Receiver, h, g *pipes) {
		for range maxAtOnce {
			conn, err := h.dial(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			go io.WriteString(conn, "POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\nContent-Length: 1000\r\n\r\n")
		}
		synctest.Wait()
		client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, address string) (net.Conn, error) { return h.dial(ctx, address) }, DisableKeepAlives: true}}
		a, _ := post(t, client, "http://pipe/v1/traces", nil)
		if a.StatusCode != 503 || a.Header.Get("Retry-After") != "2" {
			t.Errorf("status %d, Retry-After %q", a.StatusCode, a.Header.Get("Retry-After"))
		}
		c, err := grpc.NewClient("passthrough:///pipe", grpc.WithContextDialer(g.dial), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, _, err := invoke(t, c, exportMethod, &tracepb.TracesData{}); status.Code(err) != codes.ResourceExhausted || len(status.Convert(err).Details()) != 1 {
			t.Errorf("gRPC: %v", err)
		}
		time.Sleep(readTime + time.Second) // virtual
		if a, _ := post(t, client, "http://pipe/v1/traces", nil); a.StatusCode != 200 {
			t.Errorf("status %d when the others have been left", a.StatusCode)
		}
		got := r.Stats().messages()
		if got["http busy"] != 1 || got["grpc busy"] != 1 || got["http ok"] != 1 {
			t.Errorf("messages %v", got)
		}
	})
}

// Run must end although a sender is in the middle of a message, and leave nothing behind.
func TestRunEndsWithinAMoment(t *testing.T) {
	inMemory(t, func(t *testing.T, r *Receiver, h, g *pipes) {
		conn, err := h.dial(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		go io.WriteString(conn, "POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\nContent-Length: 1000\r\n\r\nxx")
		c, err := grpc.NewClient("passthrough:///pipe", grpc.WithContextDialer(g.dial), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if _, err := c.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true}, exportMethod); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		begin := time.Now()
		t.Cleanup(func() {
			if took := time.Since(begin); took > closeTime+time.Second {
				t.Errorf("Run took %v to end", took)
			}
		})
	})
}

func TestRunLeavesNoGoroutineBehind(t *testing.T) {
	before := runtime.NumGoroutine()
	r, err := Listen(usualConfig())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	transport := &http.Transport{}
	post(t, &http.Client{Transport: transport}, r.url(), wire(t, export(nil, fresh(request(0))...)))
	c := dial(t, r)
	if _, _, err := invoke(t, c, exportMethod, export(nil, fresh(request(1))...)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	transport.CloseIdleConnections()
	c.Close()
	if n := settled(before); n > before {
		stacks := make([]byte, 1<<20)
		t.Errorf("%d goroutines, %d before:\n%s", n, before, stacks[:runtime.Stack(stacks, true)])
	}
	if n := len(r.Drain()); n != 2 {
		t.Errorf("%d spans can be drained after the end, want 2", n)
	}
	if _, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(r.url(), "http://"), tracesPath)); err == nil {
		t.Error("something still listens")
	}
}

// settled waits for the clients' own goroutines, which end a moment after they are told to.
func settled(want int) (n int) {
	for range 10_000 {
		if n = runtime.NumGoroutine(); n <= want {
			break
		}
		runtime.Gosched()
		time.Sleep(100 * time.Microsecond)
	}
	return n
}

// Who has opened a receiver and does not need it after all has a way to close it.
func TestRunWithoutTimeClosesTheListeners(t *testing.T) {
	r, err := Listen(usualConfig())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Run(ctx); err != nil {
		t.Fatal(err)
	}
	for _, l := range []net.Listener{r.http, r.grpc} {
		if again, err := net.Listen("tcp", l.Addr().String()); err != nil {
			t.Error(err)
		} else {
			again.Close()
		}
	}
}

// A listener that fails ends the other protocol too, and Run says so.
func TestRunEndsWhenAListenerFails(t *testing.T) {
	r, err := Listen(usualConfig())
	if err != nil {
		t.Fatal(err)
	}
	r.http.(*crowd).Listener.Close() // behind its back
	if err := r.Run(t.Context()); err == nil {
		t.Error("no error")
	}
}

// TestNothingIsLostOrDoubled has many senders, a drain and reloads at once, with a buffer that is often full: every span
// that a sender was told is taken comes out once, and no other.
func TestNothingIsLostOrDoubled(t *testing.T) {
	c := usualConfig()
	c.Buffer, c.Attributes = 64, []string{"tier"}
	r := serving(t, c)
	ctx, cancel := context.WithCancel(t.Context())
	var background, senders sync.WaitGroup
	got := map[uint64]int{}
	drain := func() {
		for _, s := range r.Drain() {
			got[binary.BigEndian.Uint64(s.ID[:])]++
		}
	}
	background.Go(func() {
		for ctx.Err() == nil {
			drain()
			runtime.Gosched()
		}
	})
	background.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			again := c
			again.Buffer, again.Attributes = 32+i%64, []string{fmt.Sprint("tier", i%3)}
			if err := r.Reconfigure(again); err != nil {
				t.Error(err)
			}
			r.Stats()
			runtime.Gosched()
		}
	})
	const workers, messages, each = 8, 40, 20
	for w := range workers {
		senders.Go(func() {
			conn := dial(t, r)
			for m := range messages {
				var spans []*tracepb.Span
				for i := range each {
					spans = append(spans, request((w*messages+m)*each+i))
				}
				data := export(with{"tier0": "gold"}, fresh(spans...)...)
				for taken := false; !taken; {
					if w%2 == 0 {
						a, _ := post(t, http.DefaultClient, r.url(), wire(t, data))
						taken = a.StatusCode == http.StatusOK
					} else {
						_, _, err := invoke(t, conn, exportMethod, data)
						taken = err == nil
					}
				}
			}
		})
	}
	senders.Wait()
	cancel()
	background.Wait()
	drain()
	for id := uint64(1); id <= workers*messages*each; id++ {
		if got[id] != 1 {
			t.Fatalf("span %d came out %d times", id, got[id])
		}
	}
	if n := r.Stats().spans()[Taken]; len(got) != workers*messages*each || n != uint64(len(got)) {
		t.Errorf("%d spans came out, %d counted, want %d", len(got), n, workers*messages*each)
	}
}

// The listener keeps a bounded number of connections; the others wait, and come when one leaves.
func TestConnectionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		l := &crowd{Listener: p, slots: make(chan struct{}, 1), closed: make(chan struct{})}
		accepted := make(chan net.Conn)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					close(accepted)
					return
				}
				accepted <- c
			}
		}()
		go p.dial(t.Context(), "")
		first := <-accepted
		go p.dial(t.Context(), "")
		synctest.Wait()
		select {
		case <-accepted:
			t.Fatal("a second connection, where one is allowed")
		default:
		}
		first.Close()
		first.Close() // makes room once
		second := <-accepted
		l.Close()
		if _, more := <-accepted; more {
			t.Error("a connection after Close")
		}
		second.Close()
	})
}
