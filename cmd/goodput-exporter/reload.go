package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/prometheus/common/version"

	"github.com/goodput-exporter/goodput-exporter/exporter"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// served is the exporter with the file that it is configured by.
type served struct {
	*exporter.Exporter
	file  string
	state *fold.State // only the exporter's Run touches it
	log   *slog.Logger
	spans *intake

	running sync.WaitGroup // what generations do by themselves

	reloading sync.Mutex // one at a time; held while files are read, for which no scrape waits

	mu       sync.Mutex
	now      *generation // written to by a reload only
	ok       bool        // the last reading of the file is what holds
	reloaded time.Time   // when what holds was read
	broken   []string    // files of accesses that could not be used, as last seen
}

// loadServed reads a configuration that there is something to poll in.
func loadServed(path string) (*config.Config, error) {
	cfg, err := config.Load(path)
	if err != nil {
		return nil, err
	}
	if !finds(cfg) {
		return nil, fmt.Errorf("%s: engines.targets is empty, so is engines.files, and there is no engines.kubernetes, so there is nothing to poll: add for example engines: {targets: [{id: a, url: \"http://127.0.0.1:8000/metrics\"}]}, or engines: {kubernetes: {}} on a node of a cluster", path)
	}
	return cfg, nil
}

// finds reports whether a configuration says where engines are.
func finds(cfg *config.Config) bool {
	return len(cfg.Engines.Targets)+len(cfg.Engines.Files) > 0 || cfg.Engines.Kubernetes != nil
}

// newServed reads the file for the first time.
func newServed(path string, log *slog.Logger) (*served, error) {
	cfg, err := loadServed(path)
	if err != nil {
		return nil, err
	}
	started := time.Now()
	s := &served{file: path, log: log, spans: newIntake(log, nil), ok: true, reloaded: started}
	if s.now, err = s.generation(cfg); err != nil {
		return nil, err
	}
	s.state = fold.New(s.now.options(unix(started)))
	settle, back, err := s.spans.follow(cfg)
	if err != nil {
		s.now.retire()
		return nil, err
	}
	s.Exporter, err = exporter.New(exporter.Config{
		Settings: s.settings(s.now), Reducer: s.state, Logger: log, Started: started, Version: version.Version, Inputs: s.inputs,
	})
	if err != nil {
		back()
		s.now.retire()
		return nil, err
	}
	settle()
	s.announce("Polling")
	return s, nil
}

// reload reads the file again. What it asks for holds from the next round on; with an error everything stays as it is.
func (s *served) reload() error {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	next, err := s.replacement()
	s.replace(next)
	if err != nil {
		s.log.Error("the configuration cannot be used: the one before stays in force", "file", s.file, "error", err)
		return err
	}
	s.announce("The configuration was reloaded")
	return nil
}

// generation is a configuration at work, with the GPU sources of the one in force where it asks for the same.
func (s *served) generation(cfg *config.Config) (*generation, error) {
	around := surroundings{running: &s.running, log: s.log}
	var before *gpuSources
	if s.now != nil {
		before, around.pods = s.now.gpus, s.now.pods
	}
	g, err := around.build(cfg)
	if err != nil {
		return nil, err
	}
	if err := g.readGPUs(before, &s.running, s.log); err != nil {
		g.retire()
		return nil, err
	}
	return g, nil
}

// replacement is what the file asks for now, handed to the exporter; nil with an error.
func (s *served) replacement() (*generation, error) {
	cfg, err := loadServed(s.file)
	if err != nil {
		return nil, err
	}
	next, err := s.generation(cfg)
	if err != nil {
		return nil, err
	}
	settle, back, err := s.spans.follow(cfg)
	if err != nil {
		next.retire()
		return nil, err
	}
	if err := s.Reload(s.settings(next)); err != nil {
		back()
		next.retire()
		return nil, err
	}
	settle()
	next.gpus.pods.Store(next.pods) // sources that are in use go on, whichever pods say where their page is
	return next, nil
}

// settings are a generation in the exporter's terms, with the spans that are taken in under it.
func (s *served) settings(g *generation) exporter.Settings {
	settings := g.settings(s.state)
	if g.cfg.Spans.Taken() {
		settings.Spans = s.spans
	}
	return settings
}

// replace notes how a reading went: nil is one of no use.
func (s *served) replace(next *generation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ok = next != nil; s.ok {
		s.now, s.reloaded = next, time.Now()
	}
}

func (s *served) announce(what string) {
	cfg := s.now.cfg
	for _, idle := range cfg.Idle() {
		s.log.Warn("Key without effect", "file", s.file, "why", idle)
	}
	for _, a := range s.now.unverified() {
		s.log.Warn("Certificates are not verified: whoever stands in between can read credentials and make up numbers", "file", s.file, "where", a)
	}
	if http, grpc := s.spans.addresses(); http+grpc != "" {
		s.log.Info("Taking spans in", "http", http, "grpc", grpc, "grace", cfg.Spans.Grace)
	}
	s.log.Info(what, "engines", len(s.now.targets.Targets()), "slos", len(cfg.SLOs), "interval", cfg.Poll.Interval)
}

// inputs is what the exporter publishes of its configuration, and of the files that it names.
func (s *served) inputs() exporter.Inputs {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken, broken := s.spans.stats()
	in := exporter.Inputs{
		ReloadOK: s.ok, Reloaded: s.reloaded, TargetsRefused: s.now.targets.Refused(), AccessFilesBroken: s.brokenFiles(broken), Spans: taken,
	}
	if s.now.files != nil {
		_, in.TargetFilesBroken = s.now.files.Files()
	}
	if s.now.pods != nil {
		in.Discovery = s.now.pods.status()
	}
	return in
}

// wait returns when nothing of any generation runs any more. Run must have returned; a reload that came too late for it
// is retired here.
func (s *served) wait() {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	s.now.retire()
	s.spans.shut()
	s.running.Wait()
}

// follow reloads whenever it is signalled, until the context is done.
func (s *served) follow(ctx context.Context, signals <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
			_ = s.reload() // it is logged, and a series tells
		}
	}
}

// serveReload is POST /-/reload, where that is enabled, as with Prometheus.
func (s *served) serveReload(enabled bool) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if !enabled {
			http.Error(w, "the lifecycle API is not enabled: start with --web.enable-lifecycle, or send SIGHUP", http.StatusForbidden)
			return
		}
		if err := s.reload(); err != nil {
			http.Error(w, "the configuration before stays in force:\n"+err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprintln(w, "reloaded: it holds from the next round on")
	}
}
