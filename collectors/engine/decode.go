// Package engine fetches an engine page and decodes it through the dialect that recognises it.
//
// It translates and decides nothing: what the counters of two pages mean together, and whether a page is torn between
// two families, is not its business.
package engine

import (
	"bytes"
	"fmt"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// Limits on what one page may hold, beside the limit on its size. They bound the memory and the time that a page can
// cost, and lie far above any real engine.
const (
	maxRanks      = 256
	maxLabelValue = 1024 // bytes, of the series that are read; other label values are not looked at
	maxBuckets    = 512  // of one histogram
	maxReasons    = 64   // finish reasons of one rank
	maxRows       = 1024 // of http_requests_total, and of the admission refusals
	maxPIDs       = 256  // series of one gauge that differ in pid
	maxInterned   = 4096 // strings kept from page to page
)

// Decode reads one page with a fresh Decoder.
func Decode(body []byte, contentType string) (*fact.EngineSample, error) {
	return NewDecoder().Decode(body, contentType)
}

// Decoder reads the pages of one target, one after the other. It keeps bucket layouts and label values from page to
// page, so that equal layouts of one target share memory and a steady page costs few allocations. Not for concurrent
// use.
type Decoder struct {
	page                      // what has been gathered of the page being read
	layouts [][]float64       // every layout seen, shared by the samples handed out
	strings map[string]string // label values that samples hold
	missing map[uint64][]fact.Missing
}

// NewDecoder returns a Decoder that has seen no page.
func NewDecoder() *Decoder {
	return &Decoder{strings: map[string]string{}, missing: map[uint64][]fact.Missing{}}
}

// Decode reads a page whole or not at all. It neither keeps nor changes body. The error is an *Error.
//
// Forgiven, with a warning in the sample: repeated or unknown TYPE and HELP lines, gauges that are not numbers, plain
// comments in OpenMetrics. Refused: what is not a whole exposition, a histogram whose numbers contradict each other,
// counts that are not whole numbers, a needed series that is there twice, an emitter that no dialect recognises, and
// what is over a limit.
func (d *Decoder) Decode(body []byte, contentType string) (*fact.EngineSample, error) {
	sample, err := guard(func() (*fact.EngineSample, *Error) { return d.decode(body, contentType) })
	d.forgetPage()
	if err != nil {
		return nil, err
	}
	return sample, nil
}

// guard turns a panic into a refusal: a bug that one page brings to light must cost that page and nothing else.
func guard(read func() (*fact.EngineSample, *Error)) (sample *fact.EngineSample, err *Error) {
	defer func() {
		if p := recover(); p != nil {
			sample, err = nil, refuse(fact.ReasonParse, "the reader failed on this page, which is a bug in it; keep the page for a report: %s", excerpt(fmt.Append(nil, p)))
		}
	}()
	return read()
}

func (d *Decoder) decode(body []byte, contentType string) (*fact.EngineSample, *Error) {
	f, err := formatOf(contentType, body)
	if err != nil {
		return nil, err
	}
	d.reset(f, len(body))
	if len(d.strings) > maxInterned {
		clear(d.strings)
	}
	if err := d.lines(body); err != nil {
		if mediaType(contentType) != "text/plain" && f == classic && err.Reason == fact.ReasonParse && d.series == 1 {
			// Nothing said that this is an exposition, and its first line is none.
			err.Reason = fact.ReasonNotMetrics
		}
		return nil, err
	}
	if f == openMetrics && !d.eof {
		return nil, refuse(fact.ReasonTruncated, "the page of %d bytes does not end in # EOF, as OpenMetrics must", len(body)).on(d.line, "")
	}
	return d.build()
}

// lines reads every line of the page.
func (d *Decoder) lines(body []byte) *Error {
	for len(body) > 0 {
		d.line++
		end := bytes.IndexByte(body, '\n')
		if end < 0 {
			if d.format == openMetrics && bytes.Equal(body, []byte("# EOF")) && !d.eof {
				d.eof = true
				return nil
			}
			return refuse(fact.ReasonTruncated, "the last line has no line feed: the page of %d bytes was cut", d.bytes).on(d.line, "")
		}
		c := cursor{body[:end]}
		body = body[end+1:]
		c.blanks()
		if len(c.rest) == 0 {
			continue
		}
		if d.eof {
			return refuse(fact.ReasonParse, "the page goes on after # EOF").on(d.line, "")
		}
		if c.at('#') {
			d.comment(c.rest)
			continue
		}
		if err := d.sample(c); err != nil {
			return err.on(d.line, "")
		}
	}
	return nil
}

// comment reads HELP, TYPE and EOF lines; UNIT and plain comments are nothing to us.
func (d *Decoder) comment(text []byte) {
	if d.format == openMetrics && bytes.Equal(text, []byte("# EOF")) {
		d.eof = true
		return
	}
	c := cursor{text[1:]}
	c.blanks()
	keyword := c.token()
	isType := string(keyword) == "TYPE"
	if !isType && string(keyword) != "HELP" {
		return
	}
	c.blanks()
	name := c.token()
	if quoted := len(name) > 2 && name[0] == '"'; quoted {
		name = bytes.Trim(name, `"`)
	}
	f, known := names.families[string(name)]
	if !known {
		f = family{slot: -1, dating: -1}
		d.prefixed(name)
	}
	if isType {
		c.blanks()
		d.announce(name, f, known, c.token())
	} else if f.slot >= 0 {
		if d.helped[f.slot] {
			d.warn(warnRepeated, "a second HELP line for %s", name)
		}
		d.helped[f.slot] = true
	}
}

// announce takes in a TYPE line.
func (d *Decoder) announce(name []byte, f family, known bool, typ []byte) {
	if !knownType(d.format, typ) {
		d.warn(warnType, "%s has type %s, which the format does not have", excerpt(name), excerpt(typ))
	}
	if !known {
		return
	}
	d.signs.seen |= f.sign
	if f.dating >= 0 {
		d.signs.makers[vllm] = true
		d.dated[f.dating] = true
	}
	if f.slot < 0 {
		return
	}
	a := names.slots[f.slot].alias
	if !a.bare {
		d.signs.makers[names.slots[f.slot].maker] = true
	}
	if f.bare && string(typ) == "counter" {
		d.signs.bareCounters = true
	}
	if d.declared[f.slot] {
		d.warn(warnRepeated, "a second TYPE line for %s", name)
	}
	d.declared[f.slot] = true
	if want := typeOf(a.kind); string(typ) != want && knownType(d.format, typ) {
		d.warn(warnType, "%s has type %s; it is read as a %s all the same", name, typ, want)
	}
}

func knownType(f format, typ []byte) bool {
	switch string(typ) {
	case "counter", "gauge", "histogram", "summary":
		return true
	case "untyped":
		return f == classic
	case "unknown", "info", "stateset", "gaugehistogram":
		return f == openMetrics
	}
	return false
}

func typeOf(k kind) string {
	switch k {
	case counter:
		return "counter"
	case gauge:
		return "gauge"
	}
	return "histogram"
}

// prefixed notes that the page has a family of an engine, needed or not.
func (d *Decoder) prefixed(name []byte) {
	for m := range prefixes {
		if d.signs.makers[m] {
			continue
		}
		for _, p := range prefixes[m] {
			if len(name) >= len(p) && string(name[:len(p)]) == p {
				d.signs.makers[m] = true
			}
		}
	}
}
