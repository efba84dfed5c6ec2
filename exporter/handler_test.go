package exporter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// secretTargets are the fixture's targets, with secrets in their addresses.
func secretTargets() *targets {
	s := &targets{}
	for _, e := range fixture().Engines {
		s.list = append(s.list, e.Target)
	}
	return s
}

// polledOnce is an exporter after one round, whose snapshot is the fixture.
func polledOnce(t *testing.T, p pollerFunc, log io.Writer) *Exporter {
	t.Helper()
	e, err := New(Config{
		Inputs: func() Inputs {
			return Inputs{ReloadOK: true, Reloaded: time.Unix(startedAt, 0), Spans: soundIntake(), Discovery: soundDiscovery()}
		},
		Settings: Settings{Interval: 10 * time.Second, Timeout: 5 * time.Second, Source: secretTargets(), Poller: p, Objectives: objectives(),
			GPUs: GPUs{Cost: fold.Cost{Currency: "EUR", PerGPUHour: 2.5, PerKWhour: 0.25}}},
		Reducer: &recorder{change: func(s *fold.Snapshot) { *s = *fixture() }},
		Logger:  slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})), Started: time.Unix(startedAt, 0),
	})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	e.begun.Store(&now)
	e.round(t.Context(), 0)
	return e
}

func sound(context.Context, fact.Target) fact.Poll {
	return fact.Poll{Sample: &fact.EngineSample{}}
}

// get asks through a real HTTP client.
func get(t *testing.T, base, path, accept string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

const (
	acceptText       = "text/plain;version=0.0.4"
	acceptOpenMetric = "application/openmetrics-text;version=1.0.0"
	acceptProtobuf   = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
)

// scraped is the page as a scraper that accepts protobuf reads it.
func scraped(t *testing.T, base string) map[string]*dto.MetricFamily {
	t.Helper()
	resp, body := get(t, base, "/metrics", acceptProtobuf)
	format := expfmt.ResponseFormat(resp.Header)
	if format.FormatType() != expfmt.TypeProtoDelim {
		t.Fatalf("content type %q is not protobuf", resp.Header.Get("Content-Type"))
	}
	d := expfmt.NewDecoder(strings.NewReader(body), format)
	families := map[string]*dto.MetricFamily{}
	for {
		var mf dto.MetricFamily
		if err := d.Decode(&mf); errors.Is(err, io.EOF) {
			return families
		} else if err != nil {
			t.Fatal(err)
		}
		families[mf.GetName()] = &mf
	}
}

func serve(t *testing.T, e *Exporter) string {
	t.Helper()
	server := httptest.NewServer(e.Handler())
	t.Cleanup(server.Close)
	return server.URL
}

func TestFormatsOverHTTP(t *testing.T) {
	base := serve(t, polledOnce(t, sound, io.Discard))
	for name, c := range map[string]struct {
		accept, contentType string
		want                []string // lines of the page
		created             bool     // whether the page tells when counters began
	}{
		"the classic text format": {acceptText, "text/plain; version=0.0.4", []string{
			`goodput_requests_arrived_total{engine="a",model="llama-3"} 110`,
			`goodput_rounds_total 1`,
			`goodput_config_last_reload_successful 1`,
			`goodput_config_last_reload_success_timestamp_seconds 1.7e+09`,
		}, false},
		"a client that does not say what it accepts": {"", "text/plain; version=0.0.4", []string{`goodput_rounds_total 1`}, false},
		"OpenMetrics, with when each counter and histogram began": {acceptOpenMetric, "application/openmetrics-text; version=1.0.0", []string{
			`goodput_requests_arrived_total{engine="a",model="llama-3"} 110.0`,
			`goodput_requests_arrived_created{engine="a",model="llama-3"} 1.700000001e+09`,
			`goodput_rounds_created 1.7e+09`,
			`goodput_ttft_ceil_seconds_created{engine="a",model="llama-3"} 1.700000001e+09`,
			`# EOF`,
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			resp, body := get(t, base, "/metrics", c.accept)
			if got := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || !strings.HasPrefix(got, c.contentType) {
				t.Errorf("status %d, content type %q", resp.StatusCode, got)
			}
			for _, want := range c.want {
				if !strings.Contains("\n"+body, "\n"+want+"\n") {
					t.Errorf("%s is not on the page", want)
				}
			}
			if got := strings.Contains(body, "_created{"); got != c.created {
				t.Errorf("page tells when counters began: %v", got)
			}
		})
	}
	t.Run("protobuf, with when each counter and histogram began", func(t *testing.T) {
		for name, mf := range scraped(t, base) {
			for _, m := range mf.Metric {
				bare := m.Counter != nil && m.Counter.CreatedTimestamp == nil || m.Histogram != nil && m.Histogram.CreatedTimestamp == nil
				if bare && strings.HasPrefix(name, "goodput_") {
					t.Errorf("%s %v does not say when it began", name, m.Label)
				}
			}
		}
	})
}

func TestClassicPageParses(t *testing.T) {
	_, body := get(t, serve(t, polledOnce(t, sound, io.Discard)), "/metrics", acceptText)
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(families[catalog.RequestsArrived+catalog.Total].GetMetric()); n != 2 {
		t.Errorf("%d engines have arrivals, want 2", n)
	}
}

// TestPageAndCatalogueAgree: what is served is declared, and what is declared is served, with that type and those labels.
func TestPageAndCatalogueAgree(t *testing.T) {
	page := scraped(t, serve(t, polledOnce(t, sound, io.Discard)))
	declared := newFamilies()
	for name := range declared {
		if page[name] == nil {
			t.Errorf("%s is declared, but not on the page", name)
		}
	}
	kinds := map[catalog.Kind]dto.MetricType{
		catalog.Counter: dto.MetricType_COUNTER, catalog.Gauge: dto.MetricType_GAUGE, catalog.Histogram: dto.MetricType_HISTOGRAM, catalog.Info: dto.MetricType_GAUGE,
	}
	for name, mf := range page {
		f := declared[name]
		switch {
		case strings.HasPrefix(name, "go_"), strings.HasPrefix(name, "process_"), name == "promhttp_metric_handler_errors_total":
			continue
		case f == nil:
			t.Errorf("%s is on the page, but not declared", name)
			continue
		case mf.GetType() != kinds[f.Kind], mf.GetHelp() != f.Help():
			t.Errorf("%s is a %v with the HELP %q, declared as a %s with %q", name, mf.GetType(), mf.GetHelp(), f.Kind, f.Help())
		}
		for _, m := range mf.Metric {
			if fault := labelFault(f, m); fault != "" {
				t.Errorf("%s %v: %s", name, m.Label, fault)
			}
		}
	}
}

// labelFault says how the labels of a metric differ from what is declared; "" when they do not.
func labelFault(f *family, m *dto.Metric) string {
	for _, l := range f.Labels {
		// A development build has no revision and no tags; the labels are there nevertheless.
		if label(m, l) == "" && f.Name != catalog.BuildInfo {
			return "label " + l + " is missing"
		}
	}
	for _, l := range m.Label {
		if !f.Open && !slices.Contains(f.Labels, l.GetName()) && !slices.Contains(f.Maybe, l.GetName()) {
			return "label " + l.GetName() + " is not declared"
		}
		if l.GetValue() == "" && f.Name != catalog.BuildInfo {
			return "label " + l.GetName() + " is empty"
		}
	}
	return ""
}

// TestSecretsStayInside polls targets whose addresses hold a user, a password and a key, with pollers that tell all.
func TestSecretsStayInside(t *testing.T) {
	tell := func(detail string) pollerFunc {
		return func(context.Context, fact.Target) fact.Poll {
			return fact.Poll{Reason: fact.ReasonRefused, Detail: detail}
		}
	}
	for name, p := range map[string]pollerFunc{
		"in the error of a client":  tell((&url.Error{Op: "Get", URL: secretURL, Err: io.ErrUnexpectedEOF}).Error()),
		"in an address of its own":  tell("dial " + secretURL + "&more=1: refused"),
		"one by one":                tell(strings.Join([]string{secretUser + ":" + secretPassword, "key=" + secretToken}, " ")),
		"in a panic's error":        func(context.Context, fact.Target) fact.Poll { panic(fmt.Errorf("parse %q", secretURL)) },
		"in a panic's text":         func(context.Context, fact.Target) fact.Poll { panic(secretURL) },
		"nowhere but in the target": sound,
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			e := polledOnce(t, p, &log)
			base := serve(t, e)
			pages := map[string]string{"log": log.String()}
			for _, accept := range []string{acceptText, acceptOpenMetric, acceptProtobuf} {
				_, pages["/metrics as "+accept] = get(t, base, "/metrics", accept)
			}
			for _, path := range []string{"/", "/debug/round", "/-/healthy", "/-/ready"} {
				_, pages[path] = get(t, base, path, "")
			}
			for where, text := range pages {
				if len(text) == 0 {
					t.Errorf("%s is empty: nothing was tested", where)
				}
				for _, secret := range []string{secretUser, secretPassword, secretToken} {
					if i := strings.Index(text, secret); i >= 0 {
						t.Errorf("%s tells %q: ...%s", where, secret, text[max(0, i-80):min(len(text), i+80)])
					}
				}
			}
			if !strings.Contains(pages["/"], "10.0.0.7:8000") {
				t.Error("the status page does not show where the engine is")
			}
		})
	}
}

func TestRoutes(t *testing.T) {
	base := serve(t, polledOnce(t, sound, io.Discard))
	for path, want := range map[string]struct {
		status      int
		contentType string
	}{
		"/":              {200, "text/html; charset=utf-8"},
		"/metrics":       {200, "text/plain; version=0.0.4"},
		"/-/healthy":     {200, "text/plain; charset=utf-8"},
		"/-/ready":       {200, "text/plain; charset=utf-8"},
		"/debug/round":   {200, "application/json"},
		"/metrics/":      {404, ""},
		"/debug/pprof/":  {404, ""},
		"/debug/":        {404, ""},
		"/-/quit":        {404, ""},
		"/status.css":    {404, ""},
		"/index.html":    {404, ""},
		"/-/healthy/etc": {404, ""},
	} {
		t.Run(path, func(t *testing.T) {
			resp, _ := get(t, base, path, "")
			if resp.StatusCode != want.status || !strings.HasPrefix(resp.Header.Get("Content-Type"), want.contentType) {
				t.Errorf("status %d, content type %q", resp.StatusCode, resp.Header.Get("Content-Type"))
			}
			for header, value := range map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Cache-Control": "no-store"} {
				if got := resp.Header.Get(header); got != value {
					t.Errorf("%s: %q, want %q", header, got, value)
				}
			}
			if csp := resp.Header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'") {
				t.Errorf("Content-Security-Policy %q", csp)
			}
		})
	}
	t.Run("only GET and HEAD", func(t *testing.T) {
		resp, err := http.Post(base+"/metrics", "text/plain", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("status %d", resp.StatusCode)
		}
	})
}

// ask asks the handler without a network, which a bubble of virtual time cannot have.
func (w *world) ask(path string) (status int, body string) {
	r := httptest.NewRecorder()
	w.Handler().ServeHTTP(r, httptest.NewRequest(http.MethodGet, path, nil))
	return r.Code, r.Body.String()
}

func TestProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		w := start(t, named("a"), func(ctx context.Context, _ fact.Target) fact.Poll { return after(ctx, time.Second) }, nil)
		expect := func(when, path string, status int, body string) {
			t.Helper()
			if code, got := w.ask(path); code != status || got != body+"\n" {
				t.Errorf("%s: %s says %d %q, want %d %q", when, path, code, got, status, body)
			}
		}
		w.until(500 * time.Millisecond)
		expect("before the first round", "/-/ready", 503, "not ready: the first round has not ended")
		expect("before the first round", "/-/healthy", 200, "healthy")
		w.until(2 * time.Second)
		expect("after the first round", "/-/ready", 200, "ready")
		w.reducer.setSlow(func() { <-release })
		w.until(31 * time.Second)
		expect("while a round hangs", "/-/healthy", 200, "healthy")
		w.until(32 * time.Second)
		expect("once a round has hung for three", "/-/healthy", 503, "not healthy: the last round ended 31s ago, and one is due every 10s")
		expect("once a round has hung for three", "/-/ready", 200, "ready")
		close(release)
		synctest.Wait()
		expect("after the round has ended", "/-/healthy", 200, "healthy")
		if err := w.end(); err != nil {
			t.Error(err)
		}
	})
}
