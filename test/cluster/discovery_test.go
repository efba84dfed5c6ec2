package cluster

import (
	"strings"
	"testing"
	"time"
)

const soon = 5 * time.Second

// TestPodsOfANode walks through what happens to the pods of a node, as a real API server tells it.
func TestPodsOfANode(t *testing.T) {
	c := newCluster(t)
	c.open()
	first := engine("serving", "first", address(1))
	uid := c.add(first, true)
	elsewhere := engine("serving", "elsewhere", address(2))
	elsewhere.node = "node-b"
	c.add(elsewhere, true)
	stranger := engine("serving", "stranger", address(3))
	stranger.labels = object{"app": "stranger"}
	c.add(stranger, true)

	f := newFront(t, c)
	w := watch(t, c, f, nil)
	w.becomes(soon, "serving.first:8000")
	found := w.List()[0].Target
	for name, want := range map[string]string{"pod_name": "first", "pod_namespace": "serving", "pod_uid": uid, "container": "vllm"} {
		if got := found.Labels[name]; got != want {
			t.Errorf("the label %s is %q, want %q", name, got, want)
		}
	}
	if want := "http://" + first.ip + ":8000/metrics"; found.URL != want {
		t.Errorf("the page is at %s, want %s", found.URL, want)
	}

	second := engine("serving", "second", "")
	second.owner = object{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "acme-7d4b9c6f5", "uid": "u", "controller": true}
	second.labels["pod-template-hash"] = "7d4b9c6f5"
	c.must(c.create(second.path(), second.object()))
	w.stays(300*time.Millisecond, "serving.first:8000") // it has no address yet
	second.ip = address(4)
	c.must(c.runs(second, false))
	w.becomes(soon, "serving.first:8000", "serving.second:8000")
	if got := w.List()[1].Target; !got.Starting || got.Labels["owner"] != "Deployment/acme" {
		t.Errorf("a pod that is not ready yet is %+v", got)
	}
	c.must(c.runs(second, true))
	until(t, soon, "it is not starting any more", func() error {
		if w.List()[1].Target.Starting {
			return errNotYet
		}
		return nil
	})

	c.must(c.patch(stranger.self(), object{"metadata": object{"labels": object{"goodput-exporter/engine": "true"}}}))
	w.becomes(soon, "serving.first:8000", "serving.second:8000", "serving.stranger:8000")
	c.must(c.patch(stranger.self(), object{"metadata": object{"labels": object{"goodput-exporter/engine": nil}}}))
	w.becomes(soon, "serving.first:8000", "serving.second:8000")

	// A deletion lasts as long as the pod is given to end, and it is out from the first moment.
	c.remove(first)
	w.becomes(soon, "serving.second:8000")
	if o, err := c.get(first.self()); err != nil || text(o, "metadata", "deletionTimestamp") == "" {
		t.Errorf("the pod that is being deleted should still be there: %v, %v", o, err)
	}
	c.gone(first)
	w.stays(300*time.Millisecond, "serving.second:8000")

	// DSC-01: a pod that has failed keeps its address in the API, and another one is given it.
	c.phase(second, "Failed")
	w.becomes(soon)
	heir := engine("serving", "heir", second.ip)
	c.add(heir, true)
	w.becomes(soon, "serving.heir:8000")

	// The same while the one before is being deleted, which takes as long as it is given.
	c.remove(heir)
	w.becomes(soon)
	last := engine("serving", "last", heir.ip)
	c.add(last, true)
	w.becomes(soon, "serving.last:8000")
	c.must(c.runs(heir, true)) // the kubelet goes on reporting of it
	w.stays(300*time.Millisecond, "serving.last:8000")
	c.gone(heir)
	w.stays(300*time.Millisecond, "serving.last:8000")
	if lists := f.requests(0, "pods", false); len(lists) != 1 {
		t.Errorf("the pods were listed %d times, want once: %+v", len(lists), lists)
	}
	if strings.Contains(w.log.String(), "very-secret") {
		t.Error("the log tells the environment of a pod")
	}
	onlyReads(t, c)
}

// onlyReads holds what the API server wrote down of the exporter's account: that it only ever listed and watched pods.
func onlyReads(t *testing.T, c *cluster) {
	t.Helper()
	for _, e := range c.audit() {
		if verb := text(e, "verb"); verb != "list" && verb != "watch" || text(e, "objectRef", "resource") != "pods" {
			t.Errorf("the exporter's account asked for %s of %s", verb, text(e, "requestURI"))
		}
	}
}
