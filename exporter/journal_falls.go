package exporter

import (
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// A fall is told when the share of sequences with a span is a fifth of all sequences less than it was in the hour before,
// or nothing, and chance does not explain it: a sampler that takes each sequence by itself strays by more than that many
// standard deviations less than once in a million windows.
const (
	fallen     = 0.2
	deviations = 5
	risen      = 0.8 // of what it was before: as before
	leastPast  = 600 // seconds of the hour before that must be known
	mostRecent = 600 // seconds that a fall may take to show, where few sequences finish
	leastLost  = 20  // sequences that would have had a span, where none has one
	mostMarks  = 500 // bounds what is remembered
)

// mark is the counts of an engine's evidence after a window.
type mark struct {
	at                      float64
	windows, finished, seen uint64
}

// share is the share of sequences with a span between two marks.
func (m mark) share(before mark) (share, of float64) {
	of = float64(m.finished - before.finished)
	if of == 0 {
		return 0, 0
	}
	return float64(m.seen-before.seen) / of, of
}

// rememberedFall is how complete an engine's spans were in the hour before, and whether it is told that they are less.
type rememberedFall struct {
	marks []mark
	told  float64 // when a fall was told; 0: none is
	level float64 // that it fell from
}

// noteFall logs that an engine sends fewer spans than it did, also where they never were complete, and what else came in
// that time that was not taken or not matched. Where it is warned of already it is only remembered.
func noteFall(log *slog.Logger, was *rememberedFall, now *fold.EngineSpans, at float64, beside string, warned bool) {
	m := mark{at, now.Windows, now.Finished, now.Seen}
	if n := len(was.marks); n > 0 {
		last := was.marks[n-1]
		if m.windows == last.windows {
			return
		}
		if m.windows < last.windows || m.finished < last.finished || m.seen < last.seen {
			*was = rememberedFall{} // its counters began anew
		}
	}
	was.marks = append(was.marks, m)
	if first := slices.IndexFunc(was.marks, func(m mark) bool { return m.at >= at-quiet-mostRecent }); first > 0 || len(was.marks) > mostMarks {
		was.marks = slices.Delete(was.marks, 0, max(first, len(was.marks)-mostMarks))
	}
	if was.told > 0 {
		was.noteRise(log, at)
		return
	}
	for i := len(was.marks) - 2; i > 0 && was.marks[i].at >= at-mostRecent; i-- {
		before, level := was.marks[i], 0.0
		if before.at-was.marks[0].at < leastPast {
			return
		}
		level, _ = before.share(was.marks[0])
		share, of := m.share(before)
		if !falls(level, share, of) {
			continue
		}
		was.told, was.level = at, level
		if warned {
			return
		}
		log.Warn("fewer sequences have a span than before: goodput is a wider interval; docs/spans.md names the causes",
			"completeness", rounded(share), "before", rounded(level), "in", seconds(at-before.at), "came_beside", beside)
		return
	}
}

// falls reports whether a share of some sequences is so much less than a level that it is no chance.
func falls(level, share, of float64) bool {
	lost := level - share
	if share == 0 {
		return level*of >= leastLost
	}
	return lost > fallen && lost*lost*of > deviations*deviations*level*(1-level)
}

// noteRise ends a fall: when the newest window is nearly as they were, or when it has lasted so long that it is the rule.
func (was *rememberedFall) noteRise(log *slog.Logger, at float64) {
	n, share, of := len(was.marks), 0.0, 0.0
	if n > 1 {
		share, of = was.marks[n-1].share(was.marks[n-2])
	}
	switch {
	case of > 0 && share >= risen*was.level:
		log.Info("as many sequences have a span again as before", "completeness", rounded(share), "after", seconds(at-was.told))
	case at-was.told < quiet:
		return
	}
	*was = rememberedFall{marks: was.marks[n-1:]}
}

// rounded writes a share with two digits, rounded down: what is not all is not shown as 1.
func rounded(share float64) string { return fmt.Sprintf("%.2f", math.Floor(share*100+1e-9)/100) }

// besides is what came with spans and is of no use, as it grew of late.
type besides struct{ kept []besidesAt }

type besidesAt struct {
	at     float64
	counts []fold.Tally
}

// note remembers the counts of a round, of the last ten minutes and the one before.
func (b *besides) note(u *fold.Unmatched, s *SpanIntake, at float64) {
	var counts []fold.Tally
	for _, t := range u.Counts {
		counts = append(counts, fold.Tally{Name: "spans unmatched (" + t.Name + ")", Count: t.Count})
	}
	if s != nil {
		for _, t := range s.Refused {
			counts = append(counts, fold.Tally{Name: "spans refused (" + t.Name + ")", Count: t.Count})
		}
		for _, m := range s.Messages {
			if m.Outcome != "ok" && m.Outcome != "partial" {
				counts = append(counts, fold.Tally{Name: "messages turned away (" + m.Protocol + " " + m.Outcome + ")", Count: m.Count})
			}
		}
	}
	if n := len(b.kept); n > 0 && slices.Equal(b.kept[n-1].counts, counts) {
		return
	}
	b.kept = append(b.kept, besidesAt{at, counts})
	for len(b.kept) > 1 && (b.kept[1].at < at-mostRecent || len(b.kept) > mostMarks) {
		b.kept = b.kept[1:]
	}
}

// words say what has come of late. The first counts that are known are those of the time before it.
func (b *besides) words(at float64) string {
	if len(b.kept) == 0 {
		return "nothing"
	}
	before := b.kept[0]
	for _, k := range b.kept {
		if k.at < at-mostRecent {
			before = k
		}
	}
	var parts []string
	for _, t := range b.kept[len(b.kept)-1].counts {
		n := t.Count
		for _, s := range before.counts {
			if s.Name == t.Name {
				n -= min(s.Count, n)
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, t.Name))
		}
	}
	if len(parts) == 0 {
		return "nothing that was turned away or matches no engine: look at the engine and at what lies between"
	}
	return strings.Join(parts, ", ")
}
