package main

import (
	"io"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/recording"
	"github.com/goodput-exporter/goodput-exporter/exporter/sim"
)

// simPageTook is how long a simulated page takes, seconds; it is rendered in the middle of it. Real ones take 11 to 42 ms.
const simPageTook = 0.012

// simulated polls the engines of a world, all of them in each round, as a node's exporter would.
type simulated struct {
	world    *sim.World
	engines  []string
	interval float64            // seconds from round to round
	until    func(float64) bool // whether a round at that time is still wanted

	round float64 // when the current round began, unix seconds
	next  int     // engine in it
	// rendered, when not nil, is told when each page was rendered.
	rendered func(engine string, sent, at float64)
}

// Next is the next page.
func (s *simulated) Next() (recording.Entry, error) {
	if s.next == len(s.engines) {
		s.round, s.next = s.round+s.interval, 0
	}
	if s.next == 0 && !s.until(s.round) {
		return recording.Entry{}, io.EOF
	}
	id := s.engines[s.next]
	sent := s.round + simStagger*float64(s.next)
	s.next++
	at := sent + simPageTook/2
	s.world.Run(at)
	p := recording.Page{T: sent, Took: simPageTook, Target: id}
	body, up := s.world.Page(id)
	if !up {
		p.Took, p.Err = simRefusedTook, "connect: connection refused"
		return recording.Entry{Page: &p}, nil
	}
	if s.rendered != nil {
		s.rendered(id, sent, at)
	}
	p.Status, p.ContentType, p.Body = 200, s.world.ContentType(id), body
	return recording.Entry{Page: &p}, nil
}

const (
	simStagger     = 0.015 // seconds between two engines' polls of a round: pages come in the order of their times
	simRefusedTook = 0.001
)

func newSimulated(world *sim.World, start float64, interval time.Duration, until func(float64) bool) *simulated {
	return &simulated{world: world, engines: world.Engines(), interval: interval.Seconds(), until: until, round: start}
}
