package config

import "strings"

// JSONSchema describes the file as JSON Schema does: which keys there are, and which are mappings, lists and single values.
// It also knows the words that a value may be, the range of a number, and how durations and sizes are written. It comes from the
// declarations that the parser reads by and never refuses what the parser takes; whoever writes a configuration elsewhere, such
// as in the values of a chart, learns of most mistakes there. What the parser alone knows: how keys go together, how long
// a duration may be, and the syntax of URLs, patterns and selectors.
func JSONSchema() map[string]any {
	root := mappingShape()
	for _, r := range schema().rows("", Default()) {
		within, name := root, r.path
		for step, rest, deeper := strings.Cut(name, "."); deeper; step, rest, deeper = strings.Cut(rest, ".") {
			within, name = below(within, step), rest
		}
		within["additionalProperties"] = false // not where the keys are said to be those of another mapping
		properties := within["properties"].(map[string]any)
		if properties[name] == nil {
			properties[name] = r.schema()
		}
		if r.required {
			required, _ := within["required"].([]string)
			within["required"] = append(required, name)
		}
	}
	return root
}

// below is the schema of a mapping's key, which has keys of its own; "[]" behind the name is about each item of a list.
func below(within map[string]any, step string) map[string]any {
	name, isList := strings.CutSuffix(step, "[]")
	schema := within["properties"].(map[string]any)[name].(map[string]any)
	if !isList {
		return schema
	}
	return schema["items"].(map[string]any)
}

// schema is the schema of what the row documents, before anything is known of the keys below it.
func (r row) schema() map[string]any {
	r.shape["description"] = r.doc
	if r.shape["type"] != "object" && r.shape["type"] != "array" {
		r.shape["description"] = r.kind + ". " + r.doc
	}
	return r.shape
}
