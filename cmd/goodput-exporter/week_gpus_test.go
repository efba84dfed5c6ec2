package main

import (
	"context"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/collectors/engine"
	"github.com/goodput-exporter/goodput-exporter/collectors/gpu"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/sim"
)

// trouble is something that is done to the engine's GPU. It slows nothing down, so that the incidents stay what they are.
type trouble struct {
	what  string
	event sim.GPUEvent
	lasts float64 // seconds for which the alert may begin
	alert string
}

// weekTroubles are those of a week of so many seconds: all are on its first day.
func weekTroubles(length float64) (all []trouble) {
	for _, g := range []trouble{
		{"clocks held down by heat, under four times the load", sim.GPUEvent{Engine: "a", After: 5 * hour, Throttle: sim.HardwareThermal, For: 2400, Slow: 1}, 2400, "GoodputGPUThrottled"},
		{"clocks held down by the power limit", sim.GPUEvent{Engine: "a", After: 7 * hour, Throttle: sim.PowerCap, For: 3600, Slow: 1}, 3600, ""},
		{"an error of the memory, XID 48", sim.GPUEvent{Engine: "a", After: 10 * hour, XID: 48}, 300, "GoodputGPUErrors"},
		{"an error of an application, XID 31", sim.GPUEvent{Engine: "a", After: 20 * hour, XID: 31}, 300, "GoodputGPUApplicationErrors"},
	} {
		if g.event.After+hour <= length {
			all = append(all, g)
		}
	}
	return all
}

// gpuSink lets the exporter read the page of the world's GPUs after each page of its engine.
type gpuSink struct {
	replaySink
	replayer *replayer
	world    *sim.World
	decoder  *gpu.Decoder
}

func (s *gpuSink) Take(snapshot *fold.Snapshot) error {
	reading := s.decoder.Decode(s.world.GPUPage(sim.GPURegime48), snapshot.At)
	return s.replaySink.Take(s.replayer.apply(fold.Round{GPUs: &reading}))
}

// replayWithGPUs is replay with the GPUs of the source's world.
func replayWithGPUs(ctx context.Context, cfg *config.Config, source *simulated, sink replaySink) error {
	r := newReplayer(cfg)
	r.state, r.decoders = fold.New(withGPUs(foldOptions(cfg, source.round), cfg)), map[string]*engine.Decoder{}
	return r.run(ctx, source, &gpuSink{sink, r, source.world, gpu.NewDecoder("", 0)})
}

// reportGPUs holds the alerts on GPUs to the troubles: each brings its own, and nothing else does.
func reportGPUs(t *testing.T, history []firing, length float64) {
	t.Helper()
	claimed := map[int]bool{}
	for _, g := range weekTroubles(length) {
		var fired []firing
		for i, f := range history {
			if strings.HasPrefix(f.alert, "GoodputGPU") && f.from >= g.event.After && f.from <= g.event.After+g.lasts {
				fired = append(fired, f)
				if claimed[i] = true; f.alert != g.alert {
					t.Errorf("%s: %s fired", g.what, f.alert)
				}
			}
		}
		t.Logf("%-52s at %6.2f h: %v", g.what, g.event.After/hour, names(fired))
		if g.alert != "" && len(fired) == 0 {
			t.Errorf("%s: %s did not fire", g.what, g.alert)
		}
	}
	for i, f := range history {
		if strings.HasPrefix(f.alert, "GoodputGPU") && !claimed[i] {
			t.Errorf("%s fired without a trouble, at %.2f h", f.alert, f.from/hour)
		}
	}
}
