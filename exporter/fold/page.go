package fold

import (
	"math"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
)

// identity is how a page relates to the one before it.
type identity int

const (
	sameProcess   identity = iota
	newProcess             // counters began anew
	otherRanks             // the same process shows other ranks or models
	contradictory          // the same process by its start time, yet a counter fell
	fellUntold             // a counter fell, and the page does not say when its process began
)

// identify compares whole pages, never single series: a restart resets all of them at once. A start time or creation
// time that changed is a restart even where the counters have already overtaken their old values; where the page has
// neither (multi-process pages, the Rust front end), a fall of any counter is the only sign, and not a sure one.
func identify(before, after *fact.EngineSample) identity {
	known, changed := starts(before, after)
	if changed {
		return newProcess
	}
	if !sameRanks(before, after) {
		if !known && sharedFell(before, after) {
			return fellUntold
		}
		return otherRanks
	}
	fell := false
	for i := range after.Ranks {
		a, b := &before.Ranks[i], &after.Ranks[i]
		if a.Created > 0 && b.Created > 0 {
			known = true
			if math.Abs(a.Created-b.Created) > 0.5 {
				return newProcess
			}
		}
		fell = fell || rankFell(a, b)
	}
	switch {
	case fell && known:
		return contradictory
	case fell, !known && httpFell(before, after):
		return fellUntold
	}
	return sameProcess
}

// starts compares the process start times, which a clock step may move by a fraction of a second.
func starts(before, after *fact.EngineSample) (known, changed bool) {
	if before.ProcessStart == 0 || after.ProcessStart == 0 {
		return false, false
	}
	return true, math.Abs(before.ProcessStart-after.ProcessStart) > 1
}

func sameRanks(before, after *fact.EngineSample) bool {
	if len(before.Ranks) != len(after.Ranks) {
		return false
	}
	for i := range after.Ranks {
		if before.Ranks[i].Name != after.Ranks[i].Name || before.Ranks[i].Model != after.Ranks[i].Model {
			return false
		}
	}
	return true
}

// sharedFell reports whether a counter fell that two pages with different ranks both have. The only rank of one page is
// that of the other, whatever it is called.
func sharedFell(before, after *fact.EngineSample) bool {
	for i := range before.Ranks {
		for j := range after.Ranks {
			a, b := &before.Ranks[i], &after.Ranks[j]
			same := a.Name == b.Name || len(before.Ranks) == 1 && len(after.Ranks) == 1
			if same && a.Model == b.Model && rankFell(a, b) {
				return true
			}
		}
	}
	return httpFell(before, after)
}

func rankFell(before, after *fact.Rank) bool {
	for _, c := range before.Finished {
		if after.FinishedWith(c.Reason) < c.Count {
			return true
		}
	}
	for _, n := range [...][2]fact.Number{
		{before.Requests, after.Requests}, {before.PromptTokens, after.PromptTokens},
		{before.OutputTokens, after.OutputTokens}, {before.Preemptions, after.Preemptions},
	} {
		if n[0].Known && n[1].Known && n[1].V < n[0].V {
			return true
		}
	}
	for f := range after.Histograms {
		if histogramFell(before.Histograms[f], after.Histograms[f]) {
			return true
		}
	}
	return false
}

func histogramFell(before, after hist.Histogram) bool {
	if !before.Known() || !after.Known() {
		return false
	}
	if !hist.SameEdges(before.Edges, after.Edges) {
		_, ok := hist.Delta(before, after)
		return !ok
	}
	for i, c := range after.Counts {
		if c < before.Counts[i] {
			return true
		}
	}
	return false
}

// httpFell compares the rows of two pages that both have them.
func httpFell(before, after *fact.EngineSample) bool {
	if !before.HTTPKnown || !after.HTTPKnown {
		return false
	}
	counts := make(map[[3]string]uint64, len(after.HTTP))
	for _, h := range after.HTTP {
		counts[[3]string{h.Handler, h.Method, h.Class}] = h.Count
	}
	for _, h := range before.HTTP {
		if counts[[3]string{h.Handler, h.Method, h.Class}] < h.Count {
			return true
		}
	}
	return false
}

// moved reports whether work was done between two pages of a rank. Some engines count tokens only when a request finishes;
// the gaps between tokens show that it goes on.
func moved(before, after *fact.Rank) bool {
	return after.OutputTokens.V != before.OutputTokens.V || after.PromptTokens.V != before.PromptTokens.V ||
		after.Histograms[fact.TokenGap].Count() != before.Histograms[fact.TokenGap].Count()
}

// asleep reports whether all schedulers were put to sleep.
func asleep(s *fact.EngineSample) bool {
	for i := range s.Ranks {
		if s.Ranks[i].Sleep == "" {
			return false
		}
	}
	return len(s.Ranks) > 0
}

// birth is when the page's counters began: the creation of the first rank's metrics, else the start of the process;
// 0 when the page says neither.
func birth(s *fact.EngineSample) float64 {
	b := s.ProcessStart
	for i := range s.Ranks {
		if c := s.Ranks[i].Created; c > 0 && (i == 0 || c < b) {
			b = c
		}
	}
	return b
}

// inFlight is the number of sequences that run or wait over all ranks; they stand for requests.
func inFlight(s *fact.EngineSample) uint64 {
	n := 0.0
	for i := range s.Ranks {
		n += s.Ranks[i].Running.V + s.Ranks[i].Waiting.V
	}
	return uint64(max(0, n))
}

// emptyRank is the rank as it stood at its birth: the same families, nothing counted.
func emptyRank(r *fact.Rank) fact.Rank {
	zero := func(n fact.Number) fact.Number { return fact.Number{Known: n.Known} }
	e := fact.Rank{
		Name: r.Name, Model: r.Model, Created: r.Created,
		Requests: zero(r.Requests), PromptTokens: zero(r.PromptTokens), OutputTokens: zero(r.OutputTokens),
		Preemptions: zero(r.Preemptions), Running: zero(r.Running), Waiting: zero(r.Waiting), KVUsage: zero(r.KVUsage),
	}
	for f, h := range r.Histograms {
		if h.Known() {
			e.Histograms[f] = hist.Histogram{Edges: h.Edges, Counts: make([]uint64, len(h.Counts))}
		}
	}
	return e
}
