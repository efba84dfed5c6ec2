package fold

import "github.com/goodput-exporter/goodput-exporter/exporter/fact"

const (
	// maxWatts is more than any card draws: the largest of 2026 take 1.4 kW. It bounds one that does not tell its limit.
	maxWatts = 2000
	// overLimit is by what share a card may draw more than its limit says: limits hold on average, counters are good to
	// some percent.
	overLimit = 1.2

	joulesPerKWh   = 3.6e6
	secondsPerHour = 3600
)

// holding is which engine the energy of a GPU is attributed to.
type holding struct {
	owner       *engine // that has it alone; nil: none, or it cannot be said
	ownerBefore *engine // in the round before

	// Since the energy counter last moved: whether the owner changed, and what was added in this round.
	changed bool
	moved   bool
	added   float64 // joules
}

// takeEnergy takes what a reading tells of the energy counter; refused says that it is not believed.
func (g *gpu) takeEnergy(told *fact.GPU, at float64) (refused bool) {
	before := g.limit
	if told.PowerLimit.Known {
		g.limit = told.PowerLimit.V
	}
	if !told.Energy.Known {
		return false
	}
	watts := float64(maxWatts)
	if g.limit > 0 {
		// The limit may have been changed between the readings.
		watts = overLimit * max(before, g.limit)
	}
	added, moved, refused := g.energy.read(told.Energy.V, at, watts)
	g.energyAt = at
	g.added += added
	g.moved = g.moved || moved
	return refused
}

// settleGPUs attributes what was used since the last round to the engines that had their GPUs alone all that time. It
// comes after the join of the round. What was used while that cannot be said is on nobody's account.
func (s *State) settleGPUs(at float64) {
	n, cost := &s.gpus, &s.opts.Cost
	hours := 0.0
	if n.at > 0 && at > n.at {
		hours = (at - n.at) / secondsPerHour
	}
	for _, g := range n.visible {
		switch {
		case g.owner != g.ownerBefore:
			g.changed = true
		case g.owner != nil:
			g.owner.gpus.cost += hours * cost.PerGPUHour
		}
		g.ownerBefore = g.owner
		if g.moved && g.owner != nil && !g.changed {
			g.owner.gpus.joules += g.added
			g.owner.gpus.cost += g.added / joulesPerKWh * cost.PerKWhour
		}
		if g.moved {
			g.moved, g.changed, g.added = false, false, 0
		}
	}
}

// measured reports whether the joules of a GPU are those up to now.
func (g *gpu) measured(at, stale float64) bool { return g.energy.known && at-g.energyAt <= stale }
