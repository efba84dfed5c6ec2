package spans

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// lacking is a request that does not tell its time to first token.
func lacking() []*tracepb.Span {
	return fresh(request(0, with{keys[mTTFT]: "none"}))
}

// waitFor waits until the log holds a text: what the server says of a connection comes beside the answer.
func waitFor(t *testing.T, log *notes, text string) {
	t.Helper()
	for range 500 {
		if strings.Contains(log.String(), text) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("the log lacks %q: %s", text, log.String())
}

// Each mistake is logged once, although most have the same outcome.
func TestNoMistakeHidesAnother(t *testing.T) {
	var log notes
	c := usualConfig()
	c.Logger = log.logger()
	r := serving(t, c)
	base := strings.TrimSuffix(r.url(), tracesPath)
	good := wire(t, export(nil, fresh(request(0))...))
	for range 2 { // the second round says nothing new
		post(t, http.DefaultClient, base+"/", good)
		post(t, http.DefaultClient, base+"/v1/metrics", good)
		post(t, http.DefaultClient, r.url(), good, "Content-Type", "text/plain")
		post(t, http.DefaultClient, r.url(), good, "Content-Encoding", "zstd")
		post(t, http.DefaultClient, r.url(), good, "Content-Encoding", "gzip")
		post(t, http.DefaultClient, r.url(), good, "Content-Type", "application/grpc")
		post(t, http.DefaultClient, r.url(), []byte("{"), "Content-Type", "application/json")
		post(t, http.DefaultClient, r.url(), []byte("no protobuf"))
		if a, err := http.Get(r.url()); err == nil {
			a.Body.Close()
		}
	}
	for _, one := range []cause{causePath, causeSignal, causeContentType, causeCompression, causeGzip, causeGRPCToHTTP, causeJSON, causeProtobuf, causeMethod} {
		if n := strings.Count(log.String(), "cause="+string(one)+" "); n != 1 {
			t.Errorf("%s stands %d times in the log: %s", one, n, log.String())
		}
	}
	if n := strings.Count(log.String(), "cause="); n != 9 {
		t.Errorf("%d lines, want 9: %s", n, log.String())
	}
}

// Whoever speaks the wrong protocol is told apart by how the connection begins.
func TestWrongProtocolsAreRecognised(t *testing.T) {
	server := certificates(t)
	secure := func(c *Config) { c.CertFile, c.KeyFile = server.cert, server.key }
	sendGRPC := func(t *testing.T, address string, with credentials.TransportCredentials) {
		conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(with))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		data := export(nil, fresh(request(0))...)
		if conn.Invoke(ctx, exportMethod, data, data) == nil {
			t.Error("gRPC was taken")
		}
	}
	sendHTTP := func(t *testing.T, url string) {
		client, _ := client(server)
		a, err := client.Post(url+tracesPath, "application/x-protobuf", bytes.NewReader(wire(t, export(nil, fresh(request(0))...))))
		if err == nil {
			a.Body.Close()
			if a.StatusCode == http.StatusOK {
				t.Error("HTTP was taken")
			}
		}
	}
	tlsOf := func() credentials.TransportCredentials { return credentials.NewTLS(&tls.Config{RootCAs: server.pool}) }
	for name, c := range map[string]struct {
		change    func(*Config)
		send      func(t *testing.T, http, grpc string)
		at, cause string
		says      string
	}{
		"gRPC to HTTP": {nil, func(t *testing.T, h, _ string) { sendGRPC(t, h, insecure.NewCredentials()) },
			"http", "grpc_to_http", "this is gRPC, and HTTP is spoken here: send it to spans.grpc_listen, or set OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf"},
		"HTTP to gRPC":              {nil, func(t *testing.T, _, g string) { sendHTTP(t, "http://"+g) }, "grpc", "http_to_grpc", "send it to spans.listen"},
		"TLS to plain HTTP":         {nil, func(t *testing.T, h, _ string) { sendHTTP(t, "https://"+h) }, "http", "tls_to_plain", "begin the endpoint with http://"},
		"TLS to plain gRPC":         {nil, func(t *testing.T, _, g string) { sendGRPC(t, g, tlsOf()) }, "grpc", "tls_to_plain", "OTEL_EXPORTER_OTLP_TRACES_INSECURE=true"},
		"plain HTTP to TLS":         {secure, func(t *testing.T, h, _ string) { sendHTTP(t, "http://"+h) }, "http", "plain_to_tls", "begin the endpoint with https://"},
		"plain gRPC to TLS":         {secure, func(t *testing.T, _, g string) { sendGRPC(t, g, insecure.NewCredentials()) }, "grpc", "plain_to_tls", "begin the endpoint with https://"},
		"gRPC over TLS to HTTP":     {secure, func(t *testing.T, h, _ string) { sendGRPC(t, h, tlsOf()) }, "http", "grpc_to_http", "send it to spans.grpc_listen"},
		"HTTP over TLS to gRPC":     {secure, func(t *testing.T, _, g string) { sendHTTP(t, "https://"+g) }, "grpc", "http_to_grpc", "send it to spans.listen"},
		"plain HTTP to gRPC by TLS": {secure, func(t *testing.T, _, g string) { sendHTTP(t, "http://"+g) }, "grpc", "plain_to_tls", "spans.tls_config"},
	} {
		t.Run(name, func(t *testing.T) {
			var log notes
			cfg := usualConfig()
			cfg.Logger = log.logger()
			if c.change != nil {
				c.change(&cfg)
			}
			r := serving(t, cfg)
			h, g := r.Addrs()
			// The server may hang up on a connection before anything of it was read, hence more than two.
			for n := 0; n < 20 && r.Stats().messages()[c.at+" unsupported"] < 2; n++ {
				c.send(t, h, g)
			}
			waitFor(t, &log, "protocol="+c.at+" outcome=unsupported cause="+c.cause+" ")
			waitFor(t, &log, c.says)
			if n := strings.Count(log.String(), "cause="); n != 1 {
				t.Errorf("%d lines, want 1: %s", n, log.String())
			}
			if n := r.Stats().messages()[c.at+" unsupported"]; n < 2 {
				t.Errorf("%d messages are counted, want 2", n)
			}
		})
	}
}

// A connection may begin in pieces, and with what nobody knows.
func TestGreetings(t *testing.T) {
	for text, want := range map[string]cause{
		"POST": causeHTTPToGRPC, "GET ": causeHTTPToGRPC, "PRI ": "", "\x16\x03\x01\x02": causeTLSToPlain, "\x16\x02..": "", "\x00\x00\x00\x00": "",
	} {
		got, ok := misspoken(GRPC, false, []byte(text))
		if got.cause != want || ok != (want != "") {
			t.Errorf("%q: %q, want %q", text, got.cause, want)
		}
	}
	var heard []string
	client, server := net.Pipe()
	defer client.Close()
	g := &greeter{Conn: server, heard: func(_ net.Conn, first []byte) { heard = append(heard, string(first)) }}
	go func() {
		for _, part := range []string{"P", "OS", "T / HTTP/1.1"} {
			io.WriteString(client, part)
		}
		client.Close()
	}()
	all, err := io.ReadAll(g)
	if err != nil || string(all) != "POST / HTTP/1.1" || len(heard) != 1 || heard[0] != "POST" {
		t.Errorf("read %q, heard %q, %v", all, heard, err)
	}
}

// What was logged is news again after an hour without it, and says who sends.
func TestCausesComeBack(t *testing.T) {
	c := usualConfig()
	var log notes
	synctest.Test(t, func(t *testing.T) {
		s, err := newSettings(c, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := &Receiver{log: log.logger(), door: newDoor(c.MaxMessage)}
		r.buffer.room = c.Buffer
		who := with{"service.name": "vllm\nforged=1", "service.instance.id": strings.Repeat("i", 300), "goodput.engine": "a"}
		refused := protobuf(wire(t, export(who, lacking()...)))
		cut := protobuf(wire(t, export(who, fresh(request(0))...)))
		cut.Body = append(cut.Body, 0x0a, 0xff) // a resource that is not all there
		send := func() {
			refused.Received, cut.Received = now(), now()
			r.take(s, refused)
			r.finish(HTTP, "10.0.0.1", r.take(s, cut))
		}
		for _, step := range []struct {
			after time.Duration
			lines int
		}{{0, 2}, {time.Minute, 2}, {59 * time.Minute, 2}, {59 * time.Minute, 2}, {time.Hour, 4}, {time.Second, 4}} {
			time.Sleep(step.after)
			send()
			if n := strings.Count(log.String(), "level=WARN"); n != step.lines {
				t.Fatalf("after %v more there are %d lines, want %d: %s", step.after, n, step.lines, log.String())
			}
		}
	})
	for want, times := range map[string]int{
		`reason=missing`: 2, `cause=protobuf`: 2, `service="vllm\nforged=1"`: 4, "instance=" + strings.Repeat("i", maxSender) + " ": 4, "engine=a": 4,
	} {
		if n := strings.Count(log.String(), want); n != times {
			t.Errorf("%q stands %d times in the log, want %d: %s", want, n, times, log.String())
		}
	}
}
