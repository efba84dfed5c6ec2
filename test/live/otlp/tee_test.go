package otlp

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// taker stands in for the exporter: it keeps what it gets, and answers gRPC with a status in its trailers.
type taker struct {
	sync.Mutex
	bodies [][]byte
	status int
}

func (k *taker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	k.Lock()
	defer k.Unlock()
	k.bodies = append(k.bodies, body)
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
		w.Header().Set("Trailer", "Grpc-Status")
		w.Header().Set("Content-Type", "application/grpc")
		w.WriteHeader(http.StatusOK)
		w.Write([]byte{0, 0, 0, 0, 0})
		w.Header().Set("Grpc-Status", "0")
		return
	}
	w.Header().Set("Retry-After", "3")
	w.WriteHeader(k.status)
}

// serve answers HTTP/1 and HTTP/2 without TLS, and returns its address.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: h, Protocols: Protocols()}
	go s.Serve(l) //nolint:errcheck // it ends with the test
	t.Cleanup(func() { s.Close() })
	return l.Addr().String()
}

// send posts a message as a sender of the protocol does.
func send(t *testing.T, address, protocol string, body []byte) *http.Response {
	t.Helper()
	kind := "application/x-protobuf"
	if protocol == "grpc" {
		kind = "application/grpc"
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/v1/traces", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", kind)
	response, err := transports[protocol].RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.ReadAll(response.Body); err != nil {
		t.Fatal(err)
	}
	return response
}

func framed(message []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
}

// TestTee: what an engine sends is read, and handed on byte for byte with the exporter's answer.
func TestTee(t *testing.T) {
	exporter := &taker{status: http.StatusOK}
	address := serve(t, exporter)
	tee := &Tee{HTTP: address, GRPC: address}
	own := serve(t, tee)
	b := batches(t, "vllm-0.32-spec")
	good := b[len(b)-1]
	want, err := Decode(good)
	if err != nil || len(want) == 0 {
		t.Fatalf("%d spans, %v", len(want), err)
	}
	one := Taken{Messages: 1, Spans: len(want)}

	if r := send(t, own, "http", good); r.StatusCode != http.StatusOK || tee.Took()["http"] != one {
		t.Errorf("over HTTP: %s, %+v taken", r.Status, tee.Took())
	}
	if r := send(t, own, "grpc", framed(good)); r.Trailer.Get("Grpc-Status") != "0" || tee.Took()["grpc"] != one {
		t.Errorf("over gRPC: trailers %v, %+v taken", r.Trailer, tee.Took())
	}
	if len(exporter.bodies) != 2 || !bytes.Equal(exporter.bodies[0], good) || !bytes.Equal(exporter.bodies[1], framed(good)) {
		t.Errorf("%d messages came, not the two as they were sent", len(exporter.bodies))
	}
	spans, errs := tee.Spans()
	if len(spans) != len(want) || len(errs) != 0 || spans[0].Received == 0 {
		t.Errorf("%d spans (%v), want those of one message: the second is the first again", len(spans), errs)
	}

	exporter.status = http.StatusTooManyRequests
	if r := send(t, own, "http", good); r.StatusCode != http.StatusTooManyRequests || r.Header.Get("Retry-After") != "3" || tee.Took()["http"] != one {
		t.Errorf("an exporter that is full: %s, %v", r.Status, r.Header)
	}
}

// TestTeeWithoutExporter: the sender is told to come again, and what it sent is noted once.
func TestTeeWithoutExporter(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := l.Addr().String()
	l.Close()
	tee := &Tee{HTTP: nobody, GRPC: nobody}
	own := serve(t, tee)
	b := batches(t, "vllm-0.32-spec")
	for _, protocol := range []string{"http", "grpc"} {
		body := b[len(b)-1]
		if protocol == "grpc" {
			body = framed(body)
		}
		if r := send(t, own, protocol, body); r.StatusCode != http.StatusServiceUnavailable || len(tee.Took()) != 0 {
			t.Errorf("%s: %s", protocol, r.Status)
		}
	}
	want, _ := Decode(b[len(b)-1])
	if spans, errs := tee.Spans(); len(spans) != len(want) || len(errs) != 0 {
		t.Errorf("%d spans, %v; want %d", len(spans), errs, len(want))
	}
}

// TestTeeRefuses what it cannot read, for a run whose record has gaps proves nothing.
func TestTeeRefuses(t *testing.T) {
	exporter := &taker{status: http.StatusOK}
	address := serve(t, exporter)
	b := batches(t, "vllm-0.32-spec")
	good := b[len(b)-1]
	for name, c := range map[string]struct {
		protocol string
		body     []byte
	}{
		"a batch that was cut":              {"http", good[:len(good)-1]},
		"a batch that is too large":         {"http", make([]byte, maxBatch+1)},
		"a frame that was cut":              {"grpc", framed(good)[:100]},
		"a compressed message":              {"grpc", append([]byte{1}, framed(good)[1:]...)},
		"a frame that is not there at all":  {"grpc", []byte{0, 0}},
		"two messages where one is allowed": {"grpc", append(framed(good), framed(good)...)},
	} {
		t.Run(name, func(t *testing.T) {
			tee := &Tee{HTTP: address, GRPC: address}
			if r := send(t, serve(t, tee), c.protocol, c.body); r.StatusCode != http.StatusBadRequest {
				t.Error(r.Status)
			}
			if spans, errs := tee.Spans(); len(spans) != 0 || len(errs) != 1 {
				t.Errorf("%d spans, %v", len(spans), errs)
			}
		})
	}
	if len(exporter.bodies) != 0 {
		t.Errorf("%d of these were handed on", len(exporter.bodies))
	}
}
