package deploy

import (
	"fmt"
	"maps"
	"slices"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/goodput-exporter/goodput-exporter/alerts"
)

// selectors are all that select pods of the world itself. Those of a policy's peers mean others' pods.
func selectors(w *world) []selection {
	var found []selection
	add := func(kind string, o metav1.Object, s metav1.LabelSelector) {
		found = append(found, selection{kind + " " + o.GetName(), o.GetNamespace(), s})
	}
	for _, wl := range w.workloads() {
		add(wl.kind, wl, *wl.selector)
	}
	for _, s := range all[*corev1.Service](w) {
		add("Service", s, metav1.LabelSelector{MatchLabels: s.Spec.Selector})
	}
	for _, m := range all[*monitoringv1.PodMonitor](w) {
		add("PodMonitor", m, m.Spec.Selector)
	}
	for _, p := range all[*networkingv1.NetworkPolicy](w) {
		add("NetworkPolicy", p, p.Spec.PodSelector)
	}
	for _, p := range all[*policyv1.PodDisruptionBudget](w) {
		add("PodDisruptionBudget", p, *p.Spec.Selector)
	}
	return found
}

// matching are the workloads whose pods are selected.
func (w *world) matching(s selection) []workload {
	selector, err := metav1.LabelSelectorAsSelector(&s.selector)
	if err != nil {
		return nil // misnamed, which another check says
	}
	var found []workload
	for _, wl := range w.workloads() {
		if wl.GetNamespace() == s.namespace && selector.Matches(labels.Set(wl.template.Labels)) {
			found = append(found, wl)
		}
	}
	return found
}

// stable are the labels of a workload's selector, which can never be changed: an upgrade to others would be refused by
// the API server. Not to be edited (DEP-09).
func stable(component, instance string) map[string]string {
	s := map[string]string{"app.kubernetes.io/name": "goodput-exporter", "app.kubernetes.io/component": component}
	if instance != "" {
		s["app.kubernetes.io/instance"] = instance
	}
	return s
}

// selectsNothing finds selectors that match no pod, or any pod, workloads that do not match their own pods, and selectors of
// workloads that an upgrade could not apply.
func selectsNothing(w *world) (found complain) {
	for _, s := range selectors(w) {
		if len(s.selector.MatchLabels)+len(s.selector.MatchExpressions) == 0 {
			found.f("%s selects every pod of its namespace", s.of)
		}
		if len(w.matching(s)) == 0 {
			found.f("%s selects no pod: there is none with %s", s.of, metav1.FormatLabelSelector(&s.selector))
		}
	}
	for _, m := range all[*monitoringv1.PodMonitor](w) {
		if ns := m.Spec.NamespaceSelector; ns.Any || len(ns.MatchNames) > 0 {
			found.f("PodMonitor %s looks into other namespaces: %v", m.Name, ns)
		}
	}
	// Service monitors select Services, and there is none for the page of metrics.
	for _, m := range all[*monitoringv1.ServiceMonitor](w) {
		found.f("ServiceMonitor %s selects no Service: the pods are scraped by a PodMonitor", m.Name)
	}
	for _, wl := range w.workloads() {
		component := map[string]string{"DaemonSet": "node", "Deployment": "central"}[wl.kind]
		if want := stable(component, w.instance); !maps.Equal(wl.selector.MatchLabels, want) || len(wl.selector.MatchExpressions) > 0 {
			found.f("%s selects by %s and not by %v: no installation could be upgraded", wl, metav1.FormatLabelSelector(wl.selector), want)
		}
	}
	return found
}

// unknownPorts finds ports that are named and that no selected pod has, and ports of one pod that collide.
func unknownPorts(w *world) (found complain) {
	for _, wl := range w.workloads() {
		byName, byNumber := map[string]bool{}, map[string]bool{}
		for _, c := range append(wl.template.Spec.InitContainers, wl.template.Spec.Containers...) {
			for _, p := range c.Ports {
				for _, why := range append(validation.IsValidPortName(p.Name), validation.IsValidPortNum(int(p.ContainerPort))...) {
					found.f("%s: port %q %d: %s", wl, p.Name, p.ContainerPort, why)
				}
				number := fmt.Sprint(p.Protocol, p.ContainerPort)
				if byName[p.Name] || byNumber[number] {
					found.f("%s: port %s %d is there twice", wl, p.Name, p.ContainerPort)
				}
				byName[p.Name], byNumber[number] = true, true
			}
			for what, probe := range probes(c) {
				if probe.HTTPGet == nil {
					found.f("%s: %s probe of %s asks no path", wl, what, c.Name)
				} else if !hasPort(c, probe.HTTPGet.Port) {
					found.f("%s: %s probe of %s asks port %s, which it has not", wl, what, c.Name, probe.HTTPGet.Port.String())
				}
			}
		}
	}
	need := func(s selection, port intstr.IntOrString) {
		for _, wl := range w.matching(s) {
			if !slices.ContainsFunc(wl.template.Spec.Containers, func(c corev1.Container) bool { return hasPort(c, port) }) {
				found.f("%s: %s has no port %s", s.of, wl, port.String())
			}
		}
	}
	for _, s := range all[*corev1.Service](w) {
		for _, p := range s.Spec.Ports {
			need(selection{"Service " + s.Name, s.Namespace, metav1.LabelSelector{MatchLabels: s.Spec.Selector}}, p.TargetPort)
		}
	}
	for _, m := range all[*monitoringv1.PodMonitor](w) {
		for _, e := range m.Spec.PodMetricsEndpoints {
			if e.Port == nil {
				found.f("PodMonitor %s names no port", m.Name)
				continue
			}
			need(selection{"PodMonitor " + m.Name, m.Namespace, m.Spec.Selector}, intstr.FromString(*e.Port))
			if e.Path != "/metrics" {
				found.f("PodMonitor %s scrapes %s", m.Name, e.Path)
			}
		}
	}
	for _, p := range all[*networkingv1.NetworkPolicy](w) {
		for _, rule := range p.Spec.Ingress {
			for _, port := range rule.Ports {
				// By a number a policy may speak of what is only there with another component.
				if port.Port != nil && port.Port.Type == intstr.String {
					need(selection{"NetworkPolicy " + p.Name, p.Namespace, p.Spec.PodSelector}, *port.Port)
				}
			}
		}
	}
	return found
}

// probes are those of a container, by what they are for.
func probes(c corev1.Container) map[string]*corev1.Probe {
	found := map[string]*corev1.Probe{"liveness": c.LivenessProbe, "readiness": c.ReadinessProbe, "startup": c.StartupProbe}
	maps.DeleteFunc(found, func(_ string, p *corev1.Probe) bool { return p == nil })
	return found
}

func hasPort(c corev1.Container, port intstr.IntOrString) bool {
	return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool {
		return port.Type == intstr.String && p.Name == port.StrVal || port.Type == intstr.Int && p.ContainerPort == port.IntVal
	})
}

// wrongJob finds monitors whose targets would have another job than the rules look for, or not the label by which these tell
// which exporter is gone, and annotations that name another port.
func wrongJob(w *world) (found complain) {
	for _, m := range all[*monitoringv1.PodMonitor](w) {
		for _, wl := range w.matching(selection{"", m.Namespace, m.Spec.Selector}) {
			if job := wl.template.Labels[m.Spec.JobLabel]; job != alerts.DefaultJob {
				found.f("PodMonitor %s: the job is %q, by the label %s of %s; the rules look for %q", m.Name, job, m.Spec.JobLabel, wl, alerts.DefaultJob)
			}
		}
		for _, e := range m.Spec.PodMetricsEndpoints {
			if !slices.ContainsFunc(e.RelabelConfigs, func(r monitoringv1.RelabelConfig) bool {
				return r.TargetLabel == "node" && slices.Equal(r.SourceLabels, []monitoringv1.LabelName{"__meta_kubernetes_pod_node_name"})
			}) {
				found.f("PodMonitor %s: targets have no label node", m.Name)
			}
		}
	}
	for _, wl := range w.workloads() {
		port := wl.template.Annotations["prometheus.io/port"]
		if port != "" && !hasPort(wl.container(), intstr.Parse(port)) || (port == "") != (wl.template.Annotations["prometheus.io/scrape"] == "") {
			found.f("%s: prometheus.io/port is %q", wl, port)
		}
		if path := wl.template.Annotations["prometheus.io/path"]; path != "" && path != "/metrics" {
			found.f("%s: prometheus.io/path is %q", wl, path)
		}
		if port != "" && len(all[*monitoringv1.PodMonitor](w)) > 0 {
			found.f("%s is scraped by a PodMonitor and by annotations", wl)
		}
	}
	return found
}
