package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/common/version"

	"github.com/goodput-exporter/goodput-exporter/exporter"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/sim"
)

// serveDemo serves the engines and the exporter on top of them.
func serveDemo(ctx context.Context, o demoOptions, cfg *config.Config, fleet *fleet, state *fold.State, start time.Time, out io.Writer) error {
	listener, err := listenNear(o.Listen)
	if err != nil {
		return fmt.Errorf("--web.listen-address: %w", err)
	}
	defer listener.Close() // the server closes it too; this is for the ways out before that
	taken, err := takeSpans(cfg, o.Log)
	if err != nil {
		return err
	}
	defer taken.shut()
	e, err := newDemoExporter(cfg, state, start, taken, o.Log)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := newServer(e.Handler(), o.Log)
	const parts = 4
	ended := make(chan error, parts)
	go func() { ended <- e.Run(ctx) }()
	go func() { ended <- fleet.run(ctx) }()
	go func() { ended <- fleet.sendSpans(ctx, spansURL(taken), o.Log) }()
	go func() { ended <- server.Serve(listener) }()

	awaitFirstRound(ctx, e)
	url := "http://" + listener.Addr().String()
	if _, port, err := net.SplitHostPort(o.Listen); err == nil && port != "0" && !strings.HasSuffix(url, ":"+port) {
		fmt.Fprintf(out, "%s is in use, so the exporter is at another port.\n", o.Listen)
	}
	fmt.Fprintf(out, "\n  Open this      %s/\n  Prometheus     %s/metrics\n", url, url)
	for _, e := range fleet.engines {
		fmt.Fprintf(out, "  %-14s %s\n", "engine "+e.id, e.url())
	}
	fmt.Fprintf(out, "  %-14s %s\n", "GPUs", fleet.gpus.url())
	fmt.Fprintf(out, "  %-14s %s\n", "spans go to", spansURL(taken))
	fmt.Fprint(out, "\nCtrl-C stops everything.\n")
	if o.Ready != nil {
		o.Ready(url)
	}

	var errs []error
	running := parts
	select {
	case err := <-ended: // one of them cannot go on
		errs, running = append(errs, err), parts-1
	case <-ctx.Done():
	}
	cancel()
	grace, release := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
	defer release()
	errs = append(errs, server.Shutdown(grace))
	for range running {
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// awaitFirstRound waits until there is something to see.
func awaitFirstRound(ctx context.Context, e *exporter.Exporter) {
	for e.Snapshot() == nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// takeSpans listens for spans where the configuration says, or at a free port when that is in use.
func takeSpans(cfg *config.Config, log *slog.Logger) (*intake, error) {
	taken := newIntake(log, nil)
	settle, _, err := taken.follow(cfg)
	if errors.Is(err, syscall.EADDRINUSE) {
		cfg.Spans.Listen = "127.0.0.1:0"
		settle, _, err = taken.follow(cfg)
	}
	if err != nil {
		return nil, err
	}
	settle()
	return taken, nil
}

// spansURL is where engines send their spans.
func spansURL(taken *intake) string {
	address, _ := taken.addresses()
	return "http://" + address + sim.SpansPath
}

// newDemoExporter goes on with a state that has seen the past since started.
func newDemoExporter(cfg *config.Config, state *fold.State, started time.Time, taken *intake, log *slog.Logger) (*exporter.Exporter, error) {
	running := new(sync.WaitGroup)
	g, err := newGeneration(cfg, running, log)
	if err != nil {
		return nil, err
	}
	if err := g.readGPUs(nil, running, log); err != nil {
		g.retire()
		return nil, err
	}
	state.Reconfigure(g.options(0)) // the past that it has seen had no page of GPUs
	settings := g.settings(state)
	settings.Spans = taken
	e, err := exporter.New(exporter.Config{
		Settings: settings, Reducer: state, Logger: log, Started: started, Version: version.Version,
		Inputs: func() exporter.Inputs {
			spans, _ := taken.stats()
			return exporter.Inputs{ReloadOK: true, Reloaded: started, Spans: spans}
		},
	})
	if err != nil {
		g.retire()
	}
	return e, err
}

// listenNear takes an address, or a free port of its host when it is in use.
func listenNear(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		host, _, splitErr := net.SplitHostPort(address)
		if splitErr != nil {
			return nil, splitErr
		}
		return net.Listen("tcp", net.JoinHostPort(host, "0"))
	}
	return l, err
}
