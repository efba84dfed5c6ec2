package main

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/common/version"

	"github.com/goodput-exporter/goodput-exporter/collectors/discovery"
	"github.com/goodput-exporter/goodput-exporter/collectors/engine"
	"github.com/goodput-exporter/goodput-exporter/exporter"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// staleLeast is the least age, in seconds, at which a page's gauges are taken as no longer true; at longer intervals
// it is three of them.
const staleLeast = 10

// stall is the time without progress after which an engine with work in flight is stalled, in seconds: longer than any
// step of a healthy engine, a prefill of a very long prompt included.
const stall = 60

// history is for how long windows and percentiles are remembered for the status page, in seconds.
const history = 3600

// foldOptions is a configuration in the reducer's terms. started is when polling begins, unix seconds.
func foldOptions(cfg *config.Config, started float64) fold.Options {
	o := fold.Options{
		Objectives:      cfg.Objectives(),
		Started:         started,
		JudgementWindow: cfg.Judgement.Window.Seconds(),
		Quantiles:       cfg.Quantiles.Q,
		Grids:           cfg.Grids(),
		Stale:           max(staleLeast, 3*cfg.Poll.Interval.Seconds()),
		Stall:           stall,
		History:         history,
		OnePrompt:       cfg.Handlers.OnePrompt,
		ManyPrompts:     cfg.Handlers.ManyPrompts,
	}
	for _, w := range cfg.Quantiles.Windows {
		o.QuantileWindows = append(o.QuantileWindows, w.Seconds())
	}
	return o
}

// newExporter builds what a configuration asks for, on a state that may have seen some of it already: started is when that
// began.
func newExporter(cfg *config.Config, state *fold.State, started time.Time, log *slog.Logger) (*exporter.Exporter, error) {
	source, err := discovery.NewStatic(cfg.Targets())
	if err != nil {
		return nil, fmt.Errorf("engines.targets: %w", err)
	}
	fetcher, err := engine.New(engine.FetcherConfig{Timeout: cfg.Poll.Timeout, MaxBody: cfg.Poll.MaxBody})
	if err != nil {
		return nil, err
	}
	return exporter.New(exporter.Config{
		Interval:   cfg.Poll.Interval,
		Timeout:    cfg.Poll.Timeout,
		Source:     source,
		Poller:     fetcher,
		Reducer:    state,
		Objectives: cfg.Objectives(),
		Logger:     log,
		Started:    started,
		Version:    version.Version,
	})
}
