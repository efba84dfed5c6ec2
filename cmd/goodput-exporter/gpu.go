package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu"
	"github.com/goodput-exporter/goodput-exporter/collectors/podres"
	"github.com/goodput-exporter/goodput-exporter/exporter"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

const (
	// gpuStale is after how many intervals a reading is no longer true now.
	gpuStale = 3
	// claimsInterval is the least time between two questions to the kubelet: who holds a GPU changes with pods.
	claimsInterval = 10 * time.Second
	// gpuPageBody bounds a dcgm-exporter's page, in bytes. 8 cards take some 60 kB.
	gpuPageBody = 8 << 20
)

// gpuSources are the sources that a configuration asks for. Generations that ask for the same share them, so that a reload
// neither restarts a child nor forgets what a source has learnt. Whoever holds them releases them once.
type gpuSources struct {
	asked  gpuAsked
	source gpu.Source     // nil: none
	claims *podres.Reader // nil: the kubelet is not asked
	dra    *dra           // nil: devices of resource claims stay unresolved

	sockets []string // of the kubelet; nil for where they usually are
	auto    bool     // it is asked where there is one

	pods atomic.Pointer[pods] // that say where the page is, if any do

	mu      sync.Mutex
	holders int
	running *sync.WaitGroup // of what ends them
	ended   chan struct{}   // closed when they have ended
}

// gpuAsked is what sources are made from.
type gpuAsked struct {
	GPU config.GPU
	dir string // that paths of the configuration begin at
	dra draAsked
}

func askedOf(cfg *config.Config) gpuAsked {
	a := gpuAsked{GPU: cfg.GPU, dir: cfg.Path("."), dra: draOf(cfg)}
	a.GPU.Engines, a.GPU.Cost = nil, config.Cost{} // no source knows these
	return a
}

// newGPUSources opens what a configuration asks for, held once. before is what is open now, which is held once more when it
// is the same; nil for nothing.
func newGPUSources(cfg *config.Config, before *gpuSources, running *sync.WaitGroup, log *slog.Logger) (*gpuSources, error) {
	asked := askedOf(cfg)
	if before != nil && reflect.DeepEqual(asked, before.asked) && before.hold() {
		return before, nil
	}
	g := &gpuSources{asked: asked, holders: 1, running: running, ended: make(chan struct{})}
	if !cfg.GPU.Cards() {
		return g, nil
	}
	source, err := openGPUs(cfg, gpuOpening{before: before, located: g.located}, log)
	if err != nil {
		return nil, fmt.Errorf("gpu: %w", err)
	}
	files := gpu.NewFiles(source, gpuStale*cfg.GPU.Interval)
	g.source = files
	if p := &cfg.GPU.PodResources; p.Enabled != config.EnabledNo {
		if p.Socket != "" {
			g.sockets = []string{cfg.Path(p.Socket)}
		}
		if g.dra, err = newDRA(asked.dra, log); err != nil {
			return nil, errors.Join(fmt.Errorf("gpu: %w", err), g.source.Close())
		}
		asks := podres.Config{Sockets: g.sockets, Resources: p.Resources, Cards: files}
		if g.dra != nil {
			asks.Slices = g.dra
		}
		g.claims, g.auto = podres.New(asks), p.Enabled == config.EnabledAuto
	}
	return g, nil
}

// gpuOpening is what a source is opened with beside its configuration.
type gpuOpening struct {
	before  *gpuSources                  // whose place it takes; nil for nobody's
	located func() (address, why string) // where its page is, for one that has to be looked for
	keep    bool                         // what readings are made from, for a recording
}

func openGPUs(cfg *config.Config, o gpuOpening, log *slog.Logger) (gpu.Source, error) {
	page, child := gpuPage(cfg), gpuChild(cfg, log)
	page.Keep, child.Keep = o.keep, o.keep
	if p := cfg.GPU.Kubernetes; p != nil {
		page.Locate, page.Trusted = o.located, len(p.Namespaces) > 0
	}
	if child.Embedded && o.before != nil {
		child.After = o.before.ended
	}
	switch cfg.GPU.Source {
	case config.GPUPage:
		return gpu.NewPage(page)
	case config.GPUDCGM:
		path, err := gpu.FindChild(child.Path)
		if err == nil {
			child.Path = path
		} else if child.Path == "" {
			child.Path = gpu.ChildName // which may be installed later; until then a reading says that it is not there
		}
		return gpu.NewChild(child)
	}
	return gpu.NewAuto(gpu.AutoConfig{Page: page, Child: child, Logger: log})
}

func gpuPage(cfg *config.Config) gpu.PageConfig {
	g, a := &cfg.GPU, &cfg.GPU.Access
	access := gpu.Access{
		BearerTokenFile: cfg.Path(a.BearerTokenFile), CAFile: cfg.Path(a.TLS.CAFile), CertFile: cfg.Path(a.TLS.CertFile), KeyFile: cfg.Path(a.TLS.KeyFile),
		ServerName: a.TLS.ServerName, InsecureSkipVerify: a.TLS.InsecureSkipVerify,
	}
	if a.BasicAuth != nil {
		access.Username, access.PasswordFile = a.BasicAuth.Username, cfg.Path(a.BasicAuth.PasswordFile)
	}
	return gpu.PageConfig{URL: g.Page.URL.Reveal(), Timeout: g.Interval * 8 / 10, MaxBody: gpuPageBody, Access: access}
}

func gpuChild(cfg *config.Config, log *slog.Logger) gpu.ChildConfig {
	d := &cfg.GPU.DCGM
	return gpu.ChildConfig{
		Path: cfg.Path(d.Command), Address: d.Address, Embedded: d.Embedded, Profiling: string(d.Profiling), Interval: cfg.GPU.Interval, Logger: log,
	}
}

// hold holds the sources once more; false when they are closed already.
func (g *gpuSources) hold() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.holders == 0 {
		return false
	}
	g.holders++
	return true
}

// release lets go of them. The last one closes them, beside whatever goes on: a child may take seconds to end.
func (g *gpuSources) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.holders--; g.holders == 0 {
		g.running.Go(func() {
			_ = g.close()
			close(g.ended)
		})
	}
}

func (g *gpuSources) close() error {
	var errs []error
	if g.source != nil {
		errs = append(errs, g.source.Close())
	}
	if g.claims != nil {
		errs = append(errs, g.claims.Close())
	}
	if g.dra != nil {
		g.dra.close()
	}
	return errors.Join(errs...)
}

// settings are the sources in the exporter's terms.
func (g *gpuSources) settings(cfg *config.Config) exporter.GPUs {
	if !cfg.GPU.Cards() {
		return exporter.GPUs{}
	}
	s := exporter.GPUs{Interval: cfg.GPU.Interval, ClaimsInterval: max(claimsInterval, cfg.GPU.Interval), Cost: costOf(cfg)}
	if g.source != nil {
		s.Source = g.source
	}
	if g.claims != nil {
		s.Claims = g
	}
	return s
}

// Read asks the kubelet, but for one that need not be there and is not.
func (g *gpuSources) Read(ctx context.Context) fact.DeviceClaims {
	if g.auto && !podres.Found(g.sockets) {
		return fact.DeviceClaims{At: unix(time.Now()), Reason: fact.ReasonNoSource, Detail: "there is no kubelet's socket"}
	}
	claims := g.claims.Read(ctx)
	g.dra.explain(&claims)
	return claims
}

func costOf(cfg *config.Config) fold.Cost {
	c := &cfg.GPU.Cost
	return fold.Cost{Currency: c.Currency, PerGPUHour: c.PerGPUHour, PerKWhour: c.PerKWhour}
}

// withGPUs adds what the reducer needs to know of GPUs.
func withGPUs(o fold.Options, cfg *config.Config) fold.Options {
	if cfg.GPU.Cards() {
		o.GPUStale, o.EngineGPUs, o.Cost = gpuStale*cfg.GPU.Interval.Seconds(), cfg.GPU.Engines, costOf(cfg)
	}
	return o
}
