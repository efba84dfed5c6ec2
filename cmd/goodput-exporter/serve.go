package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/exporter-toolkit/web"

	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// shutdownGrace is how long requests that are being answered may take when the program ends.
const shutdownGrace = time.Second

// runServe polls and serves until the context is done. Listening on a taken port, or a faulty web configuration, ends
// it with an error.
func runServe(ctx context.Context, configFile string, flags *web.FlagConfig, log *slog.Logger) error {
	cfg, err := config.Load(configFile)
	if err != nil {
		return err
	}
	if len(cfg.Engines.Targets) == 0 {
		return fmt.Errorf("%s: engines.targets is empty, so there is nothing to poll: add for example engines: {targets: [{id: a, url: \"http://127.0.0.1:8000/metrics\"}]}", configFile)
	}
	for _, idle := range cfg.Idle() {
		log.Warn("Key without effect", "file", configFile, "why", idle)
	}
	started := time.Now()
	e, err := newExporter(cfg, fold.New(foldOptions(cfg, unix(started))), started, log)
	if err != nil {
		return err
	}
	server := newServer(e.Handler(), log)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	served, polled := make(chan error, 1), make(chan error, 1)
	go func() { served <- web.ListenAndServe(server, flags, log) }()
	go func() { polled <- e.Run(ctx) }()

	log.Info("Polling", "engines", len(cfg.Engines.Targets), "slos", len(cfg.SLOs), "interval", cfg.Poll.Interval)
	var serveErr error
	select {
	case serveErr = <-served:
		cancel()
	case <-ctx.Done():
		log.Info("Stopping")
	}
	grace, release := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
	defer release()
	shutdownErr := server.Shutdown(grace)
	if errors.Is(serveErr, http.ErrServerClosed) {
		serveErr = nil
	}
	return errors.Join(serveErr, shutdownErr, <-polled)
}

// newServer serves with limits on everything that a client could draw out.
func newServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
