package cluster

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// deploy is the folder of manifests.
const deploy = "../../deploy"

// manifest is one object of a file, as it stands there.
type manifest struct {
	text                                  []byte
	apiVersion, kind, name, namespace, at string // at is the file, or the folder that was rendered
}

func (m manifest) String() string { return m.at + ": " + m.kind + " " + m.name }

// documents takes a file of several objects apart.
func documents(t testing.TB, at string, text []byte) (all []manifest) {
	t.Helper()
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var node yaml.Node
		err := d.Decode(&node)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%s: %v", at, err)
		}
		var head struct {
			APIVersion string `yaml:"apiVersion"`
			Kind       string
			Metadata   struct{ Name, Namespace string }
		}
		if err := node.Decode(&head); err != nil {
			t.Fatalf("%s: %v", at, err)
		}
		if head.Kind == "" {
			continue // a document of comments
		}
		one, err := yaml.Marshal(&node)
		if err != nil {
			t.Fatalf("%s: %v", at, err)
		}
		all = append(all, manifest{one, head.APIVersion, head.Kind, head.Metadata.Name, head.Metadata.Namespace, at})
	}
}

// kustomized renders a folder.
func kustomized(t testing.TB, folder string) []manifest {
	t.Helper()
	rendered, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		t.Fatalf("%s: %v", folder, err)
	}
	text, err := rendered.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return documents(t, folder, text)
}

// with renders a folder of deploy/kustomize with components on top.
func with(t testing.TB, base string, components ...string) []manifest {
	t.Helper()
	dir := t.TempDir()
	kustomize, err := filepath.Abs(filepath.Join(deploy, "kustomize"))
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(dir, kustomize)
	if err != nil {
		t.Fatal(err)
	}
	text := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [" + relative + "/" + base + "]\n"
	if len(components) > 0 {
		text += "components: [" + relative + "/components/" + strings.Join(components, ", "+relative+"/components/") + "]\n"
	}
	write(t, filepath.Join(dir, "kustomization.yaml"), text)
	all := kustomized(t, dir)
	for i := range all {
		all[i].at = base + " with " + strings.Join(components, ", ")
	}
	return all
}

// files are the examples, and what the chart's tests have rendered with each set of values.
func files(t *testing.T) map[string][]manifest {
	t.Helper()
	all := map[string][]manifest{}
	for _, pattern := range []string{"examples/*.yaml", "../test/deploy/testdata/helm/*.golden.yaml"} {
		found, err := filepath.Glob(filepath.Join(deploy, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("no file is called %s: %v", pattern, err)
		}
		for _, file := range found {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			name := strings.TrimSuffix(filepath.Base(file), ".yaml")
			if golden, ok := strings.CutSuffix(name, ".golden"); ok {
				name = "helm " + golden
			}
			for _, m := range documents(t, name, text) {
				if m.apiVersion != "" || !strings.HasPrefix(m.kind, "of ") { // what the chart's tests leave out is like a component's
					all[name] = append(all[name], m)
				}
			}
		}
	}
	return all
}

// folders are those of deploy/kustomize that can be applied by themselves.
func folders(t *testing.T) (all []string) {
	for _, pattern := range []string{"base", "central", "examples/*", "overlays/*"} {
		found, err := filepath.Glob(filepath.Join(deploy, "kustomize", pattern, "kustomization.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range found {
			folder, err := filepath.Rel(filepath.Join(deploy, "kustomize"), filepath.Dir(file))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, folder)
		}
	}
	if !slices.Contains(all, "base") {
		t.Fatalf("there is no base among %q", all)
	}
	return all
}

func components(t *testing.T) (all []string) {
	found, err := filepath.Glob(filepath.Join(deploy, "kustomize", "components", "*", "kustomization.yaml"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no components: %v", err)
	}
	for _, file := range found {
		all = append(all, filepath.Base(filepath.Dir(file)))
	}
	return all
}
