package boards

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAGPUWithTwoExporters: a node's exporter and a central one may both tell of a GPU, and call its engine by different names.
// Every panel answers all the same, and says each thing about the GPU once.
func TestAGPUWithTwoExporters(t *testing.T) {
	const uuid = "GPU-11111111-0000-0000-0000-000000000001"
	const from, to, step = 1_800_000_000, 1_800_001_800, 15
	var text strings.Builder
	family := func(name, kind string, value func(at int) float64, labels ...string) {
		fmt.Fprintf(&text, "# TYPE %s %s\n", strings.TrimSuffix(name, "_total"), kind)
		for i, engine := range []string{"node-a-vllm", "central.vllm-0"} {
			for _, l := range labels {
				for at := from; at <= to; at += step {
					l := strings.ReplaceAll(l, "ENGINE", engine)
					fmt.Fprintf(&text, "%s{job=\"goodput-exporter\",instance=\"%d\",%s} %v %d\n", name, i, l, value(at), at)
				}
			}
		}
	}
	one := func(int) float64 { return 1 }
	counts := func(each float64) func(int) float64 { return func(at int) float64 { return each * float64(at-from) } }
	gpu := fmt.Sprintf("gpu=%q", uuid)
	family("goodput_engine_info", "gauge", one, `engine="ENGINE",model="m"`)
	family("goodput_engine_up", "gauge", one, `engine="ENGINE",model="m"`)
	family("goodput_engine_gpus", "gauge", one, `engine="ENGINE",model="m",join="only"`)
	family("goodput_engine_energy_joules_total", "counter", counts(300), `engine="ENGINE",model="m"`)
	family("goodput_gpu_info", "gauge", one, gpu+`,engine="ENGINE",join="only",basis="whole",model="m"`)
	family("goodput_gpu_up", "gauge", one, gpu)
	family("goodput_gpu_power_watts", "gauge", func(int) float64 { return 300 }, gpu)
	family("goodput_gpu_busy_ratio", "gauge", one, gpu)
	family("goodput_gpu_memory_used_bytes", "gauge", one, gpu)
	family("goodput_gpu_throttle_seconds_total", "counter", counts(0.25), gpu+`,reason="sw_power_cap"`, gpu+`,reason="hw_thermal"`)
	family("goodput_gpu_xid_errors_total", "counter", one, gpu+`,xid="31"`, gpu+`,xid="79"`)
	family("goodput_gpu_errors_total", "counter", one, gpu)
	text.WriteString("# EOF\n")
	dir := t.TempDir()
	in := filepath.Join(dir, "in.om")
	if err := os.WriteFile(in, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	blocks := filepath.Join(dir, "blocks")
	command(t, tool(t, "promtool"), "tsdb", "create-blocks-from", "openmetrics", in, blocks)
	r := &replayed{server: serve(t, blocks), when: span{from, to}}

	once := map[string]int{ // rows of a panel about the GPU
		"GPUs of the engines: share of time in which clocks were held down, by reason, 4 min and more": 2,
		"XID errors of the GPUs of the engines since their exporter first saw them, now":               2,
	}
	for _, b := range boards(t) {
		options := choices{"engine": {"node-a-vllm", "central.vllm-0"}, "gpu": {uuid}, "model": {"m"}}
		for _, q := range b.questions(t, r.when, options, all(options), scrape) {
			got, err := r.ask(q)
			if err != nil {
				t.Errorf("%s: %v\n%s", q.place, err, q.expr)
			}
			if want, is := once[q.panel]; is {
				if delete(once, q.panel); len(got) != want {
					t.Errorf("%s: %d rows, want %d: %v", q.place, len(got), want, got)
				}
			}
		}
	}
	for panel := range once {
		t.Errorf("there is no panel %q", panel)
	}
}
