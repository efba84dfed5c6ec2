package main

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// refusing is an API server before that of the cluster: it says no to a namespace, and to all when it is told to.
type refusing struct {
	url       string
	namespace string
	all       atomic.Bool
}

func (c *cluster) refusing(namespace string) *refusing {
	c.t.Helper()
	r := &refusing{namespace: namespace}
	behind, err := url.Parse(c.api.URL)
	if err != nil {
		c.t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(behind) }, FlushInterval: -1, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0),
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if r.all.Load() || strings.Contains(req.URL.Path, "/namespaces/"+r.namespace+"/") {
			http.Error(w, `{"kind": "Status", "code": 403, "reason": "Forbidden", "message": "no"}`, http.StatusForbidden)
			return
		}
		proxy.ServeHTTP(w, req)
	}))
	c.t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	r.url = s.URL
	return r
}

// TestAReloadKeepsOfEachNamespaceWhatIsUnheard: a namespace that may not be seen keeps no pod of another, and what has not been heard of
// is as it was. One node's pods are among those of the cluster, and not the other way about.
func TestAReloadKeepsOfEachNamespaceWhatIsUnheard(t *testing.T) {
	const one, other = "ml.acme-0:8000", "tenant.beta-0:8000"
	for name, c := range map[string]struct {
		before, after string // of the configuration of pods
		refused       string // namespace
		away          bool   // the API server, at the reload and after it
		kept          []string
		left          []string // when ml/acme-0 is gone and the API server was heard
	}{
		"a namespace is added that may not be seen":      {"namespaces: [ml]", "namespaces: [ml, tenant]", "tenant", false, []string{one}, nil},
		"one is added that may be seen":                  {"namespaces: [ml]", "namespaces: [ml, tenant]", "", false, []string{one, other}, []string{other}},
		"all become some, of which one may not be seen":  {"node: gpu-1", "node: gpu-1, namespaces: [ml, tenant]", "tenant", false, []string{one, other}, []string{other}},
		"one is named no more, and the server is away":   {"namespaces: [ml, tenant]", "namespaces: [tenant]", "", true, []string{other}, []string{other}},
		"other selectors, and the server is away":        {"node: gpu-1", "node: gpu-1, selectors: [app in (vllm)]", "", true, []string{one, other}, []string{one, other}},
		"from a node to the cluster, while it is away":   {"node: gpu-1", "scope: cluster", "", true, []string{one, other}, []string{one, other}},
		"from a node to another, while it is away":       {"node: gpu-1", "node: gpu-2", "", true, nil, nil},
		"from the cluster to a node, while it is away":   {"scope: cluster", "node: gpu-1", "", true, nil, nil},
		"of the cluster only one namespace, and is away": {"scope: cluster", "scope: cluster, namespaces: [ml]", "", true, []string{one}, []string{one}},
	} {
		t.Run(name, func(t *testing.T) {
			k := newCluster(t)
			k.scopes = true
			k.put(testPod{namespace: "ml", name: "acme-0", ip: "10.0.0.7"})
			k.put(testPod{namespace: "tenant", name: "beta-0", ip: "10.0.0.8"})
			api := k.refusing(c.refused)
			text := func(pods string) string {
				if !strings.Contains(pods, "selectors") {
					pods += ", selectors: [app=vllm]"
				}
				if !strings.Contains(pods, "scope") && !strings.Contains(pods, "node") {
					pods += ", node: gpu-1"
				}
				return slow + kubeSLO + "engines: {kubernetes: {api: {server: \"" + api.url + "\"}, " + pods + "}}\ngpu: {source: none}\n"
			}
			n := watchNode(t, k, text(c.before))
			first := []string{one, other}
			if c.before == "namespaces: [ml]" {
				first = first[:1]
			}
			n.until(first...)
			api.all.Store(c.away)
			n.configure(text(c.after))
			got := n.ids()
			for _, id := range c.kept {
				if slices.Contains(first, id) && !slices.Contains(got, id) {
					t.Errorf("engines are %v right after the reload, want %s", got, id)
				}
			}
			n.until(c.kept...)
			if !c.away {
				n.wait("ml is known", func() bool { return n.generation.pods.watcher.Knows("ml") })
			}
			k.remove("ml/acme-0")
			n.until(c.left...)
			if d := n.generation.pods.status(); d.Up && (c.away || c.refused != "") {
				t.Errorf("status %+v", d)
			}
		})
	}
}

// TestAReloadKeepsThePageOfTheGPUs: like an engine, the node's dcgm-exporter stays where it was until the API server is heard.
func TestAReloadKeepsThePageOfTheGPUs(t *testing.T) {
	const page = "http://10.0.0.9:9400/metrics"
	dcgm := testPod{namespace: "gpu-operator", name: "nvidia-dcgm-exporter-x", ip: "10.0.0.9", labels: map[string]string{"app": "nvidia-dcgm-exporter"}, ports: []int{9400}}
	for name, c := range map[string]struct {
		before, after string // of the configuration: of pods, and after a / of the page
		refused       string // namespace
		away          bool
		kept, left    string // at the reload; and when the pod is gone
	}{
		"other selectors of engines, and the server is away":     {"/", "selectors: [app=other]/", "", true, page, page},
		"other selectors of engines, and the server is there":    {"/", "selectors: [app=other]/", "", false, page, ""},
		"all become some, of which one may not be seen":          {"/", "namespaces: [gpu-operator, ml]/", "ml", false, page, ""},
		"all become some, of which its own may not be seen":      {"/", "namespaces: [gpu-operator, ml]/", "gpu-operator", false, page, page},
		"its namespace is named no more, and the server is away": {"/", "namespaces: [ml]/", "", true, "", ""},
		"other selectors of the page, and the server is away":    {"/", "/selectors: [app=mine]", "", true, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			k := newCluster(t)
			k.put(dcgm)
			api := k.refusing(c.refused)
			text := func(of string) string {
				pods, page, _ := strings.Cut(of, "/")
				return slow + kubeSLO + "engines: {kubernetes: {node: gpu-1, api: {server: \"" + api.url + "\"}, " + pods + "}}\ngpu: {source: dcgm-exporter, kubernetes: {" + page + "}}\n"
			}
			n := watchNode(t, k, text(c.before))
			at := func(want string) bool { p, _ := n.generation.pods.located(); return p.address == want }
			n.wait("the page is found", func() bool { return at(page) })
			api.all.Store(c.away)
			for range 2 { // twice: what is kept once is kept again
				n.configure(text(c.after))
				if p, why := n.generation.pods.located(); p.address != c.kept {
					t.Fatalf("the page is at %q because %q, want %q", p.address, why, c.kept)
				}
				n.configure(strings.Replace(text(c.after), "node: gpu-1", "node: gpu-1, ports: [http]", 1))
			}
			if !c.away && c.refused != "gpu-operator" {
				n.wait("the namespace is known", func() bool { return n.generation.pods.watcher.Knows("gpu-operator") })
			}
			k.remove(dcgm.key())
			n.wait("the page is where it is to be", func() bool { return at(c.left) })
		})
	}
}
