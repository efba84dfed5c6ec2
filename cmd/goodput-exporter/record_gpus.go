package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu"
	"github.com/goodput-exporter/goodput-exporter/collectors/recording"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// gpuTape reads the node's GPUs beside a recording of its engines, and gathers what they said between two rounds.
type gpuTape struct {
	source   keptSource
	interval time.Duration
	begun    time.Time // of the recording's clock
	disguise *recording.Disguise

	mu       sync.Mutex
	waiting  []tapedGPU
	last     float64 // time of the newest entry
	recorded int
	failed   int
}

// tapedGPU is a line to be, with what its body is made of; nil where it has none.
type tapedGPU struct {
	line *recording.GPU
	raw  *gpu.Raw
}

// keptSource is a source whose evidence is kept.
type keptSource interface {
	gpu.Source
	gpu.Keeper
}

// newGPUTape opens the source that a configuration names; nil where GPUs are not recorded, with the reason told.
func newGPUTape(cfg *config.Config, located func() (address, why string), d *recording.Disguise, log *slog.Logger) (tape *gpuTape, why string, _ error) {
	switch {
	case !cfg.GPU.Cards():
		return nil, "gpu.source is none", nil
	case cfg.GPU.DCGM.Embedded && cfg.GPU.Source != config.GPUPage:
		return nil, "gpu.dcgm.embedded is set, and a second host engine beside the exporter's would be in its way", nil
	}
	source, err := openGPUs(cfg, gpuOpening{located: located, keep: true}, log)
	if err != nil {
		return nil, "", fmt.Errorf("gpu: %w", err)
	}
	return &gpuTape{source: source.(keptSource), interval: cfg.GPU.Interval, begun: time.Now(), disguise: d}, "", nil
}

// follow reads GPUs from now on, until it is told to stop; then the source is closed.
func (t *gpuTape) follow(ctx context.Context) (stop func()) {
	if t == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var reading sync.WaitGroup
	reading.Go(func() { t.run(ctx) })
	return sync.OnceFunc(func() {
		cancel()
		reading.Wait()
		_ = t.source.Close() // of what was only read from
	})
}

// run reads until the context is done.
func (t *gpuTape) run(ctx context.Context) {
	tick := time.NewTicker(t.interval)
	defer tick.Stop()
	for {
		t.read(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// read takes one reading, and what it was made from.
func (t *gpuTape) read(ctx context.Context) {
	r := t.source.Read(ctx)
	if ctx.Err() != nil && r.Reason != "" {
		return // cut off by the end, which is nobody's fault
	}
	kept := t.source.Kept()
	t.mu.Lock()
	defer t.mu.Unlock()
	skew := unix(t.begun) + time.Since(t.begun).Seconds() - unix(time.Now()) // the wall clock may have been set meanwhile
	for i := range kept {
		raw := &kept[i]
		g := &recording.GPU{
			T: raw.At + skew, Took: raw.Took.Seconds(), Source: r.Source, ContentType: raw.ContentType, First: raw.First,
		}
		if raw.ContentType == gpu.TypePage {
			g.Status = 200
		}
		t.add(g, raw)
		t.recorded++
	}
	// A node on which there never were any GPUs is not told of.
	if len(kept) == 0 && r.Reason != "" && (r.Reason != fact.ReasonNoSource || t.last > 0) {
		t.add(&recording.GPU{T: r.At + skew, Source: r.Source, Err: r.Detail, Reason: r.Reason}, nil)
		t.failed++
	}
}

// add appends an entry. Lines about GPUs are in the order of their times, also where one source takes another's place.
func (t *gpuTape) add(g *recording.GPU, raw *gpu.Raw) {
	g.T = max(g.T, t.last)
	t.last = g.T
	t.waiting = append(t.waiting, tapedGPU{g, raw})
}

// scrub takes the page's secrets and the hidden labels out. A frame has no labels, and neither secrets nor names of pods.
func (t *gpuTape) scrub(raw *gpu.Raw) []byte {
	if raw.ContentType != gpu.TypePage {
		return raw.Body
	}
	return recording.Scrub(raw.Body, func(label, text string) string { return raw.Mask(t.disguise.Value(label, text)) })
}

// rewind hands over what has been gathered. It is called where pages of engines are scrubbed, since one disguise holds for both.
func (t *gpuTape) rewind() (entries []recording.Entry) {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	all := t.waiting
	t.waiting = nil
	t.mu.Unlock()
	for _, g := range all {
		if g.raw != nil {
			g.line.Body = t.scrub(g.raw)
		}
		entries = append(entries, recording.Entry{GPU: g.line})
	}
	return entries
}

func (t *gpuTape) summary() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := count(t.recorded, "reading") + " of GPUs"
	if t.failed > 0 {
		text += fmt.Sprintf(" (%d more failed)", t.failed)
	}
	return text
}

// locatedGPUs is where the node's dcgm-exporter has its page now, or "" and why it is not known.
func (g *generation) locatedGPUs() (address, why string) {
	if g.pods == nil {
		return "", "no pods are looked for"
	}
	return g.pods.watcher.DCGMExporter()
}
