package deploy

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

var standards = sync.OnceValues(func() (policy.Evaluator, error) {
	return policy.NewEvaluator(policy.DefaultChecks(), nil)
})

// notAdmitted finds pods that their namespace does not admit, with the API server's own code. Where a render brings no
// namespace, what needs nothing of the node has to fit into the strictest.
func notAdmitted(w *world) (found complain) {
	evaluator, err := standards()
	if err != nil {
		return complain{err.Error()}
	}
	for _, wl := range w.workloads() {
		level := api.LevelPrivileged
		if len(w.hostPaths) == 0 {
			level = api.LevelRestricted
		}
		if ns, is := named[*corev1.Namespace](w, "", wl.GetNamespace()); is {
			if got := api.Level(ns.Labels[api.EnforceLevelLabel]); got != level {
				found.f("Namespace %s enforces %q; %s needs %s", ns.Name, got, wl, level)
				continue
			}
		}
		for _, r := range evaluator.EvaluatePod(api.LevelVersion{Level: level, Version: api.LatestVersion()}, &wl.template.ObjectMeta, &wl.template.Spec) {
			if !r.Allowed {
				found.f("%s is not admitted where the standard is %s: %s, %s", wl, level, r.ForbiddenReason, r.ForbiddenDetail)
			}
		}
	}
	return found
}
