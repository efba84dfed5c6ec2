package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"
)

// TestCheckSaysWhichPodsAreEngines: what check says of pods, on a machine that is no pod, and beside an API server.
func TestCheckSaysWhichPodsAreEngines(t *testing.T) {
	for name, c := range map[string]struct {
		node    string // of the environment
		prepare func(*cluster)
		text    func(*cluster) string
		want    []string
	}{
		"on a machine that is no pod": {"", nil, func(*cluster) string { return "engines: {kubernetes: {}}\n" }, []string{
			"# engines.kubernetes: pods on the node that the exporter runs on that fit goodput-exporter/engine=true or ",
			"# engines.kubernetes: this machine does not know its node: NODE_NAME must be set where the exporter runs",
			"is valid: 1 objective, 0 engines and those among pods.",
		}},
		"on one that knows its node, and no cluster": {"gpu-1", nil, func(*cluster) string { return "engines: {kubernetes: {ports: [http, 8000-8007]}}\n" }, []string{
			"# engines.kubernetes: pods on node gpu-1 that fit ", ", at the ports http, 8000-8007",
			"# gpu.kubernetes: the page of the pod there that fits app=nvidia-dcgm-exporter or app.kubernetes.io/name=dcgm-exporter or app.kubernetes.io/name=gke-managed-dcgm-exporter, at port 9400",
			"# engines.kubernetes: this is no pod of a cluster, so nothing was asked",
		}},
		"beside an API server": {"", func(k *cluster) {
			k.put(testPod{namespace: "ml", name: "acme-0", ip: "10.0.0.7"})
			k.put(testPod{namespace: "ml", name: "acme-1", ip: "10.0.0.8", notReady: true})
			k.put(testPod{namespace: "ml", name: "acme-2", ip: "10.0.0.9", ports: []int{22}, labels: map[string]string{"app": "vllm", "leaderworkerset.sigs.k8s.io/worker-index": "1"}})
			k.put(testPod{namespace: "ml", name: "other", ip: "10.0.0.10", labels: map[string]string{"app": "web"}})
		}, func(k *cluster) string { return k.config("") }, []string{
			"# engines.kubernetes: 2 engines in 4 pods\n",
			"#   ml.acme-0:8000 at http://10.0.0.7:8000/metrics\n", "#   ml.acme-1:8000 at http://10.0.0.8:8000/metrics, which is starting\n",
			"#   pod ml/acme-2 is not polled (no endpoint): ",
		}},
		"where no pod fits": {"", func(k *cluster) {
			k.put(testPod{namespace: "ml", name: "other", ip: "10.0.0.10", labels: map[string]string{"app": "web"}})
		}, func(k *cluster) string { return strings.Replace(k.config(""), "source: none", "source: auto", 1) }, []string{
			"# engines.kubernetes: 0 engines in 1 pod: none fits engines.kubernetes.selectors; ", "# gpu.kubernetes: no page to read: no pod on node ",
		}},
		"where none of those that fit is polled": {"", func(k *cluster) {
			k.put(testPod{namespace: "ml", name: "acme-2", ip: "10.0.0.9", labels: map[string]string{"app": "vllm", "leaderworkerset.sigs.k8s.io/worker-index": "1"}})
		}, func(k *cluster) string { return k.config("") }, []string{
			"# engines.kubernetes: 0 engines in 1 pod: some fit engines.kubernetes.selectors, and none of them is polled\n",
		}},
		"beside no pod": {"", nil, func(k *cluster) string { return k.config("") }, []string{
			"# engines.kubernetes: 0 engines in 0 pods: there is none in sight; see engines.kubernetes.scope, node and namespaces\n",
		}},
		"beside one that keeps a namespace to itself": {"", func(k *cluster) {
			k.put(testPod{namespace: "ml", name: "acme-0", ip: "10.0.0.7"})
		}, func(k *cluster) string {
			return strings.Replace(k.config(", namespaces: [batch, ml]"), k.api.URL, k.refusing("batch").url, 1)
		}, []string{
			"# engines.kubernetes: which pods there are in batch is not known: the API server answers 403 to list of pods of namespace batch",
			"# engines.kubernetes: 1 engine in 1 pod\n", "#   ml.acme-0:8000 at http://10.0.0.7:8000/metrics\n",
		}},
		"beside one that fails": {"", func(k *cluster) { k.setDown(true) }, func(k *cluster) string { return k.config("") }, []string{
			"# engines.kubernetes: which pods there are is not known: ", "500",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBERNETES_SERVICE_HOST", "")
			t.Setenv(nodeVariable, c.node)
			k := newCluster(t)
			if c.prepare != nil {
				c.prepare(k)
			}
			var out strings.Builder
			begun := time.Now()
			if err := runCheck(context.Background(), writeFile(t, "goodput.yaml", kubeSLO+c.text(k)), "", &out, io.Discard); err != nil {
				t.Error(err)
			}
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is not said in\n%s", want, out.String())
				}
			}
			if took := time.Since(begun); took > 10*checkPatience {
				t.Errorf("it took %v", took)
			}
		})
	}
}
