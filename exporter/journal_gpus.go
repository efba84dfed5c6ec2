package exporter

import (
	"context"
	"log/slog"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// rememberedGPUs is what the journal knows of GPUs.
type rememberedGPUs struct {
	source, claims *bool // were up at the last round; nil: nothing is known
	up             map[string]bool
	errors         map[string]map[int]uint64
}

// noteGPUs logs sources, claims and cards that go and come back, and errors of the driver. DCGM's child logs its own state,
// and so does auto when it chooses; a page does not.
func (j *journal) noteGPUs(s *fold.Snapshot) {
	src := &s.GPUSource
	if src.Name == "dcgm-exporter" && src.Reason != fact.ReasonStarting {
		edge(&j.gpus.source, src.Up, func() {
			j.log.Info("GPU telemetry is there", "gpu_source", src.Name)
		}, func() {
			j.log.Warn("GPU telemetry is not there", "gpu_source", src.Name, "reason", src.Reason, "detail", src.Detail)
		})
	}
	if c := &src.Claims; c.Asked {
		edge(&j.gpus.claims, c.Up, func() {
			j.log.Info("the kubelet says which container holds which GPU")
		}, func() {
			j.log.Warn("the kubelet does not say which container holds which GPU: its last answer is used for up to an hour", "detail", c.Detail)
		})
	}
	if !src.Up {
		return // of cards nothing is known
	}
	now := map[string]bool{}
	errors := map[string]map[int]uint64{}
	for i := range s.GPUs {
		g := &s.GPUs[i]
		log := j.log.With("gpu", g.UUID)
		now[g.UUID] = g.Up
		switch was, known := j.gpus.up[g.UUID]; {
		case !g.Up && (was || !known):
			log.Warn("a GPU does not answer", "engines", g.Engines)
		case g.Up && known && !was:
			log.Info("a GPU answers again", "engines", g.Engines)
		}
		errors[g.UUID] = noteErrors(log, j.gpus.errors[g.UUID], g)
	}
	j.gpus.up, j.gpus.errors = now, errors
}

// edge calls what belongs to a state that differs from the last one.
func edge(was **bool, is bool, up, down func()) {
	if *was != nil && **was == is {
		return
	}
	*was = &is
	if is {
		up()
	} else {
		down()
	}
}

// noteErrors logs each kind of error of a GPU the first time, and again at debug only.
func noteErrors(log *slog.Logger, before map[int]uint64, g *fold.GPU) map[int]uint64 {
	now := make(map[int]uint64, len(g.Errors))
	for _, x := range g.Errors {
		now[x.XID] = x.Count
		level := slog.LevelWarn
		switch told := before[x.XID]; {
		case x.Count <= told:
			continue
		case told > 0 || len(before) >= maxTold:
			level = slog.LevelDebug
		}
		log.Log(context.Background(), level, "the driver reports an error of a GPU", "xid", x.XID, "times", x.Count, "engines", g.Engines)
	}
	return now
}
