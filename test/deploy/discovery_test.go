package deploy

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/goodput-exporter/goodput-exporter/collectors/discovery/kubernetes"
	"github.com/goodput-exporter/goodput-exporter/internal/kube"
)

// engines are the pods of deploy/examples, in the namespace serving of the node a.
func engines(t *testing.T) []corev1.Pod {
	t.Helper()
	files, err := filepath.Glob(tree + "/deploy/examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("examples: %v, %v", files, err)
	}
	var pods []corev1.Pod
	for i, f := range files {
		w, err := decoded(expect{name: f}, read(t, f))
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range all[*appsv1.Deployment](w) {
			pods = append(pods, runs(d.Spec.Template, "serving", d.Name, "a", fmt.Sprintf("10.0.2.%d", i+1)))
		}
	}
	return pods
}

// follow runs discovery as a configuration has it until the API server has answered, or has refused.
func follow(t *testing.T, f *facts, a *apiServer) *kubernetes.Watcher {
	t.Helper()
	k := f.Engines.Kubernetes
	c := kubernetes.Config{Scope: f.scope, Namespaces: k.Namespaces, Selectors: k.Selectors, Annotations: k.Annotations, API: kube.Config{Server: a.start(t)}}
	if f.scope == "node" {
		c.Node = "a"
	}
	for _, p := range k.Ports {
		c.Ports = append(c.Ports, fmt.Sprint(p))
	}
	if f.page {
		c.DCGM = kubernetes.DCGM{Selectors: kubernetes.DefaultDCGMSelectors, Namespaces: f.GPU.Kubernetes.Namespaces}
	}
	w, err := kubernetes.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { _ = w.Run(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done })
	// Real connections are waited for, so the clock is the real one.
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if _, refused := a.said(); w.Status().Up || len(refused) > 0 {
			break
		}
	}
	return w
}

// TestDiscoveryFindsTheExamples runs the exporter's own discovery with the configuration and the roles of each world, against
// an API server that refuses what no role gives. It has to find the engines of deploy/examples, and the dcgm-exporter where
// that is looked for; and no verb may be given that it does not use, but get, which belongs to what may be watched.
func TestDiscoveryFindsTheExamples(t *testing.T) {
	pods := engines(t)
	dcgm := runs(corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "nvidia-dcgm-exporter"}}, Spec: corev1.PodSpec{Containers: []corev1.Container{
		{Name: "nvidia-dcgm-exporter", Ports: []corev1.ContainerPort{{Name: "metrics", ContainerPort: 9400}}}}}}, "gpu-operator", "nvidia-dcgm-exporter", "a", "10.0.4.4")
	for _, w := range worlds(t) {
		f, err := w.facts()
		if err != nil {
			t.Fatal(err)
		}
		if !f.pods {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			a := &apiServer{pods: append(pods[:len(pods):len(pods)], dcgm), granted: permissions(w)}
			watcher := follow(t, f, a)
			asked, refused := a.said()
			if status := watcher.Status(); !status.Up || len(refused) > 0 {
				t.Fatalf("refused %q: %s", refused, status.Detail)
			}
			// Selectors of one's own need not fit both, and a range of ports is meant as a whole.
			found := watcher.List()
			if len(found) != len(pods) && (len(f.Engines.Kubernetes.Selectors) == 0 || len(found) == 0) {
				t.Errorf("found %d of %d engines: %v", len(found), len(pods), found)
			}
			for _, p := range found {
				if !strings.HasPrefix(p.ID, "serving.vllm") || !strings.HasSuffix(p.ID, ":8000") && len(f.Engines.Kubernetes.Ports) == 0 {
					t.Errorf("found %s", p.ID)
				}
			}
			if url, why := watcher.DCGMExporter(); f.page && url != "http://10.0.4.4:9400/metrics" {
				t.Errorf("the dcgm-exporter is at %q: %s", url, why)
			}
			for p := range a.granted {
				if !asked[p] && strings.Contains(p, "/pods ") && !strings.HasPrefix(p, "get ") && !strings.Contains(p, "resourceslices") {
					t.Errorf("a role gives %q, which discovery does not use", p)
				}
			}
		})
	}
}

// TestDiscoveryNeedsItsRoles: without one of the verbs it does not get far, and says which.
func TestDiscoveryNeedsItsRoles(t *testing.T) {
	f, err := readFacts("engines: {kubernetes: {}}\ngpu: {source: none}\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"list", "watch"} {
		t.Run(verb, func(t *testing.T) {
			granted := map[string]bool{`list /pods in ""`: true, `watch /pods in ""`: true}
			delete(granted, verb+` /pods in ""`)
			a := &apiServer{pods: engines(t), granted: granted}
			watcher := follow(t, f, a)
			for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline) && !strings.Contains(watcher.Status().Detail, verb); time.Sleep(2 * time.Millisecond) {
			}
			if s := watcher.Status(); s.Up || !strings.Contains(s.Detail, verb) {
				t.Errorf("up %t: %q", s.Up, s.Detail)
			}
		})
	}
}
