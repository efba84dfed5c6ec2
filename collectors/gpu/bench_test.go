package gpu

import (
	"bytes"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
)

// BenchmarkTick is what the exporter spends on one frame of a node with 8 cards: reading it from the pipe, and judging each
// of its 240 values.
func BenchmarkTick(b *testing.B) {
	f := tick()
	for id := range 8 {
		f.Entities = append(f.Entities, h100(id))
	}
	var pipe bytes.Buffer
	if err := frame.Write(&pipe, f); err != nil {
		b.Fatal(err)
	}
	if n := len(f.Entities[0].Values); n != 30 {
		b.Fatalf("%d values", n)
	}
	j := newJudge("")
	b.SetBytes(int64(pipe.Len()))
	b.ReportAllocs()
	for b.Loop() {
		f, err := frame.NewReader(bytes.NewReader(pipe.Bytes())).Next()
		if err != nil {
			b.Fatal(err)
		}
		if r := j.reading(f); len(r.GPUs) != 8 || r.Dropped != nil {
			b.Fatal(r.Detail)
		}
	}
}

// BenchmarkPage is a page of 8 cards with 31 families, of which 24 are read.
func BenchmarkPage(b *testing.B) {
	var page strings.Builder
	families := append([]string{}, "DCGM_FI_DEV_ENC_UTIL", "DCGM_FI_DEV_DEC_UTIL", "DCGM_FI_DEV_MEM_COPY_UTIL", "DCGM_FI_DEV_VGPU_LICENSE_STATUS",
		"DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS")
	for i := 0; len(families) < 31; i++ {
		families = append(families, fields[i].names[0])
	}
	for _, name := range families {
		page.WriteString("# HELP " + name + " Some text about the family.\n# TYPE " + name + " gauge\n")
		for id := range 8 {
			page.WriteString(name + `{gpu="0",UUID="GPU-11111111-2222-3333-4444-55555555555` + string(rune('0'+id)) + `",pci_bus_id="00000000:17:00.0",device="nvidia0",` +
				`modelName="NVIDIA H100 80GB HBM3",hostname="node-a",DCGM_FI_DRIVER_VERSION="580.65.06",container="vllm",namespace="serving",pod="acme-0"} 0` + "\n")
		}
	}
	body := []byte(page.String())
	d := NewDecoder("", 0)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if r := d.Decode(body, 0); len(r.GPUs) != 8 {
			b.Fatal(r.Detail)
		}
	}
}
