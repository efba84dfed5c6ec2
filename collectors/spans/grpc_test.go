package spans

import (
	"io"
	"runtime"
	"strings"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/gzip" // registers the compressor that clients use; the receiver must not be affected
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

func TestGRPCAnswersAsOTLPSays(t *testing.T) {
	good := export(nil, fresh(request(0), request(1), other())...)
	bad := export(nil, fresh(request(0), request(1, with{"gen_ai.latency.e2e": -3.0}))...)
	large := export(with{"x": strings.Repeat("x", 1<<20)}, fresh(request(0))...)
	broken := &tracepb.TracesData{}
	broken.ProtoReflect().SetUnknown([]byte{0x0a, 0x7f}) // a length that is not there
	for name, c := range map[string]struct {
		method  string
		data    *tracepb.TracesData
		options []grpc.CallOption
		code    codes.Code
		detail  string
		outcome string
		spans   map[string]uint64
	}{
		"an export is taken":                {data: good, outcome: OK, spans: map[string]uint64{"taken": 2, "other_name": 1}},
		"a gzipped one too":                 {data: good, options: []grpc.CallOption{grpc.UseCompressor("gzip")}, outcome: OK, spans: map[string]uint64{"taken": 2, "other_name": 1}},
		"an empty export is fine":           {data: &tracepb.TracesData{}, outcome: OK},
		"refused values are told":           {data: bad, detail: "1 spans (negative), such as: gen_ai.latency.e2e is -3 s", outcome: Partial, spans: map[string]uint64{"taken": 1, "refused": 1}},
		"more than the buffer holds":        {data: export(nil, fresh(requests(101)...)...), detail: "1 spans: the message has more than the whole buffer", outcome: Partial, spans: map[string]uint64{"taken": 100, "full": 1}},
		"garbage":                           {data: broken, code: codes.InvalidArgument, detail: "not an OTLP export", outcome: Malformed},
		"a message over the limit":          {data: large, code: codes.ResourceExhausted, detail: "larger than max", outcome: TooLarge},
		"one over the limit when inflated":  {data: large, options: []grpc.CallOption{grpc.UseCompressor("gzip")}, code: codes.ResourceExhausted, detail: "spans.max_message", outcome: TooLarge},
		"metrics":                           {method: "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export", data: good, code: codes.Unimplemented, detail: "only traces are taken", outcome: Unsupported},
		"another method of the same server": {method: "/opentelemetry.proto.collector.trace.v1.TraceService/Exports", data: good, code: codes.Unimplemented, detail: "only traces are taken", outcome: Unsupported},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := serving(t, usualConfig())
			method := exportMethod
			if c.method != "" {
				method = c.method
			}
			rejected, detail, err := invoke(t, dial(t, r), method, c.data, c.options...)
			if err != nil {
				detail = status.Convert(err).Message()
			}
			if status.Code(err) != c.code || (detail == "") != (c.detail == "") || !strings.Contains(detail, c.detail) {
				t.Errorf("told %s: %q, want %s: %q", status.Code(err), detail, c.code, c.detail)
			}
			if rejected != c.spans["refused"]+c.spans["full"] {
				t.Errorf("told that %d spans were rejected, counted %v", rejected, c.spans)
			}
			if len(status.Convert(err).Details()) > 0 {
				t.Error("told to come again, although that would not help")
			}
			equal(t, "messages", counted(r), map[string]uint64{"grpc " + c.outcome: 1})
			equal(t, "spans", r.Stats().spans(), c.spans)
			drained := r.Drain()
			if n := uint64(len(drained)); n != c.spans["taken"] {
				t.Errorf("%d spans drained, want %d", n, c.spans["taken"])
			}
			if len(drained) > 0 && drained[0].Origin.Peer != "127.0.0.1" {
				t.Errorf("origin %+v", drained[0].Origin)
			}
		})
	}
}

// counted is the counter of messages once there is one: gRPC itself answers a message that is too long, a moment before it
// can be counted.
func counted(r *Receiver) (all map[string]uint64) {
	for range 100_000 {
		if all = r.Stats().messages(); len(all) > 0 {
			break
		}
		runtime.Gosched()
	}
	return all
}

// foreign is a compression that the server does not know.
type foreign struct{}

func (foreign) Type() string                      { return "zstd" }
func (foreign) Do(w io.Writer, body []byte) error { _, err := w.Write(body); return err }

// gRPC refuses a compression that it does not know before anyone is asked; it must be counted all the same.
func TestAnUnknownCompressionOverGRPCIsCounted(t *testing.T) {
	log := &notes{}
	config := usualConfig()
	config.Logger = log.logger()
	r := serving(t, config)
	//lint:ignore SA1019 a compressor of the registry would be known to the server too
	c := dial(t, r, grpc.WithCompressor(foreign{}))
	if _, _, err := invoke(t, c, exportMethod, export(nil, fresh(request(0))...)); status.Code(err) != codes.Unimplemented {
		t.Errorf("got %v", err)
	}
	equal(t, "messages", r.Stats().messages(), map[string]uint64{"grpc unsupported": 1})
	if !strings.Contains(log.String(), "compression is not known") {
		t.Errorf("the log does not say why: %s", log)
	}
}

func TestAFullBufferOverGRPCSaysWhenToComeAgain(t *testing.T) {
	r := serving(t, usualConfig())
	sixty := export(nil, fresh(requests(60)...)...)
	c := dial(t, r)
	if _, _, err := invoke(t, c, exportMethod, sixty); err != nil {
		t.Fatal(err)
	}
	var trailer metadata.MD
	_, _, err := invoke(t, c, exportMethod, sixty, grpc.Trailer(&trailer))
	if status.Code(err) != codes.ResourceExhausted || r.Stats().Buffered != 60 {
		t.Fatalf("%v, %d buffered", err, r.Stats().Buffered)
	}
	details := status.Convert(err).Details()
	if len(details) != 1 {
		t.Fatalf("details %v", details)
	}
	info, ok := details[0].(*errdetails.RetryInfo)
	if !ok || info.RetryDelay.AsDuration() != comeAgain {
		t.Errorf("retry info %v", details[0])
	}
	var beside errdetails.RetryInfo
	if v := trailer.Get("google.rpc.retryinfo-bin"); len(v) != 1 || proto.Unmarshal([]byte(v[0]), &beside) != nil || beside.RetryDelay.AsDuration() != comeAgain {
		t.Errorf("trailer %v", trailer)
	}
	r.Drain()
	if _, _, err := invoke(t, c, exportMethod, sixty); err != nil || len(r.Drain()) != 60 {
		t.Errorf("after the buffer was emptied: %v", err)
	}
	equal(t, "messages", r.Stats().messages(), map[string]uint64{"grpc ok": 2, "grpc full": 1})
}

// SCL-07, open-telemetry/opentelemetry-collector#6046: a message over gRPC's usual 4 MiB is refused by default and never
// repeated, so thousands of spans vanish at once. Here the limit is one of the decompressed size, configurable, and a
// refusal is told, counted and does not come back.
func TestLargeExports(t *testing.T) {
	data := export(with{"service.instance.id": "i"}, fresh(requests(2000)...)...)
	for _, s := range data.ResourceSpans[0].ScopeSpans[0].Spans {
		s.TraceState = strings.Repeat("x", 2100) // so that it has the size of the report
	}
	size := proto.Size(data)
	if size < 5_300_000 || size > 8_000_000 {
		t.Fatalf("%d bytes", size)
	}
	for name, c := range map[string]struct {
		limit   int64
		options []grpc.CallOption
		code    codes.Code
		want    map[string]uint64
	}{
		"over 4 MiB, under the limit":           {limit: 16 << 20, want: map[string]uint64{"grpc ok": 1}},
		"the same gzipped":                      {limit: 16 << 20, options: []grpc.CallOption{grpc.UseCompressor("gzip")}, want: map[string]uint64{"grpc ok": 1}},
		"over the limit":                        {limit: 4 << 20, code: codes.ResourceExhausted, want: map[string]uint64{"grpc too_large": 1}},
		"over the limit only once decompressed": {limit: 4 << 20, options: []grpc.CallOption{grpc.UseCompressor("gzip")}, code: codes.ResourceExhausted, want: map[string]uint64{"grpc too_large": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			config := usualConfig()
			config.MaxMessage, config.Buffer = c.limit, 5000
			r := serving(t, config)
			_, _, err := invoke(t, dial(t, r), exportMethod, data, c.options...)
			if status.Code(err) != c.code || len(status.Convert(err).Details()) > 0 {
				t.Errorf("got %v, want %s without a hint to come again", err, c.code)
			}
			equal(t, "messages", counted(r), c.want)
			if n := len(r.Drain()); (n == 2000) != (c.code == codes.OK) {
				t.Errorf("%d spans", n)
			}
		})
	}
}
