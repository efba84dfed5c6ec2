package sim

import "math"

// GPUModel describes the accelerators under one rank.
type GPUModel struct {
	Count       int     // 1 by default; several work in step, as under tensor parallelism
	IdleWatts   float64 // of each
	MaxWatts    float64
	MemoryBytes float64 // of each, held by the engine from its start
}

// withDefaults is the order of one current data-centre card.
func (m GPUModel) withDefaults() GPUModel {
	if m.Count == 0 {
		m.Count = 1
	}
	if m.MaxWatts == 0 {
		m.IdleWatts, m.MaxWatts = 75, 700
	}
	if m.MemoryBytes == 0 {
		m.MemoryBytes = 73e9
	}
	return m
}

// GPU is what one accelerator has done since the world began. Activity over a while is the growth of its seconds over
// the time that passed.
type GPU struct {
	Engine        string
	Rank, Index   int
	ActiveSeconds float64 // something was running
	TensorSeconds float64 // the tensor cores were
	DRAMSeconds   float64 // memory was read or written
	EnergyJoules  float64
	PowerWatts    float64 // now
	MemoryBytes   float64 // now in use
}

// meter counts for one rank; its accelerators do the same.
type meter struct {
	model                        GPUModel
	active, tensor, dram, energy float64 // seconds, and joules above idle
}

// shares of a step in which a unit is busy: reading a prompt is bound by the tensor cores, writing tokens by memory.
func (l stepLoad) shares(c StepCost) (tensor, dram float64) {
	prefill, rest := c.Prefill*float64(l.prefill), c.Base+c.Sequence*float64(l.decodes)+c.KV*float64(l.context)
	p := prefill / (prefill + rest)
	return 0.1 + 0.8*p, 0.85 - 0.5*p
}

// power is what a step draws above idle, watts.
func (m *meter) power(l stepLoad, c StepCost) float64 {
	tensor, dram := l.shares(c)
	return (m.model.MaxWatts - m.model.IdleWatts) * (0.25 + 0.55*tensor + 0.2*dram)
}

// add notes a step, or the part of it from one time to another.
func (m *meter) add(l stepLoad, c StepCost, from, to float64) {
	seconds := to - from
	tensor, dram := l.shares(c)
	m.active += seconds
	m.tensor += tensor * seconds
	m.dram += dram * seconds
	m.energy += m.power(l, c) * seconds
}

// GPUs is the state of all accelerators, those of engines that are down included: they idle.
func (w *World) GPUs() (out []GPU) {
	for _, e := range w.endpoints {
		for _, r := range e.ranks {
			m := r.gpu
			g := GPU{Engine: e.config.ID, Rank: r.index, PowerWatts: m.model.IdleWatts}
			if e.up {
				g.MemoryBytes = m.model.MemoryBytes
			}
			if !math.IsInf(r.end, 1) {
				g.PowerWatts += m.power(r.load, r.cost)
				m.add(r.load, r.cost, r.began, w.now)
			}
			g.ActiveSeconds, g.TensorSeconds, g.DRAMSeconds = m.active, m.tensor, m.dram
			g.EnergyJoules = m.energy + m.model.IdleWatts*w.now
			for i := range m.model.Count {
				g.Index = i
				out = append(out, g)
			}
		}
	}
	return out
}
