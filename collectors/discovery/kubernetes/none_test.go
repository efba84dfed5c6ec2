package kubernetes

import (
	"net/http"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/internal/kube/kubetest"
)

// TestWhyThereIsNoEngineIsLoggedOnce: the log says why nothing is polled, once for each reason, whatever pods come and go.
func TestWhyThereIsNoEngineIsLoggedOnce(t *testing.T) {
	const none, noPods, noFit, noTaken = "there is no engine among the pods", "no pod is in sight", "none fits engines.kubernetes.selectors", "none of them is polled"
	k := newCluster(t, Config{})
	k.run()
	said := func(all int, why string) {
		t.Helper()
		k.until(func() bool { k.List(); return strings.Contains(k.log.String(), why) }, never)
		if n := strings.Count(k.log.String(), none); n != all {
			t.Errorf("said %d times, want %d\n%s", n, all, k.log)
		}
	}
	said(1, noPods)
	k.Put(podWith(t, edits{"metadata|labels": `{}`}))
	k.until(func() bool { return k.Status().Seen == 1 }, never)
	said(2, noFit)
	k.Put(podWith(t, named("web", "10.0.0.9").and(edits{"metadata|labels": `{}`})))
	k.until(func() bool { return k.Status().Seen == 2 }, never)
	said(2, noFit)
	k.Put(podWith(t, edits{"status|phase": `"Succeeded"`}))
	said(3, noTaken)
	k.Put(podWith(t, nil))
	k.comes("serving.acme-0:8000 http://10.0.0.7:8000/metrics")
	said(3, "come=serving.acme-0:8000")
}

// TestNothingIsSaidOfPodsThatAreNotKnown: where no pod may be seen, it is not said that there is none.
func TestNothingIsSaidOfPodsThatAreNotKnown(t *testing.T) {
	k := newCluster(t, Config{})
	k.Fail(func(w http.ResponseWriter, r *http.Request) bool {
		kubetest.Refuse(w, 403, "Forbidden", "no")
		return true
	})
	k.run()
	k.until(func() bool { return k.Status().Asked }, never)
	if k.List(); strings.Contains(k.log.String(), "there is no engine") {
		t.Error(k.log)
	}
}
