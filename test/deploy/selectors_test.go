package deploy

import (
	"maps"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// selection is a selector of pods, whose it is, and where it looks.
type selection struct {
	of        string
	namespace string
	selector  metav1.LabelSelector
}

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
