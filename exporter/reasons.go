package exporter

import (
	"slices"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// finishReason maps a finish reason into a closed set, so that no engine makes the page grow by inventing reasons: all
// reasons that vLLM has ever had, tool_calls, which its simulators have, and "other".
func finishReason(reason string) string {
	switch reason {
	case "abort", "error", "length", "repetition", "stop", "tool_calls":
		return reason
	}
	return catalog.ReasonOther
}

// finishReasons adds up the counts of reasons that are one in the closed set.
func finishReasons(counts []fact.ReasonCount) []fold.Tally {
	tallies := make([]fold.Tally, len(counts))
	for i, c := range counts {
		tallies[i] = fold.Tally{Name: c.Reason, Count: c.Count}
	}
	return closed(tallies, finishReason)
}

// fallbackReason is the word for why a window was judged by less than the best method.
func fallbackReason(note string) string {
	switch note {
	case slo.NoteTorn:
		return catalog.ReasonTorn
	case slo.NoteContradiction:
		return catalog.ReasonContradiction
	case slo.NoteDisjoint:
		return catalog.ReasonDisjoint
	case slo.NoteTooLarge:
		return catalog.ReasonTooLarge
	}
	if strings.HasPrefix(note, "no ") && strings.HasSuffix(note, " histogram") {
		return catalog.ReasonMissingFamily
	}
	return catalog.ReasonOther
}

// skipReason is the word for why a page was not judged.
func skipReason(name string) string {
	switch name {
	case catalog.ReasonTorn, catalog.ReasonUnjudged:
		return name
	}
	return catalog.ReasonOther
}

// closed adds up the tallies whose names are one word in a closed set.
func closed(tallies []fold.Tally, word func(string) string) []fold.Tally {
	out := make([]fold.Tally, 0, len(tallies))
	for _, t := range tallies {
		t.Name = word(t.Name)
		at := slices.IndexFunc(out, func(o fold.Tally) bool { return o.Name == t.Name })
		if at < 0 {
			out = append(out, t)
			continue
		}
		out[at].Count += t.Count
	}
	return out
}
