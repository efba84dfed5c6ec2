package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/internal/golden"
)

func TestGenerateRules(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rules.yml")
	for name, c := range map[string]struct {
		args   []string
		status int
		golden string   // what standard output must be, a committed file
		out    []string // what it must hold
		notes  string   // what the error must hold
	}{
		"the committed rule file":           {args: []string{"--config.file=demo.yaml"}, golden: "../../alerts/goodput.rules.yml"},
		"the committed operator's form":     {args: []string{"--config.file=demo.yaml", "--format=operator"}, golden: "../../alerts/goodput.prometheusrule.yaml"},
		"the rules of the kustomize base":   {args: []string{"--config.file=../../deploy/kustomize/base/goodput.yaml", "--format=operator", "--node-label=node"}, golden: "../../deploy/kustomize/components/prometheus-operator/prometheusrule.yaml"},
		"into a file, and nothing to see":   {args: []string{"--config.file=demo.yaml", "--output=" + file}},
		"another job and another label":     {args: []string{"--config.file=demo.yaml", "--job=gpu", "--node-label=node"}, out: []string{`absent(up{job="gpu"})`, "max by (cluster, job, node)"}},
		"a configuration that is not there": {args: []string{"--config.file=nowhere.yaml"}, status: 1, notes: "nowhere.yaml: cannot be read"},
		"a label name with a dot":           {args: []string{"--config.file=demo.yaml", "--node-label=k8s.node"}, status: 1, notes: `"k8s.node" is not a label name`},
		"a directory that is not there":     {args: []string{"--config.file=demo.yaml", "--output=" + filepath.Join(file, "x")}, status: 1, notes: "rules.yml"},
		"a form that does not exist":        {args: []string{"--config.file=demo.yaml", "--format=helm"}, status: 2, notes: "helm"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, notes bytes.Buffer
			if got := run(context.Background(), append([]string{"generate", "rules"}, c.args...), &out, &notes); got != c.status {
				t.Fatalf("status %d, want %d: %s", got, c.status, notes.String())
			}
			if c.golden != "" {
				golden.Compare(t, c.golden, out.Bytes())
			}
			for _, want := range c.out {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q", want)
				}
			}
			if c.golden == "" && c.out == nil && out.Len() > 0 {
				t.Errorf("prints %q", out.String())
			}
			if !strings.Contains(notes.String(), c.notes) {
				t.Errorf("says %q, want %q", notes.String(), c.notes)
			}
		})
	}
	var out, notes bytes.Buffer
	if status := run(context.Background(), []string{"generate", "rules", "--config.file=demo.yaml", "--output=" + file}, &out, &notes); status != 0 {
		t.Fatal(notes.String())
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "../../alerts/goodput.rules.yml", got)
}
