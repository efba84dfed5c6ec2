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

// add takes the spans of one message. If they do not fit now but would fit an empty buffer, none is taken: the sender
// comes again with the same message, and a part that was taken would then be there twice. A message that never fits is
// taken as far as there is room.
func (b *buffer) add(spans []fact.Span) (taken int, again bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	free := max(b.room-len(b.spans), 0)
	if len(spans) > free {
		if len(spans) <= b.room {
			return 0, true
		}
		spans = spans[:free]
	}
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
