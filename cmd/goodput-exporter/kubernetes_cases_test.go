package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

const slow = "poll: {interval: 10s}\njudgement: {window: 60s}\n"

// work makes an engine of each address: what it has finished, and how full its cache is.
type work struct {
	fleet    clockwork
	finished map[string]uint64 // by URL
	kv       map[string]float64
}

func newWork() *work {
	return &work{fleet: clockwork{edges: []float64{0.025, 0.1, 0.25, 0.5, 1}, tokens: []float64{1, 2}}, finished: map[string]uint64{}, kv: map[string]float64{}}
}

func (w *work) page(t fact.Target) fact.Poll {
	n, up := w.finished[t.URL]
	if !up {
		return fact.Poll{Reason: fact.ReasonRefused}
	}
	s := w.fleet.page(n)
	s.ProcessStart = simStart + float64(len(t.ID)) // younger than the exporter, so that all that it did is counted
	s.Ranks[0].KVUsage = fact.Known(w.kv[t.URL])
	return fact.Poll{Sample: s}
}

// DSC-01: a failed pod keeps its address in the API, and another pod gets it. One target, of the living.
func TestAnAddressOfTheDeadIsNotTheirs(t *testing.T) {
	c, w := newCluster(t), newWork()
	n := watchNode(t, c, slow+kubeSLO+c.config(""))
	n.page = w.page
	acme := testPod{namespace: "ml", name: "acme-0", ip: "10.0.0.7"}
	c.put(acme)
	n.until("ml.acme-0:8000")
	w.finished["http://10.0.0.7:8000/metrics"] = 0
	n.rounds(60)
	w.finished["http://10.0.0.7:8000/metrics"] = 100
	n.rounds(30)

	acme.phase = "Failed"
	c.put(acme)
	n.until()
	c.put(testPod{namespace: "ml", name: "beta-0", ip: "10.0.0.7", started: time.Unix(1_700_000_100, 0)})
	n.until("ml.beta-0:8000")
	w.finished["http://10.0.0.7:8000/metrics"] = 7
	n.rounds(120)
	targets := n.generation.targets.Targets()
	if len(targets) != 1 || targets[0].URL != "http://10.0.0.7:8000/metrics" || targets[0].Labels["pod_name"] != "beta-0" {
		t.Errorf("targets %+v", targets)
	}
	by := map[string]uint64{}
	for _, x := range n.windows {
		by[x.Engine] += x.Sequences
	}
	if by["ml.acme-0:8000"] != 100 || by["ml.beta-0:8000"] != 7 {
		t.Errorf("finished %v, want 100 by the dead and 7 by the living", by)
	}
	if e := n.engine("ml.beta-0:8000"); e.Resets != 0 || e.Target.Labels["pod_uid"] != "uid-beta-0" {
		t.Errorf("the living has %d restarts and the uid %s", e.Resets, e.Target.Labels["pod_uid"])
	}
}

// DSC-03: at the next evaluation nothing is left of a deleted pod but what it has counted, and that only once.
func TestADeletedPodLeavesNoGauge(t *testing.T) {
	c, w := newCluster(t), newWork()
	n := watchNode(t, c, slow+kubeSLO+c.config(""))
	n.page = w.page
	for i, name := range []string{"a", "b"} {
		c.put(testPod{namespace: "ml", name: name, ip: fmt.Sprintf("10.0.0.%d", i+1)})
	}
	n.until("ml.a:8000", "ml.b:8000")
	const b = "http://10.0.0.2:8000/metrics"
	w.finished["http://10.0.0.1:8000/metrics"], w.finished[b], w.kv[b] = 0, 0, 0.97
	n.rounds(70)
	w.finished[b] = 33
	n.rounds(10)
	if page := n.metrics(); !strings.Contains(page, `goodput_engine_kv_usage_ratio{engine="ml.b:8000",model="m"} 0.97`) {
		t.Fatalf("b does not show its cache:\n%s", strings.Join(linesOf(page, "ml.b:8000"), "\n"))
	}

	c.remove("ml/b")
	n.until("ml.a:8000")
	n.rounds(10)
	for _, line := range linesOf(n.metrics(), "ml.b:8000") {
		name, _, _ := strings.Cut(line, "{")
		counts := strings.HasSuffix(name, "_total") || strings.HasSuffix(name, "_bucket") || strings.HasSuffix(name, "_sum") || strings.HasSuffix(name, "_count")
		if !counts {
			t.Errorf("still there: %s", line)
		}
	}
	n.rounds(200)
	if lines := linesOf(n.metrics(), "ml.b:8000"); len(lines) > 0 {
		t.Errorf("a window later there is still\n%s", strings.Join(lines, "\n"))
	}
	var once uint64
	for _, x := range n.windows {
		if x.Engine == "ml.b:8000" {
			once += x.Sequences
		}
	}
	if once != 33 {
		t.Errorf("b finished 33, counted were %d", once)
	}
}

// DSC-05: data-parallel ranks that each serve a port of one pod are an engine each. Where only one answers, the seven others are
// down, so the sum says that it is one of eight.
func TestEachPortOfAPodIsAnEngine(t *testing.T) {
	c, w := newCluster(t), newWork()
	n := watchNode(t, c, slow+kubeSLO+c.config(", ports: [8000-8007]"))
	n.page = w.page
	var ids []string
	pod := testPod{namespace: "ml", name: "acme-0", ip: "10.0.0.7"}
	url := func(port int) string { return fmt.Sprintf("http://10.0.0.7:%d/metrics", port) }
	for port := 8000; port <= 8007; port++ {
		pod.ports = append(pod.ports, port)
		ids = append(ids, fmt.Sprintf("ml.acme-0:%d", port))
		w.finished[url(port)] = 0
	}
	c.put(pod)
	n.until(ids...)
	n.rounds(60)
	before := n.finished()
	for port := range w.finished {
		w.finished[port] += 10
	}
	n.rounds(70)
	if got := n.finished() - before; got != 80 {
		t.Errorf("%d completions, want 80", got)
	}

	for port := 8001; port <= 8007; port++ {
		delete(w.finished, url(port))
	}
	w.finished[url(8000)] += 10
	n.rounds(70)
	if got := n.finished() - before; got != 90 {
		t.Errorf("%d completions, want the 10 of the rank that answers besides", got)
	}
	page := n.metrics()
	if up, down := strings.Count(page, `goodput_engine_up{engine="ml.acme-0:800`), strings.Count(page, "goodput_engine_up{engine=\"ml.acme-0:8001\"} 0\n"); up != 8 || down != 1 {
		t.Errorf("%d ranks of 8 are said to be up or down, of 8001 it is said %d times that it is down", up, down)
	}
}

// SEC-05: an engine's credentials go to pods of namespaces that the configuration names, and to no other; and nothing but a
// pod's own address is asked.
func TestCredentialsGoToNamedNamespaces(t *testing.T) {
	token := writeFile(t, "token", "s3cret\n")
	for name, c := range map[string]struct {
		more string
		want map[string]string
	}{
		"no namespace is named": {"", map[string]string{"ml.acme-0:8000": "", "tenant.beta-0:8000": ""}},
		"one is":                {", namespaces: [ml]", map[string]string{"ml.acme-0:8000": "Bearer s3cret"}},
		"both are":              {", namespaces: [ml, tenant]", map[string]string{"ml.acme-0:8000": "Bearer s3cret", "tenant.beta-0:8000": "Bearer s3cret"}},
	} {
		t.Run(name, func(t *testing.T) {
			k := newCluster(t)
			shown := map[string]string{}
			for i, pod := range []testPod{{namespace: "ml", name: "acme-0"}, {namespace: "tenant", name: "beta-0", annotations: map[string]string{"prometheus.io/path": "/latest/meta-data", "prometheus.io/port": "80"}}} {
				pod.ip = fmt.Sprintf("10.0.0.%d", i+1)
				k.put(pod)
				engine := simulatedEngine(t)
				k.serve(pod.ip+":8000", func(w http.ResponseWriter, r *http.Request) {
					shown[pod.namespace+"."+pod.name+":8000"] = r.Header.Get("Authorization")
					if r.URL.Path != "/metrics" {
						t.Errorf("%s was asked", r.URL)
					}
					engine(w, r)
				})
			}
			text := strings.Replace(k.config(c.more), "proxy_url", fmt.Sprintf("bearer_token_file: %q, proxy_url", token), 1)
			n := watchNode(t, k, slow+kubeSLO+text)
			var ids []string
			for id := range c.want {
				ids = append(ids, id)
			}
			n.until(ids...)
			n.rounds(10)
			for id, want := range c.want {
				if got, asked := shown[id]; got != want || !asked {
					t.Errorf("%s was shown %q (asked: %v), want %q", id, got, asked, want)
				}
			}
			if len(shown) != len(c.want) {
				t.Errorf("asked were %v", shown)
			}
		})
	}
}

// TestAReloadLosesNoPod: with the same pods in question nobody is asked again; with others, and an API server that is away, the
// engines that were known stay until it is heard.
func TestAReloadLosesNoPod(t *testing.T) {
	c, w := newCluster(t), newWork()
	first := slow + kubeSLO + c.config("")
	n := watchNode(t, c, first)
	n.page = w.page
	c.put(testPod{namespace: "ml", name: "acme-0", ip: "10.0.0.7"})
	c.put(testPod{namespace: "tenant", name: "beta-0", ip: "10.0.0.8"})
	both := []string{"ml.acme-0:8000", "tenant.beta-0:8000"}
	n.until(both...)
	lists := c.listed()
	n.configure(slow + strings.Replace(kubeSLO, "0.95", "0.9", 1) + c.config(""))
	if got := n.ids(); !slices.Equal(got, both) || c.listed() != lists {
		t.Errorf("engines are %v after %d more lists", got, c.listed()-lists)
	}

	c.setDown(true)
	n.configure(slow + kubeSLO + c.config(", ports: [http, 9000]"))
	if got := n.ids(); !slices.Equal(got, both) {
		t.Errorf("engines are %v while nothing is known of others", got)
	}
	n.configure(slow + kubeSLO + c.config(", namespaces: [ml]"))
	if got := n.ids(); !slices.Equal(got, both[:1]) {
		t.Errorf("engines are %v, of which one must not be looked at", got)
	}
	if d := n.generation.pods.status(); d.Up || !d.Synced.IsZero() || d.Detail == "" || d.Where != "node gpu-1, namespace ml" {
		t.Errorf("status %+v", d)
	}
	c.remove("ml/acme-0")
	c.put(testPod{namespace: "ml", name: "acme-1", ip: "10.0.0.7"})
	c.setDown(false)
	n.until("ml.acme-1:8000")
	d := n.generation.pods.status()
	n.wait("what there is, is known", func() bool { d = n.generation.pods.status(); return d.Up })
	if d.Synced.IsZero() || d.Others != 0 {
		t.Errorf("status %+v", d)
	}
}
