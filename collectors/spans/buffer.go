package spans

import (
	"sync"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// buffer holds the spans that wait for the next round.
type buffer struct {
	mu      sync.Mutex
	room    int
	spans   []fact.Span
	drained int // by the last drain: about as many will come until the next
}

// Fit is how many of the n spans of one message are taken where some wait already and there is room for so many in all. If
// they do not fit now but would fit an empty buffer, none is taken: the sender comes again with the same message, and a
// part that was taken would then be there twice. A message that never fits is taken as far as there is room.
func Fit(n, waiting, room int) (taken int, again bool) {
	switch free := max(room-waiting, 0); {
	case n <= free:
		return n, false
	case n <= room:
		return 0, true
	default:
		return free, false
	}
}

// add takes the spans of one message, or as many as fit.
func (b *buffer) add(spans []fact.Span) (taken int, again bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if taken, again = Fit(len(spans), len(b.spans), b.room); again {
		return 0, true
	}
	spans = spans[:taken]
	if b.spans == nil {
		b.spans = make([]fact.Span, 0, max(len(spans), min(b.drained, b.room)))
	}
	b.spans = append(b.spans, spans...)
	return len(spans), false
}

func (b *buffer) drain() []fact.Span {
	b.mu.Lock()
	defer b.mu.Unlock()
	spans := b.spans
	b.spans, b.drained = nil, len(spans)
	return spans
}

// resize changes the room. Spans that wait stay, also if they are more than that.
func (b *buffer) resize(room int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.room = room
}

func (b *buffer) level() (waiting, room int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.spans), b.room
}
