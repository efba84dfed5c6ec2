package fold

import (
	"cmp"
	"maps"
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

const (
	gpuLife    = 24 * 3600 // seconds for which a GPU that does not answer any more is told of
	claimsLife = 3600      // seconds for which the kubelet's last good account is used
	maxGPUs    = 1024      // cards and instances that are remembered: eight times what a node can have
)

// gpuState is what is known of the node's GPUs, and of who holds them.
type gpuState struct {
	newest  *fact.GPUReading // nil: none was ever made
	good    *fact.GPUReading // the newest that brought GPUs
	known   map[string]*gpu  // by UUID
	dropped map[string]uint64
	visible []*gpu  // those that are told of, cards before their instances
	at      float64 // of the round before

	claimed   *fact.DeviceClaims // newest
	claims    *fact.DeviceClaims // the newest that says something
	conflicts uint64
}

// gpu is one card or instance.
type gpu struct {
	told    fact.GPU // the newest in which it answered
	present bool     // it is in the newest good reading, and answers there
	listed  bool     // it is in there, if only as lost
	seen    float64  // when it last answered; 0 never
	since   float64
	readAt  float64 // of the last reading in which it answered

	energy    meter
	energyAt  float64 // when it last told of its energy
	limit     float64 // newest power limit, watts; 0 unknown
	errors    xids
	throttles []*throttle // sorted by reason

	engines []string // ids; sorted. Never written to once it is here: snapshots share it
	join    string
	shared  bool
	holding
}

// takeGPUs takes in what a round brought of GPUs and of claims on them.
func (s *State) takeGPUs(r Round) {
	if s.opts.GPUStale <= 0 {
		return
	}
	n := &s.gpus
	if r.Claims != nil {
		n.takeClaims(r.Claims, r.At)
	}
	if r.GPUs != nil {
		n.takeReading(r.GPUs, r.At, s.opts.GPUStale)
	}
	if n.newest == nil && n.claimed == nil {
		return
	}
	n.list(r.At)
	s.join(r.At)
	s.settleGPUs(r.At)
	n.at = r.At
}

// older reports whether something of a time comes after something newer. A clock that was set back makes nothing older.
func older(than, at, now float64) bool { return at < than && than <= now }

func (n *gpuState) takeClaims(c *fact.DeviceClaims, now float64) {
	if n.claimed != nil && older(n.claimed.At, c.At, now) {
		return
	}
	n.claimed = c
	if c.Reason == "" {
		n.claims = c
	}
}

// usable returns the claims that can be relied upon; nil when there are none, or only old ones.
func (n *gpuState) usable(at float64) *fact.DeviceClaims {
	if n.claims == nil || at-n.claims.At > claimsLife {
		return nil
	}
	return n.claims
}

func (n *gpuState) takeReading(r *fact.GPUReading, now, stale float64) {
	if was := n.newest; was != nil && (older(was.At, r.At, now) || r.At == was.At && r.Source == was.Source && r.Reason == was.Reason) {
		return // there is a newer one, or it was taken in before
	}
	if n.known == nil {
		n.known, n.dropped = map[string]*gpu{}, map[string]uint64{}
	}
	n.newest = r
	for _, d := range r.Dropped {
		n.dropped[d.Reason] += d.Count
	}
	if r.Reason != "" {
		return
	}
	n.good = r
	for _, g := range n.known {
		g.present, g.listed = false, false
	}
	for i := range r.GPUs {
		told := &r.GPUs[i]
		g := n.known[told.UUID]
		switch {
		case told.UUID == "":
			continue
		case g == nil:
			g = &gpu{told: fact.GPU{UUID: told.UUID}, since: r.At}
			n.known[told.UUID] = g
		case g.listed: // a source has each once
			continue
		}
		g.listed = true
		n.tell(g, told, r, stale)
	}
	n.leave()
}

// tell takes in what a reading says of a GPU.
func (n *gpuState) tell(g *gpu, told *fact.GPU, r *fact.GPUReading, stale float64) {
	if !told.Lost || told.XIDsCounted {
		// The error that took a card away is told of when the card has gone.
		g.errors.take(told.XIDs, told.XIDsCounted, r.Source)
	}
	if told.Lost {
		if g.seen == 0 {
			g.told = withoutValues(told)
		}
		return
	}
	g.present = true
	dt := 0.0
	if between := r.At - g.readAt; g.readAt > 0 && between > 0 && between <= stale {
		dt = between
	}
	if odd := g.takeThrottles(told.Throttled, r.At, dt); odd > 0 {
		n.dropped[DroppedThrottle] += odd
	}
	if g.takeEnergy(told, r.At) {
		n.dropped[DroppedEnergy]++
	}
	g.told, g.readAt, g.seen = *told, r.At, cmp.Or(told.SampledAt, r.At)
}

// Names in GPUSource.Dropped of values that the reducer does not believe, which a single reading cannot tell.
const (
	DroppedEnergy   = "energy"   // more joules than the card can have used, or fewer than before: also the first after the counter began anew
	DroppedThrottle = "throttle" // likewise of seconds
)

// leave lets go of instances that were replaced: their card answers, and does not have them any more. It also bounds
// what a source can make the exporter remember by names that it shows once.
func (n *gpuState) leave() {
	answer := map[string]bool{} // cards
	for uuid, g := range n.known {
		if g.present {
			answer[cmp.Or(g.told.Card, uuid)] = true
		}
	}
	maps.DeleteFunc(n.known, func(_ string, g *gpu) bool { return !g.listed && g.told.Card != "" && answer[g.told.Card] })
	if len(n.known) <= maxGPUs {
		return
	}
	all := slices.SortedFunc(maps.Values(n.known), func(a, b *gpu) int {
		return cmp.Or(-cmp.Compare(a.readAt, b.readAt), compareGPUs(a, b))
	})
	for _, g := range all[maxGPUs:] {
		delete(n.known, g.told.UUID)
	}
}

// past reports whether a GPU has been silent for too long to be told of.
func (g *gpu) past(at float64) bool { return !g.present && at-max(g.seen, g.since) > gpuLife }

// list finds out which GPUs are told of.
func (n *gpuState) list(at float64) {
	maps.DeleteFunc(n.known, func(_ string, g *gpu) bool { return !g.listed && g.past(at) })
	n.visible = n.visible[:0]
	for _, g := range n.known {
		if g.past(at) {
			g.holding = holding{changed: true} // nobody is known to have it
		} else {
			n.visible = append(n.visible, g)
		}
	}
	slices.SortFunc(n.visible, compareGPUs)
}

// compareGPUs orders by UUID of the card, a card before its instances.
func compareGPUs(a, b *gpu) int {
	x, y := cmp.Or(a.told.Card, a.told.UUID), cmp.Or(b.told.Card, b.told.UUID)
	return cmp.Or(cmp.Compare(x, y), cmp.Compare(a.told.Card, b.told.Card), cmp.Compare(a.told.UUID, b.told.UUID))
}

// withoutValues is a GPU without its values.
func withoutValues(g *fact.GPU) fact.GPU {
	return fact.GPU{UUID: g.UUID, Card: g.Card, Instance: g.Instance, Profile: g.Profile, Model: g.Model, Bus: g.Bus, Node: g.Node, Lost: g.Lost}
}
