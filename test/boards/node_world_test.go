package boards

import (
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/sim"
)

// nodeConfig is a world in which each engine has its GPUs in another manner. Models are apart, so that what is said of one rests
// on GPUs of one kind.
func nodeConfig() sim.Config {
	scenario, _ := sim.ScenarioNamed("steady")
	c := sim.Config{Seed: 3, Start: nodeStart, GPUExporter: sim.GPUExporter{Interval: nodeSample, Counters: sim.AllCounters}}
	for _, e := range []struct {
		id, model string
		gpu       sim.GPUModel
	}{
		{"pair", "whole", sim.GPUModel{Count: 2}}, {"hot", "whole", sim.GPUModel{}}, {"fallen", "lost", sim.GPUModel{Count: 2}},
		{"slice-1", "parts", sim.GPUModel{Card: "sliced", MemoryBytes: 20e9}}, {"slice-2", "parts", sim.GPUModel{Card: "sliced", MemoryBytes: 30e9}},
		{"part-1", "parts", sim.GPUModel{Card: "divided", MIG: "3g.40gb"}}, {"part-2", "parts", sim.GPUModel{Card: "divided", MIG: "4g.40gb"}},
	} {
		one, load := scenario.Engines[0], scenario.Loads[0]
		one.ID, one.Model, one.GPU = e.id, e.model, e.gpu
		one.Tracing = &sim.Tracing{Ratio: 1, Attributes: []sim.Attribute{{Key: "goodput.engine", Value: e.id}}}
		if e.id == "fallen" {
			one.Tracing.Ratio = 0.9
		}
		load.Name, load.Engines, load.Rate = e.id, []string{e.id}, sim.Constant(2)
		c.Engines, c.Loads = append(c.Engines, one), append(c.Loads, load)
	}
	c.GPUEvents = []sim.GPUEvent{
		{Engine: "hot", After: 300, Throttle: sim.HardwareThermal, For: 200, Slow: 1.9}, {Engine: "hot", After: 700, Throttle: sim.PowerCap, For: 100, Slow: 1.1},
		{Engine: "hot", After: 400, XID: 31}, {Engine: "hot", After: 900, XID: 13},
	}
	c.Outages = []sim.Outage{{Engine: "fallen", After: 600, Down: 200, Crash: true, Lost: true}}
	return c
}

// label is what the label gpu has of a GPU: a page numbers the instances of a card.
func (n *node) label(g sim.GPU) string {
	if g.MIG == "" {
		return g.UUID
	}
	return g.UUID + "/" + g.Engine[len(g.Engine)-1:] // part-1 is the first
}

// named are the instances, which the configuration has to name: a kubelet has UUIDs of them and a page has none.
func (n *node) named() map[string][]string {
	of := map[string][]string{}
	for _, g := range n.world.GPUs() {
		if g.MIG != "" {
			of[g.Engine] = append(of[g.Engine], n.label(g))
		}
	}
	return of
}

// claims are what the kubelet says: which pod, of the engine's name, holds which card. One device of another driver is among
// them.
func (n *node) claims(at float64) *fact.DeviceClaims {
	c := &fact.DeviceClaims{At: at, Claims: []fact.DeviceClaim{{Namespace: "other", Pod: "viewer", Container: "x", Device: "gpu0", Unresolved: fact.UnresolvedForm}}}
	for _, g := range n.world.GPUs() {
		if g.MIG != "" {
			continue
		}
		claim := fact.DeviceClaim{Namespace: "serving", Pod: g.Engine, Container: "vllm", Device: g.UUID}
		if replica, sliced := map[string]string{"slice-1": "0", "slice-2": "1"}[g.Engine]; sliced {
			claim.Replica = replica
		}
		c.Claims = append(c.Claims, claim)
	}
	return c
}
