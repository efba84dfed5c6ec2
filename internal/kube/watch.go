package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"time"
)

const (
	openTimeout = 30 * time.Second // until a watch has begun
	// idleLimit ends a watch that says nothing. A server that was asked for bookmarks sends one each minute; one that does
	// not is asked again, from where it was.
	idleLimit = 3 * time.Minute
	// minWatch and maxWatch bound how long a watch is asked for: in between, by chance, so that a cluster's exporters
	// do not all come back at once.
	minWatch = 5 * time.Minute
	maxWatch = 10 * time.Minute
)

var (
	errOpenTimeout = fmt.Errorf("the API server has not begun to answer after %v", openTimeout)
	errIdle        = errors.New("the API server says nothing")
	errGone        = errors.New("the API server has forgotten what came before")
)

// told is what a watch calls.
type told[T Kind] struct {
	opened func()                        // the server has begun to answer
	object func(change string, object T) // ADDED, MODIFIED, or DELETED
	heard  func(version string)          // after each word of the server
}

// watch follows the changes since a version until the server ends it. An end without an error is one that is in order.
func watch[T Kind](ctx context.Context, c *Client, q Query, version string, t told[T]) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	opening := time.AfterFunc(openTimeout, func() { cancel(errOpenTimeout) })
	params := q.params()
	params.Set("watch", "true")
	params.Set("allowWatchBookmarks", "true")
	params.Set("resourceVersion", version)
	params.Set("timeoutSeconds", strconv.Itoa(int((minWatch+rand.N(maxWatch-minWatch))/time.Second)))
	resp, err := c.get(ctx, "watch", q, params)
	opening.Stop()
	if err != nil {
		if refused, is := errors.AsType[*StatusError](err); is && refused.gone() {
			return errGone
		}
		return err
	}
	defer resp.Body.Close()
	t.opened()
	idle := time.AfterFunc(idleLimit, func() { cancel(errIdle) })
	defer idle.Stop()
	s := newStream(resp.Body, limits{object: c.config.limits.object})
	for {
		var e event
		if err := s.value(&e); err != nil {
			return watchEnd(context.Cause(ctx), err, q)
		}
		idle.Reset(idleLimit)
		if err := take(e, q, t); err != nil {
			return err
		}
	}
}

// watchEnd says what the end of a watch means. A connection that breaks, even within an event, is taken up again.
func watchEnd(cause, err error, q Query) error {
	switch {
	case errors.Is(cause, errIdle):
		return nil
	case cause != nil:
		return cause
	case errors.Is(err, io.EOF):
		return nil
	case errors.Is(err, errObjectTooLarge) || isGarbage(err):
		return fmt.Errorf("watch of %s: %w", q, err)
	}
	return errBroken{err}
}

// errBroken is a connection that broke off.
type errBroken struct{ error }

func (e errBroken) Unwrap() error { return e.error }

// isGarbage reports whether the server's words, not the connection, were wrong.
func isGarbage(err error) bool {
	_, syntax := errors.AsType[*json.SyntaxError](err)
	_, kind := errors.AsType[*json.UnmarshalTypeError](err)
	return syntax || kind
}

// take understands one event.
func take[T Kind](e event, q Query, t told[T]) error {
	switch e.Type {
	case "ADDED", "MODIFIED", "DELETED":
		var object T
		if err := json.Unmarshal(e.Object, &object); err != nil {
			return fmt.Errorf("watch of %s: %w", q, err)
		}
		m := object.Meta()
		if m.Name == "" || m.ResourceVersion == "" {
			return fmt.Errorf("watch of %s: an object without a name or a version: this is no Kubernetes API", q)
		}
		t.object(e.Type, object)
		t.heard(m.ResourceVersion)
	case "BOOKMARK":
		var object Object
		if err := json.Unmarshal(e.Object, &object); err != nil || object.Metadata.ResourceVersion == "" {
			return fmt.Errorf("watch of %s: a bookmark without a version", q)
		}
		t.heard(object.Metadata.ResourceVersion)
	case "ERROR":
		var s status
		if err := json.Unmarshal(e.Object, &s); err != nil {
			return fmt.Errorf("watch of %s: an error that cannot be read: %w", q, err)
		}
		refused := s.refused("watch", q)
		if refused.gone() {
			return errGone
		}
		return refused
	}
	// What else there may be one day tells nothing that the next list would not.
	return nil
}
