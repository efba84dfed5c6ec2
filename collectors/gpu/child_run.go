package gpu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

const (
	firstRestart = time.Second
	lastRestart  = time.Minute
	// steady is how long a child must have brought frames for its end to count as the first.
	steady = time.Minute

	// askedFor is what a child gets to end in peace. A card froze when its reader was killed while it was profiling
	// (NVIDIA/dcgm-exporter#84), so that killing is the last resort. The child itself waits 2 s for the library.
	askedFor  = 5 * time.Second
	killedFor = 2 * time.Second
)

// process is a child under way.
type process interface {
	Frames() io.Reader // its standard output; ends when the child ends, or with Close
	Ask()              // to end
	Kill()
	Wait() error // until it has ended; once
	Close()      // lets go of what Frames reads from
}

// supervise runs one child after another until ctx ends.
func (c *Child) supervise(ctx context.Context) {
	if c.cfg.After != nil {
		select {
		case <-c.cfg.After:
		case <-ctx.Done():
			return
		}
	}
	wait := firstRestart
	for {
		why, brought := c.life(ctx)
		if ctx.Err() != nil {
			return
		}
		if brought >= steady {
			wait = firstRestart
			c.notes.again()
		}
		c.fell(why)
		select {
		case <-ctx.Done():
			return
		case <-time.After(jitter(wait)):
		}
		wait = min(2*wait, lastRestart)
	}
}

// jitter spreads restarts by a fifth, so that the children of many nodes do not come back to one host engine, or to one
// broken mount, at the same time.
func jitter(d time.Duration) time.Duration {
	spread := time.Duration((rand.Float64()*0.4 - 0.2) * float64(d))
	return min(max(d+spread, firstRestart), lastRestart)
}

// life is one child from its start to its end: why it ended, and for how long it brought frames.
func (c *Child) life(ctx context.Context) (why ending, brought time.Duration) {
	c.judge.begin()
	c.notes.begin()
	p, err := c.start(c.notes)
	if err != nil {
		return cannotStart(c.cfg.Path, err), 0
	}
	frames, broken, exited := make(chan *frame.Frame), make(chan error, 1), make(chan error, 1)
	stop := make(chan struct{})
	go pump(p.Frames(), frames, broken, stop)
	go func() { exited <- p.Wait() }()
	defer p.Close() // ends the pump when another process still holds the pipe
	defer close(stop)

	why, brought, status, gone := c.watch(ctx, frames, broken, exited)
	if !gone {
		status, gone = c.end(ctx, p, exited)
	}
	if why.reason == "" && gone {
		why = ended(status, c.notes.last())
	}
	return why, brought
}

// pump reads frames until there are no more.
func pump(r io.Reader, frames chan<- *frame.Frame, broken chan<- error, stop <-chan struct{}) {
	in := frame.NewReader(r)
	for {
		f, err := in.Next()
		if err != nil {
			broken <- err
			return
		}
		select {
		case frames <- f:
		case <-stop:
			return
		}
	}
}

// rest takes what a child wrote before it ended, and is in the pipe still. Another process may hold the pipe open.
func (c *Child) rest(frames <-chan *frame.Frame, broken <-chan error) {
	late := time.NewTimer(time.Second)
	defer late.Stop()
	for {
		select {
		case f := <-frames:
			c.take(f)
		case <-broken:
			return
		case <-late.C:
			return
		}
	}
}

// watch takes frames until the child ends (gone, with its status) or has to be ended. why is empty where its exit status
// will tell.
func (c *Child) watch(ctx context.Context, frames <-chan *frame.Frame, broken, exited <-chan error) (why ending, brought time.Duration, status error, gone bool) {
	var first time.Time
	late := time.NewTimer(c.cfg.StartTimeout)
	defer late.Stop()
	for {
		select {
		case f := <-frames:
			if first.IsZero() {
				first = time.Now()
			}
			brought = time.Since(first)
			c.take(f)
			late.Reset(c.limit())
		case err := <-broken:
			if why = broke(err); why.reason == "" { // its end tells why, if it is left to end
				if status, gone = within(exited, askedFor); !gone {
					why = ending{fact.ReasonTruncated, "goodput-dcgm closed its standard output and did not end, so that it was ended"}
				}
			}
			return why, brought, status, gone
		case status = <-exited:
			c.rest(frames, broken)
			return ending{}, brought, status, true
		case <-late.C:
			limit := c.limit()
			if first.IsZero() {
				limit = c.cfg.StartTimeout
			}
			return ending{fact.ReasonTimeout, fmt.Sprintf("goodput-dcgm brought no frame for %v and was ended: DCGM or the driver hangs; see whether nvidia-smi answers", limit)}, brought, nil, false
		case <-ctx.Done():
			return ending{}, brought, nil, false
		}
	}
}

// broke says what an error on the pipe means; the end of the pipe means nothing yet.
func broke(err error) ending {
	switch {
	case errors.Is(err, frame.ErrVersion):
		return ending{fact.ReasonDialect, err.Error()}
	case errors.Is(err, frame.ErrTooLarge):
		return ending{fact.ReasonTooLarge, "goodput-dcgm was ended: " + clip(err.Error(), maxNote)}
	case errors.Is(err, frame.ErrGarbage):
		return ending{fact.ReasonParse, "goodput-dcgm was ended, since it wrote what is no frame: " + clip(err.Error(), maxNote)}
	}
	return ending{}
}

// end ends a child: it asks, and kills when asking does not help. A child that cannot be killed hangs in the kernel; no
// other is started beside it, since that would hang there too.
func (c *Child) end(ctx context.Context, p process, exited <-chan error) (status error, gone bool) {
	p.Ask()
	if status, gone = within(exited, askedFor); gone {
		return status, true
	}
	p.Kill()
	if status, gone = within(exited, killedFor); gone {
		return status, true
	}
	c.fell(ending{fact.ReasonTimeout, "goodput-dcgm hangs in the kernel and cannot be killed: a card or its driver does not answer; the node has to be looked at, and rebooted"})
	select {
	case status = <-exited:
		return status, true
	case <-ctx.Done():
		return nil, false
	}
}

func within(exited <-chan error, d time.Duration) (error, bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case status := <-exited:
		return status, true
	case <-timer.C:
		return nil, false
	}
}
