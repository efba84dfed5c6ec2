package main

import (
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/sim"
)

// simGPUs is the port of the fleet's dcgm-exporter. It is open as long as the fleet is, whatever becomes of engines and cards.
type simGPUs struct {
	fleet   *fleet
	regime  sim.GPURegime
	address string
	server  *http.Server
}

// serveGPUs takes a port for the page of the fleet's GPUs, with names and units of a regime.
func (f *fleet) serveGPUs(regime sim.GPURegime) (*simGPUs, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("the page of the GPUs: %w", err)
	}
	g := &simGPUs{fleet: f, regime: regime, address: l.Addr().String()}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", sim.GPUContentType)
		w.Write(g.page()) //nolint:errcheck // the reader may have left
	})
	g.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go g.server.Serve(l) //nolint:errcheck // ends with Close
	return g, nil
}

func (g *simGPUs) url() string { return "http://" + g.address + "/metrics" }

// page is the GPUs' page now.
func (g *simGPUs) page() []byte {
	g.fleet.mu.Lock()
	defer g.fleet.mu.Unlock()
	g.fleet.world.Run(unix(time.Now()))
	return g.fleet.world.GPUPage(g.regime)
}

func (g *simGPUs) close() {
	if g != nil {
		g.server.Close() //nolint:errcheck // nothing is lost
	}
}
