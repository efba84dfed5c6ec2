package deploy

import (
	"bytes"
	"slices"
	"testing"

	helm "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
)

// TestChartMutants makes mistakes in the chart's templates that only some values bring to light, and sees that the check which
// is there for them complains.
func TestChartMutants(t *testing.T) {
	for what, c := range map[string]struct{ set, file, old, new, check string }{
		"a version in the selector":                     {"default", "_names.tpl", "app.kubernetes.io/component: {{ .Values.mode }}", "app.kubernetes.io/component: {{ .Values.mode }}\nhelm.sh/chart: {{ .Chart.Version }}", "selectors"},
		"the selector without the release":              {"default", "_names.tpl", "app.kubernetes.io/instance: {{ .Release.Name }}", "app.kubernetes.io/instance: goodput", "selectors"},
		"a binding of an account by the release's name": {"everything", "rbac.yaml", `(include "goodput-exporter.serviceAccountName" .) .Release.Namespace`, ".Release.Name .Release.Namespace", "references"},
		"a role that needs no namespace":                {"namespaces", "rbac.yaml", "{{- range $facts.namespaces }}\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: {{ $name }}\n  namespace: {{ . }}", "{{- range $facts.namespaces }}\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: {{ $name }}\n  namespace: {{ $.Release.Namespace }}", "permissions"},
		"pods of all namespaces where a few are meant":  {"namespaces", "rbac.yaml", "(not $facts.namespaces)", "true", "permissions"},
		"a policy that forgets where engines are":       {"networkpolicy", "_egress.tpl", "values: {{ toJson $facts.namespaces }}", "values: [default]", "network"},
		"a policy that lets everybody scrape":           {"networkpolicy", "networkpolicy.yaml", "{{- toYaml $policy.scrapeFrom | nindent 8 }}", "- namespaceSelector: {}", "network"},
		"a monitor of pods of every release":            {"monitoring", "podmonitor.yaml", "jobLabel: app.kubernetes.io/name", "jobLabel: app.kubernetes.io/instances", "job"},
		"a central exporter that is gone when it moves": {"central", "podmonitor.yaml", "targetLabel: node, replacement: {{ include \"goodput-exporter.fullname\" . }}", "targetLabel: node, sourceLabels: [__meta_kubernetes_pod_node_name]", "job"},
		"a Service whatever listens":                    {"otlp", "service.yaml", "targetPort: otlp-grpc", "targetPort: grpc", "ports"},
		"root without the kubelet":                      {"default", "_pod.tpl", "ternary 0 65532 $root", "ternary 65532 0 $root", "security"},
		"a token where there is no API server to ask":   {"default", "_pod.tpl", "automountServiceAccountToken: ", "automountServiceAccountToken: false #", "permissions"},
		"no tolerations where there are more":           {"everything", "_placement.tpl", "{{- with .Values.extraTolerations }}", "{{- with list }}", "placement"},
	} {
		t.Run(what, func(t *testing.T) {
			made, err := loader.LoadDir(chart)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(made.Templates, func(f *helm.File) bool { return f.Name == "templates/"+c.file })
			if i < 0 || !bytes.Contains(made.Templates[i].Data, []byte(c.old)) {
				t.Fatalf("%s has no %q to make the mistake in", c.file, c.old)
			}
			made.Templates[i].Data = bytes.ReplaceAll(made.Templates[i].Data, []byte(c.old), []byte(c.new))
			files, err := renderedBy(made, setOfValues(t, c.set), release)
			if err != nil {
				t.Fatal(err)
			}
			e := charts[slices.IndexFunc(charts, func(e expect) bool { return e.name == c.set })]
			e.instance = release
			w, err := decoded(e, stream(files))
			if err != nil {
				t.Fatal(err)
			}
			k := slices.IndexFunc(checks, func(k check) bool { return k.name == c.check })
			if found := checks[k].find(w); len(found) == 0 {
				t.Errorf("check %s finds nothing; all that is found: %q", c.check, complaints(w))
			}
		})
	}
}

// TestSelectorsStayOverVersions renders the chart as of another version, with another image and labels of a user's own: what
// selects the pods is the same, so an upgrade is not refused (DEP-09).
func TestSelectorsStayOverVersions(t *testing.T) {
	made, err := loader.LoadDir(chart)
	if err != nil {
		t.Fatal(err)
	}
	made.Metadata.Version, made.Metadata.AppVersion = "9.8.7", "9.8.7"
	values := map[string]any{"image": map[string]any{"tag": "6.5.4"}, "podLabels": map[string]any{"a": "b"}, "commonLabels": map[string]any{"c": "d"}, "fullnameOverride": "other"}
	for _, mode := range []string{"node", "central"} {
		values["mode"] = mode
		files, err := renderedBy(made, values, release)
		if err != nil {
			t.Fatal(err)
		}
		w, err := decoded(expect{name: mode, instance: release}, stream(files))
		if err != nil {
			t.Fatal(err)
		}
		if len(w.workloads()) != 1 {
			t.Fatalf("%s: %d workloads", mode, len(w.workloads()))
		}
		for _, c := range selectsNothing(w) {
			t.Errorf("%s: %s", mode, c)
		}
	}
}
