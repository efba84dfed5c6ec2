package main

import (
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"

	"github.com/goodput-exporter/goodput-exporter/collectors/recording"
	"github.com/goodput-exporter/goodput-exporter/collectors/spans"
	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// replayedSpans is what a replay does with recorded messages: what the receiver and its buffer do for the exporter. The
// zero value takes none.
type replayedSpans struct {
	decoder *spans.Decoder // nil: the configuration takes none in
	room    int            // spans that may wait for a round, as in the exporter

	// ready: the first round of the recording is over, so that all engines that were polled then are known. Before that a
	// span would be held against a part of them.
	ready   bool
	waiting []fact.Span

	unused    int // messages, for want of a decoder
	full      int // spans there was no room for
	unread    map[string]*refusal
	refused   map[string]*refusal
	unmatched fold.Unmatched
}

func newReplayedSpans(cfg *config.Config) *replayedSpans {
	s := &replayedSpans{unread: map[string]*refusal{}, refused: map[string]*refusal{}}
	if cfg.Spans.Taken() {
		s.decoder, s.room = newSpanDecoder(cfg), cfg.Spans.Buffer
	}
	return s
}

func newSpanDecoder(cfg *config.Config) *spans.Decoder {
	return spans.NewDecoder(cfg.Spans.Names, cfg.SpanAttributes(), cfg.Spans.MaxMessage)
}

// receivedMessage is a recorded message as it came in.
func receivedMessage(m *recording.Message) spans.Message {
	return spans.Message{
		Peer: m.Peer, Path: m.Path, ContentType: m.ContentType, ContentEncoding: m.ContentEncoding, Body: m.Body, Received: m.T,
	}
}

// take decodes a message.
func (s *replayedSpans) take(m *recording.Message) {
	if s.decoder == nil {
		s.unused++
		return
	}
	batch, err := s.decoder.Decode(receivedMessage(m))
	if err != nil {
		note(s.unread, "", 1, fmt.Sprintf("line %d from %s: %v", m.Line, peerName(m.Peer), err))
		return
	}
	for _, r := range batch.Refused {
		note(s.refused, r.Reason, int(r.Count), fmt.Sprintf("line %d from %s: %s", m.Line, peerName(m.Peer), r.Example))
	}
	// One that was to come again is recorded again.
	taken, _ := spans.Fit(len(batch.Spans), len(s.waiting), s.room)
	s.full += len(batch.Spans) - taken
	s.waiting = append(s.waiting, batch.Spans[:taken]...)
}

// peerName shows an address as it was recorded, which may be anything.
func peerName(peer string) string {
	if peer == "" {
		return "an unknown peer"
	}
	const most = 60 // an IPv6 address has 39
	return printable(peer[:min(len(peer), most)])
}

// note counts under a reason, with the first in full.
func note(all map[string]*refusal, reason string, n int, first string) {
	if all[reason] == nil {
		all[reason] = &refusal{first: first}
	}
	all[reason].count += n
}

// until hands over what had come at a time; nothing before the first round is over.
func (s *replayedSpans) until(at float64) []fact.Span {
	if !s.ready {
		return nil
	}
	n := 0
	for n < len(s.waiting) && s.waiting[n].Received <= at {
		n++
	}
	came := s.waiting[:n:n]
	if s.waiting = s.waiting[n:]; len(s.waiting) == 0 {
		s.waiting = nil
	}
	return came
}

// rest hands over what came after the last page, message by message.
func (s *replayedSpans) rest() iter.Seq[[]fact.Span] {
	s.ready = true
	return func(yield func([]fact.Span) bool) {
		for len(s.waiting) > 0 {
			if !yield(s.until(s.waiting[0].Received)) {
				return
			}
		}
	}
}

// print says what was not used, and why.
func (s *replayedSpans) print(w io.Writer) {
	if w == nil {
		return
	}
	if s.unused > 0 {
		fmt.Fprintf(w, "%s with spans not used: with this configuration the exporter takes none in; set spans.listen or spans.grpc_listen to judge by them too\n", count(s.unused, "message"))
	}
	if r := s.unread[""]; r != nil {
		fmt.Fprintf(w, "%s with spans could not be read; the first: %s\n", count(r.count, "message"), r.first)
	}
	for _, reason := range slices.Sorted(maps.Keys(s.refused)) {
		fmt.Fprintf(w, "%s refused, reason %s; the first: %s\n", count(s.refused[reason].count, "span"), reason, s.refused[reason].first)
	}
	if s.full > 0 {
		fmt.Fprintf(w, "%s not used: more than spans.buffer (%d) had come between two pages\n", count(s.full, "span"), s.room)
	}
	for _, t := range s.unmatched.Counts {
		meaning, remedy := catalog.UnmatchedMeaning(t.Name)
		text := fmt.Sprintf("%s matched to no engine, reason %s: %s; %s", count(int(t.Count), "span"), t.Name, meaning, remedy)
		for _, l := range s.unmatched.Last {
			if l.Reason == t.Name {
				text += fmt.Sprintf("; the newest came from %s", originText(&l.Origin))
			}
		}
		fmt.Fprintln(w, text)
	}
}

// originText is where a span came from, as far as it is known.
func originText(o *fact.Origin) string {
	text := peerName(o.Peer)
	for _, part := range []struct{ key, value string }{
		{"goodput.engine", o.Engine}, {"k8s.pod.uid", o.PodUID}, {"k8s.pod.name", o.PodName}, {"k8s.namespace.name", o.PodNamespace}, {"service.instance.id", o.Instance},
	} {
		if part.value != "" {
			text += fmt.Sprintf(", %s=%s", part.key, printable(part.value))
		}
	}
	return text
}
