package cluster

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// question is one thing that an account may be allowed to do.
type question struct{ verb, group, resource, subresource, namespace string }

// TestPermissions applies the roles of every way to install, and asks the server what the exporter's account may do with them: look
// at pods, and at ResourceSlices where that was chosen, and nothing else.
func TestPermissions(t *testing.T) {
	c := newCluster(t)
	known := c.paths("rbac.authorization.k8s.io/v1")
	sets := files(t)
	for _, folder := range folders(t) {
		sets["kustomize "+folder] = kustomized(t, filepath.Join(deploy, "kustomize", folder))
	}
	for _, component := range components(t) {
		sets["kustomize base with "+component] = with(t, "base", component)
	}
	asked := 0
	for name, all := range sets {
		who := accountOf(t, all)
		if who == "" {
			continue // an engine's manifest
		}
		asked++
		t.Run(name, func(t *testing.T) {
			slices := strings.Contains(name, "dra") || strings.HasSuffix(name, "complete") || strings.HasSuffix(name, "everything")
			asks, some := looksAtPods(t, all)
			defer c.roles(known, all, who)()
			for q, want := range map[question]bool{
				{"get", "", "pods", "", "serving"}:                                asks,
				{"list", "", "pods", "", "serving"}:                               asks,
				{"watch", "", "pods", "", "serving"}:                              asks,
				{"list", "", "pods", "", ""}:                                      asks && !some,
				{"list", "", "pods", "", "private"}:                               asks && !some,
				{"watch", "resource.k8s.io", "resourceslices", "", ""}:            slices,
				{"create", "resource.k8s.io", "resourceslices", "", ""}:           false,
				{"list", "resource.k8s.io", "resourceclaims", "", "serving"}:      false,
				{"create", "", "pods", "", "serving"}:                             false,
				{"delete", "", "pods", "", "serving"}:                             false,
				{"patch", "", "pods", "status", "serving"}:                        false,
				{"get", "", "pods", "log", "serving"}:                             false,
				{"create", "", "pods", "exec", "serving"}:                         false,
				{"get", "", "secrets", "", "serving"}:                             false,
				{"get", "", "secrets", "", home}:                                  false,
				{"get", "", "configmaps", "", home}:                               false,
				{"list", "", "nodes", "", ""}:                                     false,
				{"get", "", "nodes", "proxy", ""}:                                 false,
				{"create", "", "serviceaccounts", "token", home}:                  false,
				{"escalate", "rbac.authorization.k8s.io", "clusterroles", "", ""}: false,
			} {
				until(t, soon, fmt.Sprintf("%+v by %s is %v", q, who, want), func() error { // the server's authorizer is a moment behind
					if c.may(who, q) != want {
						return errNotYet
					}
					return nil
				})
			}
		})
	}
	if asked < 10 {
		t.Errorf("%d ways to install were looked at", asked)
	}
}

// looksAtPods reports whether the configuration has the exporter follow pods, and whether only those of some namespaces, among
// which is serving.
func looksAtPods(t *testing.T, all []manifest) (asks, some bool) {
	t.Helper()
	for _, m := range all {
		var o object
		if err := yaml.Unmarshal(m.text, &o); err != nil {
			t.Fatal(err)
		}
		if m.kind != "ConfigMap" || text(o, "data", "goodput.yaml") == "" {
			continue
		}
		var cfg object
		if err := yaml.Unmarshal([]byte(text(o, "data", "goodput.yaml")), &cfg); err != nil {
			t.Fatal(err)
		}
		engines, _ := at(cfg, "engines").(object)
		_, asks = engines["kubernetes"]
		named, _ := at(engines, "kubernetes", "namespaces").([]any)
		return asks, len(named) > 0
	}
	t.Fatal("there is no configuration")
	return false, false
}

// accountOf is whom the exporter's pods run as, as the server calls it; "" where there is no such pod.
func accountOf(t *testing.T, all []manifest) string {
	t.Helper()
	for _, m := range all {
		if m.kind != "DaemonSet" && m.kind != "Deployment" {
			continue
		}
		var o object
		if err := yaml.Unmarshal(m.text, &o); err != nil {
			t.Fatal(err)
		}
		if name := text(o, "spec", "template", "spec", "serviceAccountName"); name != "" {
			return "system:serviceaccount:" + namespaceOf(m) + ":" + name
		}
	}
	return ""
}

// roles applies what gives permissions, and returns what takes them away again.
func (c *cluster) roles(known paths, all []manifest, who string) (remove func()) {
	c.t.Helper()
	var made []string
	for _, m := range all {
		if m.apiVersion != "rbac.authorization.k8s.io/v1" {
			continue
		}
		where := known[m.apiVersion+" "+m.kind]
		path := rbac
		if where.namespaced {
			if _, err := c.get("/api/v1/namespaces/" + namespaceOf(m)); err != nil {
				c.must(c.create("/api/v1/namespaces", object{"metadata": object{"name": namespaceOf(m)}}))
			}
			path += "/namespaces/" + namespaceOf(m)
		}
		c.must(c.apply(known, m, false))
		made = append(made, path+"/"+where.plural+"/"+m.name)
	}
	return func() {
		for _, path := range made {
			c.must(c.do(http.MethodDelete, path, nil, nil))
		}
		until(c.t, soon, "the server has noticed", func() error {
			for _, q := range []question{{"list", "", "pods", "", "serving"}, {"list", "", "pods", "", "gpu-operator"}, {"watch", "resource.k8s.io", "resourceslices", "", ""}} {
				if c.may(who, q) {
					return errNotYet
				}
			}
			return nil
		})
	}
}

// may asks the server whether somebody may do something.
func (c *cluster) may(who string, q question) bool {
	c.t.Helper()
	var answer object
	c.must(c.do(http.MethodPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews", object{"spec": object{
		"user": who, "groups": []any{"system:serviceaccounts", "system:authenticated"},
		"resourceAttributes": object{"verb": q.verb, "group": q.group, "resource": q.resource, "subresource": q.subresource, "namespace": q.namespace},
	}}, &answer))
	allowed, _ := at(answer, "status", "allowed").(bool)
	return allowed
}

// TestPodSecurity: the namespaces of deploy/ let in the pods that are meant for them, as the server itself judges pods.
func TestPodSecurity(t *testing.T) {
	for name, all := range map[string][]manifest{
		"base":             with(t, "base"),
		"base with podres": with(t, "base", "podres"),
		"central":          with(t, "central"),
		"complete":         with(t, "examples/complete"),
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.install(all, "", "Namespace", "ServiceAccount")
			known := c.paths("v1", "scheduling.k8s.io/v1")
			for _, m := range all {
				if m.kind == "PriorityClass" {
					c.must(c.apply(known, m, false))
				}
			}
			pods := 0
			for _, m := range all {
				if m.kind != "DaemonSet" && m.kind != "Deployment" {
					continue
				}
				pods++
				var o object
				if err := yaml.Unmarshal(m.text, &o); err != nil {
					t.Fatal(err)
				}
				spec, _ := at(o, "spec", "template", "spec").(object)
				if err := c.create("/api/v1/namespaces/"+home+"/pods?dryRun=All", object{"metadata": object{"name": "try"}, "spec": spec}); err != nil {
					t.Errorf("%v: %v", m, err)
				}
				spec["hostNetwork"], spec["hostPID"] = true, true
				err := c.create("/api/v1/namespaces/"+home+"/pods?dryRun=All", object{"metadata": object{"name": "try"}, "spec": spec})
				if restricted := !strings.Contains(name, "podres") && name != "complete"; (err == nil) == restricted {
					t.Errorf("%v: a pod in the node's own namespaces: %v", m, err)
				}
			}
			if pods == 0 {
				t.Error("there is no pod")
			}
		})
	}
}
