package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/goodput-exporter/goodput-exporter/collectors/discovery/kubernetes"
	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
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

// TestStatesOfPodsAreDeclared: a state that the catalogue does not know would be published as another.
func TestStatesOfPodsAreDeclared(t *testing.T) {
	var found []string
	for _, state := range kubernetes.States() {
		found = append(found, string(state))
	}
	if declared := catalog.PodStates(); !slices.Equal(found, declared) {
		t.Errorf("discovery has the states %q, the catalogue %q", found, declared)
	}
}

// TestTheAPIServerIsAway: without it at the start the exporter serves, is ready, and says that it does not know; when it goes
// later the engines found last are polled on.
func TestTheAPIServerIsAway(t *testing.T) {
	c := newCluster(t)
	c.setDown(true)
	p := serveProgram(t, fast+kubeSLO+c.config(""))
	waitFor(t, "http://"+p.address+"/-/ready", "ready")
	body := p.shows(`goodput_discovery_up{source="kubernetes"} 0`)
	if strings.Contains(body, "goodput_discovery_last_sync") || strings.Contains(body, "goodput_discovery_pods") {
		t.Error("it says what it cannot know")
	}
	waitFor(t, "http://"+p.address+"/", "Kubernetes has not said yet which pods there are")

	waitFor(t, "http://"+p.address+"/", "why is at the top of this page")

	c.serve("10.0.0.7:8000", simulatedEngine(t))
	c.put(testPod{namespace: "ml", name: "acme-0", ip: "10.0.0.7"})
	c.setDown(false)
	p.shows(`goodput_engine_up{engine="ml.acme-0:8000"} 1`)
	p.shows(`goodput_discovery_up{source="kubernetes"} 1`)
	c.setDown(true)
	c.remove("ml/acme-0")
	p.shows(`goodput_discovery_up{source="kubernetes"} 0`)
	body = p.shows(`goodput_engine_up{engine="ml.acme-0:8000"} 1`)
	if !strings.Contains(body, `goodput_discovery_pods{state="polled"} 1`) {
		t.Error("what was found last is not said")
	}
	c.setDown(false)
	waitGone(t, p, `goodput_engine_up{engine="ml.acme-0:8000"}`)
}

// TestWithoutANodeThereIsARemedy: the program does not start without knowing whose pods are meant.
func TestWithoutANodeThereIsARemedy(t *testing.T) {
	t.Setenv(nodeVariable, "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for text, want := range map[string]string{
		"engines: {kubernetes: {}}\n":                      "set NODE_NAME from spec.nodeName in the pod's manifest, or give node, or scope: cluster",
		"engines: {kubernetes: {node: n}}\n":               "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set, so this is no pod: run in one, or give the API server's URL in engines.kubernetes.api.server",
		"engines: {access: {proxy_url: \"http://h:1\"}}\n": "there is no engines.kubernetes, so there is nothing to poll",
	} {
		_, err := newServed(writeFile(t, "goodput.yaml", kubeSLO+text+"gpu: {source: none}\n"), slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q in it", text, err, want)
		}
	}
}

// TestThePageOfTheNodesGPUsIsAPods: where pods are looked at, one of them serves the page of the node's GPUs; sources of GPUs
// that are in use go on over a reload and follow the pods of the configuration that came.
func TestThePageOfTheNodesGPUsIsAPods(t *testing.T) {
	c := newCluster(t)
	text := strings.Replace(slow+kubeSLO+c.config(""), "source: none", "source: dcgm-exporter", 1)
	s, err := newServed(writeFile(t, "goodput.yaml", text), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- s.Run(ctx) }()
	located := func(address, why string) {
		t.Helper()
		var gotAddress, gotWhy string
		for range 2000 {
			if gotAddress, gotWhy = s.now.gpus.located(); gotAddress == address && strings.Contains(gotWhy, why) {
				return
			}
			<-time.After(time.Millisecond)
		}
		t.Errorf("the page is at %q because %q, want %q, %q", gotAddress, gotWhy, address, why)
	}
	located("", "no pod on node gpu-1 matches app=nvidia-dcgm-exporter")
	c.put(testPod{namespace: "gpu-operator", name: "nvidia-dcgm-exporter-x", ip: "10.0.0.9", labels: map[string]string{"app": "nvidia-dcgm-exporter"}, ports: []int{9400}})
	located("http://10.0.0.9:9400/metrics", "")
	before := s.now.gpus
	if err := os.WriteFile(s.file, []byte(strings.Replace(text, "[app=vllm]", "[app=other]", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.reload(); err != nil {
		t.Fatal(err)
	}
	if s.now.gpus != before {
		t.Error("the source of GPUs was opened anew")
	}
	located("http://10.0.0.9:9400/metrics", "")
	c.remove("gpu-operator/nvidia-dcgm-exporter-x")
	located("", "no pod on node gpu-1 matches")
	if len(s.now.targets.Targets()) != 0 {
		t.Error("it is taken for an engine")
	}
	end()
	if err := <-ran; err != nil {
		t.Error(err)
	}
	s.wait()
}

// TestFlagsOfAPodsEngine: any id may be that of a pod's engine.
func TestFlagsOfAPodsEngine(t *testing.T) {
	for text, known := range map[string]bool{"": false, ", kubernetes: {}": true} {
		cfg, err := config.Parse([]byte(kubeSLO+"engines: {targets: [{id: a, url: \"http://h\"}]"+text+"}\n"), "f")
		if err != nil {
			t.Fatal(err)
		}
		ids, err := flaggedEngines(cfg, "ml.acme-0:8000")
		if (err == nil) != known || known && !slices.Equal(ids, []string{"ml.acme-0:8000"}) {
			t.Errorf("%q: %v, %v", text, ids, err)
		}
	}
}

// TestPodsAreReadAlike: what the configuration takes, the watcher takes, and what it refuses, with the line, the watcher would
// refuse too.
func TestPodsAreReadAlike(t *testing.T) {
	list := func(key, value string) string { return key + ": [" + strconv.Quote(value) + "]" }
	var texts []string
	for _, s := range []string{
		"a", "!a", "! a", "a=b", "a = b", "a==b", "a!=b", "a=", "a!=", "a in (b)", "a in (b, c)", "a notin (b,c)", "a in ()", "a,b", "a=b,!c,d in (e,f)", "x.y/z=w", "x.y/z in (a.b_c-d)",
		"", " ", ",", "a,", "=b", "a=b=c", "a===b", "a!b", "!a=b", "!", "a in", "a in b", "a in (b", "a in b)", "a in ((b))", "a in (b)(c)", "in (b)", "a b", "a inb (c)", "a>1", "a<1", "-a", "a/", "/a", "a/b/c", "A.b/c",
		"a=b c", "a=-b", "a=ü", "ü=b", "a in (b c)", "a notin", "a=b,c in (d", "a=" + strings.Repeat("x", 63), "a=" + strings.Repeat("x", 64), strings.Repeat("x", 64), "a>-1", "a > 1", "a>b", "a<", ">1", "a>1>2", "a=1>2", "!a>1",
	} {
		texts = append(texts, list("selectors", s))
	}
	for _, s := range []string{"http", "8000", "8000-8007", "0", "65535", "65536", "8007-8000", "1-64", "1-65", "8000-", "-8000", "-", "a-b", "a--b", "-a", "a-", "A", "8000a", "a8000", "exactly-fifteen", "more-than-fifteen", "8000-8001-8002", "8000,8001", "", "08000"} {
		texts = append(texts, list("ports", s))
	}
	for _, s := range []string{"a", "a-b", "a.b", "A", "-a", "", strings.Repeat("x", 63), strings.Repeat("x", 64)} {
		texts = append(texts, list("namespaces", s))
	}
	for _, s := range []string{"/metrics", "/", "metrics", "/a?b", "/a#b", "/a b", "/ü", ""} {
		texts = append(texts, "path: "+strconv.Quote(s))
	}
	for _, text := range texts {
		_, err := config.Parse([]byte(kubeSLO+"engines: {kubernetes: {node: n, "+text+"}}\n"), "f")
		var k struct {
			Selectors, Ports, Namespaces []string
			Path                         string
		}
		if err := yaml.Unmarshal([]byte(text), &k); err != nil {
			t.Fatal(err)
		}
		watcher := kubernetes.Config{Node: "n", Selectors: k.Selectors, Ports: k.Ports, Namespaces: k.Namespaces, Path: k.Path}.Check()
		if text == `path: ""` {
			watcher = errors.New("which is the default to the watcher")
		}
		if (err == nil) != (watcher == nil) {
			t.Errorf("%s: the configuration says %v, the watcher %v", text, err, watcher)
		}
	}
}
