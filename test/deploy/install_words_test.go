package deploy

import (
	"fmt"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/goodput-exporter/goodput-exporter/collectors/discovery/kubernetes"
)

// TestInstallLinks: what the guide, the map of deploy and the README refer to is there.
func TestInstallLinks(t *testing.T) {
	for _, file := range []string{"docs/install.md", "deploy/README.md", "README.md"} {
		text := string(read(t, path.Join(tree, file)))
		links := regexp.MustCompile(`\]\(([^)]*)\)`).FindAllStringSubmatch(text, -1)
		for _, l := range links {
			if strings.HasPrefix(l[1], "https://") {
				continue
			}
			name, anchor, _ := strings.Cut(l[1], "#")
			at := path.Join(tree, path.Dir(file), name)
			if name == "" {
				at = path.Join(tree, file)
			}
			if _, err := os.Stat(at); err != nil {
				t.Errorf("%s: %v", file, err)
			} else if anchor != "" && !slices.Contains(anchors(string(read(t, at))), anchor) {
				t.Errorf("%s: %s has no heading #%s", file, at, anchor)
			}
		}
		named := regexp.MustCompile("`((?:deploy|docs|alerts|dashboards|test)/[^` ]+)`").FindAllStringSubmatch(text, -1)
		for _, n := range named {
			if _, err := os.Stat(path.Join(tree, n[1])); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
		if len(links) < 5 {
			t.Errorf("%s: only %d links were found", file, len(links))
		}
	}
}

// anchors are what headings are linked by, as GitHub makes them.
func anchors(text string) (all []string) {
	for _, h := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		all = append(all, strings.ReplaceAll(regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-"))
	}
	return all
}

// TestInstallNames: series, alerts, keys and values that the guide names are those that there are.
func TestInstallNames(t *testing.T) {
	g := readGuide(t)
	series, keys := string(read(t, tree+"/docs/metrics.md")), string(read(t, tree+"/docs/config.md"))
	for _, name := range regexp.MustCompile("goodput_[a-z_*]+").FindAllString(g.text, -1) {
		if prefix, all := strings.CutSuffix(name, "*"); all && strings.Contains(series, "| `"+prefix) {
			continue
		}
		if !strings.Contains(series, "| `"+name+"` |") {
			t.Errorf("there is no series %s", name)
		}
	}
	for _, name := range regexp.MustCompile(`Goodput[A-Z]\w+`).FindAllString(g.text, -1) {
		if _, err := os.Stat(tree + "/docs/runbooks/" + name + ".md"); err != nil {
			t.Errorf("there is no alert %s", name)
		}
	}
	values := valuesOf(t, read(t, chart+"/values.yaml"))
	seen := 0
	for _, word := range regexp.MustCompile("`([a-zA-Z_]+(?:\\[\\])?(?:\\.[a-zA-Z_]+)*)(?:: [^`]*)?`").FindAllStringSubmatch(g.text, -1) {
		key := word[1]
		top, _, deep := strings.Cut(key, ".")
		switch _, value := values[top]; {
		case top == "config", deep && strings.Contains(keys, "| `"+top+"` |"), strings.HasSuffix(top, "[]"):
			seen++
			if key = strings.TrimPrefix(key, "config."); !strings.Contains(keys, "| `"+key+"` |") {
				t.Errorf("the configuration has no %s", key)
			}
		case value:
			seen++
			if !has(values, key) {
				t.Errorf("the chart has no value %s", key)
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d keys were found", seen)
	}
}

// has is whether there is a value, a.b.c within a and b.
func has(values map[string]any, key string) bool {
	top, rest, deep := strings.Cut(key, ".")
	v, is := values[top]
	if !is || !deep {
		return is
	}
	below, is := v.(map[string]any)
	return is && has(below, rest)
}

// TestInstallBlocks: the values are taken by the chart and what comes of them by the exporter, and the scrape configuration
// makes the job and the label that the rules look for.
func TestInstallBlocks(t *testing.T) {
	g := readGuide(t)
	if names := slices.Sorted(maps.Keys(g.blocks)); !slices.Equal(names, []string{"kustomization.yaml", "prometheus.yml", "values.yaml"}) || len(g.blocks["values.yaml"]) < 4 {
		t.Fatalf("the guide has %d blocks of values, and blocks of %v", len(g.blocks["values.yaml"]), names)
	}
	for i, block := range g.blocks["values.yaml"] {
		t.Run(fmt.Sprintf("values %d", i+1), func(t *testing.T) {
			values := valuesOf(t, []byte(block))
			if err := renders(values, release); err != nil {
				t.Error(err)
			}
		})
	}
	var prometheus struct {
		Jobs []struct {
			Name    string `json:"job_name"`
			Relabel []struct {
				Target string `json:"target_label"`
				Regex  string
			} `json:"relabel_configs"`
		} `json:"scrape_configs"`
	}
	if err := yaml.Unmarshal([]byte(g.blocks["prometheus.yml"][0]), &prometheus); err != nil {
		t.Fatal(err)
	}
	job := prometheus.Jobs[0]
	if job.Name != "goodput-exporter" || job.Relabel[0].Regex != "goodput-exporter;metrics" || job.Relabel[1].Target != "node" {
		t.Errorf("the scrape configuration %+v", job)
	}
}

// TestInstallInANamespaceOfOthers: what the guide tells to write where a namespace holds more than the exporter leaves that
// namespace out, for kubectl delete would take it along, and moves everything else there.
func TestInstallInANamespaceOfOthers(t *testing.T) {
	block := readGuide(t).blocks["kustomization.yaml"][0]
	for with, want := range map[string]int{block: 0, strings.Split(block, "patches:")[0]: 1} {
		fsys := copied(t)
		text := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [../examples/complete]\n" + with
		if err := fsys.WriteFile("/mine/kustomization.yaml", []byte(text)); err != nil {
			t.Fatal(err)
		}
		made, err := kustomized(fsys, build{expect: expect{name: "in a namespace of others"}, dir: "mine"})
		if err != nil {
			t.Fatal(err)
		}
		w, err := decoded(expect{name: "in a namespace of others"}, made)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(all[*corev1.Namespace](w)); n != want {
			t.Errorf("%d namespaces with\n%s", n, with)
		}
		for _, o := range w.objects {
			if o.GetNamespace() != "" && o.GetNamespace() != "monitoring" {
				t.Errorf("%s is in %s", o, o.GetNamespace())
			}
		}
		for _, c := range dangling(w) {
			t.Error(c)
		}
	}
}

// TestInstallTables: selectors and ports are discovery's own, nodes are chosen by the labels that the guide lists, and what
// a pod asks for is what is written.
func TestInstallTables(t *testing.T) {
	g := readGuide(t)
	var listed []string
	_, table, _ := strings.Cut(g.text, "| selector | of |")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)`").FindAllStringSubmatch(table, -1) {
		listed = append(listed, row[1])
	}
	if !slices.Equal(listed, kubernetes.DefaultSelectors) {
		t.Errorf("the guide lists the selectors %q, discovery has %q", listed, kubernetes.DefaultSelectors)
	}
	_, ports, _ := strings.Cut(g.text, "container ports that are called ")
	ports, _, _ = strings.Cut(ports, "at `/metrics`")
	for _, p := range kubernetes.DefaultPorts {
		if !strings.Contains(strings.ReplaceAll(ports, "`", ""), p) {
			t.Errorf("the guide does not name the port %s", p)
		}
	}
	w, err := (&typed{t: t}).base()
	if err != nil {
		t.Fatal(err)
	}
	pod := w.workloads()[0].template.Spec
	for _, term := range pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, e := range term.MatchExpressions {
			if !strings.Contains(g.text, e.Key) && !strings.HasPrefix(e.Key, "feature.node.kubernetes.io/") {
				t.Errorf("the guide does not name the label %s of nodes", e.Key)
			}
		}
	}
	for _, taint := range pod.Tolerations {
		if !strings.Contains(g.text, "`"+strings.TrimSuffix(taint.Key+"="+taint.Value, "=")+"`") {
			t.Errorf("the guide does not say that %s is tolerated", taint.Key)
		}
	}
	r := w.workloads()[0].container().Resources
	if says := fmt.Sprintf("asks for %s of CPU and %s of memory, and is held to %s", r.Requests.Cpu(), r.Requests.Memory(), r.Limits.Memory()); !strings.Contains(g.text, says) {
		t.Errorf("the guide does not say that a pod %s", says)
	}
	components, err := os.ReadDir(base + "/components")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range components {
		if !strings.Contains(g.text, "`"+c.Name()+"`") {
			t.Errorf("the guide does not name the component %s", c.Name())
		}
	}
}
