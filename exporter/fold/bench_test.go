package fold

import (
	"fmt"
	"slices"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// BenchmarkRound folds one round of a node, and of a fleet behind one exporter: engines polled every 2 s, so a
// thirtieth of them commit a judgement window in each round, under three objectives.
func BenchmarkRound(b *testing.B) {
	const length = 120
	w := newWorld(7, length)
	w.restarts = nil
	var pages []*fact.EngineSample
	for t := 0.0; t < length; t += 2 {
		pages = append(pages, w.page(t))
	}
	for _, engines := range []int{1, 8, 100} {
		b.Run(fmt.Sprintf("engines=%d", engines), func(b *testing.B) {
			state := New(testOptions(epoch))
			round := Round{Targets: make([]fact.Target, engines), Polls: make([]fact.Poll, engines)}
			for i := range round.Targets {
				round.Targets[i].ID = fmt.Sprint(i)
			}
			i := 0
			for b.Loop() {
				// When the pages are used up they begin again, as a new process would: a restart every two minutes.
				lap := float64(i / len(pages))
				page := later(pages[i%len(pages)], lap*length)
				at := epoch + lap*length + 2*float64(i%len(pages))
				for j := range round.Polls {
					round.Polls[j] = fact.Poll{Target: round.Targets[j].ID, Sent: at, Received: at + 0.01, Sample: page}
				}
				round.At = at + 0.01
				state.Apply(round)
				i++
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(engines), "us/engine")
		})
	}
}

// later is a page of a process that was born shift seconds after the page's own.
func later(p *fact.EngineSample, shift float64) *fact.EngineSample {
	moved := *p
	moved.ProcessStart += shift
	moved.Ranks = slices.Clone(p.Ranks)
	for i := range moved.Ranks {
		moved.Ranks[i].Created += shift
	}
	return &moved
}
