package config

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
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

// refuses says what a schema has against a value: the subset of JSON Schema that JSONSchema uses.
func refuses(path string, schema map[string]any, value any) (complaints []string) {
	switch v := value.(type) {
	case map[string]any:
		if schema["type"] != "object" {
			return []string{path + " is a mapping"}
		}
		properties, _ := schema["properties"].(map[string]any)
		for name, below := range v {
			key := strings.TrimPrefix(path+"."+name, ".")
			if p, known := properties[name].(map[string]any); known {
				complaints = append(complaints, refuses(key, p, below)...)
			} else if schema["additionalProperties"] == false {
				complaints = append(complaints, key+" is not known")
			}
		}
		required, _ := schema["required"].([]any)
		for _, name := range required {
			if v[name.(string)] == nil {
				complaints = append(complaints, strings.TrimPrefix(path+"."+name.(string), ".")+" is missing")
			}
		}
	case []any:
		if schema["type"] != "array" {
			return []string{path + " is a list"}
		}
		for _, item := range v {
			complaints = append(complaints, refuses(path+"[]", schema["items"].(map[string]any), item)...)
		}
	default:
		if types, several := schema["type"].([]any); !several || len(types) != 3 {
			return []string{path + " is a single value"}
		}
	}
	slices.Sort(complaints)
	return complaints
}

func TestJSONSchemaRefusesTypos(t *testing.T) {
	text, err := json.Marshal(JSONSchema())
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ yaml, want string }{
		"the reference configuration":   {string(reference), ""},
		"an empty mapping":              {"slos: [{name: a, clauses: {ttft: 1s}, objective: 0.9}]\nengines: {kubernetes: {}}", ""},
		"a key of the top":              {"slo: [{name: a}]", "slo is not known, slos is missing"},
		"a key far below":               {"slos: []\nengines: {access: {tls_config: {ca: x}}}", "engines.access.tls_config.ca is not known"},
		"a key in a list":               {"slos: [{name: a, clauses: {ttft: 1s}, objectiv: 0.9}]", "slos[].objectiv is not known, slos[].objective is missing"},
		"a value where a mapping is":    {"slos: []\nspans: 4318", "spans is a single value"},
		"a mapping where a value is":    {"slos: []\npoll: {interval: {s: 2}}", "poll.interval is a mapping"},
		"a value where a list is":       {"slos: []\nengines: {files: a.yaml}", "engines.files is a single value"},
		"keys of the user's own":        {"slos: []\ngpu: {engines: {a: [GPU-1]}}\ngrid: {ttft: [0.1]}", ""},
		"a mapping in a list of values": {"slos: []\nengines: {kubernetes: {ports: [{name: http}]}}", "engines.kubernetes.ports[] is a mapping"},
	} {
		t.Run(name, func(t *testing.T) {
			var value map[string]any
			if err := yaml.Unmarshal([]byte(c.yaml), &value); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(refuses("", schema, value), ", "); got != c.want {
				t.Errorf("says %q, want %q", got, c.want)
			}
		})
	}
}
