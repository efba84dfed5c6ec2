package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// keysOf lists a schema's keys as docs/config.md writes them.
func keysOf(path string, schema map[string]any) (keys []string) {
	properties, _ := schema["properties"].(map[string]any)
	for name, p := range properties {
		key := strings.TrimPrefix(path+"."+name, ".")
		keys = append(keys, key)
		property := p.(map[string]any)
		keys = append(keys, keysOf(key, property)...)
		if items, isList := property["items"].(map[string]any); isList {
			keys = append(keys, keysOf(key+"[]", items)...)
		}
	}
	return keys
}

// TestJSONSchemaHasEveryKey holds the schema against the table of keys.
func TestJSONSchemaHasEveryKey(t *testing.T) {
	var want []string
	for _, r := range schema().rows("", Default()) {
		want = append(want, r.path)
	}
	got := keysOf("", JSONSchema())
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, slices.Compact(want)) {
		t.Errorf("keys are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestJSONSchemaRefusesMistakes(t *testing.T) {
	schema := asJSON(t, JSONSchema())
	const one = "slos: [{name: a, clauses: {ttft: 1s}, objective: 0.9}]"
	for name, c := range map[string]struct{ yaml, want string }{
		"the reference configuration":    {string(reference), ""},
		"an empty mapping":               {one + "\nengines: {kubernetes: {}}", ""},
		"a key of the top":               {"slo: [{name: a}]", "slo is not known, slos is missing"},
		"a key far below":                {one + "\nengines: {access: {tls_config: {ca: x}}}", "engines.access.tls_config.ca is not known"},
		"a key in a list":                {"slos: [{name: a, clauses: {ttft: 1s}, objectiv: 0.9}]", "slos[].objectiv is not known, slos[].objective is missing"},
		"a value where a mapping is":     {one + "\nspans: 4318", "spans is a number"},
		"a mapping where a value is":     {one + "\npoll: {interval: {s: 2}}", "poll.interval is a mapping"},
		"a value where a list is":        {one + "\nengines: {files: a.yaml}", "engines.files is a single value"},
		"keys of the user's own":         {one + "\ngpu: {engines: {a: [GPU-1]}}\ngrid: {ttft: [0.1]}", ""},
		"a mapping in a list of values":  {one + "\nengines: {kubernetes: {ports: [{name: http}]}}", "engines.kubernetes.ports[] is a mapping"},
		"a source that is none":          {one + "\ngpu: {source: dgcm}", "gpu.source is none of [auto dcgm-exporter dcgm none]"},
		"a switch that is none":          {one + "\ngpu: {pod_resources: {enabled: yes please}}", "gpu.pod_resources.enabled is none of [auto true true false false]"},
		"a switch with no quotes":        {one + "\ngpu: {pod_resources: {enabled: true}, dcgm: {profiling: off}}", ""},
		"a switch that YAML turned":      {one + "\ngpu: {dcgm: {profiling: false}}", "gpu.dcgm.profiling is none of [auto on off]"},
		"another scope and scheme":       {one + "\nengines: {kubernetes: {scope: nodes, scheme: htp}}", "engines.kubernetes.scheme is none of [http https], engines.kubernetes.scope is none of [node cluster]"},
		"a percentage":                   {"slos: [{name: a, clauses: {ttft: 1s}, objective: 95}]", "slos[].objective is not below 1"},
		"a percentage in quotes":         {"slos: [{name: a, clauses: {ttft: 1s}, objective: '9.5'}]", "slos[].objective does not match"},
		"a promise of all":               {"slos: [{name: a, clauses: {ttft: 1s}, objective: 1}]", "slos[].objective is not below 1"},
		"a port that is too large":       {one + "\nengines: {kubernetes: {ports: [70000, http]}}\ngpu: {kubernetes: {port: 94000}}", "engines.kubernetes.ports[] is above 65535, gpu.kubernetes.port is above 65535"},
		"a port in words":                {one + "\ngpu: {kubernetes: {port: http}}", "gpu.kubernetes.port does not match"},
		"half a port":                    {one + "\ngpu: {kubernetes: {port: 94.5}}", "gpu.kubernetes.port is a number"},
		"a metric that is none":          {"slos: [{name: a, clauses: {tfft: 1s}, objective: 0.9}]", "slos[].clauses.tfft is not known"},
		"a threshold without a unit":     {"slos: [{name: a, clauses: {ttft: 250}, objective: 0.9}]", "slos[].clauses.ttft is a number"},
		"a threshold out of order":       {"slos: [{name: a, clauses: {ttft: 5ms1s}, objective: 0.9}]", "slos[].clauses.ttft does not match"},
		"an empty duration":              {one + "\npoll: {interval: ''}", "poll.interval is too short"},
		"no time at all, without a unit": {one + "\nspans: {grace: 0}", ""},
		"time without a unit":            {one + "\nspans: {grace: 10}", "spans.grace is above 0"},
		"a size of another notation":     {one + "\npoll: {max_body: 16Mi}", "poll.max_body does not match"},
		"no objective":                   {"slos: []", "slos has too few"},
		"no clause":                      {"slos: [{name: a, clauses: {}, objective: 0.9}]", "slos[].clauses has too few"},
		"a negative edge":                {one + "\ngrid: {ttft: [-1, 2]}", "grid.ttft[] is not above 0"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(refuses("", schema, asJSON(t, decoded(t, c.yaml))), ", "); got != c.want {
				t.Errorf("says %q, want %q", got, c.want)
			}
		})
	}
}

// TestJSONSchemaTakesWhatTheParserTakes: a configuration that is good is good as values of a chart too.
func TestJSONSchemaTakesWhatTheParserTakes(t *testing.T) {
	files, err := filepath.Glob("testdata/good/*.yaml")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	schema := asJSON(t, JSONSchema())
	for _, file := range append(files, "reference.yaml") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if wrong := refuses("", schema, asJSON(t, decoded(t, string(text)))); wrong != nil {
			t.Errorf("%s: %s", file, strings.Join(wrong, ", "))
		}
	}
}
