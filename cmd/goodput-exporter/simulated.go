package main

import (
	"io"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu"
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
	mail     *mail              // messages with spans that the world sends; nil: nobody takes them in
	gpus     float64            // seconds between two looks at the GPUs' page; 0: nobody looks

	round float64         // when the current round began, unix seconds
	next  int             // engine in it
	page  *recording.Page // the next one, which messages that came earlier go before
	cards *recording.GPU  // the GPUs' page, which goes before it
	due   float64         // when the GPUs' page is looked at next, unix seconds
	ended bool            // no further page is wanted
	// rendered, when not nil, is told when each page was rendered.
	rendered func(engine string, sent, at float64)
}

// Next is the next page, or what came before it was asked for: the GPUs' page, or a message.
func (s *simulated) Next() (recording.Entry, error) {
	if s.page == nil && !s.ended {
		s.page, s.ended = s.look()
	}
	if g := s.cards; g != nil {
		s.cards = nil
		return recording.Entry{GPU: g}, nil
	}
	if m := s.mail.next(); m != nil && (s.ended || m.At <= s.page.T) {
		s.mail.pop()
		return recording.Entry{Message: recordedMessage(m)}, nil
	}
	if s.ended {
		return recording.Entry{}, io.EOF
	}
	p := s.page
	s.page = nil
	return recording.Entry{Page: p}, nil
}

// look polls the next engine; ended says that no further round is wanted.
func (s *simulated) look() (p *recording.Page, ended bool) {
	if s.next == len(s.engines) {
		s.round, s.next = s.round+s.interval, 0
	}
	if s.next == 0 && !s.until(s.round) {
		return nil, true
	}
	if s.next == 0 && s.gpus > 0 && s.round >= s.due {
		s.lookAtGPUs()
	}
	id := s.engines[s.next]
	sent := s.round + simStagger*float64(s.next)
	s.next++
	at := sent + simPageTook/2
	s.world.Run(at)
	p = &recording.Page{T: sent, Took: simPageTook, Target: id}
	body, up := s.world.Page(id)
	if !up {
		p.Took, p.Err = simRefusedTook, "connect: connection refused"
		return p, false
	}
	if s.rendered != nil {
		s.rendered(id, sent, at)
	}
	p.Status, p.ContentType, p.Body = 200, s.world.ContentType(id), body
	return p, false
}

// lookAtGPUs fetches the GPUs' page just before the first engine's of a round.
func (s *simulated) lookAtGPUs() {
	s.world.Run(s.round + simGPUsTook/2)
	s.cards = &recording.GPU{T: s.round, Took: simGPUsTook, Source: gpu.NamePage, Status: 200, ContentType: sim.GPUContentType, Body: s.world.GPUPage(sim.GPURegime48)}
	for s.due = max(s.due, s.round-s.gpus); s.due <= s.round; {
		s.due += s.gpus // so that looks are as many as intervals, though each waits for a round
	}
}

const (
	simGPUsTook    = 0.01
	simStagger     = 0.015 // seconds between two engines' polls of a round: pages come in the order of their times
	simRefusedTook = 0.001
)

func newSimulated(world *sim.World, start float64, interval time.Duration, until func(float64) bool) *simulated {
	return &simulated{world: world, engines: world.Engines(), interval: interval.Seconds(), until: until, round: start}
}

// mail holds the messages with spans that a world sends, in the order of their times, until somebody takes them. It is as
// safe for concurrent use as the world is: not at all.
type mail struct{ messages []sim.Message }

// put is for sim.Config.Spans.
func (m *mail) put(message sim.Message) { m.messages = append(m.messages, message) }

// next is the message that came first of those that nobody has taken; nil: there is none.
func (m *mail) next() *sim.Message {
	if m == nil || len(m.messages) == 0 {
		return nil
	}
	return &m.messages[0]
}

func (m *mail) pop() { m.messages = m.messages[1:] }

// recordedMessage is a message as `record` would have kept it.
func recordedMessage(m *sim.Message) *recording.Message {
	return &recording.Message{T: m.At, Peer: m.Peer, Path: sim.SpansPath, ContentType: sim.SpansContentType, Body: m.Body}
}
