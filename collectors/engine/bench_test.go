package engine

import (
	"bytes"
	"os"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// BenchmarkPage reads one live page: ours with the decoder of a polled target, ours with a fresh decoder, and the
// Prometheus project's parser, which stops at metric families. The ratio is that of one run.
func BenchmarkPage(b *testing.B) {
	body, err := os.ReadFile("../../testdata/samples/vllm-0.32-live.prom")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("decoder", func(b *testing.B) {
		d := NewDecoder()
		b.ReportAllocs()
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			if _, err := d.Decode(body, "text/plain"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("fresh decoder", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			if _, err := Decode(body, "text/plain"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("expfmt", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			p := expfmt.NewTextParser(model.UTF8Validation)
			if _, err := p.TextToMetricFamilies(bytes.NewReader(body)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
