// Package fold is the one reducer: what was polled in a round is folded into the state, and out comes a snapshot of
// everything that can be said. Pure: it does not know clocks, sockets, logs or Prometheus.
package fold

import (
	"maps"
	"slices"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// Options is what the reducer is told once. All times in seconds.
type Options struct {
	Objectives []slo.Objective

	Started         float64 // when the exporter started: an engine born later is judged since its birth
	JudgementWindow float64 // 60
	Quantiles       []float64
	QuantileWindows []float64                   // 300 and 3600
	Grids           [fact.NumFamilies][]float64 // the shared grid of each family
	Stale           float64                     // age after which a page's gauges are no longer true now
	Stall           float64                     // time without progress after which an engine with work in flight is stalled
	OnePrompt       []string                    // handlers whose requests hold one prompt: the ledger counts these
	ManyPrompts     []string                    // handlers that break the ledger when they are used
	History         float64                     // for how long windows and percentiles are remembered; 0: not at all
	Spans           bool                        // spans are taken in
	GPUStale        float64                     // age, in seconds, at which a reading of the GPUs is no longer true; 0: none are read
	EngineGPUs      map[string][]string         // UUIDs of an engine's GPUs, by target id, where the configuration names them
	Cost            Cost
	Grace           float64 // how long a window of an engine that sends spans waits for them
}

// Round is what one round brought. Targets are all current targets, polled in this round or not; an engine whose
// target is not among them is gone.
type Round struct {
	At      float64
	Targets []fact.Target
	Polls   []fact.Poll
	GPUs    *fact.GPUReading   // nil: there is none since the last round
	Claims  *fact.DeviceClaims // likewise
	Spans   []fact.Span        // taken in since the last round, of whatever engine
}

// State is what the reducer remembers between rounds. Not for concurrent use.
type State struct {
	opts    Options
	judge   slo.Judge
	engines map[string]*engine
	rounds  uint64
	gpus    gpuState
	intake  intake  // of spans
	at      float64 // when the round ended that is being folded

	sighting sighting // memory for the next

	windows   []Window       // committed since the last snapshot
	quantiles []RankQuantile // likewise
	sampled   sampling       // percentiles of whole models
}

// New returns an empty state.
func New(opts Options) *State {
	return &State{opts: opts, engines: map[string]*engine{}}
}

// Apply folds one round and returns what can be said after it.
func (s *State) Apply(r Round) *Snapshot {
	s.rounds++
	s.at = r.At
	s.windows, s.quantiles = nil, nil
	s.meet(r)
	s.takeGPUs(r)
	s.takeSpans(r.Spans, r.At)
	for _, p := range r.Polls {
		if e, ok := s.engines[p.Target]; ok && !e.gone {
			s.poll(e, p)
		}
	}
	for _, id := range s.ids() {
		s.settleDue(s.engines[id], false)
		s.expire(s.engines[id])
	}
	s.rememberModels(r.At)
	return s.publish(r.At)
}

// meet takes in new targets and lets go of vanished ones.
func (s *State) meet(r Round) {
	current := make(map[string]bool, len(r.Targets))
	for _, t := range r.Targets {
		current[t.ID] = true
		e, known := s.engines[t.ID]
		if !known {
			e = newEngine(t, s.opts.Objectives)
			s.engines[t.ID] = e
		}
		if known && (pageAddress(e.target.URL) != pageAddress(t.URL) || otherPod(&e.target, &t)) {
			s.leave(e)
			e.elsewhere = e.last != nil
		}
		e.target, e.gone = t, false
	}
	for id, e := range s.engines {
		switch {
		case current[id]:
		case !e.gone:
			s.leave(e)
			e.gone, e.goneAt = true, r.At
		case len(e.pending) == 0 && r.At-max(e.goneAt, e.committedAt) > s.opts.JudgementWindow:
			// Its last commit has stood on the page for a whole window, so every scraper saw it.
			delete(s.engines, id)
		}
	}
}

// leave ends the window of an engine that is not asked any more, or not at its address. That says nothing of what it had
// in flight, which is neither lost nor anything else.
func (s *State) leave(e *engine) {
	if e.last != nil && !e.dead {
		s.closeWindow(e, true)
	}
}

// otherPod reports whether two targets are known to be two pods. One that comes for another takes its name, and on the node's
// network, or where addresses are kept for a name, its address too.
func otherPod(a, b *fact.Target) bool {
	was, is := a.Labels[labelPodUID], b.Labels[labelPodUID]
	return was != "" && is != "" && was != is
}

// pageAddress is a URL without what may change although the page stays where it is: user and query.
func pageAddress(url string) string {
	url, _, _ = strings.Cut(url, "?")
	scheme, rest, _ := strings.Cut(url, "://")
	host, path, _ := strings.Cut(rest, "/")
	return scheme + "://" + host[strings.LastIndexByte(host, '@')+1:] + "/" + path
}

// Flush ends every open window at its last page, as if the recording that feeds the state had ended: nothing that was
// measured is lost, and nothing is taken for lost either.
func (s *State) Flush(at float64) *Snapshot {
	s.at = at
	s.windows, s.quantiles = nil, nil
	for _, id := range s.ids() {
		e := s.engines[id]
		if !e.gone && e.last != nil {
			s.closeWindow(e, true)
		}
		s.settleDue(e, true)
	}
	return s.publish(at)
}

func (s *State) ids() []string {
	return slices.Sorted(maps.Keys(s.engines))
}
