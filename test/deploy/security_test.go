package deploy

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// tooMuchPower finds what a pod of ours may not have: the network or the processes of its node, ports there (DEP-09),
// privileges, a disk to write on, root without a reason, directories of the node that nobody speaks of.
func tooMuchPower(w *world) (found complain) {
	for _, wl := range w.workloads() {
		spec := wl.template.Spec
		if spec.HostNetwork || spec.HostPID || spec.HostIPC || spec.ShareProcessNamespace != nil {
			found.f("%s shares its node's network or processes", wl)
		}
		pod := spec.SecurityContext
		if pod == nil || pod.SeccompProfile == nil || pod.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
			found.f("%s: no seccomp profile", wl)
		}
		for _, v := range spec.Volumes {
			if v.HostPath == nil {
				continue
			}
			// A socket or a file that is mounted by itself is the old one for ever when it is made anew.
			if !slices.Contains(w.hostPaths, v.HostPath.Path) || v.HostPath.Type == nil || *v.HostPath.Type != corev1.HostPathDirectory && *v.HostPath.Type != corev1.HostPathDirectoryOrCreate {
				found.f("%s mounts the node's %s", wl, v.HostPath.Path)
			}
		}
		for _, c := range append(spec.InitContainers, spec.Containers...) {
			found = append(found, containerPower(w, wl, c)...)
		}
	}
	return found
}

func containerPower(w *world, wl workload, c corev1.Container) (found complain) {
	for _, p := range c.Ports {
		if p.HostPort != 0 {
			found.f("%s: %s takes port %d of the node", wl, c.Name, p.HostPort)
		}
	}
	s := c.SecurityContext
	if s == nil {
		found.f("%s: %s has no security context", wl, c.Name)
		return found
	}
	if s.Privileged != nil && *s.Privileged {
		found.f("%s: %s is privileged", wl, c.Name)
	}
	if s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation {
		found.f("%s: %s may gain privileges", wl, c.Name)
	}
	if s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem {
		found.f("%s: %s may write on its disk", wl, c.Name)
	}
	if s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(s.Capabilities.Add) > 0 {
		found.f("%s: %s has capabilities", wl, c.Name)
	}
	if s.SeccompProfile != nil && s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		found.f("%s: %s has another seccomp profile", wl, c.Name)
	}
	pod := wl.template.Spec.SecurityContext
	user, nobody := s.RunAsUser, s.RunAsNonRoot
	if pod != nil && user == nil {
		user = pod.RunAsUser
	}
	if pod != nil && nobody == nil {
		nobody = pod.RunAsNonRoot
	}
	switch {
	case user == nil || nobody == nil:
		found.f("%s: %s does not say as whom it runs", wl, c.Name)
	case w.root && (*user != 0 || *nobody):
		found.f("%s: %s runs as %d, and only root opens the kubelet's socket", wl, c.Name, *user)
	case !w.root && (*user != 65532 || !*nobody):
		found.f("%s: %s runs as %d, and not as 65532", wl, c.Name, *user)
	}
	return found
}

// wrongPermissions compares what the pods' account may do with what its configuration has it do: look at pods, in all
// namespaces or in those that it names, and at ResourceSlices where that is asked for. Nothing else, and nobody else.
func wrongPermissions(w *world) (found complain) {
	f, err := w.facts()
	if err != nil {
		return nil // which misconfigured says
	}
	want := map[string]bool{}
	grant := func(namespace, resource string) {
		for _, verb := range []string{"get", "list", "watch"} {
			want[fmt.Sprintf("%s %s in %q", verb, resource, namespace)] = true
		}
	}
	if f.pods {
		if len(f.namespaces) == 0 {
			grant("", "/pods")
		}
		for _, ns := range f.namespaces {
			grant(ns, "/pods")
		}
	}
	if w.slices {
		grant("", "resource.k8s.io/resourceslices")
	}
	has := permissions(w)
	for p := range want {
		if !has[p] {
			found.f("may not %s", p)
		}
	}
	for p := range has {
		if !want[p] {
			found.f("may %s", p)
		}
	}
	for _, wl := range w.workloads() {
		token := wl.template.Spec.AutomountServiceAccountToken
		if needs := len(want) > 0; token == nil || *token != needs {
			found.f("%s: the account's token is mounted: %v, is needed: %t", wl, token, needs)
		}
	}
	for _, a := range all[*corev1.ServiceAccount](w) {
		if a.AutomountServiceAccountToken == nil || *a.AutomountServiceAccountToken {
			found.f("ServiceAccount %s: any pod that names it has its token", a.Name)
		}
	}
	return found
}

// permissions are all that the roles of a world give, as "verb group/resource in namespace".
func permissions(w *world) map[string]bool {
	has := map[string]bool{}
	give := func(namespace string, rules []rbacv1.PolicyRule) {
		for _, r := range rules {
			for _, verb := range r.Verbs {
				for _, group := range r.APIGroups {
					for _, resource := range r.Resources {
						has[fmt.Sprintf("%s %s/%s in %q", verb, group, resource, namespace)] = true
					}
				}
				for _, url := range r.NonResourceURLs {
					has[verb+" "+url] = true
				}
			}
		}
	}
	for _, r := range all[*rbacv1.ClusterRole](w) {
		if give("", r.Rules); r.AggregationRule != nil {
			has["whatever is aggregated into "+r.Name] = true
		}
	}
	for _, r := range all[*rbacv1.Role](w) {
		give(r.Namespace, r.Rules)
	}
	return has
}
