package main

import (
	"testing"

	"github.com/goodput-exporter/goodput-exporter/collectors/recording"
)

// TestATapeKeepsTheOrder: times of a recording never fall, also where the clock was put back or one source took another's place.
func TestATapeKeepsTheOrder(t *testing.T) {
	var tape gpuTape
	for _, at := range []float64{10, 12, 11, 9, 13} {
		tape.add(&recording.GPU{T: at}, nil)
	}
	for i, want := range []float64{10, 12, 12, 12, 13} {
		if got := tape.waiting[i].line.T; got != want {
			t.Errorf("entry %d is at %v, want %v", i, got, want)
		}
	}
}
