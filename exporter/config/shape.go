package config

import "strings"

// A shape is what JSON Schema can say of one value. It takes each value of JSON whose text the parser takes: keywords about
// numbers say nothing of strings, and patterns nothing of numbers, so that a number may be quoted or not.

// describe is the shape of a value of this kind, anew with each call.
func (c codec[V]) describe() map[string]any {
	if c.shape == nil {
		return anyShape()
	}
	return c.shape()
}

// anyShape takes any value but a list or mapping: a value is its text, quoted or not.
func anyShape() map[string]any {
	return map[string]any{"type": []string{"string", "number", "boolean"}}
}

// mappingShape takes mappings, of whose keys the rows below it tell.
func mappingShape() map[string]any {
	return map[string]any{"type": "object", "properties": map[string]any{}}
}

// atLeastOf adds how many items or keys there must be.
func atLeastOf(keyword string, n int, shape map[string]any) map[string]any {
	if n > 0 {
		shape[keyword] = n
	}
	return shape
}

// textShape takes text that JSON has no other type for.
func textShape(pattern string) map[string]any {
	return map[string]any{"type": "string", "pattern": pattern}
}

// numberShape takes numbers of one type within limits, which are pairs of a keyword and a number; a quoted one by its pattern alone.
func numberShape(kind, pattern string, limits ...any) map[string]any {
	shape := map[string]any{"type": []string{kind, "string"}, "pattern": pattern}
	for i := 0; i+1 < len(limits); i += 2 {
		shape[limits[i].(string)] = limits[i+1]
	}
	return shape
}

// enumShape takes a few words; true and false need no quotes.
func enumShape(words []string) map[string]any {
	var all []any
	for _, w := range words {
		all = append(all, w)
		if w == "true" || w == "false" {
			all = append(all, w == "true")
		}
	}
	return map[string]any{"enum": all}
}

// durationShape takes numbers with units, each at most once and in their order. Only 0 goes without one.
func durationShape(zero bool) map[string]any {
	var pattern strings.Builder
	for unit := range strings.FieldsSeq(durationUnits) {
		pattern.WriteString("([0-9]+" + unit + ")?")
	}
	shape := textShape("^(" + pattern.String() + "|0)$")
	shape["minLength"] = 1
	if zero {
		shape["type"] = []string{"string", "integer"}
		shape["minimum"], shape["maximum"] = 0, 0
	}
	return shape
}
