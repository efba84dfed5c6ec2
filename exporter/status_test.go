package exporter

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// TestStatusPagesAreServed: the exporter hands its last round to the pages, and nothing that may not be shown.
func TestStatusPagesAreServed(t *testing.T) {
	e := polledOnce(t, func(_ context.Context, t fact.Target) fact.Poll {
		if t.ID == "d" {
			return fact.Poll{Reason: fact.ReasonAuth, Detail: "give a <token>"}
		}
		return fact.Poll{Sample: &fact.EngineSample{}}
	}, io.Discard)
	base := serve(t, e)
	for path, want := range map[string]struct {
		status int
		words  []string
	}{
		"/":           {http.StatusOK, []string{"round 1 ended", "http://10.0.0.7:8000/metrics", "Spans that match no engine", "pod vllm-7, in prod", "99, and 500 of other names dropped", "auth: give a &lt;token&gt;", "no tpot histogram"}},
		"/engine/d":   {http.StatusOK, []string{"never seen", "give a &lt;token&gt;"}},
		"/slo/chat":   {http.StatusOK, []string{"95 % of sequences have TTFT ≤ 250 ms and TPOT ≤ 25 ms"}},
		"/engine/a":   {http.StatusOK, []string{"What its spans say", "91 by their process", "within 250 ms"}},
		"/engine/no":  {http.StatusNotFound, []string{"There is no engine called", "engine/a"}},
		"/slo/no":     {http.StatusNotFound, []string{"There is no SLO called", "slo/chat"}},
		"/engine/a/b": {http.StatusNotFound, nil},
	} {
		t.Run(path, func(t *testing.T) {
			resp, body := get(t, base, path, "")
			if resp.StatusCode != want.status {
				t.Errorf("status %d, want %d", resp.StatusCode, want.status)
			}
			body = strings.ReplaceAll(body, "\u00a0", " ") // between a number and its unit
			for _, w := range want.words {
				if !strings.Contains(body, w) {
					t.Errorf("%q is not on the page:\n%s", w, body)
				}
			}
			if strings.Contains(body, "<script") || strings.Contains(body, "<token>") {
				t.Error("the page has a script or unescaped text")
			}
		})
	}
}

func TestTexts(t *testing.T) {
	for got, want := range map[string]string{
		span(30 * 24 * time.Hour): "30d", span(90 * time.Minute): "90m", span(250 * time.Millisecond): "250ms", span(1500 * time.Microsecond): "1.5ms", span(0): "0s",
		shownURL(secretURL): "http://10.0.0.7:8000/metrics", shownURL("http://h/p#frag"): "http://h/p",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, hidden := range []string{"", "alice:s3cret@10.0.0.7", "ftp://alice:s3cret@h/x", "http://a b/", "http:///metrics"} {
		if got := shownURL(hidden); got != "" {
			t.Errorf("of %q %q is shown", hidden, got)
		}
	}
}
