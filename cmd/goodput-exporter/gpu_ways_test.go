package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/goodput-exporter/goodput-exporter/collectors/engine"
	"github.com/goodput-exporter/goodput-exporter/collectors/gpu"
	"github.com/goodput-exporter/goodput-exporter/exporter"
	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/sim"
)

const (
	wayStep   = 10.0  // seconds between two readings of the GPUs
	wayLength = 400.0 // seconds of a world
	wayPoll   = 5 * time.Second
	// waySample is how old what a page shows can be, seconds: its exporter looks at the cards as often.
	waySample = 1.0
	// defaultAge is that of a dcgm-exporter that nobody told otherwise.
	defaultAge = 30.0
)

// gpuNode is a node of which each engine has its GPUs in another manner: two of its own, one that runs hot and reports errors,
// a card shared in time, instances of a card, and two of which one falls off the bus.
func gpuNode() sim.Config {
	s, _ := sim.ScenarioNamed("steady")
	c := sim.Config{Seed: 5, Start: simStart, GPUExporter: sim.GPUExporter{Interval: waySample, Counters: sim.AllCounters}}
	for _, e := range []struct {
		id  string
		gpu sim.GPUModel
	}{
		{"pair", sim.GPUModel{Count: 2}},
		{"hot", sim.GPUModel{}},
		{"slice-1", sim.GPUModel{Card: "sliced", MemoryBytes: 20e9}}, {"slice-2", sim.GPUModel{Card: "sliced", MemoryBytes: 30e9}},
		{"part-1", sim.GPUModel{Card: "divided", MIG: "3g.40gb"}}, {"part-2", sim.GPUModel{Card: "divided", MIG: "4g.40gb"}},
		{"fallen", sim.GPUModel{Count: 2}},
	} {
		one, load := s.Engines[0], s.Loads[0]
		one.ID, one.GPU = e.id, e.gpu
		load.Name, load.Engines, load.Rate = e.id, []string{e.id}, sim.Constant(2)
		c.Engines, c.Loads = append(c.Engines, one), append(c.Loads, load)
	}
	c.GPUEvents = []sim.GPUEvent{
		{Engine: "hot", After: 62, Throttle: sim.HardwareThermal, For: 101, Slow: 1.6}, {Engine: "hot", After: 203, Throttle: sim.PowerCap, For: 52, Slow: 1.1},
		{Engine: "hot", After: 44, XID: 31}, {Engine: "hot", After: 152, XID: 31}, {Engine: "hot", After: 254, XID: 13}, {Engine: "part-1", After: 73, XID: 94},
	}
	c.Outages = []sim.Outage{
		{Engine: "fallen", After: 125, Down: 60, Crash: true, Lost: true},
		{Engine: "pair", After: 251, Down: 40, Reload: true},
	}
	return c
}

// gpuConfig is a configuration that says whose the world's GPUs are, and what they cost.
func gpuConfig(world *sim.World, instance func(sim.GPU) string) *config.Config {
	cfg := config.Default()
	cfg.SLOs = simObjectives()[:1]
	cfg.Poll.Interval = wayPoll
	cfg.GPU.Interval = time.Duration(wayStep) * time.Second
	cfg.GPU.Cost = config.Cost{Currency: "EUR", PerGPUHour: 2, PerKWhour: 0.25}
	cfg.GPU.Engines = map[string][]string{}
	for _, g := range world.GPUs() {
		id := g.UUID
		if g.MIG != "" {
			id = instance(g)
		}
		cfg.GPU.Engines[g.Engine] = append(cfg.GPU.Engines[g.Engine], id)
	}
	return &cfg
}

// gpuWay is an exporter that watches a world and knows its GPUs in one way.
type gpuWay struct {
	name string
	read func(at float64) fact.GPUReading

	replayer *replayer
	snapshot *fold.Snapshot
	gatherer prometheus.Gatherer
	source   string  // its name as a source
	age      float64 // seconds that what it reads may be old
}

func newGPUWay(t *testing.T, name, source string, cfg *config.Config, read func(at float64) fact.GPUReading) *gpuWay {
	t.Helper()
	w := &gpuWay{name: name, source: source, read: read, replayer: newReplayer(cfg), age: waySample}
	w.replayer.state, w.replayer.decoders = fold.New(withGPUs(foldOptions(cfg, simStart), cfg)), map[string]*engine.Decoder{}
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(exporter.NewSnapshotCollector(exporter.SnapshotConfig{Started: simStart, Published: func() exporter.Published {
		return exporter.Published{Snapshot: w.snapshot, Objectives: cfg.Objectives(), Cost: costOf(cfg)}
	}})); err != nil {
		t.Fatal(err)
	}
	w.gatherer = registry
	return w
}

// gpuWays are one that reads DCGM itself, an exporter beside a dcgm-exporter of each regime that shows all, and one beside
// a dcgm-exporter as it is by default. Pages number instances; DCGM has a UUID of each.
func gpuWays(t *testing.T, world *sim.World) []*gpuWay {
	t.Helper()
	names := instanceNames(world)
	numbered := gpuConfig(world, func(g sim.GPU) string { return names[g.MIG] })
	page := func(regime sim.GPURegime) *gpuWay {
		d := gpu.NewDecoder("", 0)
		return newGPUWay(t, "a page of "+string(regime), gpu.NamePage, numbered, func(at float64) fact.GPUReading { return d.Decode(world.GPUPage(regime), at) })
	}
	double := newDoubledGPUs(t, world)
	return []*gpuWay{
		newGPUWay(t, "DCGM", gpu.NameChild, gpuConfig(world, func(g sim.GPU) string { return g.MIG }), func(at float64) fact.GPUReading { return double.read(world, at) }),
		page(sim.GPURegime48), page(sim.GPURegime49), defaultWay(t, numbered),
	}
}

// defaultWay has a world of its own, which is the same but for what its dcgm-exporter shows, and how often it looks.
func defaultWay(t *testing.T, cfg *config.Config) *gpuWay {
	t.Helper()
	c := gpuNode()
	c.GPUExporter = sim.GPUExporter{}
	world, err := sim.New(c)
	if err != nil {
		t.Fatal(err)
	}
	d := gpu.NewDecoder("", 0)
	w := newGPUWay(t, "a page by default", gpu.NamePage, cfg, func(at float64) fact.GPUReading {
		world.Run(at)
		return d.Decode(world.GPUPage(sim.GPURegime48), at)
	})
	w.age = defaultAge
	return w
}

// instanceNames are what a page has for the UUIDs of instances: the card's, and a number.
func instanceNames(world *sim.World) map[string]string {
	names, count := map[string]string{}, map[string]int{}
	for _, g := range world.GPUs() {
		if g.MIG != "" {
			count[g.UUID]++
			names[g.MIG] = fmt.Sprintf("%s/%d", g.UUID, count[g.UUID])
		}
	}
	return names
}

// watchGPUs lets all of them watch the world; look is called after each reading. The first comes when all engines are known:
// what an engine uses is counted from the reading after it was.
func watchGPUs(t *testing.T, world *sim.World, ways []*gpuWay, look func(at float64)) {
	t.Helper()
	pages := newSimulated(world, simStart, wayPoll, func(at float64) bool { return at <= simStart+wayLength })
	for due := simStart + wayStep; ; {
		e, err := pages.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		at := e.Page.T + simPageTook/2 // the world's time now
		for _, w := range ways {
			w.snapshot = w.replayer.fold(*e.Page)
			if at < due {
				continue
			}
			r := w.read(at)
			if r.Reason != "" {
				t.Fatalf("%s at %.0f s: %s: %s", w.name, at-simStart, r.Reason, r.Detail)
			}
			w.snapshot = w.replayer.apply(fold.Round{GPUs: &r})
		}
		if at >= due {
			due += wayStep
			look(at)
		}
	}
}

// series are all that are published of GPUs, each with its value. The UUIDs of instances are taken for those of a page.
func (w *gpuWay) series(t *testing.T, world *sim.World) map[string]float64 {
	t.Helper()
	gathered, err := w.gatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var pairs []string
	for mig, name := range instanceNames(world) {
		pairs = append(pairs, mig, name)
	}
	rename := strings.NewReplacer(pairs...).Replace
	out := map[string]float64{}
	for _, f := range gathered {
		if !gpuFamilies[f.GetName()] {
			continue
		}
		for _, m := range f.Metric {
			out[rename(seriesName(f.GetName(), m))] = sampleOf(m)
		}
	}
	return out
}

// gpuFamilies are the names of all series of GPUs.
var gpuFamilies = maps.Collect(func(yield func(string, bool) bool) {
	for _, s := range catalog.All() {
		if s.Group == catalog.GroupGPU && !yield(s.Name, true) {
			return
		}
	}
})

func seriesName(family string, m *dto.Metric) string {
	var labels []string
	for _, l := range m.Label {
		labels = append(labels, l.GetName()+"="+l.GetValue())
	}
	slices.Sort(labels)
	return family + "{" + strings.Join(labels, ",") + "}"
}

func sampleOf(m *dto.Metric) float64 { return m.GetGauge().GetValue() + m.GetCounter().GetValue() }
