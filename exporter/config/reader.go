package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// Limits that no sensible file reaches; they bound what a hostile or broken one can cost.
const (
	maxBytes    = 1 << 20 // of a file
	maxValues   = 400_000 // keys, items and words, with aliases followed: a thousand targets are about 20,000
	maxMistakes = 50      // listed; more are counted
)

// mistake is one reason why a file cannot be followed. path is "" for the file as a whole.
type mistake struct {
	line               int
	path, what, remedy string
}

// mistakes is the error of Parse.
type mistakes struct {
	file string
	list []mistake // by line
	more int       // not listed
}

func (m *mistakes) Error() string {
	var b strings.Builder
	for i, x := range m.list {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s:%d: ", m.file, x.line)
		if x.path != "" {
			b.WriteString(x.path + ": ")
		}
		b.WriteString(x.what + "; " + x.remedy)
	}
	if m.more > 0 {
		fmt.Fprintf(&b, "\n%s: %d more mistakes; mend these first", m.file, m.more)
	}
	return b.String()
}

// place is a value in the file, the path of keys that leads to it, and the line to name: that of its key.
type place struct {
	path string
	node *yaml.Node
	line int
}

// reader walks one file and collects its mistakes.
type reader struct {
	file   string
	needs  string // what a file that is empty lacks
	list   []mistake
	count  int            // mistakes, listed or not
	lines  map[string]int // line of each path that was given
	visits int            // values looked at
}

func newReader(file string) *reader {
	return &reader{file: file, needs: "it needs at least slos, and engines to poll", lines: map[string]int{"": 1}}
}

// add notes a mistake and returns false, the verdict of whoever found it.
func (r *reader) add(line int, path, what, remedy string) bool {
	if r.count++; r.count <= maxMistakes {
		r.list = append(r.list, mistake{line, path, what, remedy})
	}
	return false
}

// at notes a mistake about a path, at the line of the path or of the nearest key above it.
func (r *reader) at(path, what, remedy string) bool {
	for p := path; ; p = p[:max(0, strings.LastIndexAny(p, ".["))] {
		if line, given := r.lines[p]; given {
			return r.add(line, path, what, remedy)
		}
	}
}

// sound reports whether nothing is wrong with these paths and what lies below, so that comparing them means something.
func (r *reader) sound(paths ...string) bool {
	return !slices.ContainsFunc(r.list, func(m mistake) bool {
		return slices.ContainsFunc(paths, func(p string) bool {
			rest, below := strings.CutPrefix(m.path, p)
			return below && (rest == "" || rest[0] == '.' || rest[0] == '[')
		})
	})
}

func (r *reader) err() error {
	if r.count == 0 {
		return nil
	}
	slices.SortStableFunc(r.list, func(a, b mistake) int { return a.line - b.line })
	return &mistakes{r.file, r.list, r.count - len(r.list)}
}

// document returns the root value of a file of exactly one YAML document, nil when there is no such thing.
func (r *reader) document(data []byte) *yaml.Node {
	if len(data) > maxBytes {
		r.add(1, "", "the file is larger than 1 MiB", "this cannot be a configuration: check the path")
		return nil
	}
	if !r.text(data) {
		return nil
	}
	var first, second yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	err := dec.Decode(&first)
	if errors.Is(err, io.EOF) || err == nil && isNull(first.Content[0]) {
		r.add(1, "", "the file is empty", r.needs)
		return nil
	}
	if err != nil {
		r.syntax(data, err)
		return nil
	}
	switch err := dec.Decode(&second); {
	case err == nil:
		r.add(second.Line, "", "a second YAML document begins here", "keep one document in a file: remove the line ---")
		return nil
	case !errors.Is(err, io.EOF):
		r.syntax(data, err)
		return nil
	}
	return first.Content[0]
}

// text reports whether the bytes are text; YAML's own errors about this name no line.
func (r *reader) text(data []byte) bool {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return r.add(1, "", "the file is UTF-16", "save it as UTF-8")
	}
	line := 1
	for rest := data; len(rest) > 0; {
		c, size := utf8.DecodeRune(rest)
		switch {
		case c == utf8.RuneError && size == 1:
			return r.add(line, "", fmt.Sprintf("the byte 0x%02x is not UTF-8", rest[0]), "save the file as UTF-8")
		case c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0x7f:
			return r.add(line, "", fmt.Sprintf("the control character 0x%02x is not text", c), "remove it")
		case c == '\n':
			line++
		}
		rest = rest[size:]
	}
	return true
}

var (
	yamlLine = regexp.MustCompile(`^yaml: line (\d+): `)
	tabbed   = regexp.MustCompile(`(?m)^ *\t+ *[^\s#]`)
)

// syntax notes what the YAML parser refused. Its line may be that of the construct around the problem.
func (r *reader) syntax(data []byte, err error) {
	what, line := strings.TrimPrefix(err.Error(), "yaml: "), 1
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		what = strings.TrimPrefix(err.Error(), m[0])
		line, _ = strconv.Atoi(m[1])
	}
	if at := tabbed.FindIndex(data); at != nil {
		line = 1 + bytes.Count(data[:at[0]], []byte("\n"))
		r.add(line, "", "the line is indented with a tab, which YAML forbids", "indent with spaces")
		return
	}
	r.add(line, "", "not valid YAML here or just after: "+what, "check indentation, colons, brackets and quotes")
}

// resolve follows an alias and counts the visit. ok is false when the value cannot be used, which is then noted.
func (r *reader) resolve(at place) (n *yaml.Node, ok bool) {
	n = at.node
	r.lines[at.path] = at.line
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if !r.afford(at, 1+len(n.Content)) {
		return nil, false
	}
	if n.Style&yaml.TaggedStyle != 0 {
		return nil, r.add(at.line, at.path, "carries the tag "+quote(n.Tag), "remove the tag: the key decides how its value is read")
	}
	if isNull(n) {
		return nil, r.add(at.line, at.path, "has no value", "give it one, or remove the key")
	}
	return n, true
}

// afford reports whether n more values may be looked at. Aliases make a short file long.
func (r *reader) afford(at place, n int) bool {
	if r.visits > maxValues {
		return false
	}
	if r.visits += n; r.visits > maxValues {
		return r.add(at.line, at.path, fmt.Sprintf("here the file exceeds %d values, with aliases followed", maxValues), "write less, or fewer aliases")
	}
	return true
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// entry is one key of a mapping with its value.
type entry struct {
	name string
	place
}

// entries returns a mapping's keys in order, without those that cannot be used. want names what was expected.
func (r *reader) entries(at place, want string) (all []entry, ok bool) {
	n, ok := r.resolve(at)
	if !ok {
		return nil, false
	}
	if n.Kind != yaml.MappingNode {
		return nil, r.add(at.line, at.path, "is "+kindOf(n)+", not "+want, "write keys below it, as in `key: value`")
	}
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		switch {
		case k.Tag == "!!merge":
			ok = r.add(k.Line, at.path, "merge keys (<<) are not read", "write the keys out, or alias a whole value")
			continue
		case k.Kind != yaml.ScalarNode || isNull(k) || k.Value == "":
			ok = r.add(k.Line, at.path, "has a key that is not plain text", "write keys as plain words")
			continue
		}
		e := entry{k.Value, place{join(at.path, k.Value), v, k.Line}}
		if before, again := first[e.name]; again {
			ok = r.add(k.Line, e.path, fmt.Sprintf("is given twice, first on line %d", before), "keep one of them")
			continue
		}
		first[e.name] = k.Line
		all = append(all, e)
	}
	return all, ok
}

// items returns a sequence's values. want names what was expected.
func (r *reader) items(at place, want string) (all []place, ok bool) {
	n, ok := r.resolve(at)
	if !ok {
		return nil, false
	}
	if n.Kind != yaml.SequenceNode {
		return nil, r.add(at.line, at.path, "is "+kindOf(n)+", not a "+want, "write it as a list: [...], or one item a line after a dash")
	}
	for i, v := range n.Content {
		all = append(all, place{fmt.Sprintf("%s[%d]", at.path, i), v, v.Line})
	}
	return all, true
}

// word returns the text of a scalar: a value is its text, whatever YAML would make of it and however it is quoted.
func (r *reader) word(at place, want, example string) (text string, ok bool) {
	n, ok := r.resolve(at)
	if !ok {
		return "", false
	}
	if n.Kind != yaml.ScalarNode {
		return "", r.add(at.line, at.path, "is "+kindOf(n)+", not a "+want, "write for example "+example)
	}
	return n.Value, true
}

func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	return "a single value"
}

// join appends a key to a path; a key that is not a plain word is quoted.
func join(path, key string) string {
	if !plainKey.MatchString(key) {
		key = quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

var plainKey = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// quote shows a text from the file on one line and not at length; not a URL, which may hold credentials.
func quote(text string) string {
	const most = 60 // bytes, enough to recognise what was written
	if strings.Contains(text, "://") {
		return "<a URL>"
	}
	if len(text) > most {
		return strconv.Quote(strings.ToValidUTF8(text[:most], "")) + "..."
	}
	return strconv.Quote(text)
}
