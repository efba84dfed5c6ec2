package boards

import (
	"strconv"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/sim"
)

// panelTruth is what is true of what a panel shows.
type panelTruth struct {
	board, panel, ref string
	within            float64 // of the value: what its page rounds off, or what a card uses while a sample is taken
	// of is what is true at a time, by the labels of the answer: of all that it has, or of those that the world knows; nil while
	// nothing is known. window is that of the question's rate, in seconds.
	of    func(n *node, at, window float64) map[string]float64
	all   bool    // the answer has nothing else
	other float64 // seconds before, at which another thing was true, which must be found wrong
}

var (
	activeOf = func(g sim.GPU) float64 { return g.ActiveSeconds }
	tensorOf = func(g sim.GPU) float64 { return g.TensorSeconds }
	dramOf   = func(g sim.GPU) float64 { return g.DRAMSeconds }
	energyOf = func(g sim.GPU) float64 { return g.EnergyJoules }
	memoryOf = func(g sim.GPU) float64 { return g.MemoryBytes }
	powerOf  = func(g sim.GPU) float64 { return g.PowerWatts }
)

const gpuBoard, engineBoard = "Goodput: GPU", "Goodput: engine"

// panelTruths are the panels of GPUs whose numbers the world knows without its page. It does not know of a temperature, a clock, a
// warp, or of what a driver keeps of the memory: the page makes assumptions there. Series that end have no marker of it in blocks that
// are made of text, so that a Prometheus shows them for five minutes more.
var panelTruths = []panelTruth{
	{gpuBoard, "GPUs, the engine that each belongs to, and how that is known, now", "A", 0, (*node).pairs, true, 800},
	{gpuBoard, "GPUs: do they answer, over time", "A", 0, (*node).answers, true, 240},
	{gpuBoard, "GPUs: share of time in which any kernel ran, now", "A", 0.01, func(n *node, at, _ float64) map[string]float64 { return n.shares(at, false, activeOf) }, false, 240},
	{gpuBoard, "GPUs: tensor cores, memory's interface and compute engine, now", "A", 1e-5, func(n *node, at, _ float64) map[string]float64 { return n.shares(at, true, tensorOf) }, false, 240},
	{gpuBoard, "GPUs: tensor cores, memory's interface and compute engine, now", "B", 1e-5, func(n *node, at, _ float64) map[string]float64 { return n.shares(at, true, dramOf) }, false, 240},
	{gpuBoard, "GPUs: tensor cores, memory's interface and compute engine, now", "C", 1e-5, func(n *node, at, _ float64) map[string]float64 { return n.shares(at, true, activeOf) }, false, 240},
	{gpuBoard, "GPU memory: in use, kept by the driver, free and there, now", "A", 1 << 20, (*node).memory, false, 240},
	{gpuBoard, "GPUs: power and its limit, now", "A", 1e-5, (*node).power, false, 240},
	{gpuBoard, "Energy of GPUs, and of the engines whose own they are, joules each second, 4 min and more", "A", 0.1, (*node).watts, false, 240},
	{gpuBoard, "GPUs: share of time in which clocks were held down, by reason, 4 min and more", "A", 1e-4, (*node).held, false, 240},
	{gpuBoard, "XID errors of the GPUs since their exporter first saw them, now", "A", 0, (*node).xids, true, nodeLength - 2*nodeSample},
	{engineBoard, "GPUs of the engines: power and its limit, now", "A", 1e-5, func(n *node, at, _ float64) map[string]float64 { return n.byEngine(at, powerOf) }, false, 240},
	{engineBoard, "GPU memory under the engines, in use and there, now", "A", 1 << 20, func(n *node, at, _ float64) map[string]float64 { return n.byEngine(at, memoryOf) }, false, 240},
}

// there are the GPUs that were not lost at the sample that was shown at a time, with the sample before it.
func (n *node) there(at float64, each func(now, before sim.GPU, seconds float64)) {
	s, ok := n.sampleAt(at)
	before, has := n.sampleAt(s.at - nodeSample/2)
	if !ok || !has {
		return
	}
	for i, g := range s.gpus {
		if !g.Lost && !before.gpus[i].Lost {
			each(g, before.gpus[i], s.at-before.at)
		}
	}
}

// shares are of the time between two samples. Of a card that is shared in time it is not known which shares overlap.
func (n *node) shares(at float64, instances bool, of func(sim.GPU) float64) map[string]float64 {
	out := map[string]float64{}
	n.there(at, func(now, before sim.GPU, seconds float64) {
		if !strings.HasPrefix(now.Engine, "slice") && (instances || now.MIG == "") {
			out[n.label(now)] = (of(now) - of(before)) / seconds
		}
	})
	return out
}

func (n *node) memory(at, _ float64) map[string]float64 { return n.sums(at, n.label, memoryOf) }

func (n *node) power(at, _ float64) map[string]float64 {
	return n.sums(at, func(g sim.GPU) string { return g.UUID }, powerOf)
}

// sums adds up the parts of what has one name: engines that share a card use parts of it.
func (n *node) sums(at float64, label func(sim.GPU) string, of func(sim.GPU) float64) map[string]float64 {
	s, ok := n.sampleAt(at)
	if !ok {
		return nil
	}
	out := map[string]float64{}
	for _, g := range s.gpus {
		if !g.Lost {
			out[label(g)] += of(g)
		}
	}
	return out
}

// byEngine is the same of each engine's own and shared GPUs. An instance has memory, and its card the power.
func (n *node) byEngine(at float64, of func(sim.GPU) float64) map[string]float64 {
	sums := n.sums(at, n.label, of)
	if sums == nil {
		return nil
	}
	out := map[string]float64{}
	for _, g := range n.samples[0].gpus {
		v, there := sums[n.label(g)]
		if there && (g.MIG == "" || of(g) == g.MemoryBytes) {
			out[name(g.Engine, n.label(g))] = v
		}
	}
	return out
}

// pairs are the GPUs with their engines, and whether they answer. Nobody has a card that is divided.
func (n *node) pairs(at, _ float64) map[string]float64 {
	up := n.answers(at, 0)
	if up == nil {
		return nil
	}
	out := map[string]float64{}
	for _, g := range n.samples[0].gpus {
		out[name(g.Engine, n.label(g))] = up[n.label(g)]
		if g.MIG != "" {
			out[g.UUID] = up[g.UUID]
		}
	}
	return out
}

func (n *node) answers(at, _ float64) map[string]float64 {
	s, ok := n.sampleAt(at)
	if !ok {
		return nil
	}
	out := map[string]float64{}
	for _, g := range s.gpus {
		if out[n.label(g)] = 1; g.Lost {
			out[n.label(g)] = 0
		}
		if g.MIG != "" {
			out[g.UUID] = 1
		}
	}
	return out
}

// over is what a counter of the cards grew by each second in a window, of those that answered all the time.
func (n *node) over(at, window float64, of func(sim.GPU) float64) map[string]float64 {
	last, ok := n.sampleAt(at)
	first, has := n.sampleAt(at - window)
	if !ok || !has {
		return nil
	}
	out, lost := map[string]float64{}, map[string]bool{}
	for _, s := range n.samples {
		for _, g := range s.gpus {
			lost[g.UUID] = lost[g.UUID] || g.Lost && s.at >= first.at && s.at <= last.at+window
		}
	}
	for i, g := range last.gpus {
		if !lost[g.UUID] {
			out[g.UUID] += (of(g) - of(first.gpus[i])) / window
		}
	}
	return out
}

func (n *node) watts(at, window float64) map[string]float64 { return n.over(at, window, energyOf) }

// held are the two reasons of which drivers keep an account, on cards of one engine each.
func (n *node) held(at, window float64) map[string]float64 {
	out := map[string]float64{}
	for reason, of := range map[string]func(sim.GPU) float64{
		"sw_power_cap": func(g sim.GPU) float64 { return g.PowerSeconds }, "thermal": func(g sim.GPU) float64 { return g.ThermalSeconds },
	} {
		for gpu, v := range n.over(at, window, of) {
			if len(n.engines(gpu)) == 1 {
				out[name(gpu, reason)] = v
			}
		}
	}
	return out
}

// engines are those on a card.
func (n *node) engines(uuid string) (ids []string) {
	for _, g := range n.samples[0].gpus {
		if g.UUID == uuid {
			ids = append(ids, g.Engine)
		}
	}
	return ids
}

// xids are the errors that a page showed as the last one: each of its own number counts once.
func (n *node) xids(at, _ float64) map[string]float64 {
	out := map[string]float64{}
	for _, s := range n.samples {
		for _, g := range s.gpus {
			if s.at <= at && g.XID > 0 && !g.Lost {
				out[name(g.UUID, strconv.Itoa(g.XID))] = 1
			}
		}
	}
	return out
}
