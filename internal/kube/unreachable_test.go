package kube

import (
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestUnreachable: an API server that cannot be reached is named once, with why and with what to look at.
func TestUnreachable(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := silent.Addr().String()
	silent.Close()
	stranger := httptest.NewTLSServer(nil)
	t.Cleanup(stranger.Close)

	for name, c := range map[string]struct{ server, why, remedy string }{
		"nothing listens":               {"http://" + gone, "connection refused; ", "engines.kubernetes.api.server where that is set, and that no NetworkPolicy"},
		"an authority that is not ours": {stranger.URL, "unknown authority; ", "engines.kubernetes.api.ca_file"},
	} {
		t.Run(name, func(t *testing.T) {
			cl, err := NewClient(Config{Server: c.server})
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = list[thing](t.Context(), cl, things, "0")
			text := ""
			if err != nil {
				text = err.Error()
			}
			address := strings.SplitAfter(c.server, "://")[1]
			if strings.Count(text, address) != 1 || strings.Contains(text, "dial") || !strings.Contains(text, c.why) || !strings.Contains(text, c.remedy) {
				t.Errorf("%q: want %s once, %q and %q", text, address, c.why, c.remedy)
			}
		})
	}
}

// TestNothingWasKnown: a server that was never heard leaves nothing to keep, and the log does not say otherwise.
func TestNothingWasKnown(t *testing.T) {
	inWorld(t, func(w *world) {
		w.wire.cut(true)
		w.after(time.Minute)
		w.said(1, "is not followed: nothing is known yet")
		w.wire.cut(false)
		w.after(2 * time.Minute)
		w.holds(true, "")
		w.wire.cut(true)
		w.Break()
		w.after(time.Minute)
		w.said(1, "is not followed: what was known last is kept")
		w.said(2, "is not followed")
	})
}
