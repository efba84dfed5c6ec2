package kube

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

const (
	firstWait = time.Second
	lastWait  = time.Minute
	// long is how long a watch must have lasted for the next one to be begun at once.
	long = 5 * time.Second
)

// backoff makes whoever fails wait: the longer the more often, by chance, and as long as the server asks for.
type backoff struct{ failures int }

// after is how long to wait after an error; nil is an end too soon.
func (b *backoff) after(err error) time.Duration {
	b.failures++
	most := lastWait
	if b.failures < 7 {
		most = min(lastWait, firstWait<<(b.failures-1))
	}
	wait := rand.N(most)
	if refused, is := errors.AsType[*StatusError](err); is && refused.RetryAfter > 0 {
		wait += refused.RetryAfter
	}
	return wait
}

func (b *backoff) reset() { b.failures = 0 }

// sleep waits, and reports whether the context is still alive.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return ctx.Err() == nil
	}
}
