package exporter

import (
	"log/slog"
	"math"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// A page is made in the event loop that also streams tokens to users, so an engine is polled less often while its page
// takes more than this share of the interval on average.
const dearShare = 0.02

// enough is how many pages it takes to change how often an engine is polled, and to which an average goes back.
const (
	enough = 5
	recent = 10
)

// relief is how far below the limit the average must be before an engine is polled more often again, so that one at the
// limit does not go back and forth.
const relief = 0.75

// paces says in which rounds each engine is polled. It is used by one goroutine.
type paces struct {
	interval time.Duration
	most     int // rounds from one poll of an engine to the next
	round    uint64
	engines  map[string]*pace
}

// pace is how often one engine is polled, and what its page takes.
type pace struct {
	every int     // rounds from one poll to the next
	due   uint64  // the round of the next poll
	mean  float64 // seconds that a page takes
	pages int     // in the mean, and since every changed
	since int
}

func newPaces(s *Settings) *paces {
	p := &paces{engines: map[string]*pace{}}
	p.follow(s)
	return p
}

// follow takes up other settings. What pages take is still known, and is held against the new interval.
func (p *paces) follow(s *Settings) {
	p.interval, p.most = s.Interval, max(1, int(s.MaxInterval/s.Interval))
	for _, e := range p.engines {
		e.every, e.due = 1, p.round
		if e.pages >= enough {
			e.every = p.need(e.mean)
		}
	}
}

// need is the smallest number of rounds of which a page takes little enough.
func (p *paces) need(mean float64) int {
	return min(p.most, max(1, int(math.Ceil(mean/(dearShare*p.interval.Seconds())-1e-9))))
}

// due picks the targets to poll in a round, and forgets those that are gone.
func (p *paces) due(targets []fact.Target) []fact.Target {
	p.round++
	current := make(map[string]bool, len(targets))
	var out []fact.Target
	for _, t := range targets {
		current[t.ID] = true
		e := p.engines[t.ID]
		if e == nil {
			e = &pace{every: 1}
			p.engines[t.ID] = e
		}
		if p.round >= e.due {
			e.due = p.round + uint64(e.every)
			out = append(out, t)
		}
	}
	for id := range p.engines {
		if !current[id] {
			delete(p.engines, id)
		}
	}
	return out
}

// note takes in what the pages of a round took. A poll that brought no page says nothing about what one costs.
func (p *paces) note(polls []fact.Poll, log *slog.Logger) {
	for i := range polls {
		e := p.engines[polls[i].Target]
		if e == nil || polls[i].Sample == nil {
			continue
		}
		e.pages, e.since = min(recent, e.pages+1), e.since+1
		e.mean += (polls[i].Received - polls[i].Sent - e.mean) / float64(e.pages)
		if e.since < enough {
			continue
		}
		every := p.need(e.mean)
		if every < e.every {
			every = min(e.every, p.need(e.mean/relief))
		}
		if every != e.every {
			p.tell(log.With("engine", polls[i].Target), e, every)
			e.every, e.since = every, 0
			e.due = p.round + uint64(every)
		}
	}
}

func (p *paces) tell(log *slog.Logger, e *pace, every int) {
	args := []any{"page takes", seconds(e.mean).Round(time.Millisecond), "interval", time.Duration(every) * p.interval}
	switch {
	case every == 1:
		log.Info("engine is polled as often as configured again", args...)
	case e.every == 1:
		log.Warn("engine is polled less often: its page takes more than 2 % of poll.interval, in the event loop that streams tokens", args...)
	default:
		log.Info("engine is polled at another interval", args...)
	}
}

// intervals are the times between two polls, in seconds.
func (p *paces) intervals() map[string]float64 {
	out := make(map[string]float64, len(p.engines))
	for id, e := range p.engines {
		out[id] = float64(e.every) * p.interval.Seconds()
	}
	return out
}
