package deploy

import (
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestExampleEngines holds the engines of deploy/examples to what can be known without a GPU: names, mounts, ports, a Service
// that leads to its pods, and that each waits long enough for a model to be loaded.
func TestExampleEngines(t *testing.T) {
	files, err := filepath.Glob(tree + "/deploy/examples/*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("examples: %v, %v", files, err)
	}
	for _, f := range files {
		w, err := decoded(expect{name: f}, read(t, f))
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range w.objects {
			if o.GetNamespace() != "" {
				t.Errorf("%s: %s is bound to the namespace %s", f, o, o.GetNamespace())
			}
			o.SetNamespace("serving")
		}
		for _, find := range []func(*world) complain{misnamed, unknownPorts, writableMounts} {
			for _, c := range find(w) {
				t.Errorf("%s: %s", f, c)
			}
		}
		for _, s := range selectors(w) {
			if len(w.matching(s)) == 0 {
				t.Errorf("%s: %s selects no pod", f, s.of)
			}
		}
		for _, wl := range w.workloads() {
			c := wl.template.Spec.Containers[0]
			if gpus := c.Resources.Limits["nvidia.com/gpu"]; gpus.Cmp(resource.MustParse("1")) < 0 {
				t.Errorf("%s: %s has no GPU", f, wl)
			}
			if p := c.StartupProbe; p == nil || p.PeriodSeconds*p.FailureThreshold < 20*60 {
				t.Errorf("%s: %s is ended before a large model is loaded", f, wl)
			}
		}
	}
}

// writableMounts is mismounted for pods that may write.
func writableMounts(w *world) (found complain) {
	return slices.DeleteFunc(mismounted(w), func(c string) bool { return strings.HasSuffix(c, "for writing") })
}

// TestSpansOfTheExampleArrive follows the address to which the example sends its spans: a Service of the installation that it
// goes with, whose port leads to where the exporter listens.
func TestSpansOfTheExampleArrive(t *testing.T) {
	example, err := decoded(expect{name: "vllm-spans"}, read(t, tree+"/deploy/examples/vllm-spans.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	args := example.workloads()[0].template.Spec.Containers[0].Args
	i := slices.IndexFunc(args, func(a string) bool { return strings.HasSuffix(a, "/v1/traces") })
	if i < 0 {
		t.Fatalf("it sends no spans: %q", args)
	}
	to, err := url.Parse(args[i])
	if err != nil {
		t.Fatal(err)
	}
	host := strings.Split(to.Hostname(), ".")
	w := worlds(t)[slices.IndexFunc(worlds(t), func(w *world) bool { return w.name == "kustomize complete" })]
	s, is := named[*corev1.Service](w, host[1], host[0])
	if !is || len(host) != 3 || host[2] != "svc" {
		t.Fatalf("%s is no Service of examples/complete", to.Host)
	}
	f, err := w.facts()
	if err != nil {
		t.Fatal(err)
	}
	p := slices.IndexFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return strconv.Itoa(int(p.Port)) == to.Port() })
	if p < 0 || f.http == "" || !hasPort(w.workloads()[0].container(), s.Spec.Ports[p].TargetPort) {
		t.Errorf("%s does not lead to port %q of the exporter: %+v", to, f.http, s.Spec.Ports)
	}
	if s.Spec.InternalTrafficPolicy == nil || *s.Spec.InternalTrafficPolicy != corev1.ServiceInternalTrafficPolicyLocal {
		t.Error("the Service leads to exporters of other nodes, which know the engine not")
	}
}
