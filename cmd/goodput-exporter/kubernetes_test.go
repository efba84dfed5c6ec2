package main

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/discovery/kubernetes"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/sim"
)

const kubeSLO = "slos: [{name: chat, clauses: {ttft: 250ms}, objective: 0.95}]\n"

// simulatedEngine is an engine that has just been started, and serves some requests a second by the clock of this machine.
func simulatedEngine(t *testing.T) http.HandlerFunc {
	t.Helper()
	start := float64(time.Now().Unix())
	world, err := sim.New(sim.Config{
		Seed: 1, Start: start, Engines: []sim.Engine{{ID: "a", Model: sim.ChatModel, Step: sim.H100, MaxSeqs: 128}},
		Loads: []sim.Load{{Name: "a", Engines: []string{"a"}, Rate: sim.Constant(5), Mix: sim.Chat}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	return func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		world.Run(unix(time.Now()))
		body, _ := world.Page("a")
		w.Header().Set("Content-Type", world.ContentType("a"))
		_, _ = w.Write(body)
	}
}

// waitGone waits until something is on the program's page no more.
func waitGone(t *testing.T, p *program, what string) {
	t.Helper()
	for range 400 {
		if !strings.Contains(p.shows("goodput_last_round"), what) {
			return
		}
		<-time.After(50 * time.Millisecond)
	}
	t.Fatalf("%s is still on the page", what)
}

// TestPodsOfTheNodeAreEngines runs the whole program beside an API server: pods come, load their model, answer, and go.
func TestPodsOfTheNodeAreEngines(t *testing.T) {
	c := newCluster(t)
	p := serveProgram(t, fast+kubeSLO+c.config(""), "--web.enable-lifecycle")
	p.shows(`goodput_discovery_up{source="kubernetes"} 1`)
	p.shows(`goodput_engines_starting 0`)

	loading := testPod{namespace: "ml", name: "acme-0", ip: "10.0.0.7", owner: "StatefulSet/acme", notReady: true}
	c.put(loading)
	p.shows(`goodput_engine_phase_info{engine="ml.acme-0:8000",phase="starting"} 1`)
	body := p.shows(`goodput_engines_starting 1`)
	p.shows(`goodput_discovery_pods{state="starting"} 1`)
	if strings.Contains(body, `goodput_engine_up{engine="ml.acme-0:8000"}`) {
		t.Error("an engine that loads its model is down")
	}

	c.serve("10.0.0.7:8000", simulatedEngine(t))
	p.shows(`goodput_engine_up{engine="ml.acme-0:8000"} 1`)
	p.shows(`goodput_engine_info{container="vllm",dialect="vllm-v1",engine="ml.acme-0:8000",model="llama-3.1-8b",owner="StatefulSet/acme",pod_name="acme-0",pod_namespace="ml",pod_uid="uid-acme-0"`)
	loading.notReady = false
	c.put(loading)
	p.shows(`goodput_discovery_pods{state="polled"} 1`)
	c.serve("10.0.0.7:8000", nil)
	p.shows(`goodput_engine_up{engine="ml.acme-0:8000"} 0`)
	c.remove("ml/acme-0")
	waitGone(t, p, `goodput_engine_up{engine="ml.acme-0:8000"}`)
	if strings.Contains(p.logs.String(), "hunter2") {
		t.Error("the log tells what is in a pod's environment")
	}
}

// TestPodsDefaultsAreTheWatchers: what the configuration documents as the default is what finds engines.
func TestPodsDefaultsAreTheWatchers(t *testing.T) {
	cfg, err := config.Parse([]byte(kubeSLO+"engines: {kubernetes: {}}\n"), "f")
	if err != nil {
		t.Fatal(err)
	}
	k := cfg.Engines.Kubernetes
	for what, pair := range map[string][2][]string{
		"selectors":      {k.Selectors, kubernetes.DefaultSelectors},
		"ports":          {k.Ports, kubernetes.DefaultPorts},
		"dcgm selectors": {cfg.GPU.Kubernetes.Selectors, kubernetes.DefaultDCGMSelectors},
	} {
		if !slices.Equal(pair[0], pair[1]) {
			t.Errorf("%s: %q in the configuration, %q in the watcher", what, pair[0], pair[1])
		}
	}
}
