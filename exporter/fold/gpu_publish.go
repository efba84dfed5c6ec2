package fold

import (
	"fmt"
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// gpusUp reports whether the newest good reading is young enough to be told.
func (s *State) gpusUp(at float64) bool {
	return s.gpus.good != nil && at-s.gpus.good.At <= s.opts.GPUStale
}

// publishGPUs copies what is known of the GPUs into a snapshot: nothing while their source is down.
func (s *State) publishGPUs(out *Snapshot) {
	n := &s.gpus
	out.GPUSource = s.publishGPUSource(out.At)
	if !s.gpusUp(out.At) {
		return
	}
	out.GPUs = make([]GPU, len(n.visible))
	for i, g := range n.visible {
		out.GPUs[i] = g.publish(out.At, s.opts.GPUStale)
	}
}

func (g *gpu) publish(at, stale float64) GPU {
	fresh := g.told.SampledAt == 0 || at-g.told.SampledAt <= stale
	out := GPU{
		Up: g.present && fresh, Seen: g.seen, Since: g.since, Engines: g.engines, Join: g.join, Shared: g.shared,
		Errors: slices.Clone(g.errors.totals), Throttled: g.publishThrottles(),
	}
	if out.Up {
		out.GPU = g.told
	} else {
		out.GPU = withoutValues(&g.told)
		out.Lost = g.listed && !g.present
	}
	if g.measured(at, stale) {
		out.Joules = fact.Known(g.energy.total)
	}
	return out
}

func (s *State) publishGPUSource(at float64) (out GPUSource) {
	n := &s.gpus
	out.Claims = n.publishClaims(at)
	if n.newest == nil {
		return out
	}
	out.Name, out.Up = n.newest.Source, s.gpusUp(at)
	out.Reason, out.Detail = s.gpusWhy(at)
	out.Dropped = tallies(n.dropped)
	if n.good != nil {
		out.At, out.Driver, out.Version, out.Missing = n.good.At, n.good.Driver, n.good.Version, n.good.Missing
	}
	return out
}

// gpusWhy says why the newest reading brought nothing, or why there was none for too long.
func (s *State) gpusWhy(at float64) (fact.Reason, string) {
	n := &s.gpus
	switch {
	case n.newest == nil:
		return "", ""
	case n.newest.Reason == "" && !s.gpusUp(at):
		return fact.ReasonStale, fmt.Sprintf("there was no reading in the %.0f s since the last: its source hangs", at-n.good.At)
	}
	return n.newest.Reason, n.newest.Detail
}

func (n *gpuState) publishClaims(at float64) (out ClaimSource) {
	if n.claimed == nil {
		return out
	}
	out.Asked, out.Detail = true, n.claimed.Detail
	if n.claims != nil {
		out.At = n.claims.At
	}
	usable := n.usable(at)
	if usable == nil {
		return out
	}
	out.Up, out.Conflicts = n.claimed.Reason == "", n.conflicts
	why := map[string]uint64{}
	for i := range usable.Claims {
		if u := usable.Claims[i].Unresolved; u != "" {
			why[u]++
		}
	}
	out.Unresolved = tallies(why)
	return out
}

// publishEngineGPUs copies what is known of the GPUs of an engine. Counters of one that went stay as they were as long as
// it is told of.
func (s *State) publishEngineGPUs(e *engine, at float64) (out EngineGPUs) {
	g, n := &e.gpus, &s.gpus
	if n.good == nil && (n.newest == nil || n.newest.Reason == fact.ReasonNoSource) {
		return out // there is nothing to be joined
	}
	out = EngineGPUs{Join: JoinUnmatched, Since: g.since}
	switch {
	case n.good == nil || !s.gpusUp(at):
		_, detail := s.gpusWhy(at)
		out.Why = also("the GPUs are not known now", detail)
		return out
	case e.gone:
		out.Why = "the engine is no target any more"
	default:
		out.Join, out.Shared, out.Partial, out.Why = g.join, g.shared, g.partial, g.why
		for _, gpu := range g.gpus {
			out.UUIDs = append(out.UUIDs, gpu.told.UUID)
		}
		slices.Sort(out.UUIDs)
	}
	if g.measured {
		out.Joules = fact.Known(g.joules)
	}
	if cost := s.opts.Cost; g.alone && cost.priced() && (cost.PerKWhour == 0 || g.measured) {
		out.Cost = fact.Known(g.cost)
	}
	return out
}
