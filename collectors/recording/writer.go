package recording

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// Writer writes a gzipped recording that Reader reads.
type Writer struct {
	buffered *bufio.Writer
	zipped   *gzip.Writer
	lines    *json.Encoder
	open     bool // something was written since the last Flush
}

// written is one line. Of body, error and body_base64 one is there.
type written struct {
	Kind        string  `json:"kind"`
	Version     int     `json:"version,omitempty"`
	T           float64 `json:"t,omitempty"`
	Target      string  `json:"target,omitempty"`
	Took        float64 `json:"took,omitempty"`
	Status      int     `json:"status,omitempty"`
	ContentType string  `json:"content_type,omitempty"`
	Body        *string `json:"body,omitempty"`
	Error       string  `json:"error,omitempty"`

	Reason fact.Reason `json:"reason,omitempty"`

	Source string `json:"source,omitempty"`
	First  bool   `json:"first,omitempty"`

	Peer            string  `json:"peer,omitempty"`
	Path            string  `json:"path,omitempty"`
	ContentEncoding string  `json:"content_encoding,omitempty"`
	BodyBase64      *[]byte `json:"body_base64,omitempty"` // encoding/json writes bytes so
}

// NewWriter begins a recording with its header.
func NewWriter(w io.Writer) (*Writer, error) {
	buffered := bufio.NewWriter(w)
	zipped := gzip.NewWriter(buffered)
	out := &Writer{buffered: buffered, zipped: zipped, lines: json.NewEncoder(zipped)}
	out.lines.SetEscapeHTML(false)
	out.open = true
	return out, out.lines.Encode(written{Kind: "header", Version: Version})
}

// Write adds a page. Pages are to be written in the order of their times.
func (w *Writer) Write(p Page) error {
	line := written{Kind: "engine", T: p.T, Target: p.Target, Took: p.Took, Error: p.Err, Reason: p.Reason}
	if p.Err == "" {
		body := string(p.Body)
		line.Status, line.ContentType, line.Body = p.Status, p.ContentType, &body
	}
	w.open = true
	return w.lines.Encode(line)
}

// MaxMessage is the longest body of a message that is written, in bytes: in base64 it fits into a line that is read.
const MaxMessage = (MaxLine - 64<<10) / 4 * 3

// WriteMessage adds a message with spans. Messages are to be written in the order of their times. One that is too long to
// be read back is not written, and the error says so; the recording can go on.
func (w *Writer) WriteMessage(m Message) error {
	if len(m.Body) > MaxMessage {
		return fmt.Errorf("a message of %d bytes from %s: more than %d fit into no line of a recording", len(m.Body), m.Peer, MaxMessage)
	}
	body := m.Body
	if body == nil {
		body = []byte{}
	}
	w.open = true
	return w.lines.Encode(written{
		Kind: "spans", T: m.T, Peer: m.Peer, Path: m.Path, ContentType: m.ContentType, ContentEncoding: m.ContentEncoding, BodyBase64: &body,
	})
}

// WriteEntry adds a page, a message or a look at GPUs.
func (w *Writer) WriteEntry(e Entry) error {
	switch {
	case e.Page != nil:
		return w.Write(*e.Page)
	case e.GPU != nil:
		return w.WriteGPU(*e.GPU)
	}
	return w.WriteMessage(*e.Message)
}

// Flush hands on all that was written, as a whole: what the underlying writer has then is a complete recording. It
// ends a member of the gzip file, which costs some twenty bytes.
func (w *Writer) Flush() error {
	if !w.open {
		return nil
	}
	w.open = false
	err := errors.Join(w.zipped.Close(), w.buffered.Flush())
	w.zipped.Reset(w.buffered)
	return err
}

// Close ends the recording; what was written is whole only after it. It leaves the underlying writer open.
func (w *Writer) Close() error { return w.Flush() }
