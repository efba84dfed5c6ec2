//go:build linux && cgo

package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
)

// patience is after how many ticks without values in a row the process gives up: a new one may do better.
const patience = 3

// census is after how many ticks it is asked who is there, and whether the profiling counters are free again.
const census = 30

// reader is the state between two ticks.
type reader struct {
	opts    options
	notes   io.Writer
	session *session
	watcher *watcher
	plan    *plan
	events  events
	ticks   int               // since the last census
	failed  int               // ticks without values in a row
	told    map[string]string // by subject, what was last written to notes
}

// read is the life of the process: connect, watch, and write a frame a tick until ctx ends or something fails.
func read(ctx context.Context, opts options, out, notes io.Writer) error {
	s, err := open(opts.engine, notes)
	if err != nil {
		return err
	}
	defer s.close()
	r := &reader{opts: opts, notes: notes, session: s, watcher: newWatcher(opts.interval), told: map[string]string{}}
	inv, note, err := lookAround()
	if err == nil {
		r.say("inventory", note)
		r.plan, err = makePlan(r.watcher, opts, inv)
	}
	if err != nil {
		return fail(frame.ExitEngine, "%s: %w", opts.engine, err)
	}
	r.say("plan", r.plan.note)
	defer func() { r.plan.end() }()
	tick := time.NewTicker(opts.interval)
	defer tick.Stop()
	for {
		if err := r.tick(out); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// say writes a note when it differs from the last one about its subject. An empty one ends the subject.
func (r *reader) say(subject, note string) {
	if note != "" && r.told[subject] != note {
		fmt.Fprintf(r.notes, "goodput-dcgm: %s\n", note)
	}
	r.told[subject] = note
}

// tick writes one frame, or none when the values could not be read this time.
func (r *reader) tick(out io.Writer) error {
	if r.ticks++; r.ticks > census {
		if err := r.recount(); err != nil {
			return err
		}
	}
	entities, newest, err := r.plan.readValues()
	if err != nil {
		return r.unread(err)
	}
	r.failed = 0
	r.say("values", "")
	fresh, err := r.events.read(r.plan, newest)
	r.say("events", text(err))
	f := &frame.Frame{
		At: float64(time.Now().UnixMicro()) / 1e6, Interval: r.opts.interval.Seconds(),
		Mode: r.opts.engine.mode(), Library: r.session.library.String(), Engine: r.session.host.String(),
		Entities: entities, Events: fresh, EventsLost: err != nil, Unavailable: r.plan.unavailable(),
	}
	if err := frame.Write(out, f); err != nil {
		return fmt.Errorf("nobody takes the frames: %w", err)
	}
	return nil
}

// unread is a tick without values: the end when the session is lost, and after patience.
func (r *reader) unread(err error) error {
	if gone := lost("read values", err); gone != nil {
		return gone
	}
	r.failed++
	r.ticks = census // an entity that went away can spoil the whole call
	r.say("values", fmt.Sprintf("read values: %v", err))
	if r.failed >= patience {
		return fail(frame.ExitEngine, "read values: %d times in a row: %w", r.failed, err)
	}
	return nil
}

// recount watches anew when cards or instances have come or gone, or when profiling may work by now. A list that cannot be
// had is no reason to end: if the engine is gone, the read that follows says so.
func (r *reader) recount() error {
	r.ticks = 0
	inv, note, err := lookAround()
	if err != nil {
		r.say("inventory", err.Error())
		return nil
	}
	r.say("inventory", note)
	if note != "" {
		inv.instances, inv.computes = r.plan.inv.instances, r.plan.inv.computes
	}
	if inv.equal(r.plan.inv) && !r.plan.retry {
		return nil
	}
	fresh, err := makePlan(r.watcher, r.opts, inv)
	if err != nil {
		return fail(frame.ExitEngine, "%s: %w", r.opts.engine, err)
	}
	r.plan.end()
	r.plan = fresh
	r.say("plan", fresh.note)
	return nil
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
