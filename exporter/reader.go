package exporter

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// reader reads one source on its own clock. All methods but the reading itself are called by one goroutine.
type reader[T any] struct {
	what string // is read, for people
	log  *slog.Logger

	source   any // that is read; nil for none
	interval time.Duration
	cancel   context.CancelFunc

	box     *atomic.Pointer[T] // the newest reading of source that nobody has taken
	flying  sync.WaitGroup
	running atomic.Int64
}

// start reads a source from now on until the context is done, in place of what was read, unless that is the same.
func (r *reader[T]) start(ctx context.Context, source any, interval time.Duration, read func(context.Context) T) {
	if r.source == source && r.interval == interval {
		return
	}
	r.stop()
	ctx, cancel := context.WithCancel(ctx)
	box := &atomic.Pointer[T]{}
	r.source, r.interval, r.cancel, r.box = source, interval, cancel, box
	r.running.Add(1)
	r.flying.Go(func() {
		defer r.running.Add(-1)
		r.loop(ctx, interval, read, box)
	})
}

// stop ends reading. What a source that was stopped still brings is not heard.
func (r *reader[T]) stop() {
	if r.cancel != nil {
		r.cancel()
	}
	r.source, r.interval, r.cancel, r.box = nil, 0, nil, nil
}

// loop reads at once and then whenever an interval has passed. A reading that takes longer delays the next.
func (r *reader[T]) loop(ctx context.Context, interval time.Duration, read func(context.Context) T, box *atomic.Pointer[T]) {
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for {
		if got := r.one(ctx, interval, read); got != nil && ctx.Err() == nil {
			box.Store(got)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}

// one reads once within its deadline. A panic costs this reading, and nothing else.
func (r *reader[T]) one(ctx context.Context, interval time.Duration, read func(context.Context) T) (got *T) {
	ctx, cancel := context.WithTimeout(ctx, interval*8/10)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("a reading panicked: this is a fault of the exporter, please report it", "of", r.what, "panic", panicText(p), "stack", string(debug.Stack()))
			got = nil
		}
	}()
	v := read(ctx)
	return &v
}

// take returns the newest reading, once; nil when there is none that was not taken.
func (r *reader[T]) take() *T {
	if r.box == nil {
		return nil
	}
	return r.box.Swap(nil)
}

// drain stops reading and waits until the source has returned, but no longer than the limit.
func (r *reader[T]) drain(limit time.Duration) error {
	r.stop()
	if within(limit, &r.flying) {
		return nil
	}
	if n := r.running.Load(); n > 0 {
		return fmt.Errorf("%d readings of %s have not returned after the end: the source does not heed its context", n, r.what)
	}
	return nil
}
