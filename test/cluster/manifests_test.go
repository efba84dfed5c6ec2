package cluster

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

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
