package kubernetes

import "testing"

// TestOfSeveralDCGMExporters: one is asked as long as it can be, whatever comes beside it with its labels; when it ends, or is not ready
// any more, another.
func TestOfSeveralDCGMExporters(t *testing.T) {
	pod := func(name, ip, started string) edits {
		return named(name, ip).and(edits{"metadata|namespace": `"gpu-operator"`, "metadata|labels": `{"app": "nvidia-dcgm-exporter"}`, "status|startTime": `"2026-01-05T` + started + `Z"`})
	}
	first, newcomer := pod("first", "10.0.0.2", "10:00:00"), pod("a-newcomer", "10.0.0.1", "11:00:00").and(edits{"metadata|namespace": `"tenant"`})
	k := newCluster(t, Config{DCGM: DCGM{Selectors: DefaultDCGMSelectors}}, podWith(t, first))
	k.run()
	at := func(url, namespace string) {
		t.Helper()
		k.until(func() bool {
			ns, got, _ := k.DCGMPod()
			return got == url && ns == namespace
		}, never)
	}
	at("http://10.0.0.2:9400/metrics", "gpu-operator")
	k.Put(podWith(t, newcomer))
	k.until(func() bool { return k.Status().Seen == 2 }, never)
	at("http://10.0.0.2:9400/metrics", "gpu-operator")
	k.Put(podWith(t, first.and(edits{"status|conditions": ""})))
	at("http://10.0.0.1:9400/metrics", "tenant")
	k.Put(podWith(t, first))
	at("http://10.0.0.2:9400/metrics", "gpu-operator")
	k.Put(podWith(t, first.and(edits{"metadata|deletionTimestamp": `"2026-01-05T12:00:00Z"`})))
	at("http://10.0.0.1:9400/metrics", "tenant")
	k.Delete("tenant", "a-newcomer")
	at("", "gpu-operator")
	k.Delete("gpu-operator", "first")
	at("", "")
}
