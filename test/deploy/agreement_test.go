package deploy

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"sigs.k8s.io/yaml"
)

// TestChartAndKustomizeAgree compares what both make of the same wish. They may differ in names, in the image, in arguments
// that the chart has values for, and in labels of the release.
func TestChartAndKustomizeAgree(t *testing.T) {
	byName := map[string]*world{}
	for _, w := range worlds(t) {
		byName[w.name] = w
	}
	for _, c := range []struct {
		ours, theirs string
		but          []string // what one of them has to say by itself
	}{
		{"base", "default", nil},
		{"base with podres", "podres", []string{"configuration"}},
		{"base with otlp", "otlp", []string{"configuration"}},
		{"base with prometheus-operator", "monitoring", nil},
		{"base with prometheus-annotations", "annotations", nil},
		{"namespaces", "namespaces", []string{"configuration", "pod", "permissions"}},
	} {
		t.Run(c.ours, func(t *testing.T) {
			k, h := essentials(t, byName["kustomize "+c.ours]), essentials(t, byName["Helm "+c.theirs])
			for key := range h {
				if k[key] == nil {
					t.Errorf("kustomize has not: %s", key)
				}
			}
			for _, key := range slices.Sorted(maps.Keys(k)) {
				if !slices.Contains(c.but, key) && !reflect.DeepEqual(k[key], h[key]) {
					t.Errorf("%s\nkustomize:\n%s\nHelm:\n%s", key, text(t, k[key]), text(t, h[key]))
				}
			}
		})
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	out, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// essentials are what has to agree, by what it is.
func essentials(t *testing.T, w *world) map[string]any {
	t.Helper()
	f, err := w.facts()
	if err != nil {
		t.Fatal(err)
	}
	var config any
	if err := yaml.Unmarshal([]byte(f.text), &config); err != nil {
		t.Fatal(err)
	}
	wl := w.workloads()[0]
	spec := wl.template.Spec.DeepCopy()
	for i := range spec.Containers {
		c := &spec.Containers[i]
		c.Image, c.ImagePullPolicy = "", ""
		c.Args = slices.DeleteFunc(c.Args, func(a string) bool { return strings.HasPrefix(a, "--log.") })
		slices.SortFunc(c.VolumeMounts, func(a, b corev1.VolumeMount) int { return strings.Compare(a.Name, b.Name) })
		slices.SortFunc(c.Ports, func(a, b corev1.ContainerPort) int { return strings.Compare(a.Name, b.Name) })
		// tooLittleMemory holds both to the limit, which the chart computes.
		c.Env = slices.DeleteFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "GOMEMLIMIT" })
	}
	slices.SortFunc(spec.Volumes, func(a, b corev1.Volume) int { return strings.Compare(a.Name, b.Name) })
	for i := range spec.Volumes {
		if c := spec.Volumes[i].ConfigMap; c != nil {
			c.Name = ""
		}
	}
	labels, annotations := maps.Clone(wl.template.Labels), maps.Clone(wl.template.Annotations)
	delete(labels, "app.kubernetes.io/instance")
	delete(annotations, "checksum/config") // kustomize has the hash in the ConfigMap's name
	if annotations["prometheus.io/scheme"] == "http" {
		delete(annotations, "prometheus.io/scheme") // which it is without a word
	}
	found := map[string]any{"configuration": config, "pod": spec, "labels": labels, "annotations": annotations, "permissions": permissions(w)}
	for _, d := range all[*appsv1.DaemonSet](w) {
		found["updates"] = d.Spec.UpdateStrategy
	}
	for _, p := range all[*schedulingv1.PriorityClass](w) {
		found["priority"] = []any{p.Value, *p.PreemptionPolicy, p.GlobalDefault, p.Description}
	}
	for _, m := range all[*monitoringv1.PodMonitor](w) {
		endpoints := m.DeepCopy().Spec.PodMetricsEndpoints
		for i := range endpoints { // kustomize has one monitor for both modes
			endpoints[i].RelabelConfigs = slices.DeleteFunc(endpoints[i].RelabelConfigs, func(r monitoringv1.RelabelConfig) bool { return r.Regex == "central" })
		}
		found["monitor"] = []any{m.Spec.JobLabel, endpoints}
	}
	for _, r := range all[*monitoringv1.PrometheusRule](w) {
		found["rules"] = r.Spec
	}
	for _, s := range all[*corev1.Service](w) {
		found["Service "+s.Name] = s.Spec.Ports
	}
	return found
}

// TestConfigurationChangesReplacePods: the exporter reads its configuration when it starts, so another one has to make other
// pods, in both.
func TestConfigurationChangesReplacePods(t *testing.T) {
	fsys := copied(t)
	template := func(e expect, text []byte, err error) corev1.PodTemplateSpec {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		w, err := decoded(e, text)
		if err != nil {
			t.Fatal(err)
		}
		return w.workloads()[0].template
	}
	made := func() corev1.PodTemplateSpec {
		text, err := kustomized(fsys, builds[0])
		return template(builds[0].expect, text, err)
	}
	before := made()
	if !reflect.DeepEqual(before, made()) {
		t.Error("kustomize makes other pods of the same configuration")
	}
	if err := fsys.WriteFile("/base/goodput.yaml", append(read(t, base+"/base/goodput.yaml"), "poll: {interval: 7s}\n"...)); err != nil {
		t.Fatal(err)
	}
	if reflect.DeepEqual(before, made()) {
		t.Error("kustomize makes the same pods of another configuration")
	}
	charted := func(interval string) corev1.PodTemplateSpec {
		files, err := rendered(map[string]any{"config": map[string]any{"poll": map[string]any{"interval": interval}}}, release)
		return template(charts[0], stream(files), err)
	}
	if a := charted("6s"); !reflect.DeepEqual(a, charted("6s")) || reflect.DeepEqual(a, charted("7s")) {
		t.Error("the chart makes the same pods of another configuration, or others of the same")
	}
}
