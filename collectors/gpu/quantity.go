package gpu

import (
	"math"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// quantity is one number of a card, in base units, and what it can be at all.
type quantity struct {
	name     string
	min, max float64
	of       func(*fact.GPU) *fact.Number

	instance  bool // a MIG instance has one of its own; otherwise a row of an instance repeats the card's
	profiling bool // measured by the profiling module
	counter   bool
}

// The bounds are beyond every card that is sold, so that only what cannot be is dropped. From NVIDIA's datasheets, 2026:
// the largest board takes 1.4 kW (GB300), has 288 GB (B300) or 576 GB with the CPU's (GH200), clocks SMs below 3.2 GHz
// and memory up to 14 GHz as the driver counts (GDDR7), moves 0.9 TB/s over NVLink and 0.13 TB/s over PCIe each way.
// Cards shut down at about 100 degrees. A counter below 2^31-16 is below the blanks of 32-bit fields too.
const (
	maxWatts  = 2000
	maxJoules = 1e12 // 2 kW for 16 years
	minDegree = -40
	maxDegree = 150
	maxSM     = 5e9
	maxClock  = 2e10
	maxBytes  = 4 << 40
	maxPCIe   = 1e12
	maxNVLink = 1e13
	maxEvents = 0x7fffffef
	maxHeld   = 1e9 // seconds: 31 years
)

var (
	busy      = &quantity{name: "gpu_util", max: 1, of: func(g *fact.GPU) *fact.Number { return &g.Busy }}
	engine    = &quantity{name: "gr_engine", max: 1, of: func(g *fact.GPU) *fact.Number { return &g.Engine }, instance: true, profiling: true}
	smActive  = &quantity{name: "sm_active", max: 1, of: func(g *fact.GPU) *fact.Number { return &g.SMActive }, instance: true, profiling: true}
	occupancy = &quantity{name: "sm_occupancy", max: 1, of: func(g *fact.GPU) *fact.Number { return &g.Occupancy }, instance: true, profiling: true}
	tensor    = &quantity{name: "tensor", max: 1, of: func(g *fact.GPU) *fact.Number { return &g.Tensor }, instance: true, profiling: true}
	dram      = &quantity{name: "dram", max: 1, of: func(g *fact.GPU) *fact.Number { return &g.DRAM }, instance: true, profiling: true}

	pcieTx   = &quantity{name: "pcie_tx", max: maxPCIe, of: func(g *fact.GPU) *fact.Number { return &g.PCIeTx }, profiling: true}
	pcieRx   = &quantity{name: "pcie_rx", max: maxPCIe, of: func(g *fact.GPU) *fact.Number { return &g.PCIeRx }, profiling: true}
	nvlinkTx = &quantity{name: "nvlink_tx", max: maxNVLink, of: func(g *fact.GPU) *fact.Number { return &g.NVLinkTx }, profiling: true}
	nvlinkRx = &quantity{name: "nvlink_rx", max: maxNVLink, of: func(g *fact.GPU) *fact.Number { return &g.NVLinkRx }, profiling: true}

	memoryTotal    = &quantity{name: "memory_total", min: 1, max: maxBytes, of: func(g *fact.GPU) *fact.Number { return &g.MemoryTotal }, instance: true}
	memoryFree     = &quantity{name: "memory_free", max: maxBytes, of: func(g *fact.GPU) *fact.Number { return &g.MemoryFree }, instance: true}
	memoryUsed     = &quantity{name: "memory_used", max: maxBytes, of: func(g *fact.GPU) *fact.Number { return &g.MemoryUsed }, instance: true}
	memoryReserved = &quantity{name: "memory_reserved", max: maxBytes, of: func(g *fact.GPU) *fact.Number { return &g.MemoryReserved }, instance: true}

	power      = &quantity{name: "power", max: maxWatts, of: func(g *fact.GPU) *fact.Number { return &g.Power }}
	powerLimit = &quantity{name: "power_limit", min: 1, max: maxWatts, of: func(g *fact.GPU) *fact.Number { return &g.PowerLimit }}
	energy     = &quantity{name: "energy", max: maxJoules, of: func(g *fact.GPU) *fact.Number { return &g.Energy }, counter: true}

	temperature = &quantity{name: "temperature", min: minDegree, max: maxDegree, of: func(g *fact.GPU) *fact.Number { return &g.Temperature }}
	// Boards whose memory has no sensor say 0 where they do not say that they have none.
	memoryTemperature = &quantity{name: "memory_temperature", min: 1, max: maxDegree, of: func(g *fact.GPU) *fact.Number { return &g.MemoryTemperature }}

	smClock     = &quantity{name: "sm_clock", max: maxSM, of: func(g *fact.GPU) *fact.Number { return &g.SMClock }}
	memoryClock = &quantity{name: "memory_clock", max: maxClock, of: func(g *fact.GPU) *fact.Number { return &g.MemoryClock }}

	eccDouble   = &quantity{name: "ecc_double", max: maxEvents, of: func(g *fact.GPU) *fact.Number { return &g.ECCDouble }, counter: true}
	remapFailed = &quantity{name: "remap_failed", max: 1, of: func(g *fact.GPU) *fact.Number { return &g.RemapFailed }}
	pcieReplays = &quantity{name: "pcie_replays", max: maxEvents, of: func(g *fact.GPU) *fact.Number { return &g.PCIeReplays }, counter: true}
)

// quantities are all of them, in the order of fact.GPU.
var quantities = []*quantity{
	busy, smActive, occupancy, tensor, dram, engine, memoryUsed, memoryFree, memoryTotal, memoryReserved, power, powerLimit, energy,
	temperature, memoryTemperature, smClock, memoryClock, pcieTx, pcieRx, nvlinkTx, nvlinkRx, eccDouble, remapFailed, pcieReplays,
}

// noise is by what share of a bound a value may be beyond it and still mean the bound. Shares of time are quotients that
// come out as 1.0000000000000002, or as 1.0000001 where a source divides in single precision; dcgm-exporter prints six
// digits. What is further out is no rounding: on MIG instances sm_active has been seen well above 1 (NVIDIA/DCGM#152).
// Counters have none: they are counted, not divided, and the next number after the bound is a blank.
const noise = 1e-6

// judge returns v as this quantity, or why it cannot be it. What is beyond a bound by noise alone is the bound.
func (q *quantity) judge(v float64) (_ float64, why string) {
	below, above := q.slack()
	switch {
	case !finite(v):
		return 0, dropNotANumber
	case v < q.min-below, v > q.max+above:
		return 0, dropRange
	}
	return min(max(v, q.min), q.max), ""
}

// slack is how far out noise may be, below and above.
func (q *quantity) slack() (below, above float64) {
	if q.counter {
		return 0, 0
	}
	return noise * max(1, math.Abs(q.min)), noise * q.max
}

// costs tells what cannot be answered without a quantity that no card has, in the order of quantities.
var costs = map[*quantity]string{
	smActive:    "whether a busy card is used well: it needs the profiling module or a Hopper card",
	tensor:      "whether the load is bound by computing",
	dram:        "whether the load is bound by memory bandwidth",
	memoryTotal: "how much memory there is",
	power:       "what the card draws",
	powerLimit:  "how near the card is to its power limit",
	energy:      "energy per token",
}

// missing lists the quantities that matter and that no card or instance of the reading has.
func missing(gpus []fact.GPU) []fact.Missing {
	var m []fact.Missing
	for _, q := range quantities {
		cost, matters := costs[q]
		for i := range gpus {
			matters = matters && !q.of(&gpus[i]).Known
		}
		if matters {
			m = append(m, fact.Missing{Field: q.name, Cost: cost})
		}
	}
	return m
}
