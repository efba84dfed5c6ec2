package sim

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// GPUModel describes the accelerators under one rank.
type GPUModel struct {
	Name          string  // as DCGM has it; "NVIDIA H100 80GB HBM3" by default
	Count         int     // 1 by default; several work in step, as under tensor parallelism
	IdleWatts     float64 // of each
	MaxWatts      float64
	MemoryBytes   float64 // of each, held by the engine from its start
	CapacityBytes float64 // of each, or of the MIG instance

	// Card is a name for the card that several ranks are on, of one engine or of many: they share it in time, or, with a MIG
	// profile, each has an instance of its own. Step is then the cost on the part that a rank has. "" is a card for itself.
	Card string
	MIG  string // profile of the instance that the rank runs on, such as "3g.40gb"; "" is the whole card
}

// withDefaults is the order of one current data-centre card.
func (m GPUModel) withDefaults() GPUModel {
	if m.Name == "" {
		m.Name = "NVIDIA H100 80GB HBM3"
	}
	if m.Count == 0 {
		m.Count = 1
	}
	if m.MaxWatts == 0 {
		m.IdleWatts, m.MaxWatts = 75, 700
	}
	_, gigabytes, _ := m.instance()
	if m.MemoryBytes == 0 {
		m.MemoryBytes = 73e9
		if m.MIG != "" {
			m.MemoryBytes = 0.85 * gigabytes * 1e9
		}
	}
	if m.CapacityBytes == 0 {
		m.CapacityBytes = max(81559<<20, m.MemoryBytes+reserved)
		if m.MIG != "" {
			m.CapacityBytes = gigabytes * 1e9
		}
	}
	return m
}

// reserved is what the driver keeps for itself of a card's memory, bytes.
const reserved = 512 << 20

// instance reads a MIG profile: sevenths of the card's cores, and gigabytes.
func (m *GPUModel) instance() (slices int, gigabytes float64, ok bool) {
	cores, memory, ok := strings.Cut(m.MIG, "g.")
	memory, suffix := strings.CutSuffix(memory, "gb")
	slices, err := strconv.Atoi(cores)
	size, errSize := strconv.ParseUint(memory, 10, 16)
	return slices, float64(size), ok && suffix && err == nil && errSize == nil && slices >= 1 && slices <= cardSlices && size > 0
}

// cardSlices is how many MIG instances a card can have at most.
const cardSlices = 7

func (m GPUModel) validate(engine string) error {
	var errs []error
	need := func(ok bool, what string) {
		if !ok {
			errs = append(errs, fmt.Errorf("engine %q: %s", engine, what))
		}
	}
	need(m.Count >= 0 && m.MemoryBytes >= 0 && m.CapacityBytes >= 0 && m.IdleWatts >= 0 && m.MaxWatts >= m.IdleWatts, "a GPU draws at least 0 W idle, and at most MaxWatts")
	need(m.Count <= 1 || m.Card == "" && m.MIG == "", "several GPUs of one rank cannot be parts of a card: GPU.Card and GPU.MIG")
	if m.MIG != "" {
		_, _, ok := m.instance()
		need(ok, fmt.Sprintf("GPU.MIG is a profile such as 3g.40gb, not %q", m.MIG))
	}
	full := m.withDefaults()
	need(m.CapacityBytes == 0 || full.CapacityBytes >= full.MemoryBytes, "a GPU holds at most GPU.CapacityBytes: GPU.MemoryBytes")
	return errors.Join(errs...)
}

// GPU is what one accelerator has done since the world began. Activity over a while is the growth of its seconds over
// the time that passed. Of a card that ranks share there is one for each of them, with its part: the parts of a card's
// power, energy and memory add up to the card's.
type GPU struct {
	Engine        string
	Rank, Index   int
	ActiveSeconds float64 // something was running
	TensorSeconds float64 // the tensor cores were
	DRAMSeconds   float64 // memory was read or written
	EnergyJoules  float64
	PowerWatts    float64 // now
	MemoryBytes   float64 // now in use

	UUID           string  // of the card
	MIG            string  // UUID of the instance; "" for a whole card
	Lost           bool    // it has fallen off the bus
	XID            int     // last error that the driver told of since the card came back or its driver was loaded; 0: none
	PowerSeconds   float64 // for which the card's clocks were held down by its power limit
	ThermalSeconds float64 // and by heat
}

// meter counts for one rank; its accelerators do the same.
type meter struct {
	model                        GPUModel
	idle, share                  float64 // the rank's parts of the card's idle power, and of its power above idle
	slow                         float64 // factor on the time of the step under way, because of its cards
	active, tensor, dram, energy float64 // seconds, and joules above idle
}

// shares of a step in which a unit is busy: reading a prompt is bound by the tensor cores, writing tokens by memory.
func (l stepLoad) shares(c StepCost) (tensor, dram float64) {
	prefill, rest := c.Prefill*float64(l.prefill), c.Base+c.Sequence*float64(l.decodes)+c.KV*float64(l.context)
	p := prefill / (prefill + rest)
	return 0.1 + 0.8*p, 0.85 - 0.5*p
}

// power is what a step draws above idle, watts. A step that is slowed draws less for longer: its energy is the same.
func (m *meter) power(l stepLoad, c StepCost) float64 {
	tensor, dram := l.shares(c)
	return (m.model.MaxWatts - m.model.IdleWatts) * (0.25 + 0.55*tensor + 0.2*dram) * m.share / m.slow
}

// add notes a step, or the part of it from one time to another.
func (m *meter) add(l stepLoad, c StepCost, from, to float64) {
	seconds := to - from
	tensor, dram := l.shares(c)
	m.active += seconds
	m.tensor += tensor * seconds / m.slow
	m.dram += dram * seconds / m.slow
	m.energy += m.power(l, c) * seconds
}

// GPUs is the state of all accelerators, those of engines that are down included: they idle.
func (w *World) GPUs() (out []GPU) {
	for _, s := range w.seats {
		out = append(out, s.gpu())
	}
	return out
}

// gpu is the accelerator under a seat, now.
func (s *seat) gpu() GPU {
	r, now := s.rank, s.rank.endpoint.world.now
	m := r.gpu
	idle := m.model.IdleWatts * m.idle
	g := GPU{Engine: r.endpoint.config.ID, Rank: r.index, Index: s.index, PowerWatts: idle, UUID: s.card.uuid, MIG: s.uuid, Lost: s.card.lost, XID: s.card.xid}
	if r.endpoint.up && !s.card.lost {
		g.MemoryBytes = m.model.MemoryBytes
	}
	if !math.IsInf(r.end, 1) {
		g.PowerWatts += m.power(r.load, r.cost)
		m.add(r.load, r.cost, r.began, now)
	}
	g.ActiveSeconds, g.TensorSeconds, g.DRAMSeconds = m.active, m.tensor, m.dram
	g.EnergyJoules = m.energy + idle*now
	g.PowerSeconds, g.ThermalSeconds = s.card.held(PowerCap, now), s.card.held(SoftwareThermal, now)+s.card.held(HardwareThermal, now)
	return g
}
