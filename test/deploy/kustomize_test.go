package deploy

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// The directory of the node that the kubelet's socket is in.
const podResources = "/var/lib/kubelet/pod-resources"

// build is a kustomization that somebody may apply.
type build struct {
	expect
	dir        string   // within deploy/kustomize; "" where components are laid over the DaemonSet or the Deployment
	over       string   // base or central, with the components
	components []string // of deploy/kustomize/components
}

// builds are all that are tried. TestEveryKustomizationIsBuilt sees that none is forgotten.
var builds = []build{
	{expect: expect{name: "base"}, dir: "base"},
	{expect: expect{name: "central"}, dir: "central"},
	{expect: expect{name: "complete", root: true, slices: true, hostPaths: []string{podResources}, tolerated: "dedicated=inference"}, dir: "examples/complete"},
	{expect: expect{name: "file-sd"}, dir: "examples/file-sd"},
	{expect: expect{name: "namespaces"}, dir: "examples/namespaces"},

	{expect: expect{name: "base with podres", root: true, hostPaths: []string{podResources}}, over: "base", components: []string{"podres"}},
	{expect: expect{name: "base with dcgm"}, over: "base", components: []string{"dcgm"}},
	{expect: expect{name: "base with otlp"}, over: "base", components: []string{"otlp"}},
	{expect: expect{name: "base with dra", slices: true}, over: "base", components: []string{"dra"}},
	{expect: expect{name: "base with networkpolicy"}, over: "base", components: []string{"networkpolicy"}},
	{expect: expect{name: "base with prometheus-operator"}, over: "base", components: []string{"prometheus-operator"}},
	{expect: expect{name: "base with prometheus-annotations"}, over: "base", components: []string{"prometheus-annotations"}},
	{expect: expect{name: "base with grafana"}, over: "base", components: []string{"grafana"}},
	{expect: expect{name: "base with all", root: true, slices: true, hostPaths: []string{podResources}}, over: "base", components: []string{"podres", "dcgm", "otlp", "dra", "networkpolicy", "prometheus-operator", "grafana"}},
	{expect: expect{name: "base with all, the other way round", root: true, slices: true, hostPaths: []string{podResources}}, over: "base", components: []string{"grafana", "prometheus-operator", "networkpolicy", "dra", "otlp", "dcgm", "podres"}},

	{expect: expect{name: "central with what fits"}, over: "central", components: []string{"networkpolicy", "prometheus-operator", "grafana"}},
	{expect: expect{name: "central with prometheus-annotations"}, over: "central", components: []string{"prometheus-annotations"}},
}

// kustomized builds one. The tree is copied into memory, where an overlay can be laid beside it.
func kustomized(fsys filesys.FileSystem, b build) ([]byte, error) {
	dir := "/" + b.dir
	if b.over != "" {
		dir = "/overlay"
		text := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [../" + b.over + "]\ncomponents:\n"
		for _, c := range b.components {
			text += "  - ../components/" + c + "\n"
		}
		if err := fsys.WriteFile(dir+"/kustomization.yaml", []byte(text)); err != nil {
			return nil, err
		}
	}
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(fsys, dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.name, err)
	}
	return made.AsYaml()
}

// inMemory is a copy of deploy/kustomize.
func inMemory() (filesys.FileSystem, error) {
	fsys := filesys.MakeFsInMemory()
	return fsys, filepath.WalkDir(base, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(base, p)
		if err != nil {
			return err
		}
		return fsys.WriteFile(path.Join("/", filepath.ToSlash(name)), text)
	})
}

// copied is the same in a test.
func copied(t *testing.T) filesys.FileSystem {
	t.Helper()
	fsys, err := inMemory()
	if err != nil {
		t.Fatal(err)
	}
	return fsys
}

// TestEveryKustomizationIsBuilt finds kustomizations and components that no build is about.
func TestEveryKustomizationIsBuilt(t *testing.T) {
	var tried []string
	for _, b := range builds {
		tried = append(tried, b.dir)
		for _, c := range b.components {
			tried = append(tried, "components/"+c)
		}
	}
	found := 0
	err := filepath.WalkDir(base, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "kustomization.yaml" {
			return err
		}
		name, err := filepath.Rel(base, filepath.Dir(p))
		if err != nil {
			return err
		}
		// common is a part of others, and says so.
		if found++; name != "common" && !slices.Contains(tried, filepath.ToSlash(name)) {
			t.Errorf("%s is built by no test", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 10 {
		t.Errorf("only %d kustomizations were found", found)
	}
}

// TestAComponentOfAnotherKindIsRefused: what patches the DaemonSet says so where there is none, instead of doing nothing.
func TestAComponentOfAnotherKindIsRefused(t *testing.T) {
	for _, c := range []string{"podres", "dcgm", "otlp"} {
		if _, err := kustomized(copied(t), build{over: "central", components: []string{c}}); err == nil || !strings.Contains(err.Error(), "DaemonSet") {
			t.Errorf("%s over central: %v", c, err)
		}
	}
}
