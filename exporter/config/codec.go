package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// codec is one kind of value: how it is read, written back and explained. It is what keys are declared with, so that
// the reader, the effective configuration and the document cannot disagree.
type codec[V any] struct {
	kind  string                               // for people: "duration from 1s to 1h"
	read  func(r *reader, at place, v *V) bool // notes its mistakes; false when there is one, and v is then not for use
	write func(w writer, v V) *yaml.Node       // nil: nothing to say
	rows  func(path string, preset V) []row    // what is documented below this value; nil: nothing
	shape func() map[string]any                // what JSON Schema can say of it, see shape.go; nil: any single value
}

// writer says how values are written.
type writer struct {
	explain bool // the meaning of each key stands above it as a comment
}

// key is one declared key of a mapping that is read into a T.
type key[T any] struct {
	name, doc string
	example   string // set for keys that a file must give: what to write
	read      func(r *reader, at place, t *T) bool
	write     func(w writer, t *T) *yaml.Node
	rows      func(path string, preset *T) []row
}

// bind declares a key: its name, what its value is, where the value goes and what it means.
func bind[T, V any](name string, c codec[V], field func(*T) *V, doc string) key[T] {
	return key[T]{
		name: name, doc: doc,
		read:  func(r *reader, at place, t *T) bool { return c.read(r, at, field(t)) },
		write: func(w writer, t *T) *yaml.Node { return c.write(w, *field(t)) },
		rows: func(path string, preset *T) []row {
			rows := []row{{path: path, kind: c.kind, preset: inline(c.write(writer{}, *field(preset))), doc: doc, shape: c.describe()}}
			if c.rows != nil {
				rows[0].preset = "" // stands at the keys below
				rows = append(rows, c.rows(path, *field(preset))...)
			}
			return rows
		},
	}
}

// must makes a key one that a file has to give.
func (k key[T]) must(example string) key[T] {
	k.example = example
	return k
}

// object is a mapping with declared keys. Keys that are not given keep the value that is there. settle runs last: it
// fills in what depends on other keys and notes keys that cannot stand together.
func object[T any](kind string, settle func(r *reader, path string, t *T), keys ...key[T]) codec[T] {
	o := keyset[T]{kind, settle, keys}
	return codec[T]{kind: kind, read: o.read, write: o.write, rows: o.rows, shape: mappingShape}
}

type keyset[T any] struct {
	kind   string
	settle func(r *reader, path string, t *T)
	keys   []key[T]
}

func (o keyset[T]) named(name string) (key[T], bool) {
	i := slices.IndexFunc(o.keys, func(k key[T]) bool { return k.name == name })
	if i < 0 {
		return key[T]{}, false
	}
	return o.keys[i], true
}

func (o keyset[T]) read(r *reader, at place, t *T) bool {
	entries, ok := r.entries(at, "a mapping with keys")
	if !ok && entries == nil {
		return false
	}
	given := map[string]bool{}
	for _, e := range entries {
		k, known := o.named(e.name)
		if !known {
			ok = r.unknown(e, "key", o.names())
			continue
		}
		given[k.name] = true
		ok = k.read(r, e.place, t) && ok
	}
	for _, k := range o.keys {
		if k.example != "" && !given[k.name] {
			ok = r.add(at.line, join(at.path, k.name), "is missing", "add for example "+k.example)
		}
	}
	before := r.count
	if o.settle != nil {
		o.settle(r, at.path, t)
	}
	return ok && r.count == before
}

func (o keyset[T]) names() (names []string) {
	for _, k := range o.keys {
		names = append(names, k.name)
	}
	return names
}

func (o keyset[T]) write(w writer, t T) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, k := range o.keys {
		v := k.write(w, &t)
		if v == nil {
			continue
		}
		name := &yaml.Node{Kind: yaml.ScalarNode, Value: k.name}
		if w.explain {
			name.HeadComment = comment(k.doc)
		}
		n.Content = append(n.Content, name, v)
	}
	if len(n.Content) == 0 {
		return nil
	}
	return n
}

func (o keyset[T]) rows(path string, preset T) (rows []row) {
	for _, k := range o.keys {
		below := k.rows(join(path, k.name), &preset)
		below[0].required = k.example != ""
		rows = append(rows, below...)
	}
	return rows
}

// list is a sequence. Items begin as fresh() makes them; a list that is given replaces the one that is there.
func list[V any](item codec[V], atLeast, atMost int, fresh func() V) codec[[]V] {
	c := codec[[]V]{kind: "list of " + plural(item.kind)}
	c.shape = func() map[string]any {
		return atLeastOf("minItems", atLeast, map[string]any{"type": "array", "items": item.describe(), "maxItems": atMost})
	}
	c.read = func(r *reader, at place, v *[]V) bool {
		items, ok := r.items(at, "list of "+plural(item.kind))
		if !ok {
			return false
		}
		if len(items) < atLeast {
			return r.at(at.path, "is empty", fmt.Sprintf("give at least %d %s", atLeast, item.kind))
		}
		if len(items) > atMost {
			return r.at(at.path, fmt.Sprintf("has %d items, more than %d", len(items), atMost), "remove some")
		}
		all := make([]V, len(items))
		for i, it := range items {
			all[i] = fresh()
			ok = item.read(r, it, &all[i]) && ok
		}
		if len(all) == 0 {
			all = nil // written and read again it is the same
		}
		// A list with mistakes is kept, for the comparison of what is right in it with other keys.
		*v = all
		return ok
	}
	c.write = func(w writer, v []V) *yaml.Node {
		if len(v) == 0 && atLeast > 0 {
			return nil
		}
		n := &yaml.Node{Kind: yaml.SequenceNode}
		width := 0
		for i, x := range v {
			// One explained item shows what the keys mean.
			it := item.write(writer{explain: w.explain && i == 0}, x)
			if it == nil {
				continue
			}
			width += len(it.Value) + 2
			n.Content = append(n.Content, it)
		}
		if item.rows == nil && width < 80 {
			n.Style = yaml.FlowStyle
		}
		return n
	}
	if item.rows != nil {
		c.rows = func(path string, _ []V) []row { return item.rows(path+"[]", fresh()) }
	}
	return c
}

// plural turns the name of a kind into that of many: numbers between 0 and 1.
func plural(kind string) string {
	for _, limit := range []string{" from ", " between ", " above "} {
		if noun, rest, found := strings.Cut(kind, limit); found {
			return noun + "s" + limit + rest
		}
	}
	if strings.HasSuffix(kind, "s") {
		return kind + "es"
	}
	return kind + "s"
}

// names says what the keys of a mapping without declared keys may be.
type names[K cmp.Ordered] struct {
	kind  string                                       // for people: "metric"
	parse func(text string) (k K, what, remedy string) // what is "" when the text is a name
	text  func(K) string
	known []string // all that there are; nil: too many to list
}

// mapping has keys that the user chooses. One that is given replaces the one that is there.
func mapping[K cmp.Ordered, V any](key names[K], item codec[V], atLeast int) codec[map[K]V] {
	c := codec[map[K]V]{kind: "mapping of " + key.kind + " to " + item.kind}
	c.shape = func() map[string]any {
		shape := atLeastOf("minProperties", atLeast, map[string]any{"type": "object", "additionalProperties": item.describe()})
		if key.known != nil {
			shape["patternProperties"] = map[string]any{"^(" + strings.Join(key.known, "|") + ")$": item.describe()}
			shape["additionalProperties"] = false
		}
		return shape
	}
	c.read = func(r *reader, at place, v *map[K]V) bool {
		entries, ok := r.entries(at, "a "+c.kind)
		if !ok && entries == nil {
			return false
		}
		if len(entries) < atLeast {
			return r.at(at.path, "is empty", fmt.Sprintf("give at least %d %s", atLeast, key.kind))
		}
		all := map[K]V{}
		for _, e := range entries {
			k, what, remedy := key.parse(e.name)
			if what != "" {
				ok = r.add(e.line, e.path, what, remedy)
				continue
			}
			var x V
			if item.read(r, e.place, &x) {
				all[k] = x
			} else {
				ok = false
			}
		}
		*v = all
		return ok
	}
	c.write = func(w writer, v map[K]V) *yaml.Node {
		if len(v) == 0 {
			return nil
		}
		n := &yaml.Node{Kind: yaml.MappingNode}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key.text(k)}, item.write(w, v[k]))
		}
		return n
	}
	return c
}

// that adds a condition to a kind of value: holds returns what is wrong and what to do, or "".
func (c codec[V]) that(is string, holds func(V) (what, remedy string)) codec[V] {
	inner := c.read
	c.kind = strings.TrimSpace(c.kind + " " + is)
	c.read = func(r *reader, at place, v *V) bool {
		x := *v
		if !inner(r, at, &x) {
			return false
		}
		if what, remedy := holds(x); what != "" {
			return r.add(at.line, at.path, what, remedy)
		}
		*v = x
		return true
	}
	return c
}

// optional is a value that may be left out, which is not the same as one that says nothing. Its keys are documented where
// the value itself is.
func optional[V any](c codec[V]) codec[*V] {
	return optionalFrom(c, func() (nothing V) { return nothing })
}

// optionalFrom is an optional value that begins as fresh() makes it.
func optionalFrom[V any](c codec[V], fresh func() V) codec[*V] {
	return codec[*V]{
		kind: c.kind, shape: c.shape,
		read: func(r *reader, at place, v **V) bool {
			x := fresh()
			if !c.read(r, at, &x) {
				return false
			}
			*v = &x
			return true
		},
		write: func(w writer, v *V) *yaml.Node {
			if v == nil {
				return nil
			}
			if n := c.write(w, *v); n != nil {
				return n
			}
			return &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
		},
		rows: func(path string, _ *V) []row {
			if c.rows == nil || strings.HasSuffix(path, "[].access") {
				return nil
			}
			return c.rows(path, fresh())
		},
	}
}
