package gpu

import (
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
)

// fake is a child without a process, for tests on a virtual clock. It dies when it is asked, when it is not stubborn.
type fake struct {
	t        *testing.T
	in       *io.PipeReader
	out      *io.PipeWriter
	notes    io.Writer
	stubborn atomic.Bool // does not end when asked
	frozen   atomic.Bool // does not even end when killed
	asked    atomic.Bool
	killed   atomic.Bool
	once     sync.Once
	ended    chan struct{}
	status   error
}

func (f *fake) Frames() io.Reader { return f.in }
func (f *fake) Close()            { f.in.CloseWithError(io.ErrClosedPipe) }

func (f *fake) Wait() error {
	<-f.ended
	return f.status
}

func (f *fake) Ask() {
	if f.asked.Store(true); !f.stubborn.Load() {
		f.die(nil)
	}
}

func (f *fake) Kill() {
	if f.killed.Store(true); !f.frozen.Load() {
		f.die(errors.New("signal: killed"))
	}
}

func (f *fake) die(status error) {
	f.once.Do(func() {
		f.status = status
		f.out.Close()
		close(f.ended)
	})
}

// bring writes a frame as a child would.
func (f *fake) bring(fr *frame.Frame) {
	if err := frame.Write(f.out, fr); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		f.t.Error(err)
	}
}

// logged is what a child's supervision logged.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// lines that hold a text.
func (l *logged) lines(with string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, with) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

func (l *logged) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// nursery starts fakes in place of processes. Each child lives its life in a goroutine of its own.
type nursery struct {
	t     *testing.T
	child *Child
	log   logged

	mu     sync.Mutex
	starts []time.Time
	born   []*fake
}

// begun tells of the children so far, and when they began.
func (n *nursery) begun() (born []*fake, starts []time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.born), slices.Clone(n.starts)
}

// raise supervises children that live as told, one life after another; the last is repeated. It must run on a virtual
// clock.
func raise(t *testing.T, lives ...func(*fake)) *nursery {
	t.Helper()
	return raiseWith(t, func(*ChildConfig) {}, lives...)
}

// raiseAfter is raise for a child that takes the place of another.
func raiseAfter(t *testing.T, ended <-chan struct{}, lives ...func(*fake)) *nursery {
	t.Helper()
	return raiseWith(t, func(c *ChildConfig) { c.After = ended }, lives...)
}

// raiseWith is raise for a child that is told more.
func raiseWith(t *testing.T, tell func(*ChildConfig), lives ...func(*fake)) *nursery {
	t.Helper()
	n := &nursery{t: t}
	cfg := ChildConfig{Path: ChildName, Embedded: true, Interval: time.Second, Logger: n.log.logger(), Node: "node-a"}
	tell(&cfg)
	c, err := newChild(cfg)
	if err != nil {
		t.Fatal(err)
	}
	c.start = func(notes io.Writer) (process, error) {
		in, out := io.Pipe()
		f := &fake{t: t, in: in, out: out, notes: notes, ended: make(chan struct{})}
		n.mu.Lock()
		defer n.mu.Unlock()
		life := lives[min(len(n.starts), len(lives)-1)]
		n.starts, n.born = append(n.starts, time.Now()), append(n.born, f)
		go life(f)
		return f, nil
	}
	n.child = c
	c.supervision()
	return n
}

// after lets time pass, until everything has happened that happens in it.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// healthy brings a frame a second as long as it may.
func healthy(f *fake) { lasting(1 << 30)(f) }

// lasting brings n frames, a second apart, and ends.
func lasting(n int) func(*fake) {
	return func(f *fake) {
		for range n {
			f.bring(tick(h100(0)))
			select {
			case <-f.ended:
				return
			case <-time.After(time.Second):
			}
		}
		f.die(errors.New("exit status 6"))
	}
}

// silent never says anything.
func silent(f *fake) { <-f.ended }
