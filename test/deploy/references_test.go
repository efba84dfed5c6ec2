package deploy

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// mismounted finds mounts without a volume, volumes without a mount, two mounts in one place, and what could be written to.
func mismounted(w *world) (found complain) {
	for _, wl := range w.workloads() {
		spec := wl.template.Spec
		used := map[string]bool{}
		for _, c := range append(spec.InitContainers, spec.Containers...) {
			paths := map[string]bool{}
			for _, m := range c.VolumeMounts {
				i := slices.IndexFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name })
				if i < 0 {
					found.f("%s: %s mounts volume %q, which is not there", wl, c.Name, m.Name)
				} else if !m.ReadOnly && spec.Volumes[i].EmptyDir == nil {
					found.f("%s: %s mounts %s for writing", wl, c.Name, m.Name)
				}
				if !path.IsAbs(m.MountPath) || paths[path.Clean(m.MountPath)] {
					found.f("%s: %s mounts two volumes at %s, or it is no path", wl, c.Name, m.MountPath)
				}
				used[m.Name], paths[path.Clean(m.MountPath)] = true, true
			}
		}
		names := map[string]bool{}
		for _, v := range spec.Volumes {
			for _, why := range validation.IsDNS1123Label(v.Name) {
				found.f("%s: volume %q: %s", wl, v.Name, why)
			}
			if !used[v.Name] {
				found.f("%s: volume %s is mounted nowhere", wl, v.Name)
			}
			if names[v.Name] {
				found.f("%s: volume %s is there twice", wl, v.Name)
			}
			names[v.Name] = true
		}
	}
	return found
}

// has is whether an object is in the world, or in the cluster already.
func (w *world) has(kind, namespace, name string) bool {
	return slices.Contains(w.given, kind+"/"+namespace+"/"+name) || slices.ContainsFunc(w.objects, func(o object) bool {
		return o.kind == kind && o.GetNamespace() == namespace && o.GetName() == name
	})
}

// dangling finds names of objects that are not there, and roles that nobody has.
func dangling(w *world) complain {
	return slices.Concat(missingToPods(w), missingToRoles(w))
}

func missingToPods(w *world) (found complain) {
	for _, wl := range w.workloads() {
		need := func(kind, namespace, name string) {
			if !w.has(kind, namespace, name) {
				found.f("%s: %s %s/%s is not there", wl, kind, namespace, name)
			}
		}
		spec := wl.template.Spec
		need("ServiceAccount", wl.GetNamespace(), spec.ServiceAccountName)
		if p := spec.PriorityClassName; p != "" && !strings.HasPrefix(p, "system-") {
			need("PriorityClass", "", p)
		}
		for _, v := range spec.Volumes {
			if v.ConfigMap != nil {
				need("ConfigMap", wl.GetNamespace(), v.ConfigMap.Name)
				c, _ := named[*corev1.ConfigMap](w, wl.GetNamespace(), v.ConfigMap.Name)
				for _, item := range v.ConfigMap.Items {
					if c == nil || c.Data[item.Key] == "" {
						found.f("%s: ConfigMap %s has no key %s", wl, v.ConfigMap.Name, item.Key)
					}
				}
			}
			if v.Secret != nil {
				need("Secret", wl.GetNamespace(), v.Secret.SecretName)
			}
		}
		for _, c := range append(spec.InitContainers, spec.Containers...) {
			for _, e := range c.Env {
				if from := e.ValueFrom; from != nil && (from.SecretKeyRef != nil || from.ConfigMapKeyRef != nil) {
					found.f("%s: %s takes %s from a Secret or a ConfigMap: tokens are files, which can be replaced", wl, c.Name, e.Name)
				}
			}
		}
	}
	return found
}

func missingToRoles(w *world) (found complain) {
	bound := map[string]bool{}
	bind := func(o, namespace string, ref rbacv1.RoleRef, subjects []rbacv1.Subject) {
		if ref.Kind == "ClusterRole" {
			namespace = ""
		}
		bound[ref.Kind+"/"+namespace+"/"+ref.Name] = true
		if !w.has(ref.Kind, namespace, ref.Name) || ref.APIGroup != rbacv1.GroupName {
			found.f("%s: %s %s/%s of %q is not there", o, ref.Kind, namespace, ref.Name, ref.APIGroup)
		}
		for _, s := range subjects {
			if !w.has(s.Kind, s.Namespace, s.Name) {
				found.f("%s: %s %s/%s is not there", o, s.Kind, s.Namespace, s.Name)
			}
		}
		if len(subjects) == 0 {
			found.f("%s binds nobody", o)
		}
	}
	for _, b := range all[*rbacv1.ClusterRoleBinding](w) {
		bind("ClusterRoleBinding "+b.Name, "", b.RoleRef, b.Subjects)
	}
	for _, b := range all[*rbacv1.RoleBinding](w) {
		bind("RoleBinding "+b.Name, b.Namespace, b.RoleRef, b.Subjects)
	}
	for _, o := range w.objects {
		switch o.Object.(type) {
		case *rbacv1.Role, *rbacv1.ClusterRole:
			if !bound[o.kind+"/"+o.GetNamespace()+"/"+o.GetName()] {
				found.f("%s is bound to nobody", o)
			}
		case *schedulingv1.PriorityClass:
			if !slices.ContainsFunc(w.workloads(), func(wl workload) bool { return wl.template.Spec.PriorityClassName == o.GetName() }) {
				found.f("%s is used by nobody", o)
			}
		}
	}
	return found
}
