package deploy

import (
	"math"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

// misshapenPods finds names in pods that the API server refuses, and what every pod of ours has to say.
func misshapenPods(w *world) (found complain) {
	if len(w.workloads()) != 1 {
		found.f("%d workloads: one is expected", len(w.workloads()))
	}
	for _, wl := range w.workloads() {
		spec := wl.template.Spec
		names := map[string]bool{}
		for _, c := range append(spec.InitContainers, spec.Containers...) {
			for _, why := range validation.IsDNS1123Label(c.Name) {
				found.f("%s: container %q: %s", wl, c.Name, why)
			}
			if c.Image == "" || names[c.Name] {
				found.f("%s: container %s has the image %q, or is there twice", wl, c.Name, c.Image)
			}
			names[c.Name] = true
			env := map[string]bool{}
			for _, e := range c.Env {
				if why := validation.IsCIdentifier(e.Name); len(why) > 0 || env[e.Name] || (e.Value == "") == (e.ValueFrom == nil) {
					found.f("%s: environment variable %q of %s: %v; once and with a value", wl, e.Name, c.Name, why)
				}
				env[e.Name] = true
			}
		}
		if !slices.ContainsFunc(spec.Containers, func(c corev1.Container) bool { return c.Name == "goodput-exporter" }) {
			found.f("%s: no container is called goodput-exporter", wl)
		}
		c := wl.container()
		if c.LivenessProbe == nil || c.ReadinessProbe == nil {
			found.f("%s has not both probes", wl)
		}
		if wl.template.Annotations["kubectl.kubernetes.io/default-container"] != "goodput-exporter" {
			found.f("%s: kubectl logs would not know which container is meant", wl)
		}
		// Links would give a variable to every Service there is, some of which programs read.
		if spec.EnableServiceLinks == nil || *spec.EnableServiceLinks {
			found.f("%s: service links are on", wl)
		}
		if node := variable(c, "NODE_NAME"); (wl.kind == "DaemonSet") != (node != nil && node.ValueFrom != nil && node.ValueFrom.FieldRef != nil && node.ValueFrom.FieldRef.FieldPath == "spec.nodeName") {
			found.f("%s: NODE_NAME is %v; on a node, discovery reads the node's name from it", wl, node)
		}
	}
	return found
}

func variable(c corev1.Container, name string) *corev1.EnvVar {
	if i := slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == name }); i >= 0 {
		return &c.Env[i]
	}
	return nil
}

// tooLittleMemory finds pods without requests, without a limit on memory, with a request above its limit, and a GOMEMLIMIT
// that leaves no room below the limit for what Go does not know of (DEP-03).
func tooLittleMemory(w *world) (found complain) {
	for _, wl := range w.workloads() {
		for _, c := range append(wl.template.Spec.InitContainers, wl.template.Spec.Containers...) {
			for name, request := range c.Resources.Requests {
				if limit, is := c.Resources.Limits[name]; is && request.Cmp(limit) > 0 || request.Sign() <= 0 {
					found.f("%s: %s requests %s of %s, and the limit is %s", wl, c.Name, request.String(), name, limit.String())
				}
			}
			if c.Resources.Requests.Cpu().IsZero() || c.Resources.Requests.Memory().IsZero() || c.Resources.Limits.Memory().IsZero() {
				found.f("%s: %s has not requests for CPU and memory and a limit on memory", wl, c.Name)
			}
		}
		c := wl.container()
		limit := c.Resources.Limits.Memory()
		set := variable(c, "GOMEMLIMIT")
		if set == nil {
			found.f("%s: GOMEMLIMIT is not set", wl)
			continue
		}
		soft, ok := goMemory(set.Value)
		if share := soft / limit.AsApproximateFloat64(); !ok || share > 0.85 || share < 0.5 {
			found.f("%s: GOMEMLIMIT is %q with a limit of %s: it has to leave the sixth part of it, and use half", wl, set.Value, limit)
		}
		if request := c.Resources.Requests[corev1.ResourceMemory]; limit.Cmp(resource.MustParse("200Mi")) < 0 || request.Cmp(resource.MustParse("100Mi")) < 0 {
			found.f("%s: %s requested, %s at most: less than eight engines need", wl, request.String(), limit)
		}
		// goodput-dcgm and libdcgm live in the same container, and Go knows nothing of their memory: docs/dcgm.md.
		if strings.HasSuffix(c.Image, "-dcgm") && limit.AsApproximateFloat64()-soft < 96<<20 {
			found.f("%s: %s beside GOMEMLIMIT %s leave DCGM's library too little", wl, limit, set.Value)
		}
	}
	return found
}

// goMemory is what GOMEMLIMIT says, in bytes.
func goMemory(text string) (float64, bool) {
	for i, unit := range []string{"B", "KiB", "MiB", "GiB", "TiB"} {
		if n, err := strconv.ParseUint(strings.TrimSuffix(text, unit), 10, 63); err == nil {
			return float64(n) * math.Pow(1024, float64(i)), true
		}
	}
	return 0, false
}

// countedTwice finds what would have two exporters poll the same engines at the same time.
func countedTwice(w *world) (found complain) {
	for _, d := range all[*appsv1.Deployment](w) {
		if d.Spec.Replicas == nil || *d.Spec.Replicas != 1 || d.Spec.Strategy.Type != "Recreate" {
			found.f("Deployment %s has not one replica that ends before the next begins: every request would be counted twice", d.Name)
		}
	}
	for _, d := range all[*appsv1.DaemonSet](w) {
		switch u := d.Spec.UpdateStrategy; {
		case u.Type == "OnDelete":
		case u.Type != "RollingUpdate" || u.RollingUpdate == nil || u.RollingUpdate.MaxUnavailable == nil:
			found.f("DaemonSet %s says not how it is updated", d.Name)
		case u.RollingUpdate.MaxUnavailable.String() == "0" || u.RollingUpdate.MaxUnavailable.String() == "0%":
			found.f("DaemonSet %s can never be updated", d.Name)
		case u.RollingUpdate.MaxSurge != nil && u.RollingUpdate.MaxSurge.String() != "0":
			found.f("DaemonSet %s has two pods on a node while it is updated: every request would be counted twice", d.Name)
		}
	}
	return found
}
