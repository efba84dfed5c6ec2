package recording

import "encoding/base64"

// Message is one recorded batch of spans, as it came in: still compressed where it was.
type Message struct {
	Line            int     // in the file, from 1
	T               float64 // when it had been received, unix seconds
	Peer            string  // address of the sender, without the port
	Path            string  // of the HTTP request; gRPC's is that of its method
	ContentType     string
	ContentEncoding string // "" or "gzip"
	Body            []byte
}

// Entry is a page, a message or a look at GPUs; the others are nil.
type Entry struct {
	Page    *Page
	Message *Message
	GPU     *GPU
}

// T is the time of whichever it is, unix seconds.
func (e Entry) T() float64 {
	switch {
	case e.Page != nil:
		return e.Page.T
	case e.GPU != nil:
		return e.GPU.T
	}
	return e.Message.T
}

func (r *Reader) message(rec record) (Entry, error) {
	if err := r.time(rec); err != nil {
		return Entry{}, err
	}
	if rec.BodyBase64 == nil {
		return Entry{}, r.errorf(`the key "body_base64" is missing: it holds the message as it came in`)
	}
	body, err := base64.StdEncoding.DecodeString(*rec.BodyBase64)
	if err != nil {
		return Entry{}, r.errorf(`"body_base64" cannot be read: %v; write the message's bytes in standard base64`, err)
	}
	return Entry{Message: &Message{
		Line: r.line, T: rec.T, Peer: rec.Peer, Path: rec.Path,
		ContentType: rec.ContentType, ContentEncoding: rec.ContentEncoding, Body: body,
	}}, nil
}
