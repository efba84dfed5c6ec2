package deploy

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	helm "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"

	"github.com/goodput-exporter/goodput-exporter/internal/golden"
)

// The release of all renders. Its name holds the chart's, so that objects are called as kustomize calls them.
const (
	release          = "goodput-exporter"
	releaseNamespace = "goodput-system"
)

// charts are the sets of values in testdata/helm, by the names of their files, and what is expected of each.
// TestEverySetOfValuesIsRendered sees that none is forgotten.
var charts = []expect{
	{name: "default"},
	{name: "annotations"},
	{name: "central"},
	{name: "dcgm", hostPaths: []string{"/opt/dcgm/lib"}},
	{name: "dcgm-embedded", hostPaths: []string{"/opt/dcgm/lib"}},
	{name: "dra", root: true, slices: true, hostPaths: []string{podResources}},
	{name: "everything", root: true, slices: true, hostPaths: []string{"/var/data/kubelet/pod-resources", "/etc/goodput-targets"},
		given: []string{"Secret/goodput-system/engine-token"}, tolerated: "dedicated=inference", behind: true},
	{name: "https", given: []string{"Secret/goodput-system/web"}},
	{name: "monitoring"},
	{name: "namespaces", given: []string{"Secret/goodput-system/engine-token"}},
	{name: "networkpolicy"},
	{name: "otlp"},
	{name: "podres", root: true, hostPaths: []string{podResources}},
}

// rendered is what helm template prints, file by file, with NOTES.txt among them.
func rendered(values map[string]any, name string) (map[string]string, error) {
	c, err := loader.LoadDir(chart)
	if err != nil {
		return nil, err
	}
	return renderedBy(c, values, name)
}

func renderedBy(c *helm.Chart, values map[string]any, name string) (map[string]string, error) {
	options := chartutil.ReleaseOptions{Name: name, Namespace: releaseNamespace, Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(c, values, options, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(c, all)
}

// valuesOf reads values.
func valuesOf(t testing.TB, text []byte) chartutil.Values {
	t.Helper()
	values, err := chartutil.ReadValues(text)
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// renderedWith renders the chart with the values of a text.
func renderedWith(t testing.TB, text string) map[string]string {
	t.Helper()
	files, err := rendered(valuesOf(t, []byte(text)), release)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// stream is all objects of a render, in the order of their files.
func stream(files map[string]string) []byte {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Ext(name) == ".yaml" && says([]byte(files[name])) {
			fmt.Fprintf(&b, "---\n# Source: %s\n%s\n", name, strings.TrimSpace(files[name]))
		}
	}
	return []byte(b.String())
}

// setOfValues reads testdata/helm/NAME.values.yaml.
func setOfValues(t testing.TB, name string) map[string]any {
	t.Helper()
	return valuesOf(t, read(t, "testdata/helm/"+name+".values.yaml"))
}

func TestEverySetOfValuesIsRendered(t *testing.T) {
	files, err := filepath.Glob("testdata/helm/*.values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var there, tried []string
	for _, f := range files {
		there = append(there, strings.TrimSuffix(filepath.Base(f), ".values.yaml"))
	}
	for _, e := range charts {
		tried = append(tried, e.name)
	}
	slices.Sort(there)
	slices.Sort(tried)
	if !slices.Equal(there, tried) {
		t.Errorf("sets of values %v, tried are %v", there, tried)
	}
}

// TestRenders compares all renders with what was seen and found good. Boards and rules are left out: TestChartHoldsTheBoards
// and TestChartHoldsTheRules compare these with what they are copies of.
func TestRenders(t *testing.T) {
	for _, e := range charts {
		t.Run(e.name, func(t *testing.T) {
			files, err := rendered(setOfValues(t, e.name), release)
			if err != nil {
				t.Fatal(err)
			}
			const templates = "goodput-exporter/templates/"
			notes := files[templates+"NOTES.txt"]
			for _, long := range []string{"dashboards.yaml", "prometheusrule.yaml"} {
				if says([]byte(files[templates+long])) {
					files[templates+long] = "# Left out of this file.\nkind: of " + long
				}
			}
			golden.Compare(t, "testdata/helm/"+e.name+".golden.yaml", stream(files))
			golden.Compare(t, "testdata/helm/"+e.name+".notes.golden.txt", []byte(notes))
		})
	}
}

// TestLint is helm lint --strict, for each set of values.
func TestLint(t *testing.T) {
	for _, e := range charts {
		for _, m := range lint.All(chart, setOfValues(t, e.name), releaseNamespace, true).Messages {
			// The chart has no icon: nothing is published, and so nothing shows one.
			if m.Severity > support.InfoSev || !strings.Contains(m.Err.Error(), "icon is recommended") {
				t.Errorf("%s: %v", e.name, m)
			}
		}
	}
}
