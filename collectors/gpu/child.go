package gpu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// DefaultStartTimeout is what the first frame may take: the host engine looks for its modules and cards before it.
const DefaultStartTimeout = 30 * time.Second

// ChildConfig is what a Child is told once.
type ChildConfig struct {
	Path     string // of goodput-dcgm; see FindChild; required
	Address  string // of a host engine: HOST:PORT, tcp://, unix:///PATH or vsock://CID:PORT; excludes Embedded
	Embedded bool   // run the host engine in the child
	// Profiling is "auto", "on" or "off"; "" is goodput-dcgm's default. Off leaves the profiling hardware to other tools; auto is
	// off when Embedded, and on otherwise.
	Profiling string
	// After is closed when the child that this one takes the place of has ended; nil when there was none. Two embedded host
	// engines at once would be in each other's way.
	After <-chan struct{}

	Interval     time.Duration // between frames; required. Three of them without a frame are a hang
	StartTimeout time.Duration // until the first frame; 0 is DefaultStartTimeout
	Node         string        // of the GPUs
	Keep         bool          // what readings are made from, for Kept
	Env          []string      // beside the exporter's own environment, such as LD_LIBRARY_PATH=...
	Logger       *slog.Logger  // one line for each change of state; nil is none
}

// args are the child's arguments.
func (c *ChildConfig) args() []string {
	args := []string{"--interval=" + c.Interval.String()}
	if c.Address != "" {
		args = append(args, "--address="+c.Address)
	}
	if c.Embedded {
		args = append(args, "--embedded")
	}
	if c.Profiling != "" {
		args = append(args, "--profiling="+c.Profiling)
	}
	return args
}

// Child reads DCGM through goodput-dcgm, a process of its own, since libdcgm can end or hang a process. It starts the
// child, restarts it when it ends, ends it when it hangs or writes what is no frame, and serves the newest frame as long
// as it is young. The child's fate never reaches beyond GPU readings.
type Child struct {
	cfg    ChildConfig
	logger *slog.Logger
	start  func(notes io.Writer) (process, error) // replaced by tests
	cancel context.CancelFunc
	done   chan struct{}
	judge  *judge // of the supervising goroutine
	notes  *notes

	mu      sync.Mutex
	newest  fact.GPUReading
	kept    []Raw     // at most maxKept
	arrived time.Time // of newest; zero when there was none
	down    ending    // why there is no younger one
	noted   *ending   // the state that was logged last; nil when none was
	closed  bool
}

// ending is why a child brings nothing, as in fact.GPUReading. The zero ending is none.
type ending struct {
	reason fact.Reason
	detail string
}

// NewChild starts a child and its supervision, which last until Close. The error names the setting at fault; a child that
// cannot be started is no error, but what Read says.
func NewChild(cfg ChildConfig) (*Child, error) {
	c, err := newChild(cfg)
	if err != nil {
		return nil, err
	}
	c.start = c.exec
	c.supervision()
	return c, nil
}

func newChild(cfg ChildConfig) (*Child, error) {
	switch {
	case cfg.Path == "":
		return nil, errors.New("gpu child: the path of goodput-dcgm is not set")
	case cfg.Interval <= 0:
		return nil, fmt.Errorf("gpu child: interval %v must be positive", cfg.Interval)
	case cfg.Embedded == (cfg.Address != ""):
		return nil, errors.New("gpu child: either the address of a host engine or embedded must be set, and not both")
	}
	if cfg.StartTimeout <= 0 {
		cfg.StartTimeout = DefaultStartTimeout
	}
	logger := cfg.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	c := &Child{
		cfg: cfg, logger: logger, judge: newJudge(cfg.Node), notes: newNotes(logger), done: make(chan struct{}),
		down: ending{fact.ReasonStarting, "goodput-dcgm was started and has not brought its first frame yet"},
	}
	if cfg.After != nil {
		c.down.detail = "goodput-dcgm is started when the one before it has ended"
	}
	return c, nil
}

func (c *Child) supervision() {
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	go func() {
		defer close(c.done)
		c.supervise(ctx)
	}()
}

// Name is NameChild.
func (c *Child) Name() string { return NameChild }

// Read returns the newest frame's reading, or why there is none that is young enough. It does not wait.
func (c *Child) Read(context.Context) fact.GPUReading {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return c.nothing(ending{fact.ReasonNoSource, "closed"})
	case !c.arrived.IsZero() && time.Since(c.arrived) < c.limit():
		return c.newest
	case c.down.reason == "":
		return c.nothing(ending{fact.ReasonStale, fmt.Sprintf("goodput-dcgm has brought no frame for more than %v: DCGM or the driver is slow or hangs", c.limit())})
	}
	return c.nothing(c.down)
}

func (c *Child) nothing(e ending) fact.GPUReading {
	return fact.GPUReading{Source: NameChild, At: unix(time.Now()), Reason: e.reason, Detail: e.detail}
}

// limit is how long a frame holds, and how long the next may take.
func (c *Child) limit() time.Duration { return staleAfter * c.cfg.Interval }

// Close asks the child to end, and ends it when it does not. It returns when the child is gone, or after
// askedFor + killedFor: a process that hangs in the kernel cannot be ended, and is left behind.
func (c *Child) Close() error {
	c.cancel()
	<-c.done
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	return nil
}

// take makes a frame the newest.
func (c *Child) take(f *frame.Frame) {
	c.keep(f)
	r := c.judge.reading(f)
	c.mu.Lock()
	c.newest, c.arrived, c.down = r, time.Now(), ending{}
	c.mu.Unlock()
	c.note(ending{r.Reason, r.Detail})
}

// fell notes why there will be no frame for a while. The newest frame still holds as long as it is young.
func (c *Child) fell(e ending) {
	c.mu.Lock()
	c.down = e
	c.mu.Unlock()
	c.note(e)
}

// note logs a state when it is another than before. The empty one is a child that brings readings.
func (c *Child) note(e ending) {
	c.mu.Lock()
	same, version := c.noted != nil && *c.noted == e, c.newest.Version
	c.noted = &e
	c.mu.Unlock()
	switch {
	case same:
	case e.reason == "":
		c.logger.Info("GPU telemetry through DCGM is there", "version", version)
	default:
		c.logger.Warn("GPU telemetry through DCGM is not there", "reason", string(e.reason), "detail", e.detail)
	}
}
