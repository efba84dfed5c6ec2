package kubernetes

import (
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/internal/kube/kubetest"
)

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
		"of GKE":                        {looks, []edits{of(edits{"metadata|namespace": `"gke-managed-system"`, "metadata|labels": `{"app.kubernetes.io/name": "gke-managed-dcgm-exporter"}`})}, "http://10.0.0.7:9400/metrics"},
		"it is not there":               {looks, nil, "!no pod on node node-a matches app=nvidia-dcgm-exporter or app.kubernetes.io/name=dcgm-exporter or app.kubernetes.io/name=gke-managed-dcgm-exporter"},
		"nobody looks for it":           {Config{}, []edits{of(nil)}, "!no selector says which pod is dcgm-exporter"},
		"of a whole cluster":            {Config{Scope: ScopeCluster, DCGM: looks.DCGM}, []edits{of(nil)}, "!the pods of a whole cluster are followed"},
		"it is elsewhere":               {Config{Namespaces: []string{"serving"}, DCGM: looks.DCGM}, []edits{of(nil)}, "!no pod on node node-a in the namespaces that are looked at (serving; gpu.kubernetes.namespaces may name others) matches"},
		"it does not run yet":           {looks, []edits{of(edits{"status|phase": `"Pending"`})}, "!the pod gpu-operator/acme-0 does not run (phase Pending)"},
		"it is being deleted":           {looks, []edits{of(edits{"metadata|deletionTimestamp": `"2026-01-05T12:00:00Z"`})}, "!the pod gpu-operator/acme-0 is being deleted"},
		"at the metadata's address":     {looks, []edits{of(edits{"status|podIP": `"169.254.169.254"`})}, "!the pod gpu-operator/acme-0 cannot be asked: its address 169.254.169.254"},
		"the new one, when it is ready": {looks, []edits{of(named("before", "10.0.0.1")).and(edits{"metadata|deletionTimestamp": `"2026-01-05T12:00:00Z"`}), of(named("new", "10.0.0.2"))}, "http://10.0.0.2:9400/metrics"},
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
