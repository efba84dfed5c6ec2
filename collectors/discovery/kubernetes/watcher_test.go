package kubernetes

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/discovery"
	"github.com/goodput-exporter/goodput-exporter/internal/kube"
	"github.com/goodput-exporter/goodput-exporter/internal/kube/kubetest"
)

// cluster is an API server over HTTP, and a watcher of it that runs.
type cluster struct {
	*testing.T
	*kubetest.Server
	http *httptest.Server
	*Watcher
	log *buffer
}

// buffer is written to by several goroutines.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string { b.mu.Lock(); defer b.mu.Unlock(); return b.text.String() }

func newCluster(t *testing.T, c Config, pods ...kubetest.Object) *cluster {
	t.Helper()
	k := &cluster{T: t, Server: kubetest.New("/api/v1", "pods"), log: &buffer{}}
	for _, p := range pods {
		k.Put(p)
	}
	k.http = httptest.NewServer(k.Server)
	k.http.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	if c.Node == "" && c.Scope == "" {
		c.Node = "node-a"
	}
	c.API, c.Logger = kube.Config{Server: k.http.URL}, slog.New(slog.NewTextHandler(k.log, nil))
	var err error
	if k.Watcher, err = New(c); err != nil {
		t.Fatal(err)
	}
	return k
}

// run follows the pods until the test ends.
func (k *cluster) run() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { _ = k.Watcher.Run(ctx); close(done) }()
	k.Cleanup(func() { cancel(); <-done; k.http.CloseClientConnections(); k.http.Close() })
}

// comes waits until the engines are these.
func (k *cluster) comes(want string) {
	k.Helper()
	k.until(func() bool { return text(k.List()) == want }, func() string { return fmt.Sprintf("targets %q, want %q", text(k.List()), want) })
}

func (k *cluster) until(is func() bool, say func() string) {
	k.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			k.Fatalf("%s\n%+v\n%s", say(), k.Status(), k.log)
		}
	}
}

func never() string { return "it does not come to that" }

// TestWatcher: what a person sees from the first start to the end of a pod.
func TestWatcher(t *testing.T) {
	k := newCluster(t, Config{}, podWith(t, nil), podWith(t, named("far", "10.9.0.1").and(edits{"spec|nodeName": `"node-b"`})), podWith(t, named("web", "10.0.0.9").and(edits{"metadata|labels": `{}`})))
	if s := k.Status(); s.Up || !s.Synced.IsZero() || s.Detail != "the API server has not answered yet" || len(k.List()) > 0 {
		t.Errorf("before the first answer: %+v", s)
	}
	k.run()
	k.comes("serving.acme-0:8000 http://10.0.0.7:8000/metrics")
	k.until(func() bool { return k.Status().Up }, never)
	if s := k.Status(); s.Detail != "" || s.Seen != 2 || s.Pods[Polled] != 1 || len(s.Pods) != 1 || len(s.Skipped) > 0 || time.Since(s.Synced) > time.Minute {
		t.Errorf("status %+v", s)
	}
	k.Put(podWith(t, edits{"metadata|annotations|heartbeat": `"1"`}))
	k.Put(podWith(t, named("beta-0", "10.0.0.8")))
	k.comes("serving.acme-0:8000 http://10.0.0.7:8000/metrics; serving.beta-0:8000 http://10.0.0.8:8000/metrics")
	k.Put(podWith(t, named("beta-0", "10.0.0.8").and(edits{"metadata|labels": `{}`})))
	k.comes("serving.acme-0:8000 http://10.0.0.7:8000/metrics")
	k.Put(podWith(t, edits{"metadata|deletionTimestamp": `"2026-01-05T12:00:00Z"`}))
	k.comes("")
	if s := k.Status(); s.Pods[Terminating] != 1 {
		t.Errorf("status %+v", s)
	}
	k.Delete("serving", "acme-0")
	k.until(func() bool { return len(k.Status().Pods) == 0 }, never)
	for _, want := range []string{"come=serving.acme-0:8000 gone=\"\"", "gone=serving.beta-0:8000", "gone=serving.acme-0:8000"} {
		if n := strings.Count(k.log.String(), want); n != 1 {
			t.Errorf("%q is said %d times\n%s", want, n, k.log)
		}
	}
	if strings.Contains(k.log.String(), "hunter2") {
		t.Error("the log tells a pod's environment")
	}
}

// TestNothingNew: what changes nothing hands out the same list, as a lister has to.
func TestNothingNew(t *testing.T) {
	k := newCluster(t, Config{}, podWith(t, nil))
	k.run()
	k.comes("serving.acme-0:8000 http://10.0.0.7:8000/metrics")
	list := k.List()
	k.Put(podWith(t, named("web", "10.0.0.9").and(edits{"metadata|labels": `{}`})))
	k.Put(podWith(t, edits{"metadata|annotations|heartbeat": `"1"`}))
	k.until(func() bool { return k.Status().Seen == 2 }, never)
	if again := k.List(); &again[0] != &list[0] {
		t.Error("another list, with the same targets")
	}
	var _ discovery.Lister = k.Watcher
}

// TestDSC03: what was deleted is gone at once, whatever it said last.
func TestDSC03(t *testing.T) {
	k := newCluster(t, Config{}, podWith(t, named("a", "10.0.0.1")), podWith(t, named("b", "10.0.0.2")))
	k.run()
	k.comes("serving.a:8000 http://10.0.0.1:8000/metrics; serving.b:8000 http://10.0.0.2:8000/metrics")
	k.Delete("serving", "b")
	k.comes("serving.a:8000 http://10.0.0.1:8000/metrics")
}

// TestServerAway: the last set is kept, and Status says so and since when; what has changed meanwhile is found.
func TestServerAway(t *testing.T) {
	k := newCluster(t, Config{}, podWith(t, nil))
	k.run()
	k.until(func() bool { return k.Status().Up && len(k.List()) == 1 }, never)
	k.Fail(func(w http.ResponseWriter, r *http.Request) bool {
		kubetest.Refuse(w, 503, "ServiceUnavailable", "etcdserver: leader changed")
		return true
	})
	k.Break()
	k.until(func() bool { return !k.Status().Up }, never)
	s := k.Status()
	if !strings.Contains(s.Detail, "503 to watch of pods: etcdserver: leader changed") || time.Since(s.Since) > time.Minute || len(k.List()) != 1 {
		t.Errorf("status %+v, targets %q", s, text(k.List()))
	}
	k.Delete("serving", "acme-0")
	k.Put(podWith(t, named("beta-0", "10.0.0.7")))
	k.Forget()
	k.Fail(nil)
	k.comes("serving.beta-0:8000 http://10.0.0.7:8000/metrics")
	k.until(func() bool { return k.Status().Up }, never)
	if n := strings.Count(k.log.String(), "is not followed"); n != 1 {
		t.Errorf("said %d times\n%s", n, k.log)
	}
}

// TestForbidden: where the service account may see nothing, the remedy is said.
func TestForbidden(t *testing.T) {
	k := newCluster(t, Config{Namespaces: []string{"serving"}})
	k.Fail(func(w http.ResponseWriter, r *http.Request) bool {
		kubetest.Refuse(w, 403, "Forbidden", `pods is forbidden: User "system:serviceaccount:goodput-system:goodput-exporter" cannot list resource "pods" in API group "" in the namespace "serving"`)
		return true
	})
	k.run()
	k.until(func() bool { return strings.Contains(k.Status().Detail, "403") }, never)
	s := k.Status()
	if !s.Synced.IsZero() || !strings.Contains(s.Detail, "give the service account the verbs get, list and watch on pods with a Role and a RoleBinding in namespace serving") {
		t.Errorf("status %+v", s)
	}
}

// TestNamespaces: only those that are named are listed, each on its own; one that may not be seen does not hide the others.
func TestNamespaces(t *testing.T) {
	in := func(ns, name, ip string) kubetest.Object {
		return podWith(t, named(name, ip).and(edits{"metadata|namespace": `"` + ns + `"`}))
	}
	dcgm := podWith(t, named("dcgm", "10.0.0.3").and(edits{"metadata|namespace": `"gpu-operator"`, "metadata|labels": `{"app": "nvidia-dcgm-exporter", "goodput-exporter/engine": "true"}`}))
	k := newCluster(t, Config{Namespaces: []string{"serving", "batch"}, DCGM: DCGM{Selectors: DefaultDCGMSelectors, Namespaces: []string{"gpu-operator"}}},
		in("serving", "a", "10.0.0.1"), in("other", "b", "10.0.0.2"), dcgm)
	var mu sync.Mutex
	asked := map[string]bool{}
	k.Fail(func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		asked[r.URL.Path] = true
		if strings.Contains(r.URL.Path, "/batch/") {
			kubetest.Refuse(w, 403, "Forbidden", "no")
			return true
		}
		return false
	})
	k.run()
	k.comes("serving.a:8000 http://10.0.0.1:8000/metrics")
	k.until(func() bool { url, _ := k.DCGMExporter(); return url == "http://10.0.0.3:9400/metrics" }, never)
	k.until(func() bool { return strings.Contains(k.Status().Detail, "namespace batch") }, never)
	if s := k.Status(); s.Up || !s.Synced.IsZero() {
		t.Errorf("status %+v", s)
	}
	mu.Lock()
	defer mu.Unlock()
	for path := range asked {
		if !strings.HasPrefix(path, "/api/v1/namespaces/") || strings.Contains(path, "other") {
			t.Errorf("asked for %s", path)
		}
	}
}

// TestTooMany: a selector that fits everything does not have everything polled; who was there first stays.
func TestTooMany(t *testing.T) {
	var pods []kubetest.Object
	for i := range 300 {
		pods = append(pods, podWith(t, named(fmt.Sprintf("p%03d", 299-i), fmt.Sprintf("10.0.%d.%d", i/250, i%250)).and(edits{"status|startTime": fmt.Sprintf(`"2026-01-05T10:%02d:%02dZ"`, i/60, i%60)})))
	}
	m := join(t, Config{}, pods...)
	if len(m.list) != maxOfNode || m.pods[Refused] != 44 || m.list[len(m.list)-1].ID != "serving.p299:8000" {
		t.Errorf("%d targets of %v, the last %s", len(m.list), m.pods, m.list[len(m.list)-1].ID)
	}
	if s := m.skip("serving/p000"); s.Why != "there are 256 targets before it, and 256 is the most: make the selectors fit engines only" {
		t.Errorf("skipped %+v", s)
	}
}

func TestDCGMExporter(t *testing.T) {
	of := func(e edits) edits {
		return edits{"metadata|namespace": `"gpu-operator"`, "metadata|labels": `{"app": "nvidia-dcgm-exporter"}`}.and(e)
	}
	looks := Config{DCGM: DCGM{Selectors: DefaultDCGMSelectors}}
	for name, c := range map[string]struct {
		config Config
		pods   []edits
		want   string // the URL, or why there is none after !
	}{
		"it is there":                   {looks, []edits{of(nil)}, "http://10.0.0.7:9400/metrics"},
		"at another port":               {Config{DCGM: DCGM{Selectors: DefaultDCGMSelectors, Port: 9401}}, []edits{of(nil)}, "http://10.0.0.7:9401/metrics"},
		"over IPv6":                     {looks, []edits{of(edits{"status|podIP": `"fd00::7"`})}, "http://[fd00::7]:9400/metrics"},
		"of its own chart":              {looks, []edits{of(edits{"metadata|labels": `{"app.kubernetes.io/name": "dcgm-exporter"}`})}, "http://10.0.0.7:9400/metrics"},
		"it is not there":               {looks, nil, "!no pod on node node-a matches app=nvidia-dcgm-exporter or app.kubernetes.io/name=dcgm-exporter"},
		"nobody looks for it":           {Config{}, []edits{of(nil)}, "!no selector says which pod is dcgm-exporter"},
		"of a whole cluster":            {Config{Scope: ScopeCluster, DCGM: looks.DCGM}, []edits{of(nil)}, "!the pods of a whole cluster are followed"},
		"it is elsewhere":               {Config{Namespaces: []string{"serving"}, DCGM: looks.DCGM}, []edits{of(nil)}, "!no pod on node node-a in the namespaces that are looked at (serving) matches"},
		"it does not run yet":           {looks, []edits{of(edits{"status|phase": `"Pending"`})}, "!the pod gpu-operator/acme-0 does not run (phase Pending)"},
		"it is being deleted":           {looks, []edits{of(edits{"metadata|deletionTimestamp": `"2026-01-05T12:00:00Z"`})}, "!the pod gpu-operator/acme-0 is being deleted"},
		"at the metadata's address":     {looks, []edits{of(edits{"status|podIP": `"169.254.169.254"`})}, "!the pod gpu-operator/acme-0 cannot be asked: its address 169.254.169.254"},
		"the new one, when it is ready": {looks, []edits{of(named("old", "10.0.0.1")).and(edits{"metadata|deletionTimestamp": `"2026-01-05T12:00:00Z"`}), of(named("new", "10.0.0.2"))}, "http://10.0.0.2:9400/metrics"},
		"of two the ready one":          {looks, []edits{of(named("a", "10.0.0.1")), of(named("b", "10.0.0.2")).and(edits{"status|conditions": "", "status|startTime": `"2026-01-05T12:00:00Z"`})}, "http://10.0.0.1:9400/metrics"},
	} {
		t.Run(name, func(t *testing.T) {
			var pods []kubetest.Object
			for _, e := range c.pods {
				pods = append(pods, podWith(t, e))
			}
			k := newCluster(t, c.config, pods...)
			k.run()
			k.until(func() bool { return k.Status().Up }, never)
			url, why := k.DCGMExporter()
			if wrong, isWrong := strings.CutPrefix(c.want, "!"); isWrong && (url != "" || !strings.HasPrefix(why, wrong)) || !isWrong && url != c.want {
				t.Errorf("%q, %q; want %q", url, why, c.want)
			}
			if len(k.List()) > 0 {
				t.Errorf("targets %q", text(k.List()))
			}
		})
	}
}

// TestChurn: a thousand pods come and go, and nothing is left: no pod, no goroutine, no watch.
func TestChurn(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("churn", func(t *testing.T) {
		k := newCluster(t, Config{})
		k.run()
		k.until(func() bool { return k.Status().Up }, never)
		for i := range 1000 {
			k.Put(podWith(t, named(fmt.Sprintf("p%d", i), fmt.Sprintf("10.0.0.%d", i%20+1)).and(edits{"status|startTime": fmt.Sprintf(`"2026-01-05T10:%02d:%02dZ"`, i/60, i%60)})))
			if i >= 10 {
				k.Delete("serving", fmt.Sprintf("p%d", i-10))
			}
			if i%333 == 332 {
				k.Break()
			}
		}
		k.until(func() bool { return len(k.List()) == 10 && strings.Contains(text(k.List()), "serving.p999:8000") }, never)
		s := k.spaces[0]
		k.Watcher.mu.Lock()
		if len(s.pods) != 10 || len(s.seen) != 10 || len(k.said) > 0 {
			t.Errorf("kept are %d pods, %d names, %d refusals", len(s.pods), len(s.seen), len(k.said))
		}
		k.Watcher.mu.Unlock()
		if _, _, open := k.Asked(); open != 1 {
			t.Errorf("%d watches", open)
		}
	})
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}
