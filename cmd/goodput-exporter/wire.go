package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/discovery"
	"github.com/goodput-exporter/goodput-exporter/collectors/discovery/file"
	"github.com/goodput-exporter/goodput-exporter/collectors/engine"
	"github.com/goodput-exporter/goodput-exporter/exporter"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
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
		Spans:           cfg.Spans.Taken(),
		Grace:           cfg.Spans.Grace.Seconds(),
	}
	for _, w := range cfg.Quantiles.Windows {
		o.QuantileWindows = append(o.QuantileWindows, w.Seconds())
	}
	return o
}

// slowest is how many rounds an engine whose page is dear may be left alone for.
const slowest = 4

// maxInterval is up to which an engine is polled less often than configured: a judgement window needs four pages, and the
// gauges of a page must not grow old before the next one comes. An engine that may be polled fast serves nobody.
func maxInterval(cfg *config.Config) time.Duration {
	if cfg.Poll.AllowFast {
		return cfg.Poll.Interval
	}
	young := max(staleLeast*time.Second, 3*cfg.Poll.Interval) * 8 / 10
	return max(cfg.Poll.Interval, min(slowest*cfg.Poll.Interval, cfg.Judgement.Window/4, young))
}

// fetcherConfig is how a configuration's engines are asked.
func fetcherConfig(cfg *config.Config) engine.FetcherConfig {
	f := engine.FetcherConfig{
		Timeout: cfg.Poll.Timeout, MaxBody: cfg.Poll.MaxBody, Access: accessOf(cfg, &cfg.Engines.Access), Of: map[string]engine.Access{},
	}
	for _, t := range cfg.Engines.Targets {
		if t.Access != nil {
			f.Of[t.ID] = accessOf(cfg, t.Access)
		}
	}
	return f
}

func accessOf(cfg *config.Config, a *config.Access) engine.Access {
	out := engine.Access{
		BearerTokenFile: cfg.Path(a.BearerTokenFile), CAFile: cfg.Path(a.TLS.CAFile), CertFile: cfg.Path(a.TLS.CertFile), KeyFile: cfg.Path(a.TLS.KeyFile),
		ServerName: a.TLS.ServerName, InsecureSkipVerify: a.TLS.InsecureSkipVerify, Proxy: a.Proxy.URL.Reveal(),
	}
	if a.BasicAuth != nil {
		out.Username, out.PasswordFile = a.BasicAuth.Username, cfg.Path(a.BasicAuth.PasswordFile)
	}
	return out
}

// generation is one configuration at work: what a reload makes anew and puts in the place of what was.
type generation struct {
	cfg     *config.Config
	fetcher *engine.Fetcher
	targets *discovery.Union
	files   *file.Watcher // nil without files
	pods    *pods         // nil where no pod is asked for
	ended   context.CancelFunc

	gpus    *gpuSources // nil where GPUs are not asked for whatever the configuration says: in replays and recordings
	release func()      // of gpus, once
}

// surroundings are what all generations share.
type surroundings struct {
	running   *sync.WaitGroup // what they do by themselves
	unwatched bool            // files are read again from time to time, and not watched
	pods      *pods           // that are followed now; nil: none
	log       *slog.Logger
}

// newGeneration builds what a configuration asks for. It follows files from here on, as part of running, and must be
// retired.
func newGeneration(cfg *config.Config, running *sync.WaitGroup, log *slog.Logger) (*generation, error) {
	return surroundings{running: running, log: log}.build(cfg)
}

func (s surroundings) build(cfg *config.Config) (*generation, error) {
	fixed, err := discovery.NewStatic(cfg.Targets())
	if err != nil {
		return nil, fmt.Errorf("engines.targets: %w", err)
	}
	g := &generation{cfg: cfg}
	if g.fetcher, err = engine.New(fetcherConfig(cfg)); err != nil {
		return nil, err
	}
	ctx, ended := context.WithCancel(context.Background())
	g.ended = ended
	listers := []discovery.Lister{fixed}
	if len(cfg.Engines.Files) > 0 {
		patterns := make([]string, len(cfg.Engines.Files))
		for i, p := range cfg.Engines.Files {
			patterns[i] = cfg.Path(p)
		}
		if g.files, err = file.New(file.Config{Patterns: patterns, Parse: listedTargets, Logger: s.log, Unwatched: s.unwatched}); err != nil {
			ended()
			return nil, fmt.Errorf("engines.files: %w", err)
		}
		listers = append(listers, g.files)
		s.running.Go(func() { _ = g.files.Run(ctx) }) // it ends with its context only, and then without an error
	}
	if g.pods, err = newPods(cfg, s.pods, s.running, s.log); err != nil {
		ended()
		return nil, err
	}
	if g.pods != nil {
		g.ended = sync.OnceFunc(func() { ended(); g.pods.release() })
		listers = append(listers, g.pods)
	}
	g.targets = discovery.NewUnion(s.log, listers...)
	return g, nil
}

// listedTargets reads a file of targets.
func listedTargets(data []byte, name string) ([]discovery.Found, error) {
	listed, err := config.ParseTargets(data, name)
	if err != nil {
		return nil, err
	}
	found := make([]discovery.Found, len(listed))
	for i, t := range listed {
		found[i] = discovery.Found{Target: fact.Target{ID: t.ID, URL: t.URL.Reveal(), Labels: t.Labels}, From: fmt.Sprintf("%s:%d", name, t.Line)}
	}
	return found, nil
}

// unverified lists where the configuration says that any certificate is accepted.
func (g *generation) unverified() (where []string) {
	if g.cfg.Engines.Access.TLS.InsecureSkipVerify {
		where = append(where, "engines.access")
	}
	if g.cfg.GPU.Access.TLS.InsecureSkipVerify {
		where = append(where, "gpu.access")
	}
	for _, t := range g.cfg.Engines.Targets {
		if t.Access != nil && t.Access.TLS.InsecureSkipVerify {
			where = append(where, "target "+t.ID)
		}
	}
	return where
}

// retire ends what the generation does by itself, once or again. Polls that are under way are not disturbed.
func (g *generation) retire() {
	g.ended()
	g.fetcher.Close()
	if g.release != nil {
		g.release()
	}
}

// readGPUs has the generation read GPUs; before are the sources in use, or nil.
func (g *generation) readGPUs(before *gpuSources, running *sync.WaitGroup, log *slog.Logger) (err error) {
	if g.gpus, err = newGPUSources(g.cfg, before, running, log); err == nil {
		g.release = sync.OnceFunc(g.gpus.release)
		if g.gpus != before {
			g.gpus.pods.Store(g.pods)
		}
	}
	return err
}

// options are the generation in the reducer's terms.
func (g *generation) options(started float64) fold.Options {
	o := foldOptions(g.cfg, started)
	if g.gpus == nil {
		return o
	}
	return withGPUs(o, g.cfg)
}

// settings are the generation in the exporter's terms, for a state that follows it.
func (g *generation) settings(state *fold.State) exporter.Settings {
	s := exporter.Settings{
		Interval: g.cfg.Poll.Interval, Timeout: g.cfg.Poll.Timeout, MaxInterval: maxInterval(g.cfg), MaxSeries: g.cfg.Engines.MaxSeries,
		Source: g.targets, Poller: g.fetcher, Objectives: g.cfg.Objectives(),
		Reduce: func() { state.Reconfigure(g.options(0)) }, // since when is not changed
		Retire: g.retire,
	}
	if g.gpus != nil {
		s.GPUs = g.gpus.settings(g.cfg)
	}
	return s
}
