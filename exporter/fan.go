package exporter

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// fan polls many targets at once so that each pays for itself only: it has its own goroutine, its own deadline, and
// its own fate.
type fan struct {
	slots chan struct{} // one for each poll that is worked on
	log   *slog.Logger

	mu     sync.Mutex
	busy   map[string]bool // targets with a poll that has not returned, maybe of an earlier round
	flying sync.WaitGroup
}

// polled is a poll with the target as it was when the poll began.
type polled struct {
	fact.Poll
	target fact.Target
}

func newFan(parallel int, log *slog.Logger) *fan {
	return &fan{slots: make(chan struct{}, parallel), log: log, busy: map[string]bool{}}
}

// poll polls all targets and returns one poll of each, in their order, when the last has answered or the deadline has
// passed. Polls go on by the settings that they began with. A poller that does not heed its context is left behind: its target has timed out, and what it says later is
// not heard.
//
// When the program ends, poll returns at once, whatever is still to come.
func (f *fan) poll(program context.Context, s *settings, deadline time.Time, targets []fact.Target) []polled {
	ctx, cancel := context.WithDeadline(program, deadline)
	defer cancel()
	type result struct {
		at   int
		poll fact.Poll
	}
	results := make(chan result, len(targets))
	patience := f.patience(time.Until(deadline), len(targets))
	out := make([]polled, len(targets))
	waiting := 0
	for i, t := range targets {
		out[i] = polled{target: t, Poll: failed(t, fact.ReasonTimeout, "no answer before the end of the round")}
		if !f.claim(t.ID) {
			out[i].Detail = "the poll of an earlier round has not returned yet"
			continue
		}
		waiting++
		f.flying.Go(func() {
			results <- result{i, f.one(ctx, s, t, patience)}
		})
	}
	// Polls that end because of the deadline say how far they came; they get a moment to say it.
	moment := time.NewTimer(time.Until(deadline) + s.Timeout/20)
	defer moment.Stop()
	for ; waiting > 0; waiting-- {
		select {
		case r := <-results:
			out[r.at].Poll = r.poll
		case <-moment.C:
			return out
		case <-program.Done():
			return out
		}
	}
	return out
}

// patience is how long a poll may hold its slot. Slots bound what is worked on at once, and a poll that waits for a
// silent engine is not work: it goes on without a slot. So short that even if all were silent, each target would
// begin in the first half of the round.
func (f *fan) patience(round time.Duration, targets int) time.Duration {
	waves := (targets + cap(f.slots) - 1) / cap(f.slots)
	return round / time.Duration(2*max(1, waves))
}

// one polls one claimed target within its own deadline, and releases it. A panic costs this target its poll, and
// nothing else.
func (f *fan) one(ctx context.Context, s *settings, t fact.Target, patience time.Duration) (p fact.Poll) {
	defer f.release(t.ID)
	defer func() {
		if r := recover(); r != nil {
			f.log.Error("a poll panicked: this is a fault of the exporter, please report it", "engine", t.ID, "panic", panicText(r), "stack", string(debug.Stack()))
			p = failed(t, fact.ReasonInternal, "the poll panicked, see the log: this is a fault of the exporter")
		}
	}()
	select {
	case f.slots <- struct{}{}:
	case <-ctx.Done():
		return failed(t, fact.ReasonTimeout, "the round ended before the poll could begin")
	}
	free := sync.OnceFunc(func() { <-f.slots })
	defer free()
	defer time.AfterFunc(patience, free).Stop()

	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	p = s.Poller.Poll(ctx, t)
	p.Target = t.ID
	p.Detail = scrub(p.Detail, t.URL)
	if p.Sample == nil && p.Reason == "" {
		p.Reason = fact.ReasonInternal
	}
	return p
}

func (f *fan) claim(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.busy[id] {
		return false
	}
	f.busy[id] = true
	return true
}

func (f *fan) release(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.busy, id)
}

// flies reports whether a poll of a target has not returned yet.
func (f *fan) flies(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.busy[id]
}

// drain waits until all polls have returned, but no longer than the limit.
func (f *fan) drain(limit time.Duration) error {
	if within(limit, &f.flying) {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return fmt.Errorf("%d polls have not returned %v after the end: the poller does not heed its context", len(f.busy), limit)
}

// within reports whether all that is waited for has ended by the limit.
func within(limit time.Duration, all *sync.WaitGroup) bool {
	done := make(chan struct{})
	go func() {
		all.Wait()
		close(done)
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// failed is the poll of a target that brought nothing, and to which nothing was sent.
func failed(t fact.Target, reason fact.Reason, detail string) fact.Poll {
	now := unix(time.Now())
	return fact.Poll{Target: t.ID, Sent: now, Received: now, Reason: reason, Detail: detail}
}

// panicText tells of a panic what cannot hold a secret: the text of a runtime error, else only the type.
func panicText(r any) string {
	if err, ok := r.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("value of type %T", r)
}

// scrub takes a target's address, password and query out of a text. Pollers do not put them there; this holds even if
// one does, for example with the text of an url.Error.
func scrub(text, raw string) string {
	if raw == "" {
		return text
	}
	text = strings.ReplaceAll(text, raw, shownURL(raw))
	u, err := url.Parse(raw)
	if err != nil {
		return text
	}
	text = strings.ReplaceAll(text, u.Redacted(), shownURL(raw))
	secrets := []string{u.RawQuery}
	if u.User != nil {
		password, _ := u.User.Password()
		secrets = append([]string{u.User.String(), password}, secrets...)
	}
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "<secret>")
		}
	}
	return text
}
