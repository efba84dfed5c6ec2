package kubernetes

import (
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/discovery"
	"github.com/goodput-exporter/goodput-exporter/internal/kube"
	"github.com/goodput-exporter/goodput-exporter/internal/kube/kubetest"
)

// TestWatcher: what a person sees from the first start to the end of a pod.
func TestWatcher(t *testing.T) {
	k := newCluster(t, Config{DCGM: DCGM{Selectors: DefaultDCGMSelectors}}, podWith(t, nil), podWith(t, named("far", "10.9.0.1").and(edits{"spec|nodeName": `"node-b"`})), podWith(t, named("web", "10.0.0.9").and(edits{"metadata|labels": `{}`})))
	if s := k.Status(); s.Up || !s.Synced.IsZero() || s.Detail != "the API server has not answered yet" || len(k.List()) > 0 || k.Knows("serving") {
		t.Errorf("before the first answer: %+v", s)
	}
	if _, why := k.DCGMExporter(); why != "the pods of the node were not known yet when it was looked for, which each reading does anew" {
		t.Errorf("dcgm-exporter: %s", why)
	}
	k.run()
	k.comes("serving.acme-0:8000 http://10.0.0.7:8000/metrics")
	k.until(func() bool { return k.Status().Up }, never)
	if s := k.Status(); !k.Knows("serving") || s.Detail != "" || s.Seen != 2 || s.Pods[Polled] != 1 || len(s.Pods) != 1 || len(s.Skipped) > 0 || time.Since(s.Synced) > time.Minute {
		t.Errorf("status %+v", s)
	}
	since := k.Status().Since
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
	if again := k.Status().Since; !again.Equal(since) {
		t.Errorf("up since %v, and then since %v", since, again)
	}
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
	// What is said of pods changes, and who is polled does not.
	k.Put(podWith(t, named("idle", "10.0.0.10").and(edits{"spec|containers": containers(`{"containerPort": 1}`)})))
	k.until(func() bool { return k.Status().Pods[NoEndpoint] == 1 }, never)
	if again := k.List(); &again[0] != &list[0] {
		t.Error("another list, with the same targets, after a pod that is not polled")
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
	if !s.Asked || !s.Synced.IsZero() || len(s.Unknown) > 0 || !strings.Contains(s.Detail, "give the service account the verbs get, list and watch on pods with a Role and a RoleBinding in namespace serving") {
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
	k.until(func() bool { return k.Status().Asked }, never)
	if s := k.Status(); s.Up || s.Synced.IsZero() || !slices.Equal(s.Unknown, []string{"batch"}) || s.Pods[Polled] != 1 {
		t.Errorf("status %+v", s)
	}
	for ns, want := range map[string]bool{"serving": true, "batch": false, "gpu-operator": true, "other": true} {
		if got := k.Knows(ns); got != want {
			t.Errorf("what there is in %s is known: %v, want %v", ns, got, want)
		}
	}
	k.Delete("gpu-operator", "dcgm")
	gone := func() bool { _, why := k.DCGMExporter(); return strings.Contains(why, "matches app=") }
	k.until(gone, never) // the namespace that is not known is none of its own
	mu.Lock()
	defer mu.Unlock()
	for path := range asked {
		if !strings.HasPrefix(path, "/api/v1/namespaces/") || strings.Contains(path, "other") {
			t.Errorf("asked for %s", path)
		}
	}
}

// TestRefusalsAreSaidOnce: while they last, whatever else happens.
func TestRefusalsAreSaidOnce(t *testing.T) {
	k := newCluster(t, Config{}, podWith(t, edits{"status|podIP": `"169.254.169.254"`}))
	k.run()
	for i := range 3 {
		k.Put(podWith(t, named(fmt.Sprintf("p%d", i), fmt.Sprintf("10.0.0.%d", i+1))))
		k.until(func() bool { return len(k.List()) == i+1 }, never)
	}
	if n := strings.Count(k.log.String(), "a pod is not polled"); n != 1 {
		t.Errorf("said %d times\n%s", n, k.log)
	}
}

// TestDeletedBefore: a deletion that is told late does not remove the pod that has the name now.
func TestDeletedBefore(t *testing.T) {
	k := newCluster(t, Config{})
	s := k.spaces[0]
	s.Put(*decoded(t, podWith(t, nil)))
	s.Delete(kube.Metadata{Namespace: "serving", Name: "acme-0", UID: "u-0"})
	if len(k.List()) != 1 {
		t.Error("it is gone")
	}
	s.Delete(kube.Metadata{Namespace: "serving", Name: "acme-0", UID: "u-1"})
	if len(k.List()) != 0 || k.Status().Seen != 0 {
		t.Errorf("targets %q, status %+v", text(k.List()), k.Status())
	}
	k.http.Close()
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
