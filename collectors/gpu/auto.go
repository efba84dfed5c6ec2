package gpu

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

const (
	// DefaultPatience is how long a source may bring nothing before another one is looked for.
	DefaultPatience = time.Minute
	// DefaultProbe bounds the look for a page, so that a port that answers nothing leaves time for the rest of a round.
	DefaultProbe = 2 * time.Second
)

// AutoConfig is what an Auto is told once.
type AutoConfig struct {
	Page PageConfig // without URL and Locate it is at DefaultPageURL
	// Child is used when the page brings nothing. An empty path is looked for with FindChild; without address and Embedded
	// a host engine is asked at DefaultAddress.
	Child    ChildConfig
	Patience time.Duration // 0 is DefaultPatience
	Logger   *slog.Logger  // one line for each choice; nil is none
}

// DefaultAddress is where nv-hostengine listens by default.
const DefaultAddress = "localhost:5555"

// Auto chooses a source: a dcgm-exporter page if it brings GPUs, else DCGM through goodput-dcgm if that is installed, else
// none. It keeps its choice as long as that brings GPUs, and looks again after it has not for a while; from a child it goes
// back to a page that has brought GPUs for long.
type Auto struct {
	cfg     AutoConfig
	logger  *slog.Logger
	open    func(page fact.Reason) (Source, error) // the child, when the page failed so; replaced by tests
	listens func(address string) bool              // replaced by tests

	name atomic.Pointer[string] // of the choice

	begun time.Time

	mu      sync.Mutex
	page    Source
	child   Source         // nil while none runs
	closing sync.WaitGroup // of children that are not the choice any more
	chosen  Source         // page or child; nil for none
	why     string         // of the choice, for a person
	logged  string         // the choice that was logged last; "" none
	taken   time.Time      // when the choice was made
	good    time.Time      // when the choice last brought GPUs, or was made
	looked  time.Time      // when the page was last looked for
	nowhere bool           // it had to be found then, and was not to be found
	retry   time.Duration  // until a child is tried again that brought nothing
	resting time.Time      // until when it is not
	closed  bool

	proof     time.Duration // for how long the page must bring GPUs to take a child's place
	backSince time.Time     // since when it does, at every look; zero: it does not
}

// NewAuto returns an Auto, which looks for its source when it is first read.
func NewAuto(cfg AutoConfig) (*Auto, error) {
	if cfg.Page.URL == "" && cfg.Page.Locate == nil {
		cfg.Page.URL = DefaultPageURL
	}
	if cfg.Patience <= 0 {
		cfg.Patience = DefaultPatience
	}
	if cfg.Child.Address == "" && !cfg.Child.Embedded {
		cfg.Child.Address = DefaultAddress
	}
	if cfg.Child.Logger == nil {
		cfg.Child.Logger = cfg.Logger
	}
	page, err := NewPage(cfg.Page)
	if err != nil {
		return nil, err
	}
	if cfg.Child.Interval <= 0 {
		return nil, fmt.Errorf("gpu child: interval %v must be positive", cfg.Child.Interval)
	}
	a := &Auto{cfg: cfg, logger: cfg.Logger, page: page, listens: listens, proof: proofs * cfg.Patience, begun: time.Now()}
	if a.logger == nil {
		a.logger = slog.New(slog.DiscardHandler)
	}
	a.open = a.openChild
	a.take(nil, "")
	return a, nil
}

// Name is that of the source that is chosen. It does not wait for a reading.
func (a *Auto) Name() string { return *a.name.Load() }

// take makes a choice.
func (a *Auto) take(s Source, why string) {
	name := NameNone
	if s != nil {
		name = s.Name()
	}
	now := time.Now()
	a.chosen, a.why, a.taken, a.good, a.backSince = s, why, now, now, time.Time{}
	a.name.Store(&name)
}

// log tells the choice when it is another than before. A child is not told of before it has brought something, or a node
// without GPUs would have a line with each attempt.
func (a *Auto) log() {
	if name := a.Name(); name != a.logged {
		a.logged = name
		a.logger.Info("source of GPU telemetry", "gpu_source", name, "why", a.why)
	}
}

func (a *Auto) none(why string) fact.GPUReading {
	return fact.GPUReading{Source: NameNone, At: unix(time.Now()), Reason: fact.ReasonNoSource, Detail: why}
}

// dismiss closes the child without waiting for it: one that hangs takes seconds.
func (a *Auto) dismiss() {
	if child := a.child; child != nil {
		a.closing.Go(func() { child.Close() })
		a.child = nil
	}
}

// Close closes what was opened, and returns when it is gone.
func (a *Auto) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dismiss()
	a.closing.Wait()
	a.closed, a.chosen = true, nil
	return a.page.Close()
}
