package config

import "strings"

// JSONSchema describes the file as JSON Schema does: which keys there are, and which are mappings, lists and single values.
// It comes from the declarations that the parser reads by, and says less than the parser: whoever writes a configuration
// elsewhere, such as in the values of a chart, learns of a mistyped key there.
func JSONSchema() map[string]any {
	root := mappingSchema("")
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
	if items := schema["items"].(map[string]any); items["properties"] != nil {
		return items
	}
	schema["items"] = mappingSchema("")
	return schema["items"].(map[string]any)
}

// schema is the schema of what the row documents, before anything is known of the keys below it.
func (r row) schema() map[string]any {
	switch {
	case r.kind == "mapping":
		return mappingSchema(r.doc)
	case strings.HasPrefix(r.kind, "mapping of "): // keys of the user's
		return map[string]any{"type": "object", "description": r.doc}
	case strings.HasPrefix(r.kind, "list of "):
		return map[string]any{"type": "array", "items": single(), "description": r.doc}
	}
	schema := single()
	schema["description"] = r.kind + ". " + r.doc
	return schema
}

func mappingSchema(doc string) map[string]any {
	schema := map[string]any{"type": "object", "properties": map[string]any{}}
	if doc != "" {
		schema["description"] = doc
	}
	return schema
}

// single is any value but a list or mapping: a value is its text, quoted or not.
func single() map[string]any {
	return map[string]any{"type": []string{"string", "number", "boolean"}}
}
