package spans

import (
	"fmt"
	"mime"
	"slices"
	"strings"
	"sync"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// Message is one export as it came in.
type Message struct {
	Peer            string // address of the sender, without the port
	Path            string
	ContentType     string  // application/x-protobuf, application/json or application/grpc
	ContentEncoding string  // "" or identity: none; gzip
	Body            []byte  // of gRPC without its frame
	Received        float64 // unix seconds
}

// Batch is what a message holds. The caller owns it.
type Batch struct {
	Spans   []fact.Span // that stand for requests, in the order of the message
	Other   uint64      // spans of other names
	Refused []Refusal   // spans whose values cannot be true, sorted by reason

	from map[string]sender // of the first of each reason
}

// Rejected is how many spans were refused.
func (b *Batch) Rejected() (n uint64) {
	for _, r := range b.Refused {
		n += r.Count
	}
	return n
}

// Error is why a message cannot be taken as a whole.
type Error struct {
	Outcome string // TooLarge, Malformed or Unsupported
	Detail  string // for a person; holds nothing that the sender wrote

	cause  cause
	sender sender // as far as the resource was read
}

func (e *Error) Error() string { return e.Detail }

func refuse(outcome string, why cause, format string, args ...any) *Error {
	return &Error{Outcome: outcome, Detail: fmt.Sprintf(format, args...), cause: why}
}

// Limits of one message. The numbers are generous: an SDK sends 512 spans of 12 attributes at once, a Collector 8,192,
// and SDKs cut spans at 128 attributes.
const (
	maxSpans      = 131_072 // spans of any name; as many resources and scopes
	maxAttributes = 1024    // of one span or resource
	maxValue      = 64      // bytes kept of an attribute's value
	maxOrigin     = 256     // bytes kept of what an origin tells
	maxCall       = 128     // bytes of an engine's id of a request that are kept as they are
)

// Decoder reads messages. It is safe for concurrent use, and remembers origins and values that it has seen, within
// limits, so that spans share them.
type Decoder struct {
	names      []string
	attributes []string
	max        int64
	origins    origins
	values     values
	pool       sync.Pool // of *[]byte: what was inflated
}

// NewDecoder returns a decoder of spans with one of the names. It keeps the attributes with the keys, and reads messages
// of at most so many bytes, decompressed.
func NewDecoder(names, attributes []string, maxMessage int64) *Decoder {
	return &Decoder{
		names: slices.Clone(names), attributes: slices.Clone(attributes), max: maxMessage,
		pool: sync.Pool{New: func() any { return new([]byte) }},
	}
}

// Decode reads one message. The error is an *Error, and nothing of the message is taken then. The batch keeps nothing
// of the body.
func (d *Decoder) Decode(m Message) (Batch, error) {
	b, err := d.decode(m)
	if err != nil {
		return Batch{}, err
	}
	return b, nil
}

// decode is Decode with the error's type. A bug in reading costs the message that shows it and no more.
func (d *Decoder) decode(m Message) (b Batch, err *Error) {
	defer func() {
		if recover() != nil {
			b, err = Batch{}, refuse(Malformed, causeReader, "the message cannot be read: a mistake in the reader; please report it with a recording")
		}
	}()
	return d.read(m)
}

func (d *Decoder) read(m Message) (Batch, *Error) {
	json, err := m.readable()
	if err != nil {
		return Batch{}, err
	}
	body := m.Body
	switch encoding(m.ContentEncoding) {
	case identity:
		if int64(len(body)) > d.max {
			return Batch{}, tooLarge(d.max)
		}
	case gzipped:
		buffer := d.pool.Get().(*[]byte)
		defer recycle(&d.pool, buffer)
		if *buffer, err = inflate((*buffer)[:0], body, d.max); err != nil {
			return Batch{}, err
		}
		body = *buffer
	}
	if json {
		if body, err = fromJSON(body); err != nil {
			return Batch{}, err
		}
	}
	w := walk{d: d, peer: m.Peer, received: m.Received}
	if err := w.request(body); err != nil {
		err.sender = senderOf(w.resource)
		return Batch{}, err
	}
	return w.batch, nil
}

func tooLarge(limit int64) *Error {
	return refuse(TooLarge, causeSize, "the message is larger than the %d bytes that spans.max_message allows, decompressed; all its spans are lost: let the sender make smaller batches (OTEL_BSP_MAX_EXPORT_BATCH_SIZE), or raise the limit", limit)
}

// readable says whether the message is in JSON, or why it cannot be read, without looking at the body.
func (m *Message) readable() (json bool, err *Error) {
	if json, err = isJSON(m.ContentType); err != nil {
		return false, err
	}
	if e := encoding(m.ContentEncoding); e != identity && e != gzipped {
		return false, refuse(Unsupported, causeCompression, unknownEncoding)
	}
	return json, nil
}

const unknownEncoding = "the message's compression is not known; send it with gzip or without any"

// isJSON tells the two encodings apart.
func isJSON(contentType string) (bool, *Error) {
	switch contentType { // as most write it
	case "application/x-protobuf":
		return false, nil
	case "application/json":
		return true, nil
	}
	media, _, err := mime.ParseMediaType(contentType)
	switch {
	case err != nil:
	case media == "application/x-protobuf", media == "application/grpc", media == "application/grpc+proto":
		return false, nil
	case media == "application/json":
		return true, nil
	}
	return false, refuse(Unsupported, causeContentType, "the content type is none of OTLP's; send application/x-protobuf or application/json")
}

// The compressions that are read.
const (
	identity = "identity"
	gzipped  = "gzip"
)

func encoding(written string) string {
	if written = strings.ToLower(strings.TrimSpace(written)); written != "" {
		return written
	}
	return identity
}
