package recording

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Scrub rewrites the texts of a page: label values by the name of their label, and comments and whatever stands outside
// of quotes under the name "". Numbers, names and the order of lines stay as they are, so the scrubbed page says the same
// about the engine. What is no page is scrubbed too, as well as it can be read: a recording must not leak because a page was
// broken.
//
// rewrite is given the value itself, without escapes, and returns what is to stand in its place.
func Scrub(page []byte, rewrite func(label, text string) string) []byte {
	var out bytes.Buffer
	out.Grow(len(page))
	for len(page) > 0 {
		end := bytes.IndexByte(page, '\n') + 1
		if end == 0 {
			end = len(page)
		}
		scrubLine(&out, page[:end], rewrite)
		page = page[end:]
	}
	return out.Bytes()
}

func scrubLine(out *bytes.Buffer, line []byte, rewrite func(label, text string) string) {
	plain := func(text []byte) { out.WriteString(oneLine(rewrite("", string(text)), text)) }
	if bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte("#")) {
		plain(line)
		return
	}
	for len(line) > 0 {
		first := bytes.IndexByte(line, '"')
		if first < 0 {
			plain(line)
			return
		}
		last := closing(line, first)
		if last < 0 {
			plain(line) // a quote that is never closed
			return
		}
		label := labelBefore(line[:first])
		plain(line[:first])
		escaped := line[first+1 : last]
		value := unescape(escaped)
		if to := rewrite(label, value); to != value {
			escaped = escape(to)
		}
		out.WriteByte('"')
		out.Write(escaped)
		out.WriteByte('"')
		line = line[last+1:]
	}
}

// oneLine keeps a line feed at the end of a rewritten text where there was one, and has no other.
func oneLine(text string, was []byte) string {
	if text == string(was) {
		return text
	}
	text = strings.ReplaceAll(text, "\n", " ")
	if bytes.HasSuffix(was, []byte("\n")) {
		text = strings.TrimSuffix(text, " ") + "\n"
	}
	return text
}

// closing is the index of the quote that ends the text which begins behind first; -1 without one.
func closing(line []byte, first int) int {
	for i := first + 1; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

// labelBefore is the name in front of ="; "" when there is none.
func labelBefore(text []byte) string {
	text = bytes.TrimRight(text, " \t")
	if !bytes.HasSuffix(text, []byte("=")) {
		return ""
	}
	text = bytes.TrimRight(text[:len(text)-1], " \t")
	begin := bytes.LastIndexAny(text, "{, \t\"}") + 1
	return string(text[begin:])
}

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func escape(value string) []byte { return []byte(escapes.Replace(value)) }

// unescape reads \\, \" and \n; any other backslash stands for itself.
func unescape(escaped []byte) string {
	if bytes.IndexByte(escaped, '\\') < 0 {
		return string(escaped)
	}
	var b strings.Builder
	for i := 0; i < len(escaped); i++ {
		if escaped[i] == '\\' && i+1 < len(escaped) {
			switch escaped[i+1] {
			case '\\', '"':
				i++
			case 'n':
				b.WriteByte('\n')
				i++
				continue
			}
		}
		b.WriteByte(escaped[i])
	}
	return b.String()
}

// Disguise puts made-up values in the place of those of some labels. The same value gets the same one throughout, so
// that series stay apart and go on. Not for concurrent use.
type Disguise struct {
	labels map[string]map[string]string // by label: value to stand-in
}

// needed are labels whose values a reader of pages must know.
var needed = []string{"le", "quantile", "engine", "finished_reason", "status", "handler", "method", "reason", "source", "pid", "UUID", "uuid", "gpu_uuid", "GPU_I_ID", "xid"}

// NewDisguise disguises the labels of these names. Those whose values the page cannot be read without are refused.
func NewDisguise(labels []string) (*Disguise, error) {
	d := &Disguise{labels: map[string]map[string]string{}}
	for _, l := range labels {
		if slices.Contains(needed, l) {
			return nil, fmt.Errorf("the label %q cannot be hidden: without its values a page cannot be read; hide other labels, such as model_name", l)
		}
		if l == "" {
			return nil, errors.New("the name of a label to hide is empty; write it as on the page, such as model_name")
		}
		d.labels[l] = map[string]string{}
	}
	return d, nil
}

// Value is what stands in the place of a label's value: the value itself where the label is not hidden or it is empty.
func (d *Disguise) Value(label, value string) string {
	values, hidden := d.labels[label]
	if !hidden || value == "" {
		return value
	}
	if values[value] == "" {
		if len(values) >= maxDisguised {
			return "hidden"
		}
		values[value] = "hidden-" + strconv.Itoa(len(values)+1)
	}
	return values[value]
}

// maxDisguised is how many values of a label are told apart: what a page that invents values may cost in memory.
const maxDisguised = 10_000
