package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/recording"
	"github.com/goodput-exporter/goodput-exporter/collectors/spans"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
)

// tape gathers messages with spans between two rounds of a recording.
type tape struct {
	begun time.Time

	mu       sync.Mutex
	waiting  []recording.Entry
	size     int // bytes of their bodies
	recorded int
	long     int // messages that fit into no line
	crowded  int // messages for which there was no room
}

// maxTape is how much may wait for a round, in bytes: an engine that answers 100 requests a second sends some 60 kB.
const maxTape = 64 << 20

func newTape(begun time.Time) *tape { return &tape{begun: begun} }

// take is a receiver's tap. The time is that of the recording's clock, so that messages are in order.
func (t *tape) take(m spans.Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case len(m.Body) > recording.MaxMessage:
		t.long++
		return
	case t.size+len(m.Body) > maxTape:
		t.crowded++
		return
	}
	t.size += len(m.Body)
	t.recorded++
	t.waiting = append(t.waiting, recording.Entry{Message: &recording.Message{
		T: unix(t.begun) + time.Since(t.begun).Seconds(), Peer: m.Peer, Path: m.Path,
		ContentType: m.ContentType, ContentEncoding: m.ContentEncoding, Body: m.Body,
	}})
}

// rewind hands over what has been gathered.
func (t *tape) rewind() []recording.Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.waiting
	t.waiting, t.size = nil, 0
	return all
}

func (t *tape) summary() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := count(t.recorded, "message") + " with spans"
	if t.long > 0 {
		text += fmt.Sprintf(" (%d more were longer than a line may be)", t.long)
	}
	if t.crowded > 0 {
		text += fmt.Sprintf(" (%d more came faster than they could be written)", t.crowded)
	}
	return text
}

// listenForRecording opens the receivers. Where that fails, as beside an exporter of the same configuration, the pages
// are recorded alone: they cannot be had again either.
func listenForRecording(cfg *config.Config, in *intake, out io.Writer) {
	settle, _, err := in.follow(cfg)
	if err != nil {
		fmt.Fprintf(out, "Spans are not recorded: %v. Pages are.\n", err)
		return
	}
	settle()
	fmt.Fprintf(out, "Spans are recorded that come to %s.\n", in.where())
}
