package recording

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
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

// written is one line. Of body and error one is there.
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
