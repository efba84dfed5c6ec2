// Package recording reads and writes what a node served and was sent, recorded one JSON object a line and gzipped: the
// pages, the messages with spans, and what it told of its GPUs. It does not know what is in either, nor what is made of it.
package recording

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// Version is the newest header version that this reader knows. A file without a header is of version 1.
const Version = 1

// MaxLine is the longest line that is read, in bytes: a page of 16 MiB with its quoting, or a message of 47 MiB.
const MaxLine = 64 << 20

// Page is one recorded scrape of an engine. Either Err says why there is no page, or Status and Body hold it.
type Page struct {
	Line        int     // in the file, from 1
	T           float64 // when the scrape began, unix seconds
	Took        float64 // until the last byte, seconds
	Target      string
	Status      int
	ContentType string
	Body        []byte
	Err         string
	Reason      fact.Reason // of Err, where whoever recorded it knew; "" unknown
}

// record is a line as it is written. Keys that are not listed are ignored: later versions may add some.
type record struct {
	Kind        string  `json:"kind"`
	Version     int     `json:"version"`
	T           float64 `json:"t"`
	Took        float64 `json:"took"`
	Target      string  `json:"target"`
	Status      int     `json:"status"`
	ContentType string  `json:"content_type"`
	Body        *string `json:"body"`
	Error       string  `json:"error"`

	Reason fact.Reason `json:"reason"`

	Source string `json:"source"`
	First  bool   `json:"first"`

	Peer            string  `json:"peer"`
	Path            string  `json:"path"`
	ContentEncoding string  `json:"content_encoding"`
	BodyBase64      *string `json:"body_base64"`
}

// Reader reads one recording in file order. Pages are in the order of their times, and so are messages; who wrote both
// may have written a page when it ended and a message when it came, so between them the order is nearly that of time.
// Kinds that the reader does not know are passed over and counted.
type Reader struct {
	name  string
	lines *bufio.Scanner
	line  int
	last  map[string]float64 // time of the last line, by kind

	Passed map[string]int // lines passed over, by kind
}

// NewReader reads a recording, gzipped or plain. name is used in errors.
func NewReader(r io.Reader, name string) (*Reader, error) {
	buffered := bufio.NewReader(r)
	magic, err := buffered.Peek(2)
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: an empty recording: it needs at least one line", name)
	}
	if err != nil {
		return nil, fmt.Errorf("read recording: %w", err)
	}
	var in io.Reader = buffered
	if bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		if in, err = gzip.NewReader(buffered); err != nil {
			return nil, fmt.Errorf("%s: begins as gzip but is not: %w", name, err)
		}
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 1<<16), MaxLine)
	return &Reader{name: name, lines: lines, last: map[string]float64{}, Passed: map[string]int{}}, nil
}

// Next returns the next page, io.EOF after the last; messages and GPUs are passed over. Any other error names the file and line;
// what came before it was good, nothing after it is read.
func (r *Reader) Next() (Page, error) {
	e, err := r.entry(false)
	if err != nil {
		return Page{}, err
	}
	return *e.Page, nil
}

// NextEntry returns the next page, message or look at GPUs, io.EOF after the last, and errors as Next does.
func (r *Reader) NextEntry() (Entry, error) { return r.entry(true) }

func (r *Reader) entry(all bool) (Entry, error) {
	for r.lines.Scan() {
		r.line++
		if len(bytes.TrimSpace(r.lines.Bytes())) == 0 {
			continue
		}
		var rec record
		if err := json.Unmarshal(r.lines.Bytes(), &rec); err != nil {
			if !r.lines.Scan() && r.lines.Err() != nil {
				return Entry{}, r.ended() // the line is a half one because reading failed
			}
			return Entry{}, r.errorf("not a JSON object: %v", err)
		}
		switch rec.Kind {
		case "engine":
			return r.page(rec)
		case "spans":
			if all {
				return r.message(rec)
			}
			r.Passed[rec.Kind]++
		case kindGPU:
			if source, known := sourceOfGPUs(rec.Source); known && all {
				return r.gpu(rec, source)
			}
			r.Passed[rec.Kind]++
		case "header":
			if rec.Version > Version {
				return Entry{}, r.errorf("recorded in version %d, this program reads up to %d: use a newer one", rec.Version, Version)
			}
		case "":
			return Entry{}, r.errorf(`the key "kind" is missing: it says what the line holds ("engine", "spans", "gpu", "header")`)
		default:
			r.Passed[rec.Kind]++
		}
	}
	r.line++
	return Entry{}, r.ended()
}

// ended is why there is no further line.
func (r *Reader) ended() error {
	switch err := r.lines.Err(); {
	case err == nil:
		return io.EOF
	case errors.Is(err, bufio.ErrTooLong):
		return r.errorf("longer than %d bytes", MaxLine)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return r.errorf("the file ends in the middle of a gzip block: it was cut short; what came before has been read")
	default:
		return r.errorf("%v", err)
	}
}

func (r *Reader) page(rec record) (Entry, error) {
	if err := r.time(rec); err != nil {
		return Entry{}, err
	}
	switch {
	case !(rec.Took >= 0 && rec.Took < 3600):
		return Entry{}, r.errorf(`"took" is %v: it must be seconds`, rec.Took)
	case rec.Target == "":
		return Entry{}, r.errorf(`the key "target" is missing: it names the engine`)
	case strings.Contains(rec.Target, "/"):
		return Entry{}, r.errorf(`"target" is %q: a / separates the rank in the engine label; use another character, such as -`, rec.Target)
	case rec.Body == nil && rec.Error == "":
		return Entry{}, r.errorf(`neither "body" nor "error": one of them says what the scrape brought`)
	}
	p := Page{Line: r.line, T: rec.T, Took: rec.Took, Target: rec.Target, Status: rec.Status, ContentType: rec.ContentType, Err: rec.Error}
	if rec.Body != nil && rec.Error == "" {
		p.Body = []byte(*rec.Body)
	}
	if rec.Error != "" && knownReason(rec.Reason) {
		p.Reason = rec.Reason
	}
	return Entry{Page: &p}, nil
}

// time checks when a line was recorded.
func (r *Reader) time(rec record) error {
	switch last := r.last[rec.Kind]; {
	case !(rec.T > 0 && rec.T < 1e11):
		return r.errorf(`"t" is %v: it must be unix seconds`, rec.T)
	case rec.T < last:
		return r.errorf(`"t" goes back from %.3f to %.3f: a recording is in time order`, last, rec.T)
	}
	r.last[rec.Kind] = rec.T
	return nil
}

func (r *Reader) errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", r.name, r.line, fmt.Sprintf(format, args...))
}

// knownReason reports whether a reason is one that a poll can fail with before a page is read. Others come from a later
// version or from nowhere, and must not become the value of a label.
func knownReason(r fact.Reason) bool {
	switch r {
	case fact.ReasonTimeout, fact.ReasonRefused, fact.ReasonConnect, fact.ReasonStatus, fact.ReasonAuth, fact.ReasonRedirect,
		fact.ReasonTooLarge, fact.ReasonTruncated, fact.ReasonNotMetrics, fact.ReasonParse, fact.ReasonInternal:
		return true
	}
	return false
}

// Failed is the poll of a page that was not had. The classes are those of a live poll; a recording that keeps the error's
// text only has them told apart by its words.
func (p *Page) Failed() (reason fact.Reason, detail string, failed bool) {
	switch {
	case p.Err != "" && p.Reason != "":
		return p.Reason, p.Err, true
	case p.Err != "":
		return classify(p.Err), p.Err, true
	case p.Status == 401 || p.Status == 403:
		return fact.ReasonAuth, fmt.Sprintf("HTTP status %d", p.Status), true
	case p.Status >= 300 && p.Status < 400:
		return fact.ReasonRedirect, fmt.Sprintf("HTTP status %d", p.Status), true
	case p.Status != 200 && p.Status != 0:
		return fact.ReasonStatus, fmt.Sprintf("HTTP status %d", p.Status), true
	}
	return "", "", false
}

func classify(text string) fact.Reason {
	for _, c := range []struct {
		word   string
		reason fact.Reason
	}{
		{"connection refused", fact.ReasonRefused},
		{"deadline exceeded", fact.ReasonTimeout},
		{"timeout", fact.ReasonTimeout},
		{"unexpected EOF", fact.ReasonTruncated},
	} {
		if bytes.Contains([]byte(text), []byte(c.word)) {
			return c.reason
		}
	}
	return fact.ReasonConnect
}
