package gpu

import (
	"context"
	"errors"
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
// none. It keeps its choice as long as that brings GPUs, and looks again after it has not for a while.
type Auto struct {
	cfg    AutoConfig
	logger *slog.Logger
	open   func() (Source, error) // the child; replaced by tests

	name atomic.Pointer[string] // of the choice

	mu      sync.Mutex
	page    Source
	child   Source         // nil while none runs
	closing sync.WaitGroup // of children that are not the choice any more
	chosen  Source         // page or child; nil for none
	why     string         // of the choice, for a person
	logged  string         // the choice that was logged last; "" none
	good    time.Time      // when the choice last brought GPUs, or was made
	looked  time.Time      // when a source was last looked for
	retry   time.Duration  // until a child is tried again that brought nothing
	resting time.Time      // until when it is not
	closed  bool
}

// longestRetry is how long a child that never brings anything is left alone at most.
const longestRetry = 30 * time.Minute

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
	a := &Auto{cfg: cfg, logger: cfg.Logger, page: page}
	if a.logger == nil {
		a.logger = slog.New(slog.DiscardHandler)
	}
	a.open = a.openChild
	a.take(nil, "")
	return a, nil
}

func (a *Auto) openChild() (Source, error) {
	cfg := a.cfg.Child
	path, err := FindChild(cfg.Path)
	if err != nil {
		return nil, errors.New("goodput-dcgm is not installed")
	}
	cfg.Path = path
	return NewChild(cfg)
}

// Name is that of the source that is chosen. It does not wait for a reading.
func (a *Auto) Name() string { return *a.name.Load() }

// Read reads the chosen source, and chooses first where that is due. Detail ends with what was chosen and why.
func (a *Auto) Read(ctx context.Context) fact.GPUReading {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
		return a.none("closed")
	case a.chosen == nil && !a.looked.IsZero() && time.Since(a.looked) < a.cfg.Patience:
		return a.none(a.why)
	case a.chosen == nil:
		return a.choose(ctx)
	}
	r := a.chosen.Read(ctx)
	if r.Reason != "" && time.Since(a.good) > a.cfg.Patience {
		return a.choose(ctx)
	}
	return a.told(r)
}

// told notes how the choice does, and adds the choice to its reading.
func (a *Auto) told(r fact.GPUReading) fact.GPUReading {
	if r.Reason == "" {
		a.good = time.Now()
		a.log()
		if a.chosen == a.child {
			a.retry = 0
		}
	}
	if r.Detail != "" {
		r.Detail += "; "
	}
	r.Detail += a.why
	return r
}

// choose looks for a source, in the order of preference. A child is the choice as soon as it runs, for as long as patience
// lasts: its first frame takes a while.
func (a *Auto) choose(ctx context.Context) fact.GPUReading {
	a.looked = time.Now()
	probe, cancel := context.WithTimeout(ctx, DefaultProbe)
	page := a.page.Read(probe)
	cancel()
	if page.Reason == "" {
		a.dismiss()
		a.take(a.page, "chosen since the dcgm-exporter page brings GPUs")
		return a.told(page)
	}
	failed := "no GPUs from " + page.Detail
	if a.child != nil { // it was the choice, and brought nothing for too long
		failed += "; none through DCGM: " + a.child.Read(ctx).Detail
		a.dismiss()
		a.retry = min(max(2*a.retry, 2*a.cfg.Patience), longestRetry)
		a.resting = a.looked.Add(a.retry)
	} else if a.looked.Before(a.resting) {
		failed += "; goodput-dcgm brought none and is tried again later"
	} else if child, err := a.open(); err != nil {
		failed += "; and " + err.Error()
	} else {
		a.child = child
		a.take(child, "chosen since there are "+failed)
		return a.told(child.Read(ctx))
	}
	a.take(nil, failed+"; install dcgm-exporter or goodput-dcgm, or set gpu.source to none where there are no GPUs")
	a.log()
	return a.none(a.why)
}

// take makes a choice.
func (a *Auto) take(s Source, why string) {
	name := NameNone
	if s != nil {
		name = s.Name()
	}
	a.chosen, a.why, a.good = s, why, time.Now()
	a.name.Store(&name)
}

// log tells the choice when it is another than before. A child is not told of before it has brought something, or a node
// without GPUs would have a line with each attempt.
func (a *Auto) log() {
	if name := a.Name(); name != a.logged {
		a.logged = name
		a.logger.Info("source of GPU telemetry", "source", name, "why", a.why)
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

// None is the source of a node without GPUs, or of one whose GPUs nobody asks for.
type None struct{}

// Name is NameNone.
func (None) Name() string { return NameNone }

// Read says that there is no source.
func (None) Read(context.Context) fact.GPUReading {
	return fact.GPUReading{Source: NameNone, At: unix(time.Now()), Reason: fact.ReasonNoSource, Detail: "gpu.source is none"}
}

// Close has nothing to close.
func (None) Close() error { return nil }

var (
	_ Source = (*Page)(nil)
	_ Source = (*Child)(nil)
	_ Source = (*Auto)(nil)
	_ Source = None{}
)
