package exporter

import (
	"cmp"
	"strconv"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// collectGPUs sends what is said of GPUs and of their source.
func collectGPUs(p *page, s *fold.Snapshot, now *Published, started float64) {
	collectPrices(p, now.Cost)
	collectGPUSource(p, &s.GPUSource, started)
	if !s.GPUSource.Up {
		return
	}
	models := map[string]string{}
	for i := range s.Engines {
		models[s.Engines[i].ID] = s.Engines[i].Model
	}
	for i := range s.GPUs {
		collectGPU(p, &s.GPUs[i], models)
	}
}

func collectPrices(p *page, c fold.Cost) {
	if c.PerGPUHour > 0 {
		p.gauge(catalog.GPUHourPrice, c.PerGPUHour, c.Currency)
	}
	if c.PerKWhour > 0 {
		p.gauge(catalog.EnergyPrice, c.PerKWhour, c.Currency)
	}
}

// collectGPUSource sends how the source does. One that auto has never found is no source that is down: most nodes without
// GPUs have it.
func collectGPUSource(p *page, s *fold.GPUSource, started float64) {
	if s.Name == "" || s.At == 0 && s.Reason == fact.ReasonNoSource {
		return
	}
	p.gauge(catalog.GPUSourceUp, truth(s.Up), s.Name)
	if s.At > 0 {
		p.gauge(catalog.GPULastSample, s.At, s.Name)
		p.info(catalog.GPUSourceInfo, s.Name, s.Driver, s.Version)
	}
	for _, t := range closed(s.Dropped, among("blank", "status", "stale", "future", "out_of_range", "not_a_number", "conflict", "disagree", "unidentified", "unreadable", "too_many", fold.DroppedEnergy, fold.DroppedThrottle)) {
		p.counter(catalog.GPUDropped, float64(t.Count), started, t.Name)
	}
	c := &s.Claims
	if !c.Asked {
		return
	}
	p.gauge(catalog.GPUClaimsUp, truth(c.Up))
	p.counter(catalog.GPUClaimConflicts, float64(c.Conflicts), started)
	for _, t := range closed(c.Unresolved, among(fact.UnresolvedName, fact.UnresolvedDRA, fact.UnresolvedForm)) {
		p.gauge(catalog.GPUClaimsUnresolved, float64(t.Count), t.Name)
	}
}

// gpuGauges are the values of a GPU that hold now, in the order of the catalogue.
var gpuGauges = []struct {
	name string
	of   func(*fact.GPU) fact.Number
}{
	{catalog.GPUBusy, func(g *fact.GPU) fact.Number { return g.Busy }},
	{catalog.GPUSMActive, func(g *fact.GPU) fact.Number { return g.SMActive }},
	{catalog.GPUSMOccupancy, func(g *fact.GPU) fact.Number { return g.Occupancy }},
	{catalog.GPUTensor, func(g *fact.GPU) fact.Number { return g.Tensor }},
	{catalog.GPUDRAM, func(g *fact.GPU) fact.Number { return g.DRAM }},
	{catalog.GPUGraphics, func(g *fact.GPU) fact.Number { return g.Engine }},
	{catalog.GPUMemoryUsed, func(g *fact.GPU) fact.Number { return g.MemoryUsed }},
	{catalog.GPUMemoryFree, func(g *fact.GPU) fact.Number { return g.MemoryFree }},
	{catalog.GPUMemoryTotal, func(g *fact.GPU) fact.Number { return g.MemoryTotal }},
	{catalog.GPUMemoryReserved, func(g *fact.GPU) fact.Number { return g.MemoryReserved }},
	{catalog.GPUPower, func(g *fact.GPU) fact.Number { return g.Power }},
	{catalog.GPUPowerLimit, func(g *fact.GPU) fact.Number { return g.PowerLimit }},
	{catalog.GPUTemperature, func(g *fact.GPU) fact.Number { return g.Temperature }},
	{catalog.GPUMemoryTemperature, func(g *fact.GPU) fact.Number { return g.MemoryTemperature }},
	{catalog.GPUSMClock, func(g *fact.GPU) fact.Number { return g.SMClock }},
	{catalog.GPUMemoryClock, func(g *fact.GPU) fact.Number { return g.MemoryClock }},
	{catalog.GPUPCIeTx, func(g *fact.GPU) fact.Number { return g.PCIeTx }},
	{catalog.GPUPCIeRx, func(g *fact.GPU) fact.Number { return g.PCIeRx }},
	{catalog.GPUNVLinkTx, func(g *fact.GPU) fact.Number { return g.NVLinkTx }},
	{catalog.GPUNVLinkRx, func(g *fact.GPU) fact.Number { return g.NVLinkRx }},
	{catalog.GPUECCErrors, func(g *fact.GPU) fact.Number { return g.ECCDouble }},
	{catalog.GPUPCIeReplays, func(g *fact.GPU) fact.Number { return g.PCIeReplays }},
	{catalog.GPURemapFailed, func(g *fact.GPU) fact.Number { return g.RemapFailed }},
}

// collectGPU sends one card or MIG instance. Of one that does not answer only that is sent, who it is, and which errors
// it had: they say why.
func collectGPU(p *page, g *fold.GPU, models map[string]string) {
	collectGPUInfo(p, g, models)
	p.gauge(catalog.GPUUp, truth(g.Up), g.UUID)
	collectErrors(p, g)
	if !g.Up {
		return
	}
	for _, row := range gpuGauges {
		if n := row.of(&g.GPU); n.Known {
			p.gauge(row.name, n.V, g.UUID)
		}
	}
	if g.Joules.Known {
		p.counter(catalog.GPUEnergy, g.Joules.V, g.Since, g.UUID)
	}
	for _, t := range g.Throttled {
		p.counter(catalog.GPUThrottle, t.Seconds, g.Since, g.UUID, string(t.Reason))
	}
}

func collectGPUInfo(p *page, g *fold.GPU, models map[string]string) {
	shared, basis := yes(g.Shared), ""
	if !g.Shared && g.Card == "" && len(g.Engines) == 1 {
		basis = catalog.BasisWhole
	}
	pair := func(engine string) {
		p.info(catalog.GPUInfo, g.UUID, cmp.Or(g.Join, fold.JoinUnmatched), engine, models[engine], g.Model, g.Card, g.Profile, shared, basis)
	}
	if len(g.Engines) == 0 {
		pair("")
	}
	for _, id := range g.Engines {
		pair(id)
	}
}

// yes is the value of a label that is there where something holds.
func yes(b bool) string {
	if b {
		return "true"
	}
	return ""
}

// xids bounds the numbers of the driver's errors: NVIDIA's catalogue ends below 200.
const xids = 1000

func collectErrors(p *page, g *fold.GPU) {
	if len(g.Errors) == 0 && !g.XIDsCounted {
		return
	}
	var all, other uint64
	for _, x := range g.Errors {
		all += x.Count
		if x.XID < 0 || x.XID >= xids {
			other += x.Count
			continue
		}
		p.counter(catalog.GPUXIDErrors, float64(x.Count), g.Since, g.UUID, strconv.Itoa(x.XID))
	}
	if other > 0 {
		p.counter(catalog.GPUXIDErrors, float64(other), g.Since, g.UUID, catalog.ReasonOther)
	}
	p.counter(catalog.GPUErrors, float64(all), g.Since, g.UUID)
}

// collectEngineGPUs sends what an engine has and uses of GPUs.
func collectEngineGPUs(p *page, e *fold.Engine, now *Published) {
	g := &e.GPUs
	if now.Snapshot.GPUSource.Up && g.Join != "" && !e.Gone {
		p.gauge(catalog.EngineGPUs, float64(len(g.UUIDs)), e.ID, g.Join, e.Model, yes(g.Partial != ""))
	}
	if g.Joules.Known {
		p.counter(catalog.EngineEnergy, g.Joules.V, g.Since, e.ID, e.Model)
	}
	if g.Cost.Known && now.Cost.Currency != "" {
		p.counter(catalog.EngineCost, g.Cost.V, g.Since, e.ID, now.Cost.Currency, e.Model)
	}
}
