package fold

import (
	"math"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// finishTime lists the families that vLLM observes together when a sequence finishes.
var finishTime = [...]fact.Family{fact.TPOT, fact.E2E, fact.Queue, fact.Prefill, fact.Decode, fact.Inference, fact.PromptTokens, fact.OutputTokens}

// torn reports whether a page was rendered while the engine was writing it: then its finish-time families disagree on
// how many sequences have finished. vLLM renders in one thread and records in another, so about one page in a hundred
// of a busy engine is torn, and judging it as it stands makes bounds wrong. before is the last accepted page of the
// same process, nil for a first page.
func torn(before, now *fact.EngineSample) bool {
	if now.Traits.Unjudged != "" {
		return false
	}
	for i := range now.Ranks {
		r := &now.Ranks[i]
		if disagree(r, now.Traits) > 0 {
			return true
		}
		if now.Traits.AbortsFinish {
			continue // intervals of aborted sequences are clamped one by one, so their sums need not add up
		}
		var prev fact.Rank
		if before != nil {
			prev = before.Ranks[i]
		}
		if sumsTorn(&prev, r) {
			return true
		}
	}
	return false
}

// disagree is the largest difference between the finish counts of a rank that count the same things.
func disagree(r *fact.Rank, t fact.Traits) uint64 {
	var requests, sequences extremes
	if len(r.Finished) > 0 {
		sequences.note(r.Sequences())
	}
	for _, f := range finishTime {
		switch h := r.Histograms[f]; {
		case !h.Known():
		case t.RequestHistograms && f != fact.OutputTokens:
			requests.note(h.Count())
		default:
			sequences.note(h.Count())
		}
	}
	return max(requests.apart(), sequences.apart())
}

// extremes are the lowest and the highest of some counts.
type extremes struct {
	lowest, highest uint64
	any             bool
}

func (e *extremes) note(n uint64) {
	if !e.any {
		*e = extremes{n, n, true}
	}
	e.lowest, e.highest = min(e.lowest, n), max(e.highest, n)
}

func (e *extremes) apart() uint64 { return e.highest - e.lowest }

// sumsTorn checks inference = prefill + decode, which holds for each sequence and so for the sums between two pages;
// the tolerance is that of adding many float64.
func sumsTorn(before, now *fact.Rank) bool {
	inference, prefill, decode := now.Histograms[fact.Inference], now.Histograms[fact.Prefill], now.Histograms[fact.Decode]
	if !inference.Known() || !prefill.Known() || !decode.Known() {
		return false
	}
	rest := func(r *fact.Rank) float64 {
		return r.Histograms[fact.Inference].Sum - r.Histograms[fact.Prefill].Sum - r.Histograms[fact.Decode].Sum
	}
	return math.Abs(rest(now)-rest(before)) > 1e-5+1e-9*math.Abs(inference.Sum)
}
