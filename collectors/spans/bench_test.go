package spans

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// batchSize is that of the SDKs' batch processors.
const batchSize = 512

// requestBatch is a batch as one engine sends it.
func requestBatch(b *testing.B) []byte {
	var all []*tracepb.Span
	for i := range batchSize {
		all = append(all, request(i, with{"gen_ai.request.id": fmt.Sprintf("cmpl-2b7f6a1c-9d55-4f0e-8a53-%012d-0", i)}))
	}
	return wire(b, export(with{"service.name": "vllm", "service.instance.id": "55c73449-bafa-449f-b9e4-762c4f3a2825", "telemetry.sdk.name": "opentelemetry"}, fresh(all...)...))
}

func otherBatch(b *testing.B) []byte {
	var all []*tracepb.Span
	for range batchSize {
		all = append(all, other())
	}
	return wire(b, export(with{"service.name": "vllm"}, all...))
}

// meter measures a loop by the clock and by the processor's time: on a machine that does other work the first says
// little of the code.
type meter struct {
	begin time.Time
	cpu   time.Duration
}

func start() meter { return meter{time.Now(), processor()} }

// processor is the processor's time that this process, hence a client in it too, has taken.
func processor() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (m meter) stop(b *testing.B) {
	spans := float64(b.N) * batchSize
	b.ReportMetric(spans/time.Since(m.begin).Seconds(), "spans/s")
	b.ReportMetric(spans/(processor()-m.cpu).Seconds(), "spans/cpu-s")
}

func benchmarkDecode(b *testing.B, body []byte, requests, others int) {
	in := protobuf(body)
	in.Received = now()
	b.Run("walk", func(b *testing.B) {
		d := decoder("tier")
		b.ReportAllocs()
		m := start()
		for b.Loop() {
			if batch, err := d.Decode(in); err != nil || len(batch.Spans) != requests || batch.Other != uint64(others) {
				b.Fatal(len(batch.Spans), batch.Other, batch.Refused, err)
			}
		}
		m.stop(b)
	})
	b.Run("official types", func(b *testing.B) {
		b.ReportAllocs()
		m := start()
		for b.Loop() {
			var data tracepb.TracesData
			if err := proto.Unmarshal(body, &data); err != nil {
				b.Fatal(err)
			}
		}
		m.stop(b)
	})
}

// BenchmarkDecodeRequests reads a batch of llm_request spans with vLLM's attributes, beside a plain proto.Unmarshal of
// the same bytes, which judges nothing.
func BenchmarkDecodeRequests(b *testing.B) { benchmarkDecode(b, requestBatch(b), batchSize, 0) }

// BenchmarkDecodeOthers passes over a batch of spans that stand for no request.
func BenchmarkDecodeOthers(b *testing.B) { benchmarkDecode(b, otherBatch(b), 0, batchSize) }

// BenchmarkReceive goes from a client on loopback to Drain: on one core (-cpu 1) the client's part is in the time too.
func BenchmarkReceive(b *testing.B) {
	c := usualConfig()
	c.Buffer = 1 << 16
	bodies := map[string][]byte{"requests": requestBatch(b), "others": otherBatch(b)}
	for _, what := range []string{"requests", "others"} {
		body := bodies[what]
		want := map[string]int{"requests": batchSize}[what]
		drain := func(b *testing.B, r *Receiver) {
			if n := len(r.Drain()); n != want {
				b.Fatalf("%d spans drained, want %d: %+v", n, want, r.Stats())
			}
		}
		for _, encoding := range []string{"identity", "gzip"} {
			sent := body
			if encoding == "gzip" {
				sent = zipped(b, body)
			}
			b.Run("http/"+what+"/"+encoding, func(b *testing.B) {
				r := serving(b, c)
				b.ReportAllocs()
				m := start()
				for b.Loop() {
					q, err := http.NewRequest(http.MethodPost, r.url(), bytes.NewReader(sent))
					if err != nil {
						b.Fatal(err)
					}
					q.Header.Set("Content-Type", "application/x-protobuf")
					q.Header.Set("Content-Encoding", encoding)
					a, err := http.DefaultClient.Do(q)
					if err != nil || a.StatusCode != http.StatusOK {
						b.Fatal(a, err)
					}
					io.Copy(io.Discard, a.Body)
					a.Body.Close()
					drain(b, r)
				}
				m.stop(b)
			})
		}
		b.Run("grpc/"+what, func(b *testing.B) {
			r := serving(b, c)
			conn := dial(b, r, grpc.WithDefaultCallOptions(grpc.ForceCodecV2(bytesCodec{})))
			b.ReportAllocs()
			m := start()
			for b.Loop() {
				var answer received
				if err := conn.Invoke(b.Context(), exportMethod, message(body), &answer); err != nil {
					b.Fatal(err)
				}
				answer.buffer.Free()
				drain(b, r)
			}
			m.stop(b)
		})
	}
}
