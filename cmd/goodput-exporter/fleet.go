package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/sim"
)

// fleet serves the engines of a world in real time, each on a port of its own, and their GPUs as a dcgm-exporter would.
// Where an engine is down its port is closed, as it would be.
type fleet struct {
	mu      sync.Mutex // guards world and mail
	world   *sim.World
	mail    *mail // what the engines' tracers send; nil: nobody takes it in
	engines []*simEngine
	gpus    *simGPUs
}

// simEngine is the port of one engine.
type simEngine struct {
	fleet   *fleet
	id      string
	address string
	server  *http.Server // nil while down
}

// worldTick is how often the world is brought up to the present when nobody looks.
const worldTick = 200 * time.Millisecond

// newFleet takes a port for each engine and one for the page of their GPUs, and keeps them until close.
func newFleet(world *sim.World) (*fleet, error) {
	f := &fleet{world: world}
	for _, id := range world.Engines() {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			f.close()
			return nil, fmt.Errorf("engine %s: %w", id, err)
		}
		e := &simEngine{fleet: f, id: id, address: l.Addr().String()}
		e.serve(l)
		f.engines = append(f.engines, e)
	}
	var err error
	if f.gpus, err = f.serveGPUs(sim.GPURegime48); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

func (e *simEngine) url() string { return "http://" + e.address + "/metrics" }

func (e *simEngine) serve(l net.Listener) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		page, up := e.fleet.page(e.id)
		if !up {
			panic(http.ErrAbortHandler) // the port is about to be closed
		}
		w.Header().Set("Content-Type", e.fleet.world.ContentType(e.id))
		w.Write(page) //nolint:errcheck // the poller may have left
	})
	e.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go e.server.Serve(l) //nolint:errcheck // ends with Close
}

// page is an engine's page now.
func (f *fleet) page(id string) ([]byte, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.world.Run(unix(time.Now()))
	return f.world.Page(id)
}

// up reports which engines answer now.
func (f *fleet) up() map[string]bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.world.Run(unix(time.Now()))
	up := map[string]bool{}
	for _, e := range f.engines {
		up[e.id] = f.world.Up(e.id)
	}
	return up
}

// run lets time pass until the context is done: ports close and open as their engines go and come.
func (f *fleet) run(ctx context.Context) error {
	tick := time.NewTicker(worldTick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		for id, up := range f.up() {
			if err := f.engine(id).set(up); err != nil {
				return err
			}
		}
	}
}

func (f *fleet) engine(id string) *simEngine {
	for _, e := range f.engines {
		if e.id == id {
			return e
		}
	}
	return nil
}

// set opens or closes the port.
func (e *simEngine) set(up bool) error {
	switch {
	case up && e.server == nil:
		l, err := net.Listen("tcp", e.address)
		if err != nil {
			return fmt.Errorf("engine %s cannot come back: %w", e.id, err)
		}
		e.serve(l)
	case !up && e.server != nil:
		err := e.server.Close()
		e.server = nil
		if err != nil && !errors.Is(err, net.ErrClosed) {
			return fmt.Errorf("engine %s: %w", e.id, err)
		}
	}
	return nil
}

// close closes all ports.
func (f *fleet) close() {
	f.gpus.close()
	for _, e := range f.engines {
		if e.server != nil {
			e.server.Close() //nolint:errcheck // nothing is lost
			e.server = nil
		}
	}
}
