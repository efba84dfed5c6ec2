package deploy

import (
	"fmt"
	"maps"
	"slices"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
)

// unknownPorts finds ports that are named and that no selected pod has, and ports of one pod that collide.
func unknownPorts(w *world) complain {
	return slices.Concat(unknownToPods(w), unknownToOthers(w))
}

// unknownToPods looks at pods by themselves, and at their probes.
func unknownToPods(w *world) (found complain) {
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
	return found
}

// unknownToOthers looks at what selects pods and names their ports.
func unknownToOthers(w *world) (found complain) {
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
