package main

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/goodput-exporter/goodput-exporter/exporter/config"
)

// vllmContainer is what is looked at of the engine in a manifest.
type vllmContainer struct {
	Image     string
	Args      []string
	Env       []struct{ Name, Value string }
	Ports     []struct{ Name string }
	PodLabels map[string]string
}

// readVLLM reads the one container of the first Deployment of a file.
func readVLLM(t *testing.T, file string) vllmContainer {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var m struct {
			Kind string
			Spec struct {
				Template struct {
					Metadata struct{ Labels map[string]string }
					Spec     struct{ Containers []vllmContainer }
				}
			}
		}
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			t.Fatalf("%s has no Deployment", file)
		} else if err != nil {
			t.Fatal(err)
		}
		if m.Kind == "Deployment" {
			c := m.Spec.Template.Spec.Containers[0]
			c.PodLabels = m.Spec.Template.Metadata.Labels
			return c
		}
	}
}

// TestExampleEngines holds the engines of deploy/examples to what engine-flags prints for the configurations that go with
// them: a threshold that changes there has to change here.
func TestExampleEngines(t *testing.T) {
	for name, c := range map[string]struct{ manifest, config string }{
		"an engine for the base":               {"vllm.yaml", "base/goodput.yaml"},
		"an engine that sends a span for each": {"vllm-spans.yaml", "examples/complete/goodput.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			engine := readVLLM(t, filepath.Join("../../deploy/examples", c.manifest))
			cfg, err := config.Load(filepath.Join("../../deploy/kustomize", c.config))
			if err != nil {
				t.Fatal(err)
			}
			_, version, _ := strings.Cut(engine.Image, ":v")
			flags, err := flagsOf(cfg, engineFlagsOptions{Version: version})
			if err != nil || len(flags) != 1 {
				t.Fatalf("%d engines: %v", len(flags), err)
			}
			want := flags[0]
			// An engine in a pod has the Service in place of an address of its own host, and says by its pod which it is.
			for i, a := range want.Arguments {
				want.Arguments[i] = strings.Replace(a, "//127.0.0.1:", "//goodput-exporter-otlp.goodput-system.svc:", 1)
			}
			if got := engine.Args[1:]; !slices.Equal(got, want.Arguments) {
				t.Errorf("starts with\n%q, want\n%q", got, want.Arguments)
			}
			set := map[string]string{}
			for _, e := range engine.Env {
				if strings.HasPrefix(e.Name, "OTEL_") && e.Name != otlpResource {
					set[e.Name] = e.Value
				}
			}
			if !maps.Equal(set, want.Environment) {
				t.Errorf("environment %v, want %v", set, want.Environment)
			}
			// Both are among what discovery looks for when nothing is said.
			k := cfg.Engines.Kubernetes
			if label := "goodput-exporter/engine=" + engine.PodLabels["goodput-exporter/engine"]; !slices.Contains(k.Selectors, label) {
				t.Errorf("%s is none of %q", label, k.Selectors)
			}
			if port := engine.Ports[0].Name; !slices.Contains(k.Ports, port) {
				t.Errorf("port %s is none of %q", port, k.Ports)
			}
		})
	}
}
