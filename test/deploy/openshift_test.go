package deploy

import (
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	corev1 "k8s.io/api/core/v1"
)

// TestNotesOnOpenShift: there, pods that say their user are refused until somebody allows it. What the notes tell to allow admits
// these pods, and is no more than they need.
func TestNotesOnOpenShift(t *testing.T) {
	c, err := loader.LoadDir(chart)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"default": "nonroot-v2", "central": "nonroot-v2", "dcgm": "nonroot-v2", "podres": "privileged", "dcgm-embedded": "privileged"} {
		for _, on := range []bool{true, false} {
			able := *chartutil.DefaultCapabilities
			if on {
				able.APIVersions = append(slices.Clone(able.APIVersions), "security.openshift.io/v1")
			}
			options := chartutil.ReleaseOptions{Name: release, Namespace: releaseNamespace, Revision: 1, IsInstall: true}
			values, err := chartutil.ToRenderValues(c, setOfValues(t, name), options, &able)
			if err != nil {
				t.Fatal(err)
			}
			files, err := engine.Render(c, values)
			if err != nil {
				t.Fatal(err)
			}
			notes := files["goodput-exporter/templates/NOTES.txt"]
			said := "--clusterrole=system:openshift:scc:" + want + " --serviceaccount=goodput-system:goodput-exporter\n"
			if strings.Contains(notes, said) != on || strings.Contains(notes, "OpenShift") != on {
				t.Errorf("%s, OpenShift %t: the notes are\n%s", name, on, notes)
			}
			w, err := decoded(expect{name: name}, stream(files))
			if err != nil {
				t.Fatal(err)
			}
			mounts := slices.ContainsFunc(w.workloads()[0].template.Spec.Volumes, func(v corev1.Volume) bool { return v.HostPath != nil })
			if mounts != (want == "privileged") {
				t.Errorf("%s: directories of the node are mounted: %t", name, mounts)
			}
		}
	}
}
