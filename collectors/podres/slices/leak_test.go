package slices

import (
	"context"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/internal/kube"
)

// TestNoConnectionIsLeft: a reload that asks for other GPUs ends one and begins another, so what it leaves would add up.
func TestNoConnectionIsLeft(t *testing.T) {
	s := &server{version: "v1", items: []string{aSlice("s", "node-a", 1, 1, aDevice("gpu-0", "gpu", cardA))}, events: make(chan string)}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	var open atomic.Int64
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed, http.StateHijacked:
			open.Add(-1)
		}
	}
	s.EnableHTTP2 = true // as the real one: a watch that ends leaves its connection
	s.StartTLS()
	t.Cleanup(s.Close)
	ca := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	x, err := New(Config{Node: "node-a", API: kube.Config{Server: s.URL, CAFile: ca}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- x.Run(ctx) }()
	until(t, "the device is resolved", x.is("gpu-0", cardA))
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	until(t, "no connection is left", func() bool { return open.Load() == 0 })
}
