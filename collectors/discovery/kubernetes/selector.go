package kubernetes

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxSelector bounds the text of one selector, in bytes.
const maxSelector = 4096

// selector is a label selector as the Kubernetes API has it: requirements that all have to hold.
type selector []requirement

// requirement is what a selector says of one label.
type requirement struct {
	key    string
	op     string   // "in", "notin", "exists", "!exists", ">" or "<"
	values []string // of in and notin, of which = and != are those with one; of > and <, a number
}

// parseSelector understands "a=b, c!=d, e in (f,g), h notin (i), j, !k, l>1". An error names the position of a byte, from 1.
func parseSelector(text string) (selector, error) {
	p := &selectorParser{text: text}
	s, err := p.selector()
	if err != nil {
		return nil, fmt.Errorf("selector %q: at position %d: %w", text[:min(len(text), 200)], p.at+1, err)
	}
	return s, nil
}

// matches reports whether a pod's labels are as the selector wants them.
func (s selector) matches(labels map[string]string) bool {
	for _, r := range s {
		if !r.holds(labels) {
			return false
		}
	}
	return true
}

func (r requirement) holds(labels map[string]string) bool {
	v, there := labels[r.key]
	switch r.op {
	case "in":
		return there && slices.Contains(r.values, v)
	case "notin": // holds where the label is missing, too
		return !there || !slices.Contains(r.values, v)
	case "exists":
		return there
	case "!exists":
		return !there
	}
	have, err := strconv.ParseInt(v, 10, 64)
	want, _ := strconv.ParseInt(r.values[0], 10, 64) // the parser has seen to it
	return there && err == nil && (r.op == ">" && have > want || r.op == "<" && have < want)
}

// selectorParser reads a selector from left to right.
type selectorParser struct {
	text string
	at   int // of what is looked at, and of a mistake
}

func (p *selectorParser) selector() (selector, error) {
	if len(p.text) > maxSelector {
		return nil, fmt.Errorf("it is longer than %d bytes", maxSelector)
	}
	if p.space(); p.rest() == "" {
		return nil, fmt.Errorf("it is empty, which would be every pod: name a label")
	}
	var s selector
	for {
		r, err := p.requirement()
		if err != nil {
			return nil, err
		}
		s = append(s, r)
		if p.space(); p.rest() == "" {
			return s, nil
		}
		if !p.take(",") {
			return nil, fmt.Errorf("a comma is missing before %q", first(p.rest()))
		}
	}
}

func (p *selectorParser) requirement() (requirement, error) {
	p.space()
	not := p.take("!")
	key, err := p.key()
	if err != nil {
		return requirement{}, err
	}
	p.space()
	if not {
		return requirement{key: key, op: "!exists"}, nil
	}
	for _, op := range []string{"==", "=", "!=", ">", "<"} {
		if p.take(op) {
			return p.compared(key, op)
		}
	}
	start := p.at
	switch word := p.word(); word {
	case "":
		return requirement{key: key, op: "exists"}, nil
	case "in", "notin":
		values, err := p.set()
		return requirement{key, word, values}, err
	default:
		p.at = start
		return requirement{}, fmt.Errorf("%q is no operator: write =, ==, !=, in, notin, > or <", word)
	}
}

// compared reads the one value of an operator.
func (p *selectorParser) compared(key, op string) (requirement, error) {
	p.space()
	start := p.at
	value := p.word()
	if op == ">" || op == "<" {
		if _, err := strconv.ParseInt(value, 10, 64); err != nil || !labelValue(value) {
			p.at = start
			return requirement{}, fmt.Errorf("%q is not a whole number from 0, which %s needs", value, op)
		}
		return requirement{key, op, []string{value}}, nil
	}
	if !labelValue(value) {
		p.at = start
		return requirement{}, fmt.Errorf("%q is not a label's value: letters, digits, -, _ and ., at most 63, beginning and ending with a letter or digit", value)
	}
	if op == "!=" {
		return requirement{key, "notin", []string{value}}, nil
	}
	return requirement{key, "in", []string{value}}, nil
}

// set reads "(a, b)".
func (p *selectorParser) set() ([]string, error) {
	if p.space(); !p.take("(") {
		return nil, fmt.Errorf("a ( is missing: write in (a, b)")
	}
	var values []string
	for {
		p.space()
		start := p.at
		value := p.word()
		if !labelValue(value) {
			p.at = start
			return nil, fmt.Errorf("%q is not a label's value: letters, digits, -, _ and ., at most 63, beginning and ending with a letter or digit", value)
		}
		values = append(values, value)
		p.space()
		switch {
		case p.take(")"):
			return values, nil
		case !p.take(","):
			return nil, fmt.Errorf("a ) or a comma is missing")
		}
	}
}

// key reads a label's name.
func (p *selectorParser) key() (string, error) {
	p.space()
	start := p.at
	key := p.word()
	switch {
	case key == "":
		return "", fmt.Errorf("a label's name is missing")
	case !labelKey(key):
		p.at = start
		return "", fmt.Errorf("%q is not a label's name: write NAME or DOMAIN/NAME", key)
	}
	return key, nil
}

func (p *selectorParser) rest() string { return p.text[p.at:] }

func (p *selectorParser) space() { p.at += len(p.rest()) - len(strings.TrimLeft(p.rest(), " \t\r\n")) }

func (p *selectorParser) take(s string) bool {
	if !strings.HasPrefix(p.rest(), s) {
		return false
	}
	p.at += len(s)
	return true
}

// word reads up to what is no part of a name or a value.
func (p *selectorParser) word() string {
	n := strings.IndexAny(p.rest(), " \t\r\n=!(),<>")
	if n < 0 {
		n = len(p.rest())
	}
	w := p.rest()[:n]
	p.at += n
	return w
}

// first is the first character of a text, for an error.
func first(s string) string {
	for _, r := range s {
		return string(r)
	}
	return ""
}
