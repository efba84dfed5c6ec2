package main

import (
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/recording"
	"github.com/goodput-exporter/goodput-exporter/collectors/spans"
)

// TestAReplayHasTheRoomOfTheReceiver: of a message that never fits a part is taken, and one that does not fit now is
// recorded once more when its sender comes again.
func TestAReplayHasTheRoomOfTheReceiver(t *testing.T) {
	for name, c := range map[string]struct {
		messages    []int // spans in each
		taken, full int
	}{
		"what fits is taken":                            {[]int{1, 2}, 3, 0},
		"a message that does not fit now waits outside": {[]int{2, 2, 1}, 3, 2},
		"a message that never fits is taken in part":    {[]int{5}, 3, 2},
		"that part is what there is room for":           {[]int{1, 5}, 3, 3},
		"none, when there is none":                      {[]int{3, 5}, 3, 5},
	} {
		t.Run(name, func(t *testing.T) {
			s := &replayedSpans{decoder: spans.NewDecoder([]string{"llm_request"}, nil, 1<<20), room: 3, refused: map[string]*refusal{}, unread: map[string]*refusal{}}
			id := 0
			for _, n := range c.messages {
				var sent []sentSpan
				for range n {
					sent = append(sent, sentSpan{id: id})
					id++
				}
				s.take(&recording.Message{
					T: unix(time.Now()), Peer: "10.0.0.1", Path: "/v1/traces", ContentType: "application/x-protobuf", Body: exportOf(t, nil, sent...),
				})
			}
			if len(s.waiting) != c.taken || s.full != c.full {
				t.Errorf("%d wait and %d were too many, want %d and %d; unread: %v, refused: %v", len(s.waiting), s.full, c.taken, c.full, s.unread, s.refused)
			}
		})
	}
}
