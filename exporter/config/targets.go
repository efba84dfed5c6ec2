package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// ListedTarget is a target of a file, with the line that it stands on.
type ListedTarget struct {
	Target
	Line int
}

// group is one item of a file_sd file as it is written.
type group struct {
	addresses []listed
	labels    map[string]string
}

type listed struct {
	text string
	line int
}

// The labels of a group that are not labels of its engines. They are named as in Prometheus, but for idLabel.
const (
	idLabel     = "goodput_id"
	schemeLabel = "__scheme__"
	pathLabel   = "__metrics_path__"
	paramPrefix = "__param_"
)

// ParseTargets reads a file of targets in Prometheus's file_sd form, as JSON where the name ends in .json and else as
// YAML. The error holds every mistake as that of Parse does. Two targets may have one id: whoever joins the files of a
// configuration sees more of them.
//
// Labels whose names begin with __ are not put on the engine, and neither are those that series of the exporter or of
// Prometheus carry themselves: files are written for several readers.
func ParseTargets(data []byte, file string) ([]ListedTarget, error) {
	r := newReader(file)
	r.needs = "write [] if there are no targets"
	if strings.HasSuffix(file, ".json") && !r.isJSON(data) {
		return nil, r.err()
	}
	root := r.document(data)
	if root == nil {
		return nil, r.err()
	}
	var groups []group
	list(groupKeys(), 0, 10_000, func() group { return group{} }).read(r, place{node: root, line: root.Line}, &groups)
	var all []ListedTarget
	for i := range groups {
		all = groups[i].targets(r, fmt.Sprintf("[%d]", i), all)
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	return all, nil
}

// isJSON notes a mistake of JSON in JSON's words; the rest of the file is then read as YAML, of which JSON is a part.
func (r *reader) isJSON(data []byte) bool {
	var whole any
	if len(data) > maxBytes || len(bytes.TrimSpace(data)) == 0 {
		return true // which is noted by whoever reads on
	}
	err := json.Unmarshal(data, &whole)
	if err == nil {
		return true
	}
	line := 1
	if e, is := errors.AsType[*json.SyntaxError](err); is {
		line += bytes.Count(data[:min(int(e.Offset), len(data))], []byte("\n"))
	}
	return r.add(line, "", "not valid JSON here: "+strings.TrimPrefix(err.Error(), "json: "), "check commas, brackets and quotes, and that the file was written to its end")
}

func groupKeys() codec[group] {
	return object("target group", nil,
		key[group]{name: "targets", example: `targets: ["10.0.0.7:8000"]`, read: func(r *reader, at place, g *group) bool {
			items, ok := r.items(at, "list of addresses")
			for _, it := range items {
				s, is := r.word(it, "address", "10.0.0.7:8000")
				ok = is && ok
				if is {
					g.addresses = append(g.addresses, listed{s, it.line})
				}
			}
			return ok
		}},
		key[group]{name: "labels", read: func(r *reader, at place, g *group) bool {
			return mapping(anyLabel(), text("label value", "gold", func(string) (string, string) { return "", "" }), 0).read(r, at, &g.labels)
		}},
	)
}

// anyLabel is a label name as Prometheus takes it.
func anyLabel() names[string] {
	return names[string]{
		kind: "label", text: func(s string) string { return s },
		parse: func(s string) (string, string, string) {
			if !labelForm.MatchString(s) {
				return "", "is not a label name", "use letters, digits and _, not beginning with a digit"
			}
			return s, "", ""
		},
	}
}

// targets appends the targets of a group.
func (g *group) targets(r *reader, path string, all []ListedTarget) []ListedTarget {
	labels := map[string]string{}
	for name, value := range g.labels {
		if _, what, _ := labelNames().parse(name); what == "" && name != idLabel && value != "" {
			labels[name] = value
		}
	}
	if len(labels) == 0 {
		labels = nil
	}
	for i, a := range g.addresses {
		at := fmt.Sprintf("%s.targets[%d]", path, i)
		id := g.labels[idLabel]
		if id == "" {
			id = a.text
		}
		if strings.ContainsAny(a.text, "/@?#") || a.text == "" {
			r.add(a.line, at, "is not an address", "write HOST:PORT; the scheme goes into "+schemeLabel+", the path into "+pathLabel)
			continue
		}
		if what, remedy := badID(id); what != "" {
			r.add(a.line, at, "the engine's id "+what, remedy)
			continue
		}
		u, what, remedy := badURL(g.url(a.text))
		if what != "" {
			r.add(a.line, at, "the address, with "+schemeLabel+" and "+pathLabel+", "+what, remedy)
			continue
		}
		t := ListedTarget{Target: Target{ID: id, Labels: labels}, Line: a.line}
		t.locate(u)
		all = append(all, t)
	}
	return all
}

// url is where the page of an address is.
func (g *group) url(address string) string {
	scheme, path := g.labels[schemeLabel], g.labels[pathLabel]
	if scheme == "" {
		scheme = "http"
	}
	if path != "" && !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	query := url.Values{}
	for _, name := range slices.Sorted(maps.Keys(g.labels)) {
		if param, is := strings.CutPrefix(name, paramPrefix); is {
			query.Set(param, g.labels[name])
		}
	}
	out := scheme + "://" + address + path
	if len(query) > 0 {
		out += "?" + query.Encode()
	}
	return out
}
