package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

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

// paths are where objects of a kind are created, as the server itself says.
type paths map[string]struct {
	plural     string
	namespaced bool
}

func (c *cluster) paths(versions ...string) paths {
	c.t.Helper()
	all := paths{}
	for _, v := range versions {
		var list struct {
			Resources []struct {
				Name, Kind string
				Namespaced bool
			}
		}
		c.must(c.do(http.MethodGet, root(v), nil, &list))
		for _, r := range list.Resources {
			if !strings.Contains(r.Name, "/") {
				all[v+" "+r.Kind] = struct {
					plural     string
					namespaced bool
				}{r.Name, r.Namespaced}
			}
		}
	}
	return all
}

func root(version string) string {
	if strings.Contains(version, "/") {
		return "/apis/" + version
	}
	return "/api/" + version
}

// apply creates an object, or only tries to. A field that the server does not know is an error.
func (c *cluster) apply(known paths, m manifest, dry bool) error {
	where, ok := known[m.apiVersion+" "+m.kind]
	if !ok {
		return fmt.Errorf("%v: the server has no %s in %s", m, m.kind, m.apiVersion)
	}
	path := root(m.apiVersion)
	if where.namespaced {
		path += "/namespaces/" + namespaceOf(m)
	}
	path += "/" + where.plural + "?fieldValidation=Strict"
	if dry {
		path += "&dryRun=All"
	}
	if err := c.send(http.MethodPost, path, "application/yaml", m.text, nil); err != nil {
		return fmt.Errorf("%v: %w", m, err)
	}
	return nil
}

func namespaceOf(m manifest) string {
	if m.namespace == "" {
		return "default"
	}
	return m.namespace
}

// kinds are the versions of the API that manifests may use.
var kinds = []string{
	"v1", "apps/v1", "rbac.authorization.k8s.io/v1", "networking.k8s.io/v1", "scheduling.k8s.io/v1", "policy/v1", "monitoring.coreos.com/v1",
}

// operator gives the server the Prometheus operator's resources.
func (c *cluster) operator() {
	c.t.Helper()
	definitions := c.paths("apiextensions.k8s.io/v1")
	for _, name := range []string{"podmonitors", "prometheusrules"} {
		text, err := os.ReadFile(filepath.Join(programs(c.t), "crd", name+".yaml"))
		c.must(err)
		for _, m := range documents(c.t, name, text) {
			c.must(c.apply(definitions, m, false))
		}
		until(c.t, 30*time.Second, "the server has "+name, func() error {
			_, err := c.get("/apis/monitoring.coreos.com/v1/" + name)
			return err
		})
	}
}

// TestManifests has the server judge every object of deploy/ that is meant for one, without keeping it.
func TestManifests(t *testing.T) {
	c := newCluster(t)
	c.operator()
	known := c.paths(kinds...)
	namespaces := map[string]bool{"default": true}
	judge := func(t *testing.T, all []manifest) {
		t.Helper()
		if len(all) == 0 {
			t.Error("nothing is rendered")
		}
		for _, m := range all {
			if n := namespaceOf(m); !namespaces[n] { // an object needs its namespace, and a dry run makes none
				namespaces[n] = true
				c.must(c.create("/api/v1/namespaces", object{"metadata": object{"name": n}}))
			}
			if m.kind == "Namespace" && namespaces[m.name] {
				continue
			}
			if err := c.apply(known, m, true); err != nil {
				t.Error(err)
			}
		}
	}
	for _, folder := range folders(t) {
		t.Run("kustomize "+folder, func(t *testing.T) { judge(t, kustomized(t, filepath.Join(deploy, "kustomize", folder))) })
	}
	for _, component := range components(t) {
		t.Run("kustomize base with "+component, func(t *testing.T) { judge(t, with(t, "base", component)) })
	}
	for name, all := range files(t) {
		t.Run(name, func(t *testing.T) { judge(t, all) })
	}
	t.Run("a typo is noticed", func(t *testing.T) {
		for _, m := range with(t, "base") {
			if m.kind != "DaemonSet" {
				continue
			}
			m.text = bytes.Replace(m.text, []byte("periodSeconds:"), []byte("periodSecnods:"), 1)
			if err := c.apply(known, m, true); err == nil || !strings.Contains(err.Error(), "periodSecnods") {
				t.Errorf("a field that is misspelt: %v", err)
			}
		}
	})
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
