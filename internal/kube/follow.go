package kube

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// Sink takes what Follow is told. Its methods are called from Follow's goroutine, one at a time, and must not block.
// An object belongs to the sink once it was handed over.
type Sink[T Kind] interface {
	// Replace says that these objects are all that there are now.
	Replace(all []T)
	// Put says that an object has come or has changed.
	Put(T)
	// Delete says that an object is gone. Only its metadata is sure to be there.
	Delete(Metadata)
	// Told says how the following stands, each time that it changes, and at each word of the server.
	Told(State)
}

// State is how it stands with a Follow.
type State struct {
	// Up says that what the sink was told is what the server knows: a list is complete and a watch is running.
	Up bool
	// Heard is when the server last said something of use: a list, an event, or that there is nothing new. Zero: never.
	Heard time.Time
	// Problem is why Up is false, for people, with what to do about it where that is known. "" before the first answer.
	Problem string
	// Code is the HTTP status of the answer that Problem is of; 0 where there was none.
	Code int
}

// relistEvery is how long one list is trusted, and up to half as long again. No event of a watch should ever be missed;
// should one be, as after a cluster's database was put back, it ends here.
const relistEvery = time.Hour

// few is how often one thing may go wrong before it is taken to be wrong.
const few = 3

// errTooSoon is a watch that has ended again and again as soon as it was begun.
var errTooSoon = errors.New("the API server ends each watch as soon as it has begun")

// Follow tells the sink of all objects, and then of each change, until the context is done. It returns no error: whatever goes
// wrong is told, and tried again. Nothing is deleted because of an error.
func Follow[T Kind](ctx context.Context, c *Client, q Query, sink Sink[T]) {
	f := &follower[T]{client: c, query: q, sink: sink, version: "0"}
	for ctx.Err() == nil {
		f.began, f.words = time.Time{}, false
		err := f.step(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil && time.Since(f.began) >= long {
			f.wait.reset()
			f.short, f.doubt = 0, false
			continue
		}
		if !sleep(ctx, f.judge(err)) {
			return
		}
	}
}

// follower is the state of one Follow.
type follower[T Kind] struct {
	client *Client
	query  Query
	sink   Sink[T]

	version string // of what the sink knows; "0" before it knows anything
	listed  bool   // the sink has what a watch can go on from
	relist  time.Time
	began   time.Time // of the watch of this step; zero: it has not come to that
	words   bool      // that watch has said something
	doubt   bool      // a watch has begun well and gone wrong: that another begins is no news
	wait    backoff
	short   int // watches that have ended without a word as soon as they had begun, or could not begin where they should
	state   State
	said    string // the kind of problem that was logged last; "" when all is well
}

// step lists if it has to, and watches until the watch ends.
func (f *follower[T]) step(ctx context.Context) error {
	if f.listed && time.Now().After(f.relist) {
		f.listed = false
	}
	if !f.listed {
		all, version, err := list[T](ctx, f.client, f.query, f.version)
		if err != nil {
			return err
		}
		f.version, f.listed = version, true
		f.relist = time.Now().Add(relistEvery + rand.N(relistEvery/2))
		f.sink.Replace(all)
		f.state.Heard = time.Now()
		f.tell()
	}
	err := watch(ctx, f.client, f.query, f.version, told[T]{
		opened: f.opened,
		object: func(change string, object T) {
			if change == "DELETED" {
				f.sink.Delete(object.Meta())
				return
			}
			f.sink.Put(object)
		},
		heard: func(version string) {
			f.version = version
			f.words = true
			f.wait.reset()
			f.short, f.doubt = 0, false
			f.state.Heard = time.Now()
			if f.state.Up {
				f.tell()
				return
			}
			f.up()
		},
	})
	if errors.Is(err, errGone) {
		f.listed = false
	}
	return err
}

// judge takes note of how a step ended, and says how long to wait for the next one.
func (f *follower[T]) judge(err error) time.Duration {
	wait := f.wait.after(err)
	_, broken := errors.AsType[errBroken](err)
	opened := !f.began.IsZero()
	if opened && f.wait.failures >= few {
		f.listed = false // perhaps it is this version that the server stumbles over
	}
	gone := errors.Is(err, errGone)
	if gone || opened && !f.words && time.Since(f.began) < long {
		f.short++
	}
	switch {
	case (err == nil || broken || gone) && f.short < few:
		return wait // it is taken up again, which may go well
	case err == nil || broken:
		err = errTooSoon
	}
	f.doubt = opened
	f.down(err)
	return wait
}

// opened says that a watch is running on a complete list.
func (f *follower[T]) opened() {
	f.began = time.Now()
	f.state.Heard = f.began
	if f.doubt {
		f.tell() // so had the last one
		return
	}
	f.up()
}

func (f *follower[T]) up() {
	if f.said != "" || f.state == (State{Heard: f.state.Heard}) {
		f.client.config.Logger.Info("the Kubernetes API is followed", "resource", f.query.String())
	}
	f.said = ""
	f.state.Up, f.state.Problem, f.state.Code = true, "", 0
	f.tell()
}

// down says what is wrong: in the log only when it is something else than before.
func (f *follower[T]) down(err error) {
	kind := "unreachable"
	f.state.Up, f.state.Problem, f.state.Code = false, err.Error(), 0
	if refused, is := errors.AsType[*StatusError](err); is {
		f.state.Code, kind = refused.Code, refused.Reason+" "+refused.Verb
	}
	if f.said != kind {
		said := "the Kubernetes API is not followed: what was known last is kept"
		if f.state.Heard.IsZero() {
			said = "the Kubernetes API is not followed: nothing is known yet"
		}
		f.client.config.Logger.Warn(said, "resource", f.query.String(), "error", err)
	}
	f.said = kind
	f.tell()
}

func (f *follower[T]) tell() { f.sink.Told(f.state) }
