package recording

import (
	"fmt"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// GPU is one recorded look at a node's GPUs: a dcgm-exporter's page, or a frame of goodput-dcgm. Either Err says why there is
// neither, or Body holds it.
type GPU struct {
	Line        int     // in the file, from 1
	T           float64 // when the page was asked for, or the frame came, unix seconds
	Took        float64 // until the last byte of a page, seconds
	Source      string  // as in fact.GPUReading
	Status      int     // of a page; 0 unknown
	ContentType string
	Body        []byte
	First       bool // the first frame of a child
	Err         string
	Reason      fact.Reason // of Err, where whoever recorded it knew; "" unknown
}

// sourceOfGPUs are the sources that are known. A line of another one, as a later version may write, is passed over. A page
// without a word of its source is a dcgm-exporter's.
func sourceOfGPUs(name string) (source string, known bool) {
	switch name {
	case "":
		return "dcgm-exporter", true
	case "dcgm-exporter", "dcgm", "none":
		return name, true
	}
	return "", false
}

func (r *Reader) gpu(rec record, source string) (Entry, error) {
	if err := r.time(rec); err != nil {
		return Entry{}, err
	}
	switch {
	case !(rec.Took >= 0 && rec.Took < 3600):
		return Entry{}, r.errorf(`"took" is %v: it must be seconds`, rec.Took)
	case rec.Body == nil && rec.Error == "":
		return Entry{}, r.errorf(`neither "body" nor "error": one of them says what the GPUs' page brought`)
	}
	g := GPU{Line: r.line, T: rec.T, Took: rec.Took, Source: source, Status: rec.Status, ContentType: rec.ContentType, First: rec.First, Err: rec.Error}
	if rec.Body != nil && rec.Error == "" {
		g.Body = []byte(*rec.Body)
	}
	if rec.Error != "" && (knownReason(rec.Reason) || knownOfGPUs(rec.Reason)) {
		g.Reason = rec.Reason
	}
	return Entry{GPU: &g}, nil
}

// knownOfGPUs is knownReason for what only sources of GPU readings fail with.
func knownOfGPUs(r fact.Reason) bool {
	switch r {
	case fact.ReasonDialect, fact.ReasonNoSource, fact.ReasonStarting, fact.ReasonExited, fact.ReasonStale:
		return true
	}
	return false
}

// Failed is why there is nothing to read. The classes are those of a live reading.
func (g *GPU) Failed() (reason fact.Reason, detail string, failed bool) {
	as := Page{Status: g.Status, Err: g.Err, Reason: g.Reason}
	return as.Failed()
}

// WriteGPU adds a look at GPUs, in the order of their times. One that is too long to be read back is not written, and the
// error says so; the recording can go on.
func (w *Writer) WriteGPU(g GPU) error {
	line := written{Kind: kindGPU, T: g.T, Source: g.Source, Took: g.Took, Error: g.Err, Reason: g.Reason, First: g.First}
	if g.Err == "" {
		// Quoting can make a text six times as long.
		if len(g.Body) > MaxLine/6-64<<10 {
			return fmt.Errorf("%d bytes about GPUs: more than %d may not fit into a line of a recording", len(g.Body), MaxLine/6-64<<10)
		}
		body := string(g.Body)
		line.Status, line.ContentType, line.Body = g.Status, g.ContentType, &body
	}
	w.open = true
	return w.lines.Encode(line)
}

const kindGPU = "gpu"
