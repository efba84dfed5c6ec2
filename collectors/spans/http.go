package spans

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	headerTime = 5 * time.Second  // for the header of a message
	readTime   = 10 * time.Second // for a whole message
	idleTime   = 2 * time.Minute  // that a connection is kept without a message: senders send every few seconds
	closeTime  = 2 * time.Second  // that messages under way have to end when all ends
	maxHeader  = 16 << 10         // bytes
)

// tracesPath is where OTLP over HTTP sends traces; the exporters of other signals use others.
const tracesPath = "/v1/traces"

// bodies keeps buffers for bodies.
var bodies = sync.Pool{New: func() any { return new([]byte) }}

// serveHTTP serves HTTP/1.1, which is what OTLP's exporters speak, until the context is done.
func (r *Receiver) serveHTTP(ctx context.Context) error {
	var connections sync.WaitGroup // a handler ends before its connection does
	var one http.Protocols
	one.SetHTTP1(true)
	server := &http.Server{
		Handler: http.HandlerFunc(r.handle), Protocols: &one, MaxHeaderBytes: maxHeader,
		ReadHeaderTimeout: headerTime, ReadTimeout: readTime, WriteTimeout: 2 * readTime, IdleTimeout: idleTime,
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew: // in Serve
				connections.Add(1)
			case http.StateClosed:
				connections.Done()
			}
		},
		ErrorLog: log.New(debugLog{r.log}, "", 0),
	}
	l := r.greet(r.http, HTTP)
	if r.settings.Load().CertFile != "" {
		l = tls.NewListener(l, r.tls(HTTP))
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		err = errors.Join(err, server.Close())
		connections.Wait()
		return err
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	if server.Shutdown(end) != nil {
		server.Close()
	}
	<-failed
	connections.Wait()
	return nil
}

// debugLog is where the server's remarks on connections go: anyone who connects can make it say something.
type debugLog struct{ log *slog.Logger }

func (d debugLog) Write(line []byte) (int, error) {
	d.log.Debug("spans over HTTP: " + strings.TrimSpace(string(line)))
	return len(line), nil
}

func (r *Receiver) handle(w http.ResponseWriter, q *http.Request) {
	from := peer(q.RemoteAddr)
	status, a := r.export(w, q, from)
	r.finish(HTTP, from, a)
	json, err := isJSON(q.Header.Get("Content-Type"))
	reply(w, status, a, encodingOf(json, err))
}

// export reads one message and takes its spans.
func (r *Receiver) export(w http.ResponseWriter, q *http.Request, from string) (status int, _ answer) {
	s := r.settings.Load()
	if isGRPC(q) {
		w.Header().Set("Connection", "close") // what follows is frames
		return http.StatusUnsupportedMediaType, grpcToHTTP
	}
	switch {
	case signalPaths[q.URL.Path]:
		return http.StatusNotFound, otherSignal
	case q.URL.Path != tracesPath:
		return http.StatusNotFound, otherPath
	case q.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		return http.StatusMethodNotAllowed, otherMethod
	}
	if !s.access.admits(q.Header.Get("Authorization")) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		return http.StatusUnauthorized, unauthorized
	}
	m := Message{
		Peer: from, Path: tracesPath, ContentType: q.Header.Get("Content-Type"), ContentEncoding: q.Header.Get("Content-Encoding"),
	}
	if _, err := m.readable(); err != nil {
		return http.StatusUnsupportedMediaType, err.answer()
	}
	if !r.door.enter() {
		return http.StatusServiceUnavailable, busy
	}
	defer r.door.leave()
	if q.ContentLength > s.MaxMessage {
		return failure(q.Body, errLimit, s.MaxMessage)
	}
	buffer := bodies.Get().(*[]byte)
	defer recycle(&bodies, buffer)
	body := &toll{from: q.Body, door: &r.door, limit: s.MaxMessage}
	defer body.refund()
	var err error
	if *buffer, err = readAll((*buffer)[:0], body, s.MaxMessage); err != nil {
		*buffer = nil // what came so far is of no use, and the rest may take its time
		body.refund()
		return failure(q.Body, err, s.MaxMessage)
	}
	m.Body, m.Received = *buffer, now()
	a := r.take(s, m)
	return httpStatus(a.outcome), a
}

// isGRPC recognises gRPC by the preface of its connection, which the server hands on as a request, or by what it says of
// itself where something on the way made HTTP/1.1 of it.
func isGRPC(q *http.Request) bool {
	preface := q.Method == "PRI" && q.ProtoMajor == 2
	return preface || strings.HasPrefix(q.Header.Get("Content-Type"), "application/grpc")
}

// maxDiscard is how much of a body over a limit is read and forgotten, bytes.
const maxDiscard = 64 << 20

// failure is why a body could not be read. Of one over the limit the rest is read first: a sender that still writes when
// the connection is closed sees a broken pipe in place of the answer, and repeats what will never be taken.
func failure(body io.Reader, err error, limit int64) (int, answer) {
	switch {
	case errors.Is(err, errLimit):
		io.CopyN(io.Discard, body, maxDiscard)
		return http.StatusRequestEntityTooLarge, answer{outcome: TooLarge, cause: causeSize, detail: tooLarge(limit).Detail}
	case errors.Is(err, errCrowded):
		io.CopyN(io.Discard, body, maxDiscard)
		return http.StatusServiceUnavailable, busy
	}
	a := cutShort
	if n, ok := errors.AsType[net.Error](err); ok && n.Timeout() {
		a = tooSlow
	}
	return http.StatusRequestTimeout, a
}

// httpStatus is the status of a message that was read. Full is 503 and not 429, although OTLP has both for it: Python's
// exporter, which is vLLM's, repeats what was answered with 408 or 5xx and drops what was answered with 429.
func httpStatus(outcome string) int {
	switch outcome {
	case OK, Partial:
		return http.StatusOK
	case TooLarge:
		return http.StatusRequestEntityTooLarge
	case Unsupported:
		return http.StatusUnsupportedMediaType
	case Full:
		return http.StatusServiceUnavailable
	}
	return http.StatusBadRequest
}

// reply answers in the encoding of the question.
func reply(w http.ResponseWriter, status int, a answer, e replyEncoding) {
	w.Header().Set("Content-Type", e.contentType)
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", strconv.Itoa(int(comeAgain/time.Second)))
	}
	body := e.response(a)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	w.Write(body) // whoever does not read the answer does not miss it
}
