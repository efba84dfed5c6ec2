package main

import (
	"maps"
	"slices"

	"github.com/goodput-exporter/goodput-exporter/collectors/spans"
	"github.com/goodput-exporter/goodput-exporter/exporter"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// stats are all receivers' since the exporter started, with the files that cannot be used; nil, unless spans are taken in.
func (in *intake) stats() (intake *exporter.SpanIntake, broken []string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.doors) == 0 {
		return nil, nil
	}
	all := newTallies()
	all.merge(&in.past)
	waiting, room := len(in.left), 0
	for _, d := range in.all() {
		s := d.Stats()
		all.add(s)
		waiting, room = waiting+s.Buffered, room+s.Room
		broken = append(broken, s.BrokenFiles...)
	}
	slices.Sort(broken)
	broken = slices.Compact(broken) // both protocols use the same files
	out := all.intake()
	out.Buffered, out.Room, out.CredentialsBroken = waiting, room, len(broken)
	return out, broken
}

// tallies add up what receivers counted.
type tallies struct {
	messages       map[[2]string]uint64 // by protocol and outcome
	spans, refused map[string]uint64
}

func newTallies() tallies {
	return tallies{messages: map[[2]string]uint64{}, spans: map[string]uint64{}, refused: map[string]uint64{}}
}

func (t *tallies) add(s spans.Stats) {
	for _, m := range s.Messages {
		t.messages[[2]string{m.Protocol, m.Outcome}] += m.Count
	}
	for _, c := range s.Spans {
		t.spans[c.What] += c.Count
	}
	for _, r := range s.Refusals {
		t.refused[r.Reason] += r.Count
	}
}

func (t *tallies) merge(o *tallies) {
	for k, n := range o.messages {
		t.messages[k] += n
	}
	for k, n := range o.spans {
		t.spans[k] += n
	}
	for k, n := range o.refused {
		t.refused[k] += n
	}
}

func (t *tallies) intake() *exporter.SpanIntake {
	out := &exporter.SpanIntake{Spans: foldTallies(t.spans), Refused: foldTallies(t.refused)}
	for _, k := range slices.SortedFunc(maps.Keys(t.messages), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		out.Messages = append(out.Messages, exporter.MessageTally{Protocol: k[0], Outcome: k[1], Count: t.messages[k]})
	}
	return out
}

func foldTallies(counts map[string]uint64) (all []fold.Tally) {
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, fold.Tally{Name: name, Count: counts[name]})
	}
	return all
}
