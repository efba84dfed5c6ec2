package spans

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
)

// maxAtOnce is how many messages are read at once, of both protocols together: an engine sends one every five seconds,
// and reading it takes milliseconds.
const maxAtOnce = 32

// maxHeld is how many bytes of messages one listener holds that are still coming in, or wait to be decoded, unless a single
// message may have more: 100 batches of 512 spans. Without it maxAtOnce messages of the limit would be eight times as much.
const maxHeld = 64 << 20

// maxDecoding is how many messages are decoded at once, however many cores there are: each may take several times its
// limit, and one core decodes more than 100,000 requests a second.
const maxDecoding = 4

// comeAgain is when a sender may try again that there is no room for: a round, after which the buffer is empty, takes
// two seconds by default.
const comeAgain = 2 * time.Second

// door bounds what goes on at once.
type door struct {
	reading  chan struct{} // messages that come in
	calls    chan struct{} // those over gRPC, each of which may turn out to be as large as the limit
	decoding chan struct{} // messages that are read from memory
	held     *atomic.Int64 // bytes of messages over HTTP that have come in
}

// newDoor is for messages of at most so many bytes over gRPC.
func newDoor(maxMessage int64) door {
	return door{
		reading:  make(chan struct{}, maxAtOnce),
		calls:    make(chan struct{}, min(max(maxHeld/maxMessage, 1), maxAtOnce)),
		decoding: make(chan struct{}, min(runtime.GOMAXPROCS(0), maxDecoding)),
		held:     new(atomic.Int64),
	}
}

// enter reports whether there is room for one more message; then leave must be called.
func (d *door) enter() bool {
	select {
	case d.reading <- struct{}{}:
		return true
	default:
		return false
	}
}

func (d *door) leave() { <-d.reading }

// call waits for a moment until there is room for a message over gRPC, of which nothing is known before all of it is in
// memory; then hangUp must be called. Of one that waits no more than a window's worth is held.
func (d *door) call(ctx context.Context) bool {
	late := time.NewTimer(comeAgain)
	defer late.Stop()
	select {
	case d.calls <- struct{}{}:
		return true
	case <-late.C:
	case <-ctx.Done():
	}
	return false
}

func (d *door) hangUp() { <-d.calls }

// toll counts the bytes of a message over HTTP as they come in, so that one that is slow or short takes no more room than
// it needs.
type toll struct {
	from  io.Reader
	door  *door
	limit int64 // of one message, for which there is room whatever maxHeld is
	paid  int64
}

var errCrowded = errors.New("more than is held at once")

func (t *toll) Read(to []byte) (int, error) {
	n, err := t.from.Read(to)
	t.paid += int64(n)
	if t.door.held.Add(int64(n)) > max(maxHeld, t.limit+1) {
		return n, errCrowded
	}
	return n, err
}

// refund gives the room back.
func (t *toll) refund() {
	t.door.held.Add(-t.paid)
	t.paid = 0
}

// answer is what the sender is told.
type answer struct {
	outcome  string
	cause    cause  // "" for OK, Partial and Full
	sender   sender // as far as it is known, for the log
	rejected uint64 // spans, of Partial
	detail   string // "" for OK
}

func (e *Error) answer() answer {
	return answer{outcome: e.Outcome, cause: e.cause, sender: e.sender, detail: e.Detail}
}

// take takes the spans of a message that was read.
func (r *Receiver) take(s *settings, m Message) answer {
	if r.tap != nil {
		tapped := m
		tapped.Body = bytes.Clone(m.Body)
		r.tap(tapped)
	}
	r.door.decoding <- struct{}{}
	b, err := s.decoder.decode(m)
	<-r.door.decoding
	if err != nil {
		return err.answer()
	}
	taken, again := r.buffer.add(b.Spans)
	over := uint64(len(b.Spans) - taken)
	r.counts.add(Full, over)
	if again {
		return answer{outcome: Full, detail: "the spans that wait fill the buffer; nothing was taken, come again"}
	}
	r.counts.add(Taken, uint64(taken))
	r.counts.add(OtherName, b.Other)
	r.counts.add(Refused, b.Rejected())
	r.counts.refused(b.Refused)
	for _, x := range b.Refused {
		if r.news.is("span", x.Reason) {
			r.log.Warn("spans are refused: their values cannot be true; one of each reason is logged, and again after an hour without",
				append([]any{"reason", x.Reason, "example", x.Example}, b.from[x.Reason].attributes(m.Peer)...)...)
		}
	}
	if rejected := over + b.Rejected(); rejected > 0 {
		return answer{outcome: Partial, rejected: rejected, detail: explain(over, b.Refused)}
	}
	return answer{outcome: OK}
}

// explain says why spans were refused, for the sender's log.
func explain(over uint64, refused []Refusal) string {
	var all []string
	if over > 0 {
		all = append(all, fmt.Sprintf("%d spans: the message has more than the whole buffer (spans.buffer) holds", over))
	}
	for _, x := range refused {
		all = append(all, fmt.Sprintf("%d spans (%s), such as: %s", x.Count, x.Reason, x.Example))
	}
	return strings.Join(all, "; ")
}

// finish counts a message and logs what a person should know: what goes wrong, once for each cause
// until it has been away for an hour. That the buffer is full is a
// matter of the counters: under load it comes and goes with every round.
func (r *Receiver) finish(protocol, peer string, a answer) {
	r.counts.message(protocol, a.outcome)
	switch a.outcome {
	case OK, Partial:
		if r.full.Load() && r.full.CompareAndSwap(true, false) {
			r.log.Debug("there is room for spans again")
		}
	case Full:
		if r.full.CompareAndSwap(false, true) {
			r.log.Debug("no room for spans: senders are told to come again; raise spans.buffer if this goes on", "protocol", protocol, "peer", peer)
		}
	default:
		if r.news.is(protocol, string(a.cause)) {
			r.log.Warn("a message with spans was not taken; one of each cause is logged, and again after an hour without",
				append([]any{"protocol", protocol, "outcome", a.outcome, "cause", string(a.cause), "why", a.detail}, a.sender.attributes(peer)...)...)
		}
	}
}

// now is the time of receipt, unix seconds.
func now() float64 {
	t := time.Now()
	return float64(t.Unix()) + float64(t.Nanosecond())/1e9
}
