package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// cluster is an API server that knows pods, and the network of their node: a proxy to the engines in them, since addresses of
// pods are not those of this machine.
type cluster struct {
	t       *testing.T
	api     *httptest.Server
	network *httptest.Server

	mu      sync.Mutex
	pods    map[string]*testPod // by namespace/name
	events  []podEvent          // that have happened; the version of the i-th is i+1
	changed chan struct{}       // closed at the next event
	down    bool
	engines map[string]http.HandlerFunc // by host:port
	lists   int
	scopes  bool // it may be asked for the pods of all nodes too, or of another
}

type podEvent struct {
	kind string
	pod  map[string]any
}

// testPod is a pod in the API's terms. Fields that a test does not set are those of an engine that runs and is ready.
type testPod struct {
	namespace, name, uid, ip string
	labels, annotations      map[string]string
	owner                    string // "Kind/name"
	ports                    []int  // 8000 by default; the first is called http
	phase                    string
	notReady, deleted        bool
	started                  time.Time
	restarts                 int
}

func (p *testPod) key() string { return p.namespace + "/" + p.name }

// object is the pod as JSON has it.
func (p *testPod) object(version int) map[string]any {
	meta := map[string]any{
		"namespace": p.namespace, "name": p.name, "uid": p.uid, "resourceVersion": fmt.Sprint(version), "labels": p.labels, "annotations": p.annotations,
		"creationTimestamp": p.started.UTC().Format(time.RFC3339),
	}
	if p.deleted {
		meta["deletionTimestamp"] = p.started.UTC().Format(time.RFC3339)
	}
	if kind, name, is := strings.Cut(p.owner, "/"); is {
		meta["ownerReferences"] = []any{map[string]any{"kind": kind, "name": name, "controller": true}}
	}
	var ports []any
	for i, n := range p.ports {
		port := map[string]any{"containerPort": n}
		if i == 0 {
			port["name"] = "http"
		}
		ports = append(ports, port)
	}
	ready := map[bool]string{true: "False", false: "True"}[p.notReady]
	state := map[string]any{"running": map[string]any{"startedAt": p.started.UTC().Format(time.RFC3339)}}
	if p.phase != "Running" {
		state = map[string]any{"terminated": map[string]any{"exitCode": 1}}
	}
	return map[string]any{
		"metadata": meta,
		"spec":     map[string]any{"nodeName": "gpu-1", "containers": []any{map[string]any{"name": "vllm", "ports": ports, "env": []any{map[string]any{"name": "TOKEN", "value": "hunter2"}}}}},
		"status": map[string]any{
			"phase": p.phase, "podIP": p.ip, "startTime": p.started.UTC().Format(time.RFC3339),
			"conditions":        []any{map[string]any{"type": "Ready", "status": ready, "lastTransitionTime": p.started.UTC().Format(time.RFC3339)}},
			"containerStatuses": []any{map[string]any{"name": "vllm", "ready": !p.notReady, "restartCount": p.restarts, "state": state}},
		},
	}
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, pods: map[string]*testPod{}, changed: make(chan struct{}), engines: map[string]http.HandlerFunc{}}
	c.api = httptest.NewServer(http.HandlerFunc(c.serveAPI))
	c.network = httptest.NewServer(http.HandlerFunc(c.serveNetwork))
	t.Cleanup(func() {
		c.api.CloseClientConnections() // watches go on else
		c.api.Close()
		c.network.Close()
	})
	return c
}

// config is the part of a configuration that finds the engines in the cluster.
func (c *cluster) config(more string) string {
	return fmt.Sprintf("engines: {access: {proxy_url: %q}, kubernetes: {node: gpu-1, api: {server: %q}, selectors: [app=vllm]%s}}\ngpu: {source: none}\n", c.network.URL, c.api.URL, more)
}

// put has a pod come or change.
func (c *cluster) put(p testPod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.uid == "" {
		p.uid = "uid-" + p.name
	}
	if p.labels == nil {
		p.labels = map[string]string{"app": "vllm"}
	}
	if p.ports == nil {
		p.ports = []int{8000}
	}
	if p.phase == "" {
		p.phase = "Running"
	}
	if p.started.IsZero() {
		p.started = time.Unix(1_700_000_000, 0)
	}
	kind := "ADDED"
	if c.pods[p.key()] != nil {
		kind = "MODIFIED"
	}
	c.pods[p.key()] = &p
	c.happen(kind, &p)
}

// remove has a pod be gone.
func (c *cluster) remove(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pods[key]
	delete(c.pods, key)
	c.happen("DELETED", p)
}

func (c *cluster) happen(kind string, p *testPod) {
	c.events = append(c.events, podEvent{kind, p.object(len(c.events) + 1)})
	close(c.changed)
	c.changed = make(chan struct{})
}

// setDown has the API server fail, or work again. Watches that go on are cut off.
func (c *cluster) setDown(down bool) {
	c.mu.Lock()
	c.down = down
	c.mu.Unlock()
	if down {
		c.api.CloseClientConnections()
	}
}

// serve has an engine answer at an address, or nothing where it is nil.
func (c *cluster) serve(address string, h http.HandlerFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.engines[address] = h
}

func (c *cluster) listed() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lists
}

func (c *cluster) serveNetwork(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	h := c.engines[r.URL.Host]
	c.mu.Unlock()
	if h == nil {
		http.Error(w, "no such host", http.StatusBadGateway)
		return
	}
	h(w, r)
}

func (c *cluster) serveAPI(w http.ResponseWriter, r *http.Request) {
	space := ""
	switch parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/"); {
	case r.URL.Path == "/api/v1/pods":
	case len(parts) == 5 && parts[2] == "namespaces" && parts[4] == "pods":
		space = parts[3]
	default:
		http.NotFound(w, r)
		return
	}
	if got := r.URL.Query().Get("fieldSelector"); got != "spec.nodeName=gpu-1" && !c.scopes {
		c.t.Errorf("fieldSelector %q", got)
	}
	c.mu.Lock()
	down, version := c.down, len(c.events)
	var items []any
	for _, key := range slices.Sorted(maps.Keys(c.pods)) {
		if p := c.pods[key]; space == "" || p.namespace == space {
			items = append(items, p.object(version))
		}
	}
	if r.URL.Query().Get("watch") == "" {
		c.lists++
	}
	c.mu.Unlock()
	switch {
	case down:
		http.Error(w, "etcd is away", http.StatusInternalServerError)
	case r.URL.Query().Get("watch") != "":
		c.watch(w, r, space)
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": "PodList", "metadata": map[string]any{"resourceVersion": fmt.Sprint(version)}, "items": items})
	}
}

// watch tells each event after a version until the client has had enough.
func (c *cluster) watch(w http.ResponseWriter, r *http.Request, space string) {
	at := 0
	_, _ = fmt.Sscan(r.URL.Query().Get("resourceVersion"), &at)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	for {
		c.mu.Lock()
		events, changed := c.events[min(at, len(c.events)):], c.changed
		at += len(events)
		c.mu.Unlock()
		for _, e := range events {
			if space == "" || e.pod["metadata"].(map[string]any)["namespace"] == space {
				_ = json.NewEncoder(w).Encode(map[string]any{"type": e.kind, "object": e.pod})
			}
		}
		w.(http.Flusher).Flush()
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}
