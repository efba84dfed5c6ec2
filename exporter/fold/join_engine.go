package fold

// engineGPUs is what is remembered of the GPUs of an engine.
type engineGPUs struct {
	joined // by the newest join
	shared bool
	since  float64 // when it first had GPUs alone; 0 never
	joules float64
	cost   float64 // in Cost.Currency

	// As of the last round in which the engine was a target.
	alone    bool // it has GPUs, and each is a whole card that is its alone
	measured bool // and all that they used is in joules
}

// own makes an engine the owner of its GPUs where all of them are its alone: nothing is divided. It says why not, and why
// what they use is not known.
func (e *engine) own(at, stale float64) {
	g := &e.gpus
	g.shared, g.alone, g.measured = false, len(g.gpus) > 0, false
	var silent *gpu
	for _, gpu := range g.gpus {
		switch {
		case gpu.shared:
			g.shared, g.alone = true, false
			g.why = gpu.told.UUID + " is held by others too: what it uses cannot be told apart"
		case gpu.told.Card != "":
			g.alone = false
			if !g.shared {
				g.why = gpu.told.UUID + " is a MIG instance: what it uses of its card's energy cannot be told"
			}
		case !gpu.measured(at, stale):
			silent = gpu
		}
	}
	if !g.alone {
		return
	}
	if g.since == 0 {
		g.since = at
	}
	for _, gpu := range g.gpus {
		gpu.owner = e
	}
	switch {
	case silent == nil:
		g.measured = true
	case silent.present:
		g.why = silent.told.UUID + " does not tell how much energy it uses"
	default:
		g.why = silent.told.UUID + " does not answer"
	}
}

// priced reports whether anything costs.
func (c *Cost) priced() bool { return c.PerGPUHour > 0 || c.PerKWhour > 0 }

// reconfigureGPUs makes what is known of GPUs follow other options. Money in another currency is another counter.
func (s *State) reconfigureGPUs(before *Options) {
	if s.opts.GPUStale <= 0 {
		s.gpus = gpuState{}
	}
	if before.Cost.Currency == s.opts.Cost.Currency {
		return
	}
	for _, e := range s.engines {
		e.gpus.cost = 0
	}
}
