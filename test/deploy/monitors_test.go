package deploy

import (
	"slices"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/goodput-exporter/goodput-exporter/alerts"
)

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
