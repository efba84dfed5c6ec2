// Package exporter moves data: in every round it asks each engine for its page, hands what came back to the reducer,
// and publishes the snapshot that comes out to whoever reads it over HTTP. It does not know how pages look, where
// targets come from, or how anything is judged.
package exporter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// Source knows the targets of this moment. Their ids are unique; of two targets with one id the first is polled.
type Source interface {
	Targets() []fact.Target
}

// Poller reads one engine's page. It returns when the context is done at the latest, is called for many targets at
// once but never twice at once for one, and puts no secret into the poll's detail.
//
// Forget drops what is kept for a target that is none any more; it is not called while a poll of the target goes on.
type Poller interface {
	Poll(context.Context, fact.Target) fact.Poll
	Forget(id string)
}

// SpanSource holds the spans that came in. Drain hands over those that have not been handed over yet; it is called once
// a round, never twice at once, and does not block.
type SpanSource interface {
	Drain() []fact.Span
}

// GPUSource brings a reading of the GPUs. Read returns when the context is done at the latest, and may be called by several
// at once. Sources are compared with ==, so they are pointers.
type GPUSource interface {
	Read(context.Context) fact.GPUReading
}

// ClaimSource brings an account of which container holds which device, on the same terms. One with the reason
// fact.ReasonNoSource is passed over: there is nobody to be asked.
type ClaimSource interface {
	Read(context.Context) fact.DeviceClaims
}

// Reducer folds what a round brought into a snapshot, which it does not write to afterwards.
type Reducer interface {
	Apply(fold.Round) *fold.Snapshot
}

// Config is what an Exporter needs. Parallel, Logger, Started, Version and Inputs may be left out.
type Config struct {
	Settings

	Parallel int // polls that are worked on at once; 64 by default
	Reducer  Reducer

	Logger  *slog.Logger // nothing is logged by default
	Started time.Time    // when polling starts; now by default. The reducer must have been told the same
	Version string       // of this program, for people
	Inputs  func() Inputs
}

// Inputs says how what the exporter is fed with is doing, but for the engines. It is asked at each scrape.
type Inputs struct {
	ReloadOK                                             bool
	Reloaded                                             time.Time // when the configuration in use was read
	TargetFilesBroken, TargetsRefused, AccessFilesBroken int
	Spans                                                *SpanIntake // nil: none are taken in
	Discovery                                            *Discovery  // nil: engines are looked for nowhere
}

// SpanIntake is how the taking in of spans goes, since the exporter started.
type SpanIntake struct {
	Messages []MessageTally
	// Spans by what became of them at the door, all words of closed sets: "taken", "other_name" (not a request),
	// "refused" (its values cannot be true, see Refused), "full" (no room; the sender was told to come again).
	Spans             []fold.Tally
	Refused           []fold.Tally // spans that were refused, by why
	Buffered, Room    int          // spans that wait for the next round, and how many may
	CredentialsBroken int          // files with certificates, keys or tokens that could not be used when last needed
}

// MessageTally counts messages by protocol ("http", "grpc") and outcome ("ok", "partial", or why not: "too_large", "malformed",
// "unsupported", "unauthorized", "full", "busy", "broken").
type MessageTally struct {
	Protocol, Outcome string
	Count             uint64
}

// Exporter polls in rounds and serves the last round's snapshot.
type Exporter struct {
	config  Config
	reducer Reducer
	fan     *fan
	journal *journal
	log     *slog.Logger

	settings atomic.Pointer[settings] // in force
	pending  atomic.Pointer[settings] // from the next round on; nil: no others
	paces    *paces                   // these three are Run's
	readings *readings
	known    map[string]bool // ids of targets that have been polled

	begun    atomic.Pointer[time.Time] // when Run began
	last     atomic.Pointer[view]
	duration prometheus.Histogram
	handler  http.Handler
}

// view is what one round left behind for all who read. It is never written to after it was published.
type view struct {
	settings       *settings
	snapshot       *fold.Snapshot
	intervals      map[string]float64 // seconds between two polls, by target
	ended          time.Time
	rounds, missed uint64
	down           map[string]fact.Poll // the failed polls of the round, by target
}

// defaultParallel bounds the polls that are worked on at once: a node has 1 to 16 engines, a central exporter hundreds.
const defaultParallel = 64

// New checks a configuration and returns an exporter whose handler can serve at once and whose Run has to be called.
func New(c Config) (*Exporter, error) {
	if c.Parallel == 0 {
		c.Parallel = defaultParallel
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Started.IsZero() {
		c.Started = time.Now()
	}
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("exporter: %w", err)
	}
	e := &Exporter{
		config: c, reducer: c.Reducer, log: c.Logger,
		fan:      newFan(c.Parallel, c.Logger),
		journal:  newJournal(c.Logger),
		known:    map[string]bool{},
		readings: newReadings(c.Logger),
		duration: newDuration(),
	}
	first, err := e.newSettings(c.Settings)
	if err != nil {
		return nil, fmt.Errorf("exporter: %w", err)
	}
	e.settings.Store(first)
	e.paces = newPaces(&first.Settings)
	if e.handler, err = e.newHandler(c); err != nil {
		return nil, fmt.Errorf("exporter: %w", err)
	}
	return e, nil
}

func (c *Config) validate() error {
	var errs []error
	need := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	need(c.Parallel > 0, "parallel %d must be positive", c.Parallel)
	need(c.Reducer != nil, "a reducer is missing")
	return errors.Join(append(errs, c.mistakes()...)...)
}

// Snapshot is what the last round said; nil before the first has ended. It must not be written to.
func (e *Exporter) Snapshot() *fold.Snapshot { return e.view().snapshot }

// Handler serves metrics, health and status.
func (e *Exporter) Handler() http.Handler { return e.handler }

// inputs says how what the exporter is fed with is doing; that nothing is wrong where nobody says.
func (e *Exporter) inputs() Inputs {
	if e.config.Inputs == nil {
		return Inputs{ReloadOK: true, Reloaded: e.config.Started}
	}
	return e.config.Inputs()
}

func (e *Exporter) view() *view {
	if v := e.last.Load(); v != nil {
		return v
	}
	return &view{settings: e.settings.Load()}
}
