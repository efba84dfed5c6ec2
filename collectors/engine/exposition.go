package engine

import (
	"bytes"
	"errors"
	"unicode/utf8"
)

// The grammar errors that a line can have.
var (
	errName     = errors.New("not a metric name")
	errLabels   = errors.New("malformed labels: want {name=\"value\",...}")
	errEscape   = errors.New(`a label value has an escape other than \\, \" and \n`)
	errUTF8     = errors.New("a label value is not UTF-8")
	errValue    = errors.New("the value is not a number")
	errMillis   = errors.New("the timestamp is not a number of milliseconds")
	errSeconds  = errors.New("the timestamp is not a number of seconds")
	errExemplar = errors.New("the exemplar's value is not a number")
	errTrailing = errors.New("text after the value and the timestamp")
)

// cursor reads one line from left to right. It copies nothing; what it returns points into the page.
type cursor struct{ rest []byte }

func (c *cursor) blanks() {
	for len(c.rest) > 0 && (c.rest[0] == ' ' || c.rest[0] == '\t') {
		c.rest = c.rest[1:]
	}
}

func (c *cursor) at(b byte) bool { return len(c.rest) > 0 && c.rest[0] == b }

func (c *cursor) take(b byte) bool {
	if !c.at(b) {
		return false
	}
	c.rest = c.rest[1:]
	return true
}

// token takes everything up to the next blank.
func (c *cursor) token() []byte {
	i := 0
	for i < len(c.rest) && c.rest[i] != ' ' && c.rest[i] != '\t' {
		i++
	}
	t := c.rest[:i]
	c.rest = c.rest[i:]
	return t
}

// name takes a metric or label name; colons are for metrics, but a label that has one harms nobody here.
func (c *cursor) name() ([]byte, error) {
	i := 0
	for i < len(c.rest) && isNameByte(c.rest[i]) {
		i++
	}
	if i == 0 || ('0' <= c.rest[0] && c.rest[0] <= '9') {
		return nil, errName
	}
	n := c.rest[:i]
	c.rest = c.rest[i:]
	return n, nil
}

func isNameByte(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '_' || b == ':'
}

// quoted takes a quoted string and returns what stands between the quotes, escapes and all.
func (c *cursor) quoted() (raw []byte, escaped bool, err error) {
	if !c.take('"') {
		return nil, false, errLabels
	}
	for i := 0; ; i++ {
		j := bytes.IndexByte(c.rest[i:], '"')
		if j < 0 {
			return nil, false, errLabels
		}
		// A quote is escaped when an odd number of backslashes stands before it.
		i += j
		k := i
		for k > 0 && c.rest[k-1] == '\\' {
			k--
		}
		if (i-k)%2 == 0 {
			raw = c.rest[:i]
			c.rest = c.rest[i+1:]
			return raw, bytes.IndexByte(raw, '\\') >= 0, nil
		}
	}
}

// unescape appends the meaning of a quoted string to dst.
func unescape(dst, raw []byte) ([]byte, error) {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			dst = append(dst, raw[i])
			continue
		}
		if i++; i == len(raw) {
			return dst, errEscape
		}
		switch raw[i] {
		case '\\', '"':
			dst = append(dst, raw[i])
		case 'n':
			dst = append(dst, '\n')
		default:
			return dst, errEscape
		}
	}
	return dst, nil
}

// label is one name and value as they stand on the page.
type label struct {
	name    []byte // nil for the quoted metric name of the UTF-8 syntax
	raw     []byte // between the quotes
	escaped bool
}

// next takes the next label of a block that began with '{'; ok is false after its '}'.
func (c *cursor) next(first bool) (l label, ok bool, err error) {
	c.blanks()
	if !first && !c.at('}') {
		if !c.take(',') {
			return label{}, false, errLabels
		}
		c.blanks()
	}
	if c.take('}') {
		return label{}, false, nil
	}
	var named bool
	if c.at('"') {
		if l.raw, l.escaped, err = c.quoted(); err != nil {
			return label{}, false, err
		}
		c.blanks()
		named = c.at('=')
		if !named {
			return l, true, nil
		}
		l.name = l.raw
	} else if l.name, err = c.name(); err != nil {
		return label{}, false, errLabels
	}
	c.blanks()
	if !c.take('=') {
		return label{}, false, errLabels
	}
	c.blanks()
	l.raw, l.escaped, err = c.quoted()
	return l, err == nil, err
}

// skipLabels checks the form of a block of labels and looks at nothing in it, so that a huge value costs one search
// for its closing quote.
func (c *cursor) skipLabels() (metric []byte, err error) {
	for first := true; ; first = false {
		l, ok, err := c.next(first)
		if err != nil || !ok {
			return metric, err
		}
		if l.name == nil {
			metric = l.raw
		}
	}
}

// value reads what follows the labels: the value, an optional timestamp, which is not used, and in OpenMetrics an
// optional exemplar, which is not used either.
func (c *cursor) value(f format) (float64, error) {
	c.blanks()
	v, err := number(c.token())
	if err != nil {
		return 0, errValue
	}
	c.blanks()
	if len(c.rest) == 0 {
		return v, nil
	}
	if !c.at('#') {
		if err := c.timestamp(f); err != nil {
			return 0, err
		}
		c.blanks()
	}
	if f == openMetrics && c.take('#') {
		return v, c.exemplar()
	}
	if len(c.rest) > 0 {
		return 0, errTrailing
	}
	return v, nil
}

func (c *cursor) timestamp(f format) error {
	t := c.token()
	if f == classic {
		if !isInteger(t) {
			return errMillis
		}
		return nil
	}
	if _, err := number(t); err != nil {
		return errSeconds
	}
	return nil
}

// exemplar checks ` {labels} value [timestamp]` up to the end of the line.
func (c *cursor) exemplar() error {
	c.blanks()
	if !c.take('{') {
		return errTrailing
	}
	if _, err := c.skipLabels(); err != nil {
		return err
	}
	c.blanks()
	if _, err := number(c.token()); err != nil {
		return errExemplar
	}
	c.blanks()
	if len(c.rest) > 0 {
		if err := c.timestamp(openMetrics); err != nil {
			return err
		}
		c.blanks()
	}
	if len(c.rest) > 0 {
		return errTrailing
	}
	return nil
}

func validText(b []byte) error {
	if !utf8.Valid(b) {
		return errUTF8
	}
	return nil
}
