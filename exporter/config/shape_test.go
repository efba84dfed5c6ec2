package config

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// asJSON is a value as who reads it from JSON has it.
func asJSON(t *testing.T, v any) map[string]any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func decoded(t *testing.T, text string) (value map[string]any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// refuses says what a schema has against a value: the subset of JSON Schema that JSONSchema uses. An unknown keyword panics.
func refuses(path string, schema map[string]any, value any) (wrong []string) {
	kind, count := kindOfJSON(value)
	for keyword, limit := range schema {
		if says := against(keyword, limit, kind, value, count); says != "" {
			wrong = append(wrong, path+says)
		}
	}
	if wrong == nil {
		wrong = refusesBelow(path, schema, value)
	}
	slices.Sort(wrong)
	return wrong
}

// kindOfJSON is the type of a value, and how long it is.
func kindOfJSON(value any) (kind string, count int) {
	switch v := value.(type) {
	case map[string]any:
		return "object", len(v)
	case []any:
		return "array", len(v)
	case string:
		return "string", len(v)
	case float64:
		return "number", 0
	}
	return "boolean", 0
}

// against says what one keyword has against a value.
func against(keyword string, limit any, kind string, value any, count int) string {
	number, isNumber := value.(float64)
	text, isText := value.(string)
	when := func(refused bool, says string) string {
		if refused {
			return says
		}
		return ""
	}
	switch keyword {
	case "description", "properties", "additionalProperties", "patternProperties", "items", "required":
		return "" // see refusesBelow
	case "type":
		kinds := fmt.Sprint(limit)
		ok := strings.Contains(kinds, kind) || isNumber && strings.Contains(kinds, "integer") && number == float64(int64(number))
		return when(!ok, " is a "+map[string]string{"object": "mapping", "array": "list", "number": "number"}[kind]+map[bool]string{true: "single value"}[isText || kind == "boolean"])
	case "enum":
		return when(!slices.Contains(limit.([]any), value), fmt.Sprint(" is none of ", limit))
	case "pattern":
		return when(isText && !regexp.MustCompile(limit.(string)).MatchString(text), " does not match")
	case "minLength":
		return when(isText && count < int(limit.(float64)), " is too short")
	case "minimum":
		return when(isNumber && number < limit.(float64), fmt.Sprint(" is below ", limit))
	case "maximum":
		return when(isNumber && number > limit.(float64), fmt.Sprint(" is above ", limit))
	case "exclusiveMinimum":
		return when(isNumber && number <= limit.(float64), fmt.Sprint(" is not above ", limit))
	case "exclusiveMaximum":
		return when(isNumber && number >= limit.(float64), fmt.Sprint(" is not below ", limit))
	case "minItems":
		return when(kind == "array" && count < int(limit.(float64)), " has too few")
	case "maxItems":
		return when(kind == "array" && count > int(limit.(float64)), " has too many")
	case "minProperties":
		return when(kind == "object" && count < int(limit.(float64)), " has too few")
	}
	panic("no meaning is known for the keyword " + keyword)
}

// refusesBelow says what a schema has against the keys and items of a value.
func refusesBelow(path string, schema map[string]any, value any) (wrong []string) {
	switch v := value.(type) {
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		patterns, _ := schema["patternProperties"].(map[string]any)
		others, _ := schema["additionalProperties"].(map[string]any)
		for name, below := range v {
			key := strings.TrimPrefix(path+"."+name, ".")
			p, known := properties[name].(map[string]any)
			for pattern, shape := range patterns {
				if regexp.MustCompile(pattern).MatchString(name) {
					p, known = shape.(map[string]any), true
				}
			}
			switch {
			case known:
				wrong = append(wrong, refuses(key, p, below)...)
			case others != nil:
				wrong = append(wrong, refuses(key, others, below)...)
			case schema["additionalProperties"] == false:
				wrong = append(wrong, key+" is not known")
			}
		}
		required, _ := schema["required"].([]any)
		for _, name := range required {
			if v[name.(string)] == nil {
				wrong = append(wrong, strings.TrimPrefix(path+"."+name.(string), ".")+" is missing")
			}
		}
	case []any:
		for _, item := range v {
			wrong = append(wrong, refuses(path+"[]", schema["items"].(map[string]any), item)...)
		}
	}
	return wrong
}

// FuzzShape: a shape takes each value that the parser takes, quoted or as YAML reads it without.
func FuzzShape(f *testing.F) {
	for _, s := range []string{
		"auto", "true", "off", "0", "0.95", ".5", "+.5", "9.5e-1", "00.5", "1e-1", "1.e-2", "7", "007", "65535", "8000-8007", "http", "250ms", "1h30m", "30d",
		"1y2w3d4h5m6s7ms", "16MiB", "64KiB", "1000", "null", "~", "[1]", "-1", "1_0", "0x10", "2s", "no", "1.0", "\n", "2001-01-01",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		takes(t, share(), text)
		takes(t, number(), text)
		takes(t, whole(100, 65535), text)
		takes(t, duration("s", time.Second, time.Hour), text)
		takes(t, duration("s", 0, time.Hour), text)
		takes(t, size(64<<10, 1<<30), text)
		takes(t, boolean(), text)
		takes(t, oneOf(EnabledAuto, EnabledYes, EnabledNo), text)
		takes(t, oneOf(ProfilingAuto, ProfilingOn, ProfilingOff), text)
		takes(t, podPort(), text)
		takes(t, list(podPort(), 1, 2, func() string { return "" }), text)
		takes(t, mapping(clauseNames(), duration("ms", time.Millisecond, time.Hour), 1), text)
	})
}

// takes holds a shape against the parser, which is given the value as it is written again, as a chart does.
func takes[V any](t *testing.T, c codec[V], text string) {
	t.Helper()
	values := []any{text}
	var plain any
	if yaml.Unmarshal([]byte(text), &plain) == nil {
		values = append(values, plain)
	}
	for _, value := range values {
		var v V
		again, err := json.Marshal(value)
		if err != nil {
			continue // keys that are no text
		}
		var node yaml.Node
		if yaml.Unmarshal(again, &node) != nil || len(node.Content) == 0 || !c.read(newReader("f"), place{node: node.Content[0], line: 1}, &v) {
			continue
		}
		wrapped := asJSON(t, map[string]any{"v": value})
		if wrong := refuses("v", asJSON(t, c.describe()), wrapped["v"]); wrong != nil {
			t.Errorf("%s takes %s, and its shape does not: %v", c.kind, again, wrong)
		}
	}
}
