package deploy

import (
	"cmp"
	"regexp"
	"strings"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/goodput-exporter/goodput-exporter/alerts"
)

// nodeLabel is the label node of a workload's pod on a node, as Prometheus makes it.
func nodeLabel(e monitoringv1.PodMetricsEndpoint, wl workload, node string) (value string) {
	for _, r := range e.RelabelConfigs {
		if r.TargetLabel != "node" {
			continue
		}
		var from []string
		for _, l := range r.SourceLabels {
			switch key, of := strings.CutPrefix(string(l), "__meta_kubernetes_pod_label_"); {
			case l == "__meta_kubernetes_pod_node_name":
				from = append(from, node)
			case of:
				from = append(from, podLabel(wl, key))
			default:
				return "" // no test knows it
			}
		}
		if match := regexp.MustCompile("^(?s:" + cmp.Or(r.Regex, "(.*)") + ")$"); match.MatchString(strings.Join(from, ";")) {
			to := "$1"
			if r.Replacement != nil {
				to = *r.Replacement
			}
			value = match.ReplaceAllString(strings.Join(from, ";"), to)
		}
	}
	return value
}

// podLabel is a label by the name that Prometheus gives it.
func podLabel(wl workload, sanitized string) string {
	for key, value := range wl.template.Labels {
		if regexp.MustCompile(`[^a-zA-Z0-9_]`).ReplaceAllString(key, "_") == sanitized {
			return value
		}
	}
	return ""
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
			for _, wl := range w.matching(selection{"", m.Namespace, m.Spec.Selector}) {
				// A node has a pod of its own; a central pod may move, and is not gone then.
				here, there := nodeLabel(e, wl, "a"), nodeLabel(e, wl, "b")
				if here == "" || (wl.kind == "DaemonSet") != (here != there) {
					found.f("PodMonitor %s: the label node of %s is %q on one node and %q on another", m.Name, wl, here, there)
				}
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
