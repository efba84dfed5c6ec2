package otlp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"sync"
	"time"
)

// Tee stands where an engine sends its spans, reads them, and hands each message on as it came, so that the exporter
// sees what it would see without it. It speaks OTLP over HTTP, and over gRPC on plain HTTP/2. It is safe for concurrent use.
type Tee struct {
	// HTTP and GRPC are the addresses of the exporter's receivers. Not to be changed once messages come.
	HTTP, GRPC string

	mu    sync.Mutex
	spans []Span
	errs  []error
	seen  map[[sha256.Size]byte]bool // messages: a sender that gets no answer sends again
	took  map[string]Taken
}

// Taken counts the messages to which the exporter answered 200, and the spans in them.
type Taken struct{ Messages, Spans int }

// Took is what the exporter has taken, by protocol ("http", "grpc").
func (t *Tee) Took() map[string]Taken {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.took)
}

// Spans returns what has come so far, and what could not be read.
func (t *Tee) Spans() ([]Span, []error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.spans), slices.Clone(t.errs)
}

// ServeHTTP takes a message. Spans of other names than llm_request are passed over. While the exporter does not answer
// the sender gets 503, as a proxy would say, and may come again.
func (t *Tee) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	protocol, address := "http", t.HTTP
	if strings.HasPrefix(request.Header.Get("Content-Type"), "application/grpc") {
		protocol, address = "grpc", t.GRPC
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, maxBatch))
	n := 0
	if err == nil {
		n, err = t.read(protocol, request.Header, body)
	}
	if err != nil {
		t.mu.Lock()
		t.errs = append(t.errs, err)
		t.mu.Unlock()
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	t.proxy(protocol, address, n).ServeHTTP(w, request)
}

// transports speak HTTP/1 with the one receiver and HTTP/2 without TLS with the other.
var transports = func() map[string]*http.Transport {
	var two http.Protocols
	two.SetUnencryptedHTTP2(true)
	return map[string]*http.Transport{"http": {}, "grpc": {Protocols: &two}}
}()

// proxy hands a message of so many spans on.
func (t *Tee) proxy(protocol, address string, spans int) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", address
			r.Out.Host = address
		},
		Transport:     transports[protocol],
		FlushInterval: -1, // a gRPC answer ends with trailers, which nothing must hold back
		ModifyResponse: func(r *http.Response) error {
			if r.StatusCode == http.StatusOK {
				t.mu.Lock()
				defer t.mu.Unlock()
				if t.took == nil {
					t.took = map[string]Taken{}
				}
				sum := t.took[protocol]
				t.took[protocol] = Taken{sum.Messages + 1, sum.Spans + spans}
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			if !errors.Is(err, context.Canceled) {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		},
	}
}

// read notes the spans of a message, unless it has come before, and says how many it has.
func (t *Tee) read(protocol string, header http.Header, body []byte) (n int, err error) {
	now := float64(time.Now().UnixMicro()) / 1e6
	if e := header.Get("Content-Encoding"); e != "" {
		return 0, fmt.Errorf("OTLP: a message with Content-Encoding %s, which is not read here", e)
	}
	if protocol == "grpc" {
		if body, err = unframe(body); err != nil {
			return 0, err
		}
	}
	spans, err := Decode(body)
	if err != nil {
		return 0, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	sum := sha256.Sum256(body)
	if t.seen[sum] {
		return len(spans), nil
	}
	if t.seen == nil {
		t.seen = map[[sha256.Size]byte]bool{}
	}
	t.seen[sum] = true
	for i := range spans {
		spans[i].Received = now
	}
	t.spans = append(t.spans, spans...)
	return len(spans), nil
}

// unframe takes a message out of the frame that gRPC puts it into: a byte that says whether it is compressed, and its
// length.
func unframe(frame []byte) ([]byte, error) {
	if len(frame) < 5 || int(binary.BigEndian.Uint32(frame[1:5])) != len(frame)-5 {
		return nil, fmt.Errorf("OTLP: %d bytes over gRPC are not one message", len(frame))
	}
	if frame[0] != 0 {
		return nil, errors.New("OTLP: a compressed message over gRPC, which is not read here")
	}
	return frame[5:], nil
}

// Protocols are those that a server in front of a Tee has to speak.
func Protocols() *http.Protocols {
	p := &http.Protocols{}
	p.SetHTTP1(true)
	p.SetUnencryptedHTTP2(true)
	return p
}
