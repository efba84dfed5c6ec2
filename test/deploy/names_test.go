package deploy

import (
	"cmp"
	"strings"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// misnamed finds names that the API server refuses, objects without a namespace or with one too many, and two of one name.
func misnamed(w *world) (found complain) {
	seen := map[string]bool{}
	for _, o := range w.objects {
		valid := validation.IsDNS1123Subdomain
		if o.kind == "Service" {
			valid = validation.IsDNS1035Label
		}
		for _, why := range valid(o.GetName()) {
			found.f("%s: %s", o, why)
		}
		key := o.kind + "/" + o.GetNamespace() + "/" + o.GetName()
		if seen[key] {
			found.f("%s is there twice", o)
		}
		seen[key] = true
		switch o.Object.(type) {
		case *corev1.Namespace, *rbacv1.ClusterRole, *rbacv1.ClusterRoleBinding, *schedulingv1.PriorityClass:
			if o.GetNamespace() != "" {
				found.f("%s: its kind has no namespace", o)
			}
		default:
			for _, why := range validation.IsDNS1123Label(o.GetNamespace()) {
				found.f("%s: namespace %q: %s", o, o.GetNamespace(), why)
			}
		}
	}
	for _, c := range all[*corev1.ConfigMap](w) {
		for k := range c.Data {
			for _, why := range validation.IsConfigMapKey(k) {
				found.f("ConfigMap %s: key %q: %s", c.Name, k, why)
			}
		}
	}
	return found
}

// mislabelled finds labels, annotations and selectors that the API server refuses, and objects that do not say whose they are.
func mislabelled(w *world) (found complain) {
	errs := func(of string, list field.ErrorList) {
		for _, e := range list {
			found.f("%s: %v", of, e)
		}
	}
	meta := func(of string, labels, annotations map[string]string) {
		errs(of, metavalidation.ValidateLabels(labels, field.NewPath("metadata", "labels")))
		errs(of, apivalidation.ValidateAnnotations(annotations, field.NewPath("metadata", "annotations")))
	}
	for _, o := range w.objects {
		meta(o.String(), o.GetLabels(), o.GetAnnotations())
		// Roles in namespaces of others are theirs in kustomize's example.
		if part := o.GetLabels()["app.kubernetes.io/part-of"]; part != "goodput-exporter" && (w.instance != "" || !strings.HasPrefix(o.kind, "Role")) {
			found.f("%s: app.kubernetes.io/part-of is %q", o, part)
		}
		if name := o.GetLabels()["app.kubernetes.io/instance"]; name != w.instance {
			found.f("%s: app.kubernetes.io/instance is %q, want %q", o, name, w.instance)
		}
	}
	for _, wl := range w.workloads() {
		meta(wl.String()+"'s pods", wl.template.Labels, wl.template.Annotations)
	}
	for _, s := range selectors(w) {
		errs(s.of, metavalidation.ValidateLabelSelector(&s.selector, metavalidation.LabelSelectorValidationOptions{}, field.NewPath("selector")))
	}
	return found
}

// misdated finds durations that Prometheus does not read: to Go's types they are text.
func misdated(w *world) (found complain) {
	read := func(of, d string) {
		if _, err := model.ParseDuration(d); d != "" && err != nil {
			found.f("%s: %v", of, err)
		}
	}
	for _, m := range all[*monitoringv1.PodMonitor](w) {
		for _, e := range m.Spec.PodMetricsEndpoints {
			read("PodMonitor "+m.Name, string(e.Interval))
			read("PodMonitor "+m.Name, string(e.ScrapeTimeout))
		}
	}
	for _, r := range all[*monitoringv1.PrometheusRule](w) {
		for _, g := range r.Spec.Groups {
			var none monitoringv1.Duration
			read("group "+g.Name, string(*cmp.Or(g.Interval, &none)))
			for _, rule := range g.Rules {
				read("alert "+rule.Alert, string(*cmp.Or(rule.For, &none)))
				if (rule.Alert == "") == (rule.Record == "") || rule.Expr.String() == "" {
					found.f("group %s: alert %q, record %q, expr %q", g.Name, rule.Alert, rule.Record, rule.Expr.String())
				}
			}
		}
	}
	return found
}

// tooLarge finds objects that kubectl apply refuses: it keeps what was applied as an annotation, and annotations have 256 KiB.
func tooLarge(w *world) (found complain) {
	for _, o := range w.objects {
		asJSON, err := yaml.YAMLToJSON(o.text)
		if err != nil {
			found.f("%s: %v", o, err)
		}
		// Quotes inside text are escaped once more in an annotation; Kubernetes counts them as they are.
		if n := len(asJSON); n > apivalidation.TotalAnnotationSizeLimitB-1<<10 {
			found.f("%s has %d bytes, too many for kubectl apply", o, n)
		}
	}
	return found
}
