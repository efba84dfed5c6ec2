package spans

import (
	"cmp"
	"maps"
	"slices"
	"sync"
)

// The protocols and what becomes of messages: closed sets, fit for labels.
const (
	HTTP = "http"
	GRPC = "grpc"

	OK           = "ok"           // all its spans were taken, or are of other names
	Partial      = "partial"      // some spans were refused: for their values, or because the message is larger than the buffer
	TooLarge     = "too_large"    // over a limit of size or number; how many spans were lost is not known
	Malformed    = "malformed"    // not an OTLP export of traces
	Unsupported  = "unsupported"  // another signal, method, path, content type or compression, or another protocol than is spoken there
	Unauthorized = "unauthorized" // no token, or another one
	Full         = "full"         // no room in the buffer for its spans; the sender was told to come again
	Busy         = "busy"         // too many messages at once; the sender was told to come again
	Broken       = "broken"       // it did not arrive whole, or not in time
)

// What becomes of spans: a closed set, fit for a label. Full is one of them.
const (
	Taken     = "taken"
	OtherName = "other_name" // does not stand for a request
	Refused   = "refused"    // its values cannot be true
)

// Stats is how the taking in of spans went since Listen.
type Stats struct {
	Messages []MessageCount // by protocol and outcome, sorted
	Spans    []Count        // by what became of them, sorted; those of messages that were not read are not counted
	Refusals []Refusal      // spans that were refused, by why, sorted

	Buffered, Room int      // spans that wait, and how many may
	BrokenFiles    []string // paths that could not be used when they were last needed, sorted
}

// MessageCount is messages with one outcome.
type MessageCount struct {
	Protocol, Outcome string
	Count             uint64
}

// Count is spans that one thing became of.
type Count struct {
	What  string
	Count uint64
}

// Stats is safe to call at any time and does not wait for the network or for files.
func (r *Receiver) Stats() Stats {
	var s Stats
	r.counts.read(&s)
	s.Buffered, s.Room = r.buffer.level()
	s.BrokenFiles = r.settings.Load().access.brokenFiles()
	return s
}

// counts is the counters of a receiver. Their keys are of closed sets, so they do not grow.
type counts struct {
	mu       sync.Mutex
	messages map[[2]string]uint64
	spans    map[string]uint64
	refusals refusals
}

func (c *counts) message(protocol, outcome string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.messages == nil {
		c.messages = map[[2]string]uint64{}
	}
	c.messages[[2]string{protocol, outcome}]++
}

func (c *counts) add(what string, n uint64) {
	if n == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.spans == nil {
		c.spans = map[string]uint64{}
	}
	c.spans[what] += n
}

// refused adds the refusals of a message.
func (c *counts) refused(all []Refusal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range all {
		if known, isFirst := c.refusals.add(x.Reason, x.Count); isFirst {
			known.Example = x.Example
		}
	}
}

func (c *counts) read(s *Stats) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, n := range c.messages {
		s.Messages = append(s.Messages, MessageCount{key[0], key[1], n})
	}
	slices.SortFunc(s.Messages, func(a, b MessageCount) int {
		return cmp.Or(cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Outcome, b.Outcome))
	})
	for _, what := range slices.Sorted(maps.Keys(c.spans)) {
		s.Spans = append(s.Spans, Count{what, c.spans[what]})
	}
	s.Refusals = slices.Clone(c.refusals)
}
