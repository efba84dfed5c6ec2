package kubernetes

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// State is what became of a pod.
type State string

// The states. A pod that no selector matches is not counted.
const (
	Polled      State = "polled"      // an engine
	Starting    State = "starting"    // an engine that has not become ready yet
	Pending     State = "pending"     // it has no address, or nothing runs in it yet
	Ended       State = "ended"       // it has succeeded or failed
	Terminating State = "terminating" // it is being deleted
	NoEndpoint  State = "no_endpoint" // no endpoint is expected: a worker, or none of the ports
	Refused     State = "refused"     // what it asks for is not allowed, or there are too many
)

// States are all of them, in the order in which they are shown.
func States() []State {
	return []State{Polled, Starting, Pending, Ended, Terminating, NoEndpoint, Refused}
}

// Status is how it stands, and what became of the pods.
type Status struct {
	Up     bool      // the API server is followed, everywhere: the list is what it knows
	Since  time.Time // that Up is what it is
	Synced time.Time // when the API server last said what there is, or that there is nothing new: the oldest such word of the namespaces that it has spoken of; zero: of none, so that nobody knows the engines
	Detail string    // why Up is false, for people; "" when it is true
	// Unknown are the namespaces that the API server has not spoken of yet, while it has of others: what is said of pods is of those.
	Unknown []string
	Asked   bool // the API server has spoken of each namespace, or was asked in vain

	Seen    int           // pods in sight, selected or not
	Pods    map[State]int // selected pods
	Skipped []Skip        // selected pods that are not polled, by namespace and name: the first hundred
}

// Skip is a selected pod that is not polled.
type Skip struct {
	Pod   string // namespace/name
	State State
	Why   string // with the remedy, where there is one
}

// Status is how it stands.
func (w *Watcher) Status() Status {
	m := w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	s := Status{Up: w.up, Since: w.since, Pods: maps.Clone(m.pods), Skipped: slices.Clone(m.skipped), Asked: true}
	var problems []string
	for _, space := range w.spaces {
		s.Seen += len(space.seen)
		s.Asked = s.Asked && space.asked()
		if heard := space.state.Heard; heard.IsZero() {
			s.Unknown = append(s.Unknown, space.name)
		} else if s.Synced.IsZero() || heard.Before(s.Synced) {
			s.Synced = heard
		}
		if p := space.state.Problem; p != "" && !slices.Contains(problems, p) {
			problems = append(problems, p)
		}
	}
	if !s.Up {
		if s.Detail = strings.Join(problems, "; "); s.Detail == "" {
			s.Detail = "the API server has not answered yet"
		}
	}
	if s.Synced.IsZero() {
		s.Unknown = nil // all of them
	}
	return s
}

// Knows reports whether List has what the API server has said of a namespace, now or once. Where a namespace is not looked at, that
// is nothing.
func (w *Watcher) Knows(namespace string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !slices.ContainsFunc(w.spaces, func(s *space) bool {
		return (s.name == "" || s.name == namespace) && s.state.Heard.IsZero()
	})
}

// settleUp takes note of whether all spaces are followed. The lock is held.
func (w *Watcher) settleUp() {
	up := !slices.ContainsFunc(w.spaces, func(s *space) bool { return !s.state.Up })
	if up != w.up {
		w.up, w.since = up, time.Now()
	}
}
