package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/exporter-toolkit/web"
)

// shutdownGrace is how long requests that are being answered may take when the program ends.
const shutdownGrace = time.Second

// runServe polls and serves until the context is done. Listening on a taken port, or a faulty web configuration, ends
// it with an error. SIGHUP has the configuration read again, and so has POST /-/reload with lifecycle.
func runServe(ctx context.Context, configFile string, lifecycle bool, flags *web.FlagConfig, log *slog.Logger) error {
	// Before anything that takes time: unheard, the signal would end the program.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	e, err := newServed(configFile, log)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/", e.Handler())
	for _, method := range []string{http.MethodPost, http.MethodPut} {
		mux.HandleFunc(method+" /-/reload", e.serveReload(lifecycle))
	}
	server := newServer(mux, log)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	served, polled := make(chan error, 1), make(chan error, 1)
	go func() { served <- web.ListenAndServe(server, flags, log) }()
	go func() { polled <- e.Run(ctx) }()
	followed := make(chan struct{})
	go func() { defer close(followed); e.follow(ctx, hangups) }()

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
	switch {
	case errors.Is(serveErr, http.ErrServerClosed):
		serveErr = nil
	case errors.Is(serveErr, syscall.EADDRINUSE):
		serveErr = fmt.Errorf("%w: stop what listens there, or choose another address with --web.listen-address", serveErr)
	case serveErr != nil:
		serveErr = fmt.Errorf("serving failed: %w; see --web.listen-address and --web.config.file", serveErr)
	}
	<-followed
	err = errors.Join(serveErr, shutdownErr, <-polled)
	e.wait()
	return err
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
