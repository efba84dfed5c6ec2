//go:build linux && cgo

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
)

// BenchmarkChild is what the child costs a node: CPU time of all its threads per tick, and resident memory. The double's
// work is in it: it reads its script at every call. The parent's reading of the frame is not.
func BenchmarkChild(b *testing.B) {
	const thirty = "--fields=100,101,112,140,150,155,156,164,202,203,230,240,241,250,251,252,253,311,395,1001,1002,1003,1004,1005,1009,1010"
	for name, c := range map[string]struct {
		cards, instances int
		args             []string
	}{
		"8-cards-30-fields":           {8, 0, []string{thirty}},
		"8-cards-40-fields":           {8, 0, nil},
		"8-cards-7-instances-of-each": {8, 7, nil},
	} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b, double(b), largeNode(c.cards, c.instances)...)
			child := w.start(append([]string{"--address=localhost:5555", "--interval=100ms"}, c.args...)...)
			for range 5 {
				child.next()
			}
			pid := child.cmd.Process.Pid
			before := cpuNanoseconds(b, pid)
			frames := 0
			for b.Loop() {
				f := child.next()
				if len(f.Entities) != c.cards*(1+c.instances) {
					b.Fatalf("%d entities", len(f.Entities))
				}
				frames++
			}
			b.ReportMetric(float64(cpuNanoseconds(b, pid)-before)/1e6/float64(frames), "cpu-ms/tick")
			b.ReportMetric(residentMiB(b, pid, "VmRSS"), "rss-MiB")
			b.ReportMetric(residentMiB(b, pid, "VmHWM"), "rss-max-MiB")
		})
	}
}

// largeNode is a script as short as possible, since the double reads it at every call.
func largeNode(cards, instances int) []string {
	var script []string
	for id := range cards {
		script = append(script, fmt.Sprintf("card %d", id), fmt.Sprintf("profiling %d 1001 1002 1003 1004 1005 1009 1010 1011 1012", id))
		for k := range instances {
			script = append(script, fmt.Sprintf("instance %d of %d gi %d", id*instances+k, id, k))
		}
	}
	script = append(script, "value instance * 1001 d 0.5", "value card * * i 71234567", "value card * 54 s GPU-00000001-0000-0000-0000-000000000000")
	for _, f := range frame.Profiling() {
		script = append(script, fmt.Sprintf("value card * %d d 0.48271", f))
	}
	return script
}

// cpuNanoseconds is the time that the threads of a process have run.
func cpuNanoseconds(b *testing.B, pid int) int64 {
	b.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(files) == 0 {
		b.Skipf("this kernel does not say how long threads ran: %v", err)
	}
	var sum int64
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		ran, _, _ := strings.Cut(string(text), " ")
		ns, err := strconv.ParseInt(ran, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		sum += ns
	}
	return sum
}

// residentMiB is a line of /proc/PID/status that is in kB.
func residentMiB(b *testing.B, pid int, key string) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, found := bytes.Cut(text, []byte(key+":"))
	kb, _, _ := strings.Cut(strings.TrimSpace(string(rest)), " ")
	n, err := strconv.ParseFloat(kb, 64)
	if !found || err != nil {
		b.Fatalf("no %s: %v", key, err)
	}
	return n / 1024
}
