package engine

import (
	"bytes"
	"strings"
	"unicode"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// sample reads one line with a value.
func (d *Decoder) sample(c cursor) *Error {
	d.series++
	whole := c.rest
	var name []byte
	var err error
	if !c.at('{') {
		if name, err = c.name(); err != nil {
			return refuse(fact.ReasonParse, "%v: %s", err, excerpt(whole))
		}
		if len(c.rest) > 0 && !c.at('{') && !c.at(' ') && !c.at('\t') {
			return refuse(fact.ReasonParse, "%v: %s", errName, excerpt(whole))
		}
		c.blanks()
	}
	quoted := name == nil
	if quoted {
		// The UTF-8 syntax has the name among the labels, so they are read twice: {"vllm:x",engine="0"} 1.
		ahead := cursor{c.rest[1:]}
		if name, err = ahead.skipLabels(); err == nil && len(name) == 0 {
			err = errName
		}
		if err != nil {
			return refuse(fact.ReasonParse, "%v", err).on(d.line, seriesText(whole))
		}
	}
	r := d.meaning(name)
	d.labels = labels{}
	if c.take('{') {
		if r.part == partNone || r.part == partSign {
			_, err = c.skipLabels()
		} else if refused := d.readLabels(&c, quoted); refused != nil {
			return refused.on(d.line, seriesText(whole))
		}
	}
	var v float64
	if err == nil {
		v, err = c.value(d.format)
	}
	if err != nil {
		return refuse(fact.ReasonParse, "%v", err).on(d.line, seriesText(whole))
	}
	if r.part == partNone {
		return nil
	}
	if refused := d.take(r, v); refused != nil {
		return refused.on(d.line, seriesText(whole))
	}
	return nil
}

// meaning looks a name up; the lines of a histogram repeat the name of the line before.
func (d *Decoder) meaning(name []byte) ref {
	if d.lastName != nil && bytes.Equal(name, d.lastName) {
		return d.lastRef
	}
	r := names.samples[string(name)]
	d.lastName, d.lastRef = name, r
	if r.part == partNone {
		d.prefixed(name)
	} else if r.part == partSign {
		d.signs.seen |= r.sign
		d.prefixed(name)
	} else if !names.slots[r.slot].alias.bare {
		d.signs.makers[names.slots[r.slot].maker] = true
	}
	return r
}

// readLabels reads the labels of a needed series into d.labels, and passes over its name where that is among them.
func (d *Decoder) readLabels(c *cursor, named bool) *Error {
	d.scratch = d.scratch[:0]
	seen := 0
	for first := true; ; first = false {
		l, ok, err := c.next(first)
		if err != nil {
			return refuse(fact.ReasonParse, "%v", err)
		}
		if !ok {
			return nil
		}
		if l.name == nil {
			if !named {
				return refuse(fact.ReasonParse, "%v", errLabels)
			}
			named = false // a second one is an error
			continue
		}
		if len(l.raw) > maxLabelValue {
			return refuse(fact.ReasonTooLarge, "label %s has a value of %d bytes, more than %d", excerpt(l.name), len(l.raw), maxLabelValue)
		}
		value := l.raw
		if l.escaped {
			from := len(d.scratch)
			d.scratch, err = unescape(d.scratch, l.raw)
			value = d.scratch[from:]
		}
		if err == nil {
			err = validText(value)
		}
		if err != nil {
			return refuse(fact.ReasonParse, "%v", err)
		}
		if id := labelOf(l.name); id != labelOther {
			if seen&(1<<id) != 0 {
				return refuse(fact.ReasonParse, "label %s is there twice", l.name)
			}
			seen |= 1 << id
			d.labels[id] = value
		}
	}
}

// seriesText is the series of a sample line for a message: without its value where the end of its labels is clear,
// cut to a line's length, free of what is not printable.
func seriesText(line []byte) string {
	if i := bytes.LastIndexByte(line[:min(len(line), 4*maxExcerpt)], '}'); i >= 0 {
		line = line[:i+1]
	} else if i := bytes.IndexAny(line, " \t"); i >= 0 {
		line = line[:i]
	}
	cut := ""
	if len(line) > maxExcerpt {
		line, cut = line[:maxExcerpt], "..."
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(string(line), "")) + cut
}
