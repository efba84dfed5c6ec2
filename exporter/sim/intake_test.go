package sim

import (
	"math"
	"testing"
)

// TestQueueTimeBeginsBetweenTwoSteps: what comes during a step is seen by the core at the step's end. With room in the
// batch it has no queue time at all, although its TTFT holds the wait; without, it waits for whole steps.
func TestQueueTimeBeginsBetweenTwoSteps(t *testing.T) {
	const step = 0.1 // seconds, whatever is in it
	for name, c := range map[string]struct {
		maxSeqs int
		queue   float64
	}{
		"with room in the batch":    {2, 0},
		"without room in the batch": {1, 5 * step}, // the first has six tokens, and the second comes amid the first step
	} {
		t.Run(name, func(t *testing.T) {
			var ended []Sequence
			w := build(t, Config{
				Seed: 1, Start: start,
				Engines: []Engine{{ID: "a", Model: "m", Step: StepCost{Base: step}, MaxSeqs: c.maxSeqs, Overhead: 0.001}},
				Loads:   []Load{{Engines: []string{"a"}, Trace: []Sent{{At: 1, Prompt: 10, Output: 6}, {At: 1.05, Prompt: 10, Output: 20}}}},
				Truth:   Truth{Sequence: func(s Sequence) { ended = append(ended, s) }},
			})
			w.Run(start + 10)
			if len(ended) != 2 {
				t.Fatalf("%d sequences ended, want 2", len(ended))
			}
			second := ended[1].Values
			if math.Abs(second.Queue-c.queue) > 1e-9 {
				t.Errorf("a queue time of %v s, want %v", second.Queue, c.queue)
			}
			if wait := second.TTFT - second.Queue - second.Prefill; wait < 0.04 || wait > step {
				t.Errorf("%v s of its TTFT are neither queue nor prefill, want the rest of the step under way", wait)
			}
		})
	}
}
