package deploy

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// kinds are those that manifests may hold. One that is not here is a mistake, or belongs here.
var kinds = map[string]func() metav1.Object{
	"v1 ConfigMap":                                    func() metav1.Object { return &corev1.ConfigMap{} },
	"v1 Namespace":                                    func() metav1.Object { return &corev1.Namespace{} },
	"v1 Service":                                      func() metav1.Object { return &corev1.Service{} },
	"v1 ServiceAccount":                               func() metav1.Object { return &corev1.ServiceAccount{} },
	"apps/v1 DaemonSet":                               func() metav1.Object { return &appsv1.DaemonSet{} },
	"apps/v1 Deployment":                              func() metav1.Object { return &appsv1.Deployment{} },
	"networking.k8s.io/v1 NetworkPolicy":              func() metav1.Object { return &networkingv1.NetworkPolicy{} },
	"policy/v1 PodDisruptionBudget":                   func() metav1.Object { return &policyv1.PodDisruptionBudget{} },
	"rbac.authorization.k8s.io/v1 ClusterRole":        func() metav1.Object { return &rbacv1.ClusterRole{} },
	"rbac.authorization.k8s.io/v1 Role":               func() metav1.Object { return &rbacv1.Role{} },
	"rbac.authorization.k8s.io/v1 RoleBinding":        func() metav1.Object { return &rbacv1.RoleBinding{} },
	"scheduling.k8s.io/v1 PriorityClass":              func() metav1.Object { return &schedulingv1.PriorityClass{} },
	"monitoring.coreos.com/v1 PodMonitor":             func() metav1.Object { return &monitoringv1.PodMonitor{} },
	"monitoring.coreos.com/v1 ServiceMonitor":         func() metav1.Object { return &monitoringv1.ServiceMonitor{} },
	"monitoring.coreos.com/v1 PrometheusRule":         func() metav1.Object { return &monitoringv1.PrometheusRule{} },
	"rbac.authorization.k8s.io/v1 ClusterRoleBinding": func() metav1.Object { return &rbacv1.ClusterRoleBinding{} },
}

// decode reads one document as an API server does that is told to be strict: a key twice, one that the type has not, a
// value of another type, are errors, and so is a kind that nobody expects.
func decode(text []byte) (object, error) {
	asJSON, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return object{}, fmt.Errorf("%w in\n%s", err, head(text))
	}
	var meta metav1.TypeMeta
	if err := json.UnmarshalCaseSensitivePreserveInts(asJSON, &meta); err != nil {
		return object{}, fmt.Errorf("%w in\n%s", err, head(text))
	}
	make := kinds[meta.APIVersion+" "+meta.Kind]
	if make == nil {
		return object{}, fmt.Errorf("unknown kind %q of %q in\n%s", meta.Kind, meta.APIVersion, head(text))
	}
	o := object{make(), meta.Kind, text}
	strict, err := json.UnmarshalStrict(asJSON, o.Object)
	if err := errors.Join(append(strict, err)...); err != nil {
		return object{}, fmt.Errorf("%s %s: %w", meta.Kind, o.GetName(), err)
	}
	return o, nil
}

// head is the beginning of a document.
func head(text []byte) string {
	return string(text[:min(len(text), 200)])
}

func TestDecodingIsStrict(t *testing.T) {
	const sound = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec:\n  ports:\n    - {name: http, port: 80, targetPort: http}\n"
	for name, c := range map[string]struct{ old, new, err string }{
		"as it should be":           {"a", "a", ""},
		"a key with a typo":         {"targetPort", "targetport", `unknown field "spec.ports[0].targetport"`},
		"a key in another case":     {"spec:", "Spec:", `unknown field "Spec"`},
		"a key twice":               {"spec:", "metadata: {name: b}\nspec:", `"metadata" already set`},
		"text for a number":         {"port: 80", "port: eighty", "cannot unmarshal string"},
		"a mapping for a list":      {"    - {", "    {", "cannot unmarshal object"},
		"a kind that nobody has":    {"kind: Service", "kind: Servic", `unknown kind "Servic"`},
		"a version that nobody has": {"apiVersion: v1", "apiVersion: v2", `unknown kind "Service" of "v2"`},
		"no kind at all":            {"kind: Service\n", "", `unknown kind ""`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decode([]byte(strings.Replace(sound, c.old, c.new, 1)))
			switch {
			case c.err == "" && err != nil:
				t.Error(err)
			case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
				t.Errorf("got %v, want %s", err, c.err)
			}
		})
	}
}

// TestFilesAreObjects decodes every file that is one by itself. The rest is read by what it is for: kustomize builds
// kustomizations, the exporter checks goodput.yaml, Helm renders its templates, test/boards reads Compose's files.
func TestFilesAreObjects(t *testing.T) {
	files, err := filepath.Glob(tree + "/alerts/*.prometheusrule.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("rules: %v, %v", files, err)
	}
	err = filepath.WalkDir(tree+"/deploy", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "compose" || d.Name() == "helm" || d.Name() == "systemd"):
			return fs.SkipDir
		case filepath.Ext(path) == ".yml":
			t.Errorf("%s: files of deploy end in .yaml", path)
		case filepath.Ext(path) == ".yaml" && d.Name() != "kustomization.yaml" && d.Name() != "goodput.yaml" && d.Name() != "targets.yaml":
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 12 {
		t.Errorf("only %d files were found", len(files))
	}
	for _, f := range files {
		if _, err := decoded(expect{name: f}, read(t, f)); err != nil {
			t.Error(err)
		}
	}
}
