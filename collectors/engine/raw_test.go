package engine

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// TestRawIsThePageAsServed for a target with a password, which the page repeats.
func TestRawIsThePageAsServed(t *testing.T) {
	const page = "# hunter2\nup{x=\"hunter2!\"} 1\nnot a page of an engine"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != "hunter2" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write([]byte(page))
	}))
	defer server.Close()
	f, err := New(FetcherConfig{Timeout: 5 * time.Second, MaxBody: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	target := fact.Target{ID: "a", URL: strings.Replace(server.URL, "http://", "http://user:hunter2@", 1) + "/?key=no&token=0123456"}
	raw := f.Raw(context.Background(), target)
	if string(raw.Body) != page || raw.ContentType != "text/plain" || raw.Reason != "" || raw.Took <= 0 {
		t.Errorf("%q of type %q, reason %q, in %v", raw.Body, raw.ContentType, raw.Reason, raw.Took)
	}
	if got := raw.Mask("no hunter2, 0123456, dXNlcjpodW50ZXIy"); got != "no <secret>, <secret>, <secret>" {
		t.Errorf("masked: %q", got)
	}
	again := f.Raw(context.Background(), target)
	if &again.Body[0] == &raw.Body[0] {
		t.Error("two pages share their memory")
	}
	target.URL = strings.Replace(target.URL, "hunter2", "hunter3", 1)
	if raw = f.Raw(context.Background(), target); raw.Reason != fact.ReasonAuth || raw.Body != nil || strings.Contains(raw.Detail, "hunter3") {
		t.Errorf("reason %q, %q: %s", raw.Reason, raw.Body, raw.Detail)
	}
	server.Close()
	if raw = f.Raw(context.Background(), target); raw.Reason != fact.ReasonRefused {
		t.Errorf("reason %q of a server that is gone: %s", raw.Reason, raw.Detail)
	}
}
