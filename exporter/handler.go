package exporter

import (
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/collectors/version"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/goodput-exporter/goodput-exporter/exporter/web"
)

// Limits of the metrics page. A page of 16 engines takes about 20 ms; Prometheus gives up after 10 s by default.
const (
	scrapesAtOnce = 8
	scrapeTimeout = 10 * time.Second
)

// newHandler routes what the exporter serves. Nothing else is served, and nothing is written to by a request.
func (e *Exporter) newHandler(c Config) (http.Handler, error) {
	registry := prometheus.NewRegistry()
	started := unix(c.Started)
	for _, collector := range []prometheus.Collector{
		NewSnapshotCollector(SnapshotConfig{Started: started, Published: e.published}),
		&roundsCollector{families: newFamilies(), started: started, exporter: e},
		version.NewCollector("goodput"),
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	} {
		if err := registry.Register(collector); err != nil {
			return nil, fmt.Errorf("register collector: %w", err)
		}
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog:          errorLog{c.Logger},
		ErrorHandling:     promhttp.ContinueOnError,
		Registry:          registry,
		EnableOpenMetrics: true,
		// When a counter began is part of what it says: without it, all that a new engine did before the first scrape
		// that shows it is in no rate.
		EnableOpenMetricsTextCreatedSamples: true,
		MaxRequestsInFlight:                 scrapesAtOnce,
		Timeout:                             scrapeTimeout,
		ProcessStartTime:                    c.Started,
	}))
	mux.HandleFunc("GET /-/healthy", e.serveHealthy)
	mux.HandleFunc("GET /-/ready", e.serveReady)
	mux.HandleFunc("GET /debug/round", e.serveRound)
	for _, path := range []string{"GET /{$}", "GET /engine/", "GET /slo/"} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { e.view().settings.pages.ServeHTTP(w, r) })
	}
	return secured(mux), nil
}

// published is what the metrics page is about.
func (e *Exporter) published() Published {
	v := e.view()
	return Published{
		Snapshot: v.snapshot, Objectives: v.settings.Objectives, Intervals: v.intervals, MaxSeries: v.settings.MaxSeries,
		NoSpans: e.inputs().Spans == nil, Cost: v.settings.GPUs.Cost,
	}
}

// webView is what the status page is about.
func (e *Exporter) webView() web.View {
	v := e.view()
	in := e.inputs()
	shown := web.Inputs{
		ReloadFailed: !in.ReloadOK, Reloaded: in.Reloaded,
		TargetFilesBroken: in.TargetFilesBroken, TargetsRefused: in.TargetsRefused, AccessFilesBroken: in.AccessFilesBroken,
		Discovery: shownDiscovery(in.Discovery),
	}
	if s := in.Spans; s != nil {
		shown.Spans = &web.Spans{Outcomes: s.Spans, Refused: s.Refused, Buffered: s.Buffered, Room: s.Room}
		for _, m := range s.Messages {
			shown.Spans.Messages = append(shown.Spans.Messages, web.Message(m))
		}
	}
	return web.View{
		Snapshot: v.snapshot, Ended: v.ended, Interval: v.settings.Interval, Rounds: v.rounds, Missed: v.missed, Down: v.down,
		Intervals: v.intervals, Inputs: shown, Currency: v.settings.GPUs.Cost.Currency,
	}
}

// secured sets the headers that keep a browser from doing anything with a page but showing it.
func secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// serveHealthy says whether rounds make progress: what a liveness probe wants to know.
func (e *Exporter) serveHealthy(w http.ResponseWriter, _ *http.Request) {
	if err := e.health(time.Now()); err != nil {
		http.Error(w, "not healthy: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	plain(w, "healthy")
}

// serveReady says whether there is something to scrape: the first round has ended, whatever it brought.
func (e *Exporter) serveReady(w http.ResponseWriter, _ *http.Request) {
	if e.last.Load() == nil {
		http.Error(w, "not ready: the first round has not ended", http.StatusServiceUnavailable)
		return
	}
	plain(w, "ready")
}

func plain(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintln(w, text)
}

// errorLog passes what went wrong with a page on to the log.
type errorLog struct{ log *slog.Logger }

func (l errorLog) Println(v ...any) {
	l.log.Error("the metrics page is not complete", "error", fmt.Sprint(v...))
}
