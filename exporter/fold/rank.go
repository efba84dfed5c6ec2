package fold

import (
	"slices"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// rank is the state of one scheduler. Its counters run on over restarts of the process.
type rank struct {
	id, name, model string
	since           float64 // when its counters started
	seen            float64 // when a process last began with it

	sequences                  []fact.ReasonCount
	promptTokens, outputTokens fact.Number
	donePrompt, doneOutput     fact.Number
	preemptions                fact.Number

	gridded  [fact.NumFamilies]*gridded
	sliding  []*sliding
	slices   []slo.Slice
	first    int    // index of the current window's first slice
	old      uint64 // in flight before slices[0] with a first token in no slice
	finished []fact.ReasonCount
	spent    [NumStages]Spent // in the open window
}

// slice is a slo.Slice with what only the reducer needs of the step.
type slice struct {
	slo.Slice
	from, to float64 // when the two pages were asked for
	reasons  []fact.ReasonCount
	before   *fact.Rank
	after    *fact.Rank
}

// startAt takes a page as the zero point. Sequences in flight there are unknown to the slices to come: at most those
// that got a first token and have not finished since the process began. (The gauges lag by a step, so they are no
// bound; on a process with many aborts this one is loose, and the flow through later pages bounds it again.)
func (r *rank) startAt(p *fact.Rank) {
	r.old = slo.Unlimited
	if untouched(p) {
		r.old = 0
	} else if ttft := p.Histograms[fact.TTFT]; ttft.Known() && len(p.Finished) > 0 {
		finished := p.Sequences() - p.FinishedWith(reasonAbort)
		r.old = min(slo.Unlimited, ttft.Count()-min(finished, ttft.Count()))
	}
}

// untouched reports whether a rank has not produced anything yet: what it does not list then has counted nothing.
func untouched(p *fact.Rank) bool {
	return p.Sequences() == 0 && p.OutputTokens.Known && p.OutputTokens.V == 0
}

const (
	reasonAbort = "abort"
	reasonError = "error"
)

// step is what the rank did between two pages of one process.
func (r *rank) step(before, now *page, i int) slice {
	a, b := &before.sample.Ranks[i], &now.sample.Ranks[i]
	st := slice{
		Slice: slo.Slice{Lo: before.sent, Hi: now.received, Took: now.received - now.sent, Running: b.Running, Waiting: b.Waiting},
		from:  before.sent, to: now.sent, before: a, after: b,
	}
	for f := range b.Histograms {
		if !a.Histograms[f].Known() && untouched(a) {
			st.Histograms[f] = b.Histograms[f] // the family came with its first observations
		} else if a.Histograms[f].Known() && b.Histograms[f].Known() {
			// ok was established when the page was identified.
			st.Histograms[f], _ = hist.Delta(a.Histograms[f], b.Histograms[f])
		}
	}
	for _, c := range b.Finished {
		if d := c.Count - a.FinishedWith(c.Reason); d > 0 {
			st.reasons = append(st.reasons, fact.ReasonCount{Reason: c.Reason, Count: d})
			st.Finished += d
			if c.Reason == reasonAbort {
				st.Aborted += d
			}
		}
	}
	st.FirstTokens = st.Histograms[fact.TTFT].Count()
	st.Preempted = !b.Preemptions.Known || b.Preemptions.V > a.Preemptions.V // unknown is possible
	return st
}

// observe adds a step to everything that the rank counts.
func (s *State) observe(r *rank, st slice) {
	r.sequences = addReasons(r.sequences, st.after.Finished, st.reasons)
	r.finished = addReasons(r.finished, nil, st.reasons)
	add(&r.promptTokens, st.before.PromptTokens, st.after.PromptTokens)
	add(&r.outputTokens, st.before.OutputTokens, st.after.OutputTokens)
	add(&r.preemptions, st.before.Preemptions, st.after.Preemptions)
	addSum(&r.donePrompt, st.Histograms[fact.PromptTokens])
	addSum(&r.doneOutput, st.Histograms[fact.OutputTokens])

	own := st.Histograms
	own[fact.TPOT] = withoutOneToken(own[fact.TPOT], own[fact.OutputTokens])
	for f := range own {
		if own[f].Known() {
			if r.gridded[f] == nil {
				r.gridded[f] = newGridded(s.opts.Grids[f])
			}
			r.gridded[f].add(own[f])
		}
	}
	for stage, f := range stageFamilies {
		if h := st.Histograms[f]; h.Count() > 0 {
			r.spent[stage].Seconds += plausibleSum(h)
			r.spent[stage].Count += h.Count()
		}
	}
	for _, w := range r.sliding {
		w.push(entry{from: st.from, to: st.to, aborted: st.Aborted, histograms: own})
	}
	r.slices = append(r.slices, st.Slice)
}

// withoutOneToken takes sequences of at most one token out of the TPOT histogram: they have no TPOT, and vLLM records
// 0 for them, which would pull every percentile down. How many there were stands at the edge 1 of the output-token
// histogram; without that edge the percentiles are unknown.
func withoutOneToken(tpot, output hist.Histogram) hist.Histogram {
	if !tpot.Known() || !output.Known() || len(output.Edges) == 0 || output.Edges[0] != 1 {
		return hist.Histogram{}
	}
	one := output.Counts[0]
	if one == 0 {
		return tpot
	}
	if one > tpot.Counts[0] {
		return hist.Histogram{}
	}
	tpot = tpot.Clone()
	tpot.Counts[0] -= one
	return tpot
}

// addReasons adds the counts of a step; every reason that the page lists is known from then on, also at 0.
func addReasons(total, listed, step []fact.ReasonCount) []fact.ReasonCount {
	for _, c := range listed {
		total = addReason(total, fact.ReasonCount{Reason: c.Reason})
	}
	for _, c := range step {
		total = addReason(total, c)
	}
	return total
}

func addReason(total []fact.ReasonCount, c fact.ReasonCount) []fact.ReasonCount {
	at, found := slices.BinarySearchFunc(total, c, func(a, b fact.ReasonCount) int { return strings.Compare(a.Reason, b.Reason) })
	if !found {
		return slices.Insert(total, at, c)
	}
	total[at].Count += c.Count
	return total
}

func add(total *fact.Number, before, after fact.Number) {
	if before.Known && after.Known {
		total.Known = true
		total.V += max(0, after.V-before.V)
	}
}

func addSum(total *fact.Number, h hist.Histogram) {
	if h.Known() {
		total.Known = true
		total.V += max(0, h.Sum)
	}
}

// forget drops what no later window can need: slices older than any sequence that may still finish, and of the rest
// everything but the first tokens.
func (r *rank) forget(windowStart float64) {
	reach := lookBackLeast
	for _, s := range r.slices[r.first:] {
		d := s.Histograms[fact.Decode]
		for i := len(d.Counts) - 1; i >= 0; i-- {
			if d.Counts[i] > 0 {
				reach = max(reach, 2*min(d.Upper(i), lookBackMost/2))
				break
			}
		}
	}
	cut := 0
	for cut < len(r.slices) && r.slices[cut].Hi < windowStart-reach {
		cut++
	}
	if cut > 0 {
		r.old = slo.Unlimited
		r.slices = slices.Delete(r.slices, 0, cut)
	}
	for i := max(0, r.first-cut); i < len(r.slices); i++ {
		ttft := r.slices[i].Histograms[fact.TTFT]
		r.slices[i].Histograms = [fact.NumFamilies]hist.Histogram{fact.TTFT: ttft}
	}
	r.first = len(r.slices)
}

// The look-back kept for a window, in seconds: twice the longest decode seen, within these limits. A sequence that
// decodes for longer than what was kept is judged as one whose first token is unknown: a wider interval, never a
// wrong one.
const (
	lookBackLeast = 120.0
	lookBackMost  = 1200.0
)
