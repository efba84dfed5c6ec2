package deploy

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// TestTypos gives the chart values with mistakes. Each is refused, and what is said names the key that is wrong.
func TestTypos(t *testing.T) {
	for name, c := range map[string]struct{ values, says string }{
		"a value that is not there":                {"{podMonitors: {enabled: true}}", "'podMonitors'"},
		"a value one level down":                   {"{podMonitor: {enable: true}}", "'enable'"},
		"a value two levels down":                  {"{networkPolicy: {egress: {port: []}}}", "'port'"},
		"a key of the configuration":               {"{config: {slo: []}}", "'slo'"},
		"a key deep in the configuration":          {"{config: {engines: {kubernetes: {selector: [app=vllm]}}}}", "'selector'"},
		"a key of an objective":                    {"{config: {slos: [{name: a, clauses: {ttft: 1s}, objectives: 0.9}]}}", "'objectives'"},
		"a source that is none":                    {"{config: {gpu: {source: dgcm}}}", "/config/gpu/source"},
		"a switch of the configuration":            {"{config: {gpu: {pod_resources: {enabled: never}}}}", "/config/gpu/pod_resources/enabled"},
		"no objective":                             {"{config: {slos: []}}", "/config/slos"},
		"an objective in percent":                  {"{config: {slos: [{name: a, clauses: {ttft: 1s}, objective: 95}]}}", "/config/slos/0/objective"},
		"a pod's port that is too large":           {"{config: {engines: {kubernetes: {ports: [70000]}}}}", "/config/engines/kubernetes/ports/0"},
		"a page's port that is too large":          {"{config: {gpu: {kubernetes: {port: 94000}}}}", "/config/gpu/kubernetes/port"},
		"a metric that is none":                    {"{config: {slos: [{name: a, clauses: {tfft: 1s}, objective: 0.9}]}}", "'tfft'"},
		"a threshold without a unit":               {"{config: {slos: [{name: a, clauses: {ttft: 500}, objective: 0.9}]}}", "/config/slos/0/clauses/ttft"},
		"a size of Kubernetes":                     {"{config: {poll: {max_body: 16Mi}}}", "/config/poll/max_body"},
		"text for a switch":                        {"{podMonitor: {enabled: \"yes\"}}", "/podMonitor/enabled"},
		"a mapping for a list":                     {"{extraTolerations: {key: a}}", "/extraTolerations"},
		"another mode":                             {"{mode: nodes}", "/mode"},
		"a level of the log that is none":          {"{log: {level: verbose}}", "/log/level"},
		"a toleration with a typo":                 {"{extraTolerations: [{key: a, operation: Exists}]}", "'operation'"},
		"a policy of pulling that is none":         {"{image: {pullPolicy: Sometimes}}", "/image/pullPolicy"},
		"a name for the chart, which is its own":   {"{nameOverride: goodput}", "'nameOverride'"},
		"Secrets by their content":                 {"{secrets: [{token: abc}]}", "/secrets/0"},
		"a limit on memory that is a list":         {"{resources: {limits: {memory: [256Mi]}}}", "/resources/limits/memory"},
		"a label that is no text":                  {"{podLabels: {a: {b: c}}}", "/podLabels/a"},
		"a strategy of another kind of workload":   {"{updateStrategy: {type: Recreate}}", "/updateStrategy/type"},
		"a number of seconds that is none":         {"{terminationGracePeriodSeconds: soon}", "/terminationGracePeriodSeconds"},
		"a tag that is a number, as YAML reads it": {"{image: {tag: 1.2}}", "/image/tag"},
	} {
		t.Run(name, func(t *testing.T) {
			values := valuesOf(t, []byte(c.values))
			if _, err := rendered(values, release); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("says %v, want something about %s", err, c.says)
			}
		})
	}
}

// TestSchemaTakesGoodConfigurations: what the exporter reads, the chart's schema takes, in the words of Helm's own validator.
func TestSchemaTakesGoodConfigurations(t *testing.T) {
	c, err := loader.LoadDir(chart)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(tree + "/exporter/config/testdata/good/*.yaml")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range append(files, tree+"/exporter/config/reference.yaml") {
		// Helm makes true and false of on and off before anybody sees them, and the exporter would refuse these.
		text := regexp.MustCompile(`profiling: (on|off)\b`).ReplaceAll(read(t, file), []byte(`profiling: "$1"`))
		config := valuesOf(t, text)
		if err := chartutil.ValidateAgainstSchema(c, chartutil.Values{"config": config.AsMap()}); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestSchemaKnowsEveryValue: what values.yaml has by default is in the schema, with a type that the default has; a value that
// was forgotten there could not be set by anybody.
func TestSchemaKnowsEveryValue(t *testing.T) {
	var schema struct {
		AdditionalProperties bool
		Properties           map[string]any
	}
	if err := yaml.Unmarshal(read(t, chart+"/values.schema.json"), &schema); err != nil {
		t.Fatal(err)
	}
	values := valuesOf(t, read(t, chart+"/values.yaml"))
	delete(schema.Properties, "global") // Helm's own, for a chart that has this one inside
	there, known := slices.Sorted(maps.Keys(values)), slices.Sorted(maps.Keys(schema.Properties))
	if !slices.Equal(there, known) || schema.AdditionalProperties || len(there) < 30 {
		t.Errorf("values.yaml has %v\nthe schema has %v", there, known)
	}
}

// TestNotes: whoever sees no pod or no engine is told where to look (DEP-01).
func TestNotes(t *testing.T) {
	for name, c := range map[string]struct {
		values string
		says   []string
		never  []string
	}{
		"by default": {"{}", []string{
			"DESIRED is 0", "nvidia.com/gpu.present", "goodput-exporter/node=true", "extraTolerations", "TAINTS",
			"0 engines", "goodput-exporter/engine=true", "kubectl get pods -A -l", "port-forward daemonset/goodput-exporter 9810", "ErrImagePull", "podMonitor.enabled=true"}, nil},
		"in a central installation": {"{mode: central}", []string{"0 engines", "deployment/goodput-exporter"}, []string{"DESIRED"}},
		"with selectors of one's own": {"{config: {engines: {kubernetes: {selectors: [tier=llm]}}}}",
			[]string{"tier=llm", "config.engines.kubernetes.selectors"}, []string{"model.aibrix.ai/name"}},
		"where only some namespaces are looked at": {"{config: {engines: {kubernetes: {namespaces: [serving]}}, gpu: {source: none}}}", []string{"serving"}, nil},
		"with an image that has a place":           {"{image: {repository: registry.example/goodput-exporter}}", nil, []string{"ErrImagePull"}},
		"with a monitor":                           {"{podMonitor: {enabled: true}}", []string{"podMonitorSelector"}, []string{"Not yet"}},
		"with rules for other objectives":          {"{prometheusRule: {enabled: true}, podMonitor: {enabled: true}, config: {slos: [{name: a, clauses: {ttft: 1s}, objective: 0.9}]}}", []string{"WARNING", "generate rules"}, nil},
		"with rules and no monitor":                {"{prometheusRule: {enabled: true}}", []string{"WARNING", "job goodput-exporter"}, nil},
		"with spans":                               {`{config: {spans: {listen: ":4318"}}}`, []string{"goodput-exporter-otlp.goodput-system.svc", "engine-flags"}, []string{"4317"}},
	} {
		t.Run(name, func(t *testing.T) {
			files := renderedWith(t, c.values)
			notes := files["goodput-exporter/templates/NOTES.txt"]
			for _, want := range c.says {
				if !strings.Contains(notes, want) {
					t.Errorf("%q is not said in\n%s", want, notes)
				}
			}
			for _, never := range c.never {
				if strings.Contains(notes, never) {
					t.Errorf("%q is said in\n%s", never, notes)
				}
			}
		})
	}
}

// TestReleasesOfAnyNameRender: names are cut where Kubernetes has no room for them, and stay names.
func TestReleasesOfAnyNameRender(t *testing.T) {
	values := setOfValues(t, "everything")
	delete(values, "fullnameOverride")
	values["podLabels"] = map[string]any{}
	for _, name := range []string{"a", "goodput", "goodput.east", "goodput-exporter-east", strings.Repeat("a", 53), strings.Repeat("a", 40) + "-goodput-exporter"[:13]} {
		files, err := rendered(values, name)
		if err != nil {
			t.Fatal(err)
		}
		w, err := decoded(expect{name: name, instance: name, given: []string{"Secret/goodput-system/engine-token"}}, stream(files))
		if err != nil {
			t.Fatal(err)
		}
		for _, find := range []func(*world) complain{misnamed, mislabelled, dangling, selectsNothing, unknownPorts, wrongJob} {
			for _, c := range find(w) {
				t.Errorf("%s: %s", name, c)
			}
		}
		for _, s := range all[*corev1.Service](w) {
			if notes := files["goodput-exporter/templates/NOTES.txt"]; !strings.Contains(notes, " "+s.Name+"."+s.Namespace+".svc,") {
				t.Errorf("%s: the notes send spans elsewhere than to %s", name, s.Name)
			}
		}
	}
}
