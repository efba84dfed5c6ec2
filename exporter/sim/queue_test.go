package sim

import (
	"fmt"
	"testing"
)

// TestQueue is a queue against a plain slice.
func TestQueue(t *testing.T) {
	w := build(t, Config{Engines: []Engine{{ID: "a", Model: "m", Step: H100}}})
	dice := w.random(7, 7)
	var q queue
	var want []*sequence
	for i := range 5000 {
		switch s := (&sequence{prompt: i}); {
		case dice.IntN(100) == 0:
			var kept []*sequence
			for _, x := range want {
				if x.aborted = dice.IntN(2) == 0; !x.aborted {
					kept = append(kept, x)
				}
			}
			q.sweep()
			want = kept
		case dice.IntN(10) == 0:
			q.unshift(s)
			want = append([]*sequence{s}, want...)
		case dice.IntN(100) < 52 || len(want) == 0:
			q.push(s)
			want = append(want, s)
		default:
			if q.front() != want[0] {
				t.Fatal("another sequence is in front")
			}
			q.pop()
			want = want[1:]
		}
		if q.len() != len(want) || fmt.Sprint(q.items[q.head:]) != fmt.Sprint(want) {
			t.Fatalf("after %d: %d in the queue, want %d", i, q.len(), len(want))
		}
	}
}
