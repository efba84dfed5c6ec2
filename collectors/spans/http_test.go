package spans

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

func TestHTTPAnswersAsOTLPSays(t *testing.T) {
	two := wire(t, export(nil, fresh(request(0), request(1), other())...))
	bad := export(nil, fresh(request(0), request(1, with{"gen_ai.latency.e2e": -3.0}))...)
	tooMany := wire(t, export(nil, fresh(requests(101)...)...))
	const inProtobuf, inJSON, plain = "application/x-protobuf", "application/json", "text/plain; charset=utf-8"
	for name, c := range map[string]struct {
		path        string
		body        []byte
		header      []string
		status      int
		contentType string
		code        codes.Code // of the Status in the body
		detail      string     // part of what the sender is told
		outcome     string
		spans       map[string]uint64
	}{
		"an export is taken":            {body: two, status: 200, contentType: inProtobuf, outcome: OK, spans: map[string]uint64{"taken": 2, "other_name": 1}},
		"a gzipped one too":             {body: zipped(t, two), header: []string{"Content-Encoding", "gzip"}, status: 200, contentType: inProtobuf, outcome: OK, spans: map[string]uint64{"taken": 2, "other_name": 1}},
		"and one in JSON":               {body: otlpJSON(t, export(nil, fresh(request(0))...)), header: []string{"Content-Type", inJSON}, status: 200, contentType: inJSON, outcome: OK, spans: map[string]uint64{"taken": 1}},
		"an empty export is fine":       {body: nil, status: 200, contentType: inProtobuf, outcome: OK},
		"refused values are told":       {body: wire(t, bad), status: 200, contentType: inProtobuf, detail: "1 spans (negative), such as: gen_ai.latency.e2e is -3 s", outcome: Partial, spans: map[string]uint64{"taken": 1, "refused": 1}},
		"refused values in JSON":        {body: otlpJSON(t, bad), header: []string{"Content-Type", inJSON}, status: 200, contentType: inJSON, detail: "1 spans (negative), such as: gen_ai.latency.e2e is -3 s", outcome: Partial, spans: map[string]uint64{"taken": 1, "refused": 1}},
		"more than the buffer holds":    {body: tooMany, status: 200, contentType: inProtobuf, detail: "1 spans: the message has more than the whole buffer", outcome: Partial, spans: map[string]uint64{"taken": 100, "full": 1}},
		"garbage":                       {body: []byte("garbage"), status: 400, contentType: inProtobuf, code: codes.InvalidArgument, detail: "not an OTLP export", outcome: Malformed},
		"garbage in JSON":               {body: []byte("{"), header: []string{"Content-Type", inJSON}, status: 400, contentType: inJSON, code: codes.InvalidArgument, detail: "wrong syntax", outcome: Malformed},
		"another content type":          {body: two, header: []string{"Content-Type", "text/xml"}, status: 415, contentType: plain, detail: "send application/x-protobuf or application/json", outcome: Unsupported},
		"another compression":           {body: two, header: []string{"Content-Encoding", "br"}, status: 415, contentType: inProtobuf, code: codes.Unimplemented, detail: "send it with gzip", outcome: Unsupported},
		"a message over the limit":      {body: make([]byte, 1<<20+1), status: 413, contentType: inProtobuf, code: codes.ResourceExhausted, detail: "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", outcome: TooLarge},
		"one over it when inflated":     {body: zipped(t, make([]byte, 1<<20+1)), header: []string{"Content-Encoding", "gzip"}, status: 413, contentType: inProtobuf, code: codes.ResourceExhausted, detail: "all its spans are lost", outcome: TooLarge},
		"metrics":                       {path: "/v1/metrics", body: two, status: 404, contentType: inProtobuf, code: codes.Unimplemented, detail: "only traces are taken", outcome: Unsupported},
		"an endpoint without its path":  {path: "/", body: two, status: 404, contentType: inProtobuf, code: codes.Unimplemented, detail: "POST to /v1/traces", outcome: Unsupported},
		"logs without a content type":   {path: "/v1/logs", body: two, header: []string{"Content-Type", ""}, status: 404, contentType: plain, detail: "only traces are taken", outcome: Unsupported},
		"a path that is more than ours": {path: "/v1/traces/x", body: two, status: 404, contentType: inProtobuf, code: codes.Unimplemented, detail: "only traces are taken", outcome: Unsupported},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := serving(t, usualConfig())
			url := r.url()
			if c.path != "" {
				url = strings.TrimSuffix(url, tracesPath) + c.path
			}
			a, body := post(t, http.DefaultClient, url, c.body, c.header...)
			if a.StatusCode != c.status || a.Header.Get("Content-Type") != c.contentType {
				t.Errorf("status %d with %s, want %d with %s", a.StatusCode, a.Header.Get("Content-Type"), c.status, c.contentType)
			}
			code, rejected, detail := told(t, a, body)
			if code != c.code || (detail == "") != (c.detail == "") || !strings.Contains(detail, c.detail) {
				t.Errorf("told %s: %q, want %s: %q", code, detail, c.code, c.detail)
			}
			if rejected != c.spans["refused"]+c.spans["full"] {
				t.Errorf("told that %d spans were rejected, counted %v", rejected, c.spans)
			}
			equal(t, "messages", r.Stats().messages(), map[string]uint64{"http " + c.outcome: 1})
			equal(t, "spans", r.Stats().spans(), c.spans)
			if n := uint64(len(r.Drain())); n != c.spans["taken"] {
				t.Errorf("%d spans drained, want %d", n, c.spans["taken"])
			}
		})
	}
}

// told is what an answer says to its sender, by the official types where there are some.
func told(t *testing.T, a *http.Response, body string) (code codes.Code, rejected uint64, detail string) {
	t.Helper()
	var st rpcstatus.Status
	switch contentType := a.Header.Get("Content-Type"); {
	case strings.HasPrefix(contentType, "text/plain"):
		return 0, 0, body
	case contentType == "application/x-protobuf" && a.StatusCode == http.StatusOK:
		rejected, detail = partialSuccess(t, []byte(body))
		return 0, rejected, detail
	case contentType == "application/x-protobuf":
		if err := proto.Unmarshal([]byte(body), &st); err != nil {
			t.Fatal(err)
		}
	case a.StatusCode == http.StatusOK:
		var r struct {
			PartialSuccess struct {
				RejectedSpans uint64 `json:",string"`
				ErrorMessage  string
			}
		}
		if err := json.Unmarshal([]byte(body), &r); err != nil {
			t.Fatal(err)
		}
		return 0, r.PartialSuccess.RejectedSpans, r.PartialSuccess.ErrorMessage
	default:
		if err := protojson.Unmarshal([]byte(body), &st); err != nil {
			t.Fatal(err)
		}
	}
	return codes.Code(st.Code), 0, st.Message
}

// A sender that only reads when it has written all, as Python's does, must see the answer and not a broken pipe.
func TestASenderOfAMessageOverTheLimitSeesTheAnswer(t *testing.T) {
	r := serving(t, usualConfig())
	address, _ := r.Addrs()
	for _, length := range []string{"Content-Length: 20000000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n1312d00\r\n"} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		body := make([]byte, 20_000_000)
		if _, err := io.WriteString(conn, "POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\n"+length); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write(body); err != nil {
			t.Errorf("%q: %v", length, err)
		}
		io.WriteString(conn, "\r\n0\r\n\r\n")
		a, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || a.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("%q: %+v, %v", length, a, err)
		}
		conn.Close()
	}
	equal(t, "messages", r.Stats().messages(), map[string]uint64{"http too_large": 2})
}

func TestOnlyPostIsTaken(t *testing.T) {
	r := serving(t, usualConfig())
	a, err := http.Get(r.url())
	if err != nil {
		t.Fatal(err)
	}
	a.Body.Close()
	if a.StatusCode != http.StatusMethodNotAllowed || a.Header.Get("Allow") != "POST" {
		t.Errorf("status %d, Allow %q", a.StatusCode, a.Header.Get("Allow"))
	}
}

// A sender that is told to come again must find that nothing of its message was taken, and that it is taken then.
func TestAFullBufferTakesAllOrNothing(t *testing.T) {
	log := &notes{}
	c := usualConfig()
	c.Logger = log.logger()
	r := serving(t, c)
	sixty := wire(t, export(nil, append(fresh(requests(60)...), other(), fresh(request(99, with{"gen_ai.latency.e2e": nil}))[0])...))
	post(t, http.DefaultClient, r.url(), sixty)
	for range 2 {
		a, body := post(t, http.DefaultClient, r.url(), sixty)
		code, _, detail := told(t, a, body)
		if a.StatusCode != 503 || a.Header.Get("Retry-After") != "2" || code != codes.ResourceExhausted || !strings.Contains(detail, "nothing was taken, come again") {
			t.Errorf("status %d, Retry-After %q, %s %s", a.StatusCode, a.Header.Get("Retry-After"), code, detail)
		}
	}
	if s := r.Stats(); s.Buffered != 60 || s.Room != 100 {
		t.Errorf("%d of %d buffered, want 60 of 100", s.Buffered, s.Room)
	}
	if n := len(r.Drain()); n != 60 {
		t.Errorf("%d drained, want 60", n)
	}
	if a, _ := post(t, http.DefaultClient, r.url(), sixty); a.StatusCode != 200 || len(r.Drain()) != 60 {
		t.Errorf("status %d after the buffer was emptied", a.StatusCode)
	}
	equal(t, "messages", r.Stats().messages(), map[string]uint64{"http partial": 2, "http full": 2})
	equal(t, "spans", r.Stats().spans(), map[string]uint64{"taken": 120, "full": 120, "other_name": 2, "refused": 2})
	for text, want := range map[string]int{"no room for spans": 0, "there is room for spans again": 0, "their values cannot be true": 1} {
		if n := strings.Count(log.String(), text); n != want {
			t.Errorf("the log says %q %d times, want %d:\n%s", text, n, want, log)
		}
	}
}

func TestRefusalsAreCountedWithOneExample(t *testing.T) {
	r := serving(t, usualConfig())
	for i := range 3 {
		body := wire(t, export(nil, fresh(request(i, with{"gen_ai.latency.e2e": -1.0 - float64(i)}), request(9, with{"gen_ai.usage.prompt_tokens": -1}))...))
		post(t, http.DefaultClient, r.url(), body)
	}
	got := r.Stats().Refusals
	want := []Refusal{{ReasonNegative, 3, "gen_ai.latency.e2e is -1 s"}, {ReasonTokens, 3, "gen_ai.usage.prompt_tokens is -1"}}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestTheTapSeesMessagesAsTheyCame(t *testing.T) {
	var tapped []Message // post waits for the answer, which comes after the tap
	c := usualConfig()
	c.Tap = func(m Message) { tapped = append(tapped, m) }
	r := serving(t, c)
	data := export(nil, fresh(request(0))...)
	body := zipped(t, wire(t, data))
	post(t, http.DefaultClient, r.url(), body, "Content-Encoding", "gzip")
	post(t, http.DefaultClient, r.url(), []byte("garbage"))
	post(t, http.DefaultClient, r.url(), body, "Content-Encoding", "br")
	if _, _, err := invoke(t, dial(t, r), exportMethod, data); err != nil {
		t.Fatal(err)
	}
	if len(tapped) != 3 {
		t.Fatalf("%d messages seen, want 3: one that cannot be read is not", len(tapped))
	}
	if m := tapped[0]; string(m.Body) != string(body) || m.ContentEncoding != "gzip" || m.Peer != "127.0.0.1" || m.Path != "/v1/traces" || m.Received < 1.7e9 {
		t.Errorf("HTTP: %+v", m)
	}
	if m := tapped[2]; m.ContentType != "application/grpc+proto" || m.Path != exportMethod || m.Peer != "127.0.0.1" || proto.Unmarshal(m.Body, &tracepb.TracesData{}) != nil {
		t.Errorf("gRPC: %+v", m)
	}
	// What was recorded can be read again, and says the same.
	for _, i := range []int{0, 2} {
		if b, err := decoder().Decode(tapped[i]); err != nil || len(b.Spans) != 1 {
			t.Errorf("message %d: %+v, %v", i, b, err)
		}
	}
}
