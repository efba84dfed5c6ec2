package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// claimingKubelet listens on a unix socket and lists one pod, serving/acme-0, whose container was given the device gpu-3 of the
// pool node-a by a resource claim.
func claimingKubelet(t *testing.T) (socket string) {
	t.Helper()
	text := func(n protowire.Number, v string) []byte { return protoField(nil, n, []byte(v)) }
	device := append(append(text(2, "gpu.nvidia.com"), text(3, "node-a")...), text(4, "gpu-3")...)
	container := protoField(text(1, "vllm"), 5, protoField(append(text(2, "gpu-claim"), text(3, "serving")...), 4, device))
	list := protoField(nil, 1, protoField(append(text(1, "acme-0"), text(2, "serving")...), 3, container))

	return kubeletThatLists(t, list)
}

// slicesServer is an API server that has one ResourceSlice, for whoever may read it.
func slicesServer(t *testing.T, may *atomic.Bool, asked *atomic.Int32) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		switch {
		case !may.Load():
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"kind":"Status","code":403,"reason":"Forbidden"}`)
		case r.URL.Query().Get("watch") != "":
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		default:
			fmt.Fprint(w, `{"metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"a","resourceVersion":"1"},"spec":{"driver":"gpu.nvidia.com","nodeName":"node-a",
				"pool":{"name":"node-a","generation":1,"resourceSliceCount":1},"devices":[{"name":"gpu-3",
				"attributes":{"type":{"string":"gpu"},"uuid":{"string":"GPU-aaaaaaaa-0000-4000-8000-000000000001"}}}]}}]}`)
		}
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s.URL
}

// TestClaimsOfDRA is JON-09: a GPU that a pod has by a resource claim is resolved through the node's ResourceSlices; without the
// permission to read them the pod has a GPU that is not known, and it is said why, rather than none.
func TestClaimsOfDRA(t *testing.T) {
	var may atomic.Bool
	var asked atomic.Int32
	socket, server := claimingKubelet(t), slicesServer(t, &may, &asked)
	open := func(t *testing.T, engines string) *gpuSources {
		t.Helper()
		cfg, err := config.Parse([]byte(`
slos: [{name: chat, clauses: {ttft: 500ms}, objective: 0.95}]
engines: `+engines+`
gpu: {source: dcgm-exporter, url: "http://127.0.0.1:1/metrics", pod_resources: {enabled: true, socket: `+socket+`}}
`), "goodput.yaml")
		if err != nil {
			t.Fatal(err)
		}
		var running sync.WaitGroup
		g, err := newGPUSources(cfg, nil, &running, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { g.release(); running.Wait() })
		return g
	}
	// becomes reads until the device and what is said of it are as they should be.
	becomes := func(t *testing.T, g *gpuSources, device, unresolved string, says ...string) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			claims := g.Read(t.Context())
			fits := len(claims.Claims) == 1 && claims.Claims[0].Pod == "acme-0" && claims.Claims[0].Device == device && claims.Claims[0].Unresolved == unresolved
			for _, word := range says {
				fits = fits && strings.Contains(claims.Detail, word)
			}
			if fits && (len(says) > 0 || claims.Detail == "") {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("got %+v, want the device %q, %q, and %q said", claims, device, unresolved, says)
			}
		}
	}
	kubernetes := `{kubernetes: {node: node-a, api: {server: "` + server + `"}}}`

	t.Run("without Kubernetes in the configuration", func(t *testing.T) {
		g := open(t, `{targets: [{id: a, url: "http://127.0.0.1:1/metrics"}]}`)
		becomes(t, g, "node-a/gpu-3", fact.UnresolvedDRA, "only with engines.kubernetes")
		if n := asked.Load(); n > 0 {
			t.Errorf("the API server was asked %d times", n)
		}
	})
	t.Run("without and then with the permission", func(t *testing.T) {
		g := open(t, kubernetes)
		time.Sleep(20 * time.Millisecond)
		if n := asked.Load(); n > 0 {
			t.Errorf("the API server was asked %d times before the kubelet told of a claim", n)
		}
		becomes(t, g, "node-a/gpu-3", fact.UnresolvedDRA, "component dra")
		may.Store(true)
		becomes(t, g, "GPU-aaaaaaaa-0000-4000-8000-000000000001", "")
	})
	t.Run("one exporter of all nodes knows no node's slices", func(t *testing.T) {
		g := open(t, `{kubernetes: {scope: cluster, api: {server: "`+server+`"}}}`)
		becomes(t, g, "node-a/gpu-3", fact.UnresolvedDRA, "for the pods of a node")
	})
}
