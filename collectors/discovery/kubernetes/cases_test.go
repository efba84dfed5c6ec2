package kubernetes

import (
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/internal/kube/kubetest"
)

// These are reports of other programs' users, by id, with what is right.

// join is what a watcher makes of these pods.
func join(t *testing.T, c Config, pods ...kubetest.Object) *merged {
	t.Helper()
	r := rulesOf(t, c)
	var all []*verdict
	for _, o := range pods {
		if v, selected := r.judge(decoded(t, o), nil); selected {
			all = append(all, v)
		}
	}
	return merge(all, maxOfNode)
}

// skip is what is said of a pod that is not polled.
func (m *merged) skip(pod string) Skip {
	for _, s := range m.skipped {
		if s.Pod == pod {
			return s
		}
	}
	return Skip{}
}

// TestDSC01: a failed pod keeps its address in the API, and another gets it.
func TestDSC01(t *testing.T) {
	dead := named("acme-0", "10.0.0.7").and(edits{"status|phase": `"Failed"`})
	m := join(t, Config{}, podWith(t, dead), podWith(t, named("beta-0", "10.0.0.7")))
	if got := text(m.list); got != "serving.beta-0:8000 http://10.0.0.7:8000/metrics" || m.list[0].Labels["pod_name"] != "beta-0" {
		t.Errorf("targets %q, labels %v", got, m.list[0].Labels)
	}
	// Both are said to run: the kubelet has not reported the end of one yet.
	late := named("beta-0", "10.0.0.7").and(edits{"status|startTime": `"2026-01-05T12:00:00Z"`})
	for _, pods := range [][]kubetest.Object{
		{podWith(t, named("acme-0", "10.0.0.7")), podWith(t, late)},
		{podWith(t, late), podWith(t, named("acme-0", "10.0.0.7"))},
	} {
		m = join(t, Config{}, pods...)
		if got := text(m.list); got != "serving.beta-0:8000 http://10.0.0.7:8000/metrics" {
			t.Errorf("targets %q", got)
		}
		if s := m.skip("serving/acme-0"); s.State != Refused || s.Why != "its address 10.0.0.7 is that of serving/beta-0, which was started later" {
			t.Errorf("skipped %+v", m.skipped)
		}
	}
	// On the node's network an address is shared, a port is not.
	host := edits{"spec|hostNetwork": `true`}
	port := host.and(edits{"spec|containers": containers(`{"name": "http", "containerPort": 8001}`)})
	m = join(t, Config{}, podWith(t, named("a", "10.1.0.1").and(host)), podWith(t, named("b", "10.1.0.1").and(port)), podWith(t, named("c", "10.1.0.1").and(host).and(edits{"status|startTime": `"2026-01-05T12:00:00Z"`})))
	if got := text(m.list); got != "serving.b:8001 http://10.1.0.1:8001/metrics; serving.c:8000 http://10.1.0.1:8000/metrics" {
		t.Errorf("targets %q", got)
	}
}

// TestDSC05: each rank of an engine serves at a port of its own, and only the first is declared.
func TestDSC05(t *testing.T) {
	for _, ports := range [][]string{{"8000-8007"}, {"http", "8000-8007"}} {
		if m := join(t, Config{Ports: ports}, podWith(t, nil)); len(m.list) != 8 || m.list[7].URL != "http://10.0.0.7:8007/metrics" || m.pods[Polled] != 1 {
			t.Errorf("ports %q: targets %q", ports, text(m.list))
		}
	}
}

// TestDSC07: of a group of pods with one label only the leader serves.
func TestDSC07(t *testing.T) {
	member := func(name, index string) kubetest.Object {
		return podWith(t, named(name, "10.0.0.1"+index).and(edits{
			"metadata|labels|leaderworkerset.sigs.k8s.io/worker-index": `"` + index + `"`, "metadata|annotations|leaderworkerset.sigs.k8s.io/size": `"4"`,
		}))
	}
	m := join(t, Config{}, member("acme-0", "0"), member("acme-0-1", "1"), member("acme-0-2", "2"), member("acme-0-3", "3"))
	if got := text(m.list); got != "serving.acme-0:8000 http://10.0.0.10:8000/metrics" || m.pods[NoEndpoint] != 3 || m.list[0].Labels["lws_size"] != "4" {
		t.Errorf("targets %q of %v", got, m.pods)
	}
	// A group that somebody made by hand: its members declare other ports, or none of the names.
	other := edits{"spec|containers": containers(`{"name": "rendezvous", "containerPort": 29500}`)}
	m = join(t, Config{}, podWith(t, named("acme-0", "10.0.0.10")), podWith(t, named("acme-1", "10.0.0.11").and(other)))
	if len(m.list) != 1 || m.skip("serving/acme-1").State != NoEndpoint {
		t.Errorf("targets %q of %v", text(m.list), m.pods)
	}
}

// TestSEC05: whoever can annotate a pod does not choose what is fetched.
func TestSEC05(t *testing.T) {
	annotation := func(key, value string) edits {
		return edits{"metadata|annotations|prometheus.io/" + key: `"` + value + `"`}
	}
	for name, c := range map[string]struct {
		edits edits
		why   string
	}{
		"the cloud's metadata by path":    {annotation("path", "/latest/meta-data"), `its annotation prometheus.io/path names "/latest/meta-data": of a pod only /metrics is polled; correct or remove the annotation, or set path`},
		"a path that leads elsewhere":     {annotation("path", "@169.254.169.254/"), "prometheus.io/path"},
		"a port that is not the pod's":    {annotation("port", "80"), "its annotation prometheus.io/port names 80, which neither the pod declares nor the configuration: declare it as a containerPort, or name it in ports"},
		"a port with an address":          {annotation("port", "80@169.254.169.254"), `is "80@169.254.169.254", which is no port`},
		"a port below":                    {annotation("port", "-1"), "which is no port"},
		"another scheme":                  {annotation("scheme", "file"), "neither http nor https"},
		"the address of the metadata":     {edits{"status|podIP": `"169.254.169.254"`}, "loopback, link-local and multicast addresses are not polled"},
		"loopback":                        {edits{"status|podIP": `"127.0.0.1"`}, "127.0.0.1 is not one of a pod"},
		"loopback as an IPv6 address":     {edits{"status|podIP": `"::1"`}, "::1 is not one of a pod"},
		"loopback as IPv4 within IPv6":    {edits{"status|podIP": `"::ffff:127.0.0.1"`}, "127.0.0.1 is not one of a pod"},
		"the metadata as IPv4 in IPv6":    {edits{"status|podIP": `"::ffff:169.254.169.254"`}, "169.254.169.254 is not one of a pod"},
		"any address":                     {edits{"status|podIP": `"0.0.0.0"`}, "0.0.0.0 is not one of a pod"},
		"link-local":                      {edits{"status|podIP": `"fe80::1"`}, "fe80::1 is not one of a pod"},
		"multicast":                       {edits{"status|podIP": `"224.0.0.1"`}, "224.0.0.1 is not one of a pod"},
		"an address override is not read": {edits{"metadata|annotations|prometheus.io/address": `"169.254.169.254"`}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := join(t, Config{Annotations: true}, podWith(t, c.edits))
			if c.why == "" {
				if text(m.list) != "serving.acme-0:8000 http://10.0.0.7:8000/metrics" {
					t.Errorf("targets %q", text(m.list))
				}
				return
			}
			if s := m.skip("serving/acme-0"); len(m.list) > 0 || s.State != Refused || !strings.Contains(s.Why, c.why) {
				t.Errorf("targets %q, skipped %+v", text(m.list), m.skipped)
			}
		})
	}
	// What is written there is cut.
	m := join(t, Config{Annotations: true}, podWith(t, annotation("path", "/"+strings.Repeat("x", 5000))))
	if why := m.skip("serving/acme-0").Why; len(why) > 300 || why == "" {
		t.Errorf("%d bytes are said: %s", len(why), why)
	}
}
