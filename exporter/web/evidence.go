package web

import (
	"fmt"

	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// backing is what the shares of some windows rest on.
type backing struct {
	windows             int    // judged
	exact, empty        int    // of these, those whose lower and upper end are equal, and those in which nothing is to be counted
	page, spans, both   int    // judged by histograms alone, by spans alone, and by both
	expected, conflicts int    // windows that waited for spans, and those in which spans contradicted the page
	all                 uint64 // sequences of all windows that were judged
	finished, seen      uint64 // sequences of the windows that waited, and those with a span
}

func (b *backing) add(v *fold.Verdict) {
	if v.Spans.Expected {
		b.expected++
		b.finished += v.Sequences.N
		b.seen += min(v.Spans.Seen, v.Sequences.N)
		if v.Spans.Conflict {
			b.conflicts++
		}
	}
	if !v.Judged {
		return
	}
	b.windows++
	b.all += v.Sequences.N
	switch {
	case v.Requests.N == 0:
		b.empty++
	case v.Lower == v.Upper:
		b.exact++
	}
	switch v.Evidence {
	case fold.EvidenceSpans:
		b.spans++
	case fold.EvidenceBoth:
		b.both++
	default:
		b.page++
	}
}

// words say how exact a share is, and from what.
func (b *backing) words() string {
	if b.windows == 0 {
		return ""
	}
	if b.empty == b.windows {
		return "empty: nothing was to be judged"
	}
	text := ""
	one := b.exact+b.empty == b.windows
	switch with := b.spans + b.both; {
	case with == 0:
		text = "from histograms"
	case b.page > 0:
		text = fmt.Sprintf("from histograms, in %d of %s from spans too", with, plural(b.windows, "window", "windows"))
	case b.both == 0:
		text = "from spans alone: the histograms have no edge at a threshold"
	default:
		text = "from histograms and spans"
	}
	if b.expected > 0 && b.all > 0 {
		switch {
		case one && b.seen == 0:
			text += ", although " + b.seenWords()
		case one && b.seen < b.all:
			text += ", although only " + b.seenWords()
		default:
			text += "; " + b.seenWords()
		}
	}
	if b.conflicts > 0 {
		text += fmt.Sprintf("; in %s the spans contradict the page, which was believed", plural(b.conflicts, "window", "windows"))
	}
	if one {
		return "lower = upper, " + text
	}
	return text
}

// seenWords say how many of the sequences have a span.
func (b *backing) seenWords() string {
	switch b.seen {
	case b.all:
		return "all sequences have a span"
	case 0:
		return "no sequence has a span"
	}
	return share(b.seen, b.seen, b.all) + " of sequences have a span"
}

// evidenceWord is what one window was judged by; "" for what is usual where spans come: by both.
func evidenceWord(v *fold.Verdict) string {
	switch {
	case v.Spans.Conflict:
		return "contradicted"
	case v.Requests.N == 0 || v.Evidence == fold.EvidenceBoth:
		return ""
	case v.Evidence == fold.EvidenceSpans:
		return "spans"
	}
	return "histograms"
}
