package config

import (
	"bytes"
	"strings"

	"gopkg.in/yaml.v3"
)

// YAML is the effective configuration: all defaults filled in, secrets left out. Parse reads it back.
func (c *Config) YAML() []byte { return c.render(writer{}) }

// render writes one section after the other, with a blank line between them.
func (c *Config) render(w writer) []byte {
	var sections [][]byte
	root := schema().write(w, *c)
	for i := 0; i+1 < len(root.Content); i += 2 {
		sections = append(sections, encode(&yaml.Node{Kind: yaml.MappingNode, Content: root.Content[i : i+2]}))
	}
	return bytes.Join(sections, []byte("\n"))
}

// encode never fails: the encoder refuses only nodes that codecs do not make, and a bytes.Buffer takes everything.
func encode(n *yaml.Node) []byte {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(n); err != nil {
		panic("config: cannot write: " + err.Error())
	}
	return b.Bytes()
}

// inline writes a value on one line.
func inline(n *yaml.Node) string {
	if n == nil {
		return ""
	}
	if n.Kind != yaml.ScalarNode {
		n.Style = yaml.FlowStyle
	}
	return strings.TrimSpace(string(encode(n)))
}

// comment breaks a sentence into lines that fit beside indentation.
func comment(doc string) string {
	const width = 96
	var lines []string
	line := "#"
	for word := range strings.FieldsSeq(doc) {
		if len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = "#"
		}
		line += " " + word
	}
	return strings.Join(append(lines, line), "\n")
}
