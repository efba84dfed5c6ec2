package deploy

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"
)

// TestBoardsAreTheBoards: wherever ConfigMaps with boards are made, they hold what is in dashboards, byte for byte, under the
// label by which Grafana's sidecar finds them.
func TestBoardsAreTheBoards(t *testing.T) {
	files, err := filepath.Glob(tree + "/dashboards/*.json")
	if err != nil || len(files) != 3 {
		t.Fatalf("boards: %v, %v", files, err)
	}
	made := 0
	for _, w := range worlds(t) {
		boards := map[string]string{}
		for _, c := range all[*corev1.ConfigMap](w) {
			if c.Labels["grafana_dashboard"] == "1" {
				for name, text := range c.Data {
					boards[name] = text
				}
			}
		}
		if len(boards) == 0 {
			continue
		}
		made++
		for _, f := range files {
			if got, want := boards[filepath.Base(f)], string(read(t, f)); strings.TrimSpace(got) != strings.TrimSpace(want) {
				t.Errorf("%s: %s is another than %s", w.name, filepath.Base(f), f)
			}
		}
		if len(boards) != len(files) {
			t.Errorf("%s: %d boards", w.name, len(boards))
		}
	}
	if made < 4 {
		t.Errorf("only %d worlds have boards", made)
	}
}

// TestRulesAreTheRules compares the rules of the worlds with one another and with those in alerts: no alert is lost on the way,
// but those of objectives and classes that a world has not.
func TestRulesAreTheRules(t *testing.T) {
	files, err := filepath.Glob(tree + "/alerts/*.prometheusrule.yaml")
	if err != nil || len(files) != 1 {
		t.Fatalf("rules: %v, %v", files, err)
	}
	shipped, err := decoded(expect{name: files[0]}, read(t, files[0]))
	if err != nil {
		t.Fatal(err)
	}
	want := general(shipped)
	if len(want) < 50 {
		t.Fatalf("only %d rules are about no objective", len(want))
	}
	made := 0
	for _, w := range worlds(t) {
		if len(all[*monitoringv1.PrometheusRule](w)) == 0 {
			continue
		}
		made++
		got := general(w)
		for name := range want {
			if !got[name] {
				t.Errorf("%s has not %s", w.name, name)
			}
		}
		for name := range got {
			if !want[name] {
				t.Errorf("%s has %s, which alerts have not", w.name, name)
			}
		}
		for _, r := range all[*monitoringv1.PrometheusRule](w) {
			slo := false
			for _, g := range r.Spec.Groups {
				for _, rule := range g.Rules {
					slo = slo || rule.Labels["slo"] == "interactive"
				}
			}
			f, err := w.facts()
			if err != nil {
				t.Fatal(err)
			}
			if has := strings.Contains(f.text, "name: interactive"); slo != has {
				t.Errorf("%s: rules of the objective interactive: %t, in the configuration: %t", w.name, slo, has)
			}
		}
	}
	if made < 4 {
		t.Errorf("only %d worlds have rules", made)
	}
}

// general are the rules that are about no single objective, and about no class, by group and name.
func general(w *world) map[string]bool {
	found := map[string]bool{}
	for _, r := range all[*monitoringv1.PrometheusRule](w) {
		for _, g := range r.Spec.Groups {
			for _, rule := range g.Rules {
				if rule.Labels["slo"] == "" && !strings.HasPrefix(rule.Record, "model_slo_class:") {
					found[fmt.Sprintf("%s: %s%s", g.Name, rule.Record, rule.Alert)] = true
				}
			}
		}
	}
	return found
}
