package main

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
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

// config is what the demo's exporter is told of the GPUs: where their page is, whose they are, since no kubelet can say, and
// what they cost, which is an example.
func (g *simGPUs) config() string {
	g.fleet.mu.Lock()
	defer g.fleet.mu.Unlock()
	of := map[string][]string{}
	for _, c := range g.fleet.world.GPUs() {
		if !slices.Contains(of[c.Engine], c.UUID) {
			of[c.Engine] = append(of[c.Engine], c.UUID)
		}
	}
	text := fmt.Sprintf("gpu:\n  source: dcgm-exporter\n  url: %q\n  pod_resources: {enabled: false}\n  cost: {currency: EUR, per_gpu_hour: 2, per_kwh: 0.25}\n  engines:\n", g.url())
	for _, id := range slices.Sorted(maps.Keys(of)) {
		text += fmt.Sprintf("    %q: [%s]\n", id, strings.Join(of[id], ", "))
	}
	return text
}

func (g *simGPUs) close() {
	if g != nil {
		g.server.Close() //nolint:errcheck // nothing is lost
	}
}
