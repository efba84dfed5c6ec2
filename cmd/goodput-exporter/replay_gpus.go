package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu"
	"github.com/goodput-exporter/goodput-exporter/collectors/recording"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// replayedGPUs is what a replay does with recorded readings of GPUs: what their source and the exporter's rounds do.
type replayedGPUs struct {
	reader  *gpu.Replayer // nil: the configuration asks for no GPUs
	waiting []fact.GPUReading

	unused int // for want of a reader
	failed map[fact.Reason]*refusal
}

func newReplayedGPUs(cfg *config.Config) *replayedGPUs {
	g := &replayedGPUs{failed: map[fact.Reason]*refusal{}}
	if cfg.GPU.Cards() {
		g.reader = gpu.NewReplayer()
	}
	return g
}

// take makes a reading of what was recorded.
func (g *replayedGPUs) take(rec *recording.GPU) {
	if g.reader == nil {
		g.unused++
		return
	}
	r := g.read(rec)
	if r.Reason != "" {
		if g.failed[r.Reason] == nil {
			g.failed[r.Reason] = &refusal{first: fmt.Sprintf("line %d at %.3f: %s", rec.Line, rec.T, printable(r.Detail))}
		}
		g.failed[r.Reason].count++
	}
	if len(g.waiting) == mostWaiting {
		g.waiting = g.waiting[1:]
	}
	g.waiting = append(g.waiting, r)
}

func (g *replayedGPUs) read(rec *recording.GPU) fact.GPUReading {
	if reason, detail, failed := rec.Failed(); failed {
		return fact.GPUReading{Source: rec.Source, At: rec.T + rec.Took, Reason: reason, Detail: detail}
	}
	r := g.reader.Read(&gpu.Raw{At: rec.T, Took: time.Duration(rec.Took * float64(time.Second)), ContentType: rec.ContentType, Body: rec.Body, First: rec.First})
	r.At = rec.T + rec.Took // a frame is dated by another process
	return r
}

// mostWaiting bounds the readings between two pages. Only the newest is used, and errors are counted over all.
const mostWaiting = 64

// until hands over the newest reading that had come at a time; nil: none has since the last one.
func (g *replayedGPUs) until(at float64) (newest *fact.GPUReading) {
	n := 0
	for n < len(g.waiting) && g.waiting[n].At <= at {
		n++
	}
	if n == 0 {
		return nil
	}
	newest = &g.waiting[n-1]
	if g.waiting = g.waiting[n:]; len(g.waiting) == 0 {
		g.waiting = nil
	}
	return newest
}

// rest hands over the newest of what came after the last page; nil: nothing did.
func (g *replayedGPUs) rest() *fact.GPUReading {
	if len(g.waiting) == 0 {
		return nil
	}
	return g.until(g.waiting[len(g.waiting)-1].At)
}

// print says what was not used, and why.
func (g *replayedGPUs) print(w io.Writer, elsewhere int) {
	if w == nil {
		return
	}
	if g.unused > 0 {
		fmt.Fprintf(w, "%s of GPUs not used: gpu.source is none in this configuration\n", count(g.unused, "reading"))
	}
	if elsewhere > 0 {
		fmt.Fprintf(w, "%s of GPUs not used: they overlap with those of another recording, and one replay has the GPUs of one node; replay them one by one\n", count(elsewhere, "reading"))
	}
	for _, reason := range slices.Sorted(maps.Keys(g.failed)) {
		fmt.Fprintf(w, "%s of GPUs brought nothing, reason %s; the first: %s\n", count(g.failed[reason].count, "reading"), reason, g.failed[reason].first)
	}
}
