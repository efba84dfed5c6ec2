package exporter

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// targets is a source whose targets a test may change.
type targets struct {
	mu   sync.Mutex
	list []fact.Target
}

func (s *targets) Targets() []fact.Target {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list
}

func (s *targets) set(list ...fact.Target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = list
}

func named(ids ...string) *targets {
	s := &targets{}
	for _, id := range ids {
		s.list = append(s.list, fact.Target{ID: id, URL: "http://" + id + ".example:8000/metrics"})
	}
	return s
}

// pollerFunc is a poller that answers as a test wants.
type pollerFunc func(context.Context, fact.Target) fact.Poll

func (f pollerFunc) Poll(ctx context.Context, t fact.Target) fact.Poll { return f(ctx, t) }
func (pollerFunc) Forget(string)                                       {}

// after answers with a page after a while, or with a timeout when the context ends before.
func after(ctx context.Context, d time.Duration) fact.Poll {
	sent := unix(time.Now())
	select {
	case <-time.After(d):
		return fact.Poll{Sent: sent, Received: unix(time.Now()), Sample: &fact.EngineSample{}}
	case <-ctx.Done():
		return fact.Poll{Sent: sent, Received: unix(time.Now()), Reason: fact.ReasonTimeout, Detail: "no first byte"}
	}
}

// recorder is a reducer that keeps its rounds and says of each engine whether its poll brought a page.
type recorder struct {
	mu     sync.Mutex
	rounds []fold.Round
	change func(*fold.Snapshot) // what a test makes of the snapshot
	slow   func()               // what a test makes Apply wait for
}

// setSlow makes every further Apply wait for something first.
func (r *recorder) setSlow(wait func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.slow = wait
}

func (r *recorder) Apply(round fold.Round) *fold.Snapshot {
	// Waits without the lock: a bubble's clock stands still while a goroutine waits for a mutex.
	r.mu.Lock()
	slow := r.slow
	r.mu.Unlock()
	if slow != nil {
		slow()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rounds = append(r.rounds, round)
	s := &fold.Snapshot{At: round.At, Rounds: uint64(len(r.rounds))}
	for _, t := range round.Targets {
		e := fold.Engine{ID: t.ID, Target: t, Phase: fold.PhaseDown}
		for _, p := range round.Polls {
			if p.Target == t.ID && p.Sample != nil {
				e.Phase, e.Up, e.LastPoll, e.Since = fold.PhaseWarming, true, p.Received, startedAt
			}
		}
		s.Engines = append(s.Engines, e)
	}
	if r.change != nil {
		r.change(s)
	}
	return s
}

// round is the round that was folded as number i.
func (r *recorder) round(i int) fold.Round {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rounds[i]
}

// outcome writes the polls of a round as "a:ok b:timeout".
func outcome(round fold.Round) string {
	var parts []string
	for _, p := range round.Polls {
		word := "ok"
		if p.Sample == nil {
			word = string(p.Reason)
		}
		parts = append(parts, p.Target+":"+word)
	}
	return strings.Join(parts, " ")
}

// world is an exporter under test in a bubble of virtual time.
type world struct {
	*Exporter
	reducer *recorder
	log     bytes.Buffer
	begun   time.Time
	stop    context.CancelFunc
	ended   chan error
}

// start runs an exporter with an interval of 10 s and a timeout of 5 s, unless tune says otherwise.
func start(t *testing.T, s Source, p pollerFunc, tune func(*Config)) *world {
	t.Helper()
	w := &world{reducer: &recorder{}, begun: time.Now(), ended: make(chan error, 1)}
	// Only lines of info and above, without times.
	plain := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	c := Config{
		Settings: Settings{Interval: 10 * time.Second, Timeout: 5 * time.Second, Source: s, Poller: p}, Reducer: w.reducer,
		Logger: slog.New(slog.NewTextHandler(&w.log, &slog.HandlerOptions{ReplaceAttr: plain})),
	}
	if tune != nil {
		tune(&c)
	}
	e, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	w.Exporter = e
	var ctx context.Context
	ctx, w.stop = context.WithCancel(t.Context())
	go func() { w.ended <- e.Run(ctx) }()
	return w
}

// until lets time pass up to a moment after the start.
func (w *world) until(d time.Duration) {
	<-time.After(time.Until(w.begun.Add(d)))
	synctest.Wait()
}

// end stops the exporter and returns what Run returned.
func (w *world) end() error {
	w.stop()
	return <-w.ended
}

// history writes when rounds ended, in seconds after the start, and what they brought.
func (w *world) history() []string {
	w.reducer.mu.Lock()
	defer w.reducer.mu.Unlock()
	var out []string
	for _, r := range w.reducer.rounds {
		out = append(out, fmt.Sprintf("%.3gs %s", r.At-unix(w.begun), outcome(r)))
	}
	return out
}
