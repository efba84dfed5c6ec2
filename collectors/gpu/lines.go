package gpu

import (
	"bytes"
	"strconv"
	"strings"
)

// row is one sample line of an exposition.
type row struct {
	name   string
	labels []label // valid until the next row
	value  float64
}

type label struct{ name, value string }

// get is the value of the first of several labels that is there.
func (r *row) get(names ...string) string {
	for _, n := range names {
		for _, l := range r.labels {
			if l.name == n && l.value != "" {
				return l.value
			}
		}
	}
	return ""
}

// maxLabels bounds the labels of a row: dcgm-exporter prints up to about forty where it copies those of pods.
const maxLabels = 128

// maxLabelName bounds what is looked at for the name of a label, in bytes.
const maxLabelName = 256

// parseRow reads one line. dcgm-exporter does not escape label values, so a quote inside one does not end it unless
// what follows could: a comma and another label, or the end of the labels. Text that is escaped as it should be reads as
// everywhere. A label that stands twice makes the row unreadable, since a value could have been made to look like one.
func parseRow(line []byte, labels []label) (row, bool) {
	r := row{labels: labels[:0]}
	text := string(line)
	end := strings.IndexAny(text, "{ \t")
	if end <= 0 {
		return r, false
	}
	r.name, text = text[:end], text[end:]
	if text[0] == '{' {
		var ok bool
		if text, ok = r.readLabels(text[1:]); !ok {
			return r, false
		}
	}
	value, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	if timestamp := strings.TrimSpace(rest); timestamp != "" {
		if _, err := strconv.ParseInt(timestamp, 10, 64); err != nil {
			return r, false
		}
	}
	var err error
	r.value, err = strconv.ParseFloat(value, 64)
	return r, err == nil
}

// readLabels reads up to the closing brace and returns what follows it.
func (r *row) readLabels(text string) (string, bool) {
	for {
		text = strings.TrimLeft(text, " \t,")
		if rest, done := strings.CutPrefix(text, "}"); done {
			return rest, true
		}
		name, rest, ok := strings.Cut(text, `="`)
		if name = strings.TrimSpace(name); !ok || !labelName(name) || len(r.labels) == maxLabels {
			return "", false
		}
		for _, l := range r.labels {
			if l.name == name {
				return "", false
			}
		}
		end, escaped := closing(rest)
		if end < 0 {
			return "", false
		}
		value := rest[:end]
		if escaped {
			value = unescape.Replace(value)
		}
		r.labels = append(r.labels, label{name, value})
		text = rest[end+1:]
	}
}

var unescape = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n")

// closing is where a label value ends, -1 when it does not.
func closing(text string) (end int, escaped bool) {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			escaped = true
			i++
		case '"':
			if follows(text[i+1:]) {
				return i, escaped
			}
		}
	}
	return -1, escaped
}

// follows reports whether a text can stand after a label value.
func follows(text string) bool {
	text = strings.TrimLeft(text, " \t")
	if strings.HasPrefix(text, "}") {
		return true
	}
	rest, comma := strings.CutPrefix(text, ",")
	if !comma {
		return false
	}
	rest = strings.TrimLeft(rest, " \t")
	rest = rest[:min(len(rest), maxLabelName)] // or a line of quotes and commas would be read again for each of them
	name, _, ok := strings.Cut(rest, `="`)
	return strings.HasPrefix(rest, "}") || ok && labelName(strings.TrimSpace(name))
}

func labelName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return s != ""
}

// familyOf is the name that a line begins with, and "" for a comment or an empty line.
func familyOf(line []byte) []byte {
	line = bytes.TrimLeft(line, " \t")
	if len(line) == 0 || line[0] == '#' {
		return nil
	}
	if end := bytes.IndexAny(line, "{ \t"); end >= 0 {
		return line[:end]
	}
	return line
}
