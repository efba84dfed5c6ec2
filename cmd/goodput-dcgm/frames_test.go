//go:build linux && cgo

package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
	"github.com/goodput-exporter/goodput-exporter/internal/golden"
)

// modes are the two ways to an engine; every script gives the same frame over both, if both ask for profiling fields.
var modes = map[string][]string{"standalone": {"--address=localhost:5555"}, "embedded": {"--embedded", "--profiling=on"}}

// shown is a frame as text without what differs from run to run: times are fresh, old or none.
func shown(t *testing.T, f *frame.Frame) []byte {
	t.Helper()
	now := time.Now()
	if age := now.Sub(time.UnixMicro(int64(f.At * 1e6))); age < 0 || age > patienceOfTests {
		t.Errorf("the frame is dated %s ago", age)
	}
	for i := range f.Entities {
		for k := range f.Entities[i].Values {
			switch v := &f.Entities[i].Values[k]; {
			case v.Time == 0:
			case now.Sub(time.UnixMicro(v.Time)) < patienceOfTests:
				v.Time = 2
			default:
				v.Time = 1
			}
		}
	}
	f.At, f.Mode = 0, ""
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for line := range strings.SplitSeq(strings.NewReplacer(`{"kind"`, "\n{\"kind\"", `{"f"`, "\n  {\"f\"", `"unavailable"`, "\n\"unavailable\"").Replace(string(text)), "\n") {
		b.WriteString(line + "\n")
	}
	return b.Bytes()
}

func TestAScriptBecomesAFrame(t *testing.T) {
	library := double(t)
	few := "--fields=100,150,155,156,203,230,252,1001,1002,1005,1009"
	for name, c := range map[string]struct {
		script []string
		args   []string
	}{
		"two-cards":                   {script: node(2)},
		"few-fields":                  {script: node(2), args: []string{few}},
		"a-node-without-cards":        {script: []string{"engine 4.6.1"}, args: []string{few}},
		"one-of-two-is-lost":          {script: append(node(2), "state 1 4", "value card 1 230 i 79"), args: []string{few}},
		"one-reports-that-it-is-lost": {script: append(node(2), "status card 1 * -18", "state 1 4"), args: []string{few}},
		"not-supported-and-other-blanks": {args: []string{few}, script: append(node(1),
			"value card 0 150 i NOT_SUPPORTED", "value card 0 155 d NOT_SUPPORTED", "value card 0 156 i NULL", "value card 0 57 s NOT_PERM", "value card 0 203 i NOT_FOUND")},
		"no-number":                 {args: []string{few}, script: append(node(1), "value card 0 155 d nan", "value card 0 1001 d inf")},
		"a-stuck-sampler":           {args: []string{few}, script: append(node(1), "age card 0 155 600000")},
		"no-profiling-module":       {args: []string{few}, script: slices.DeleteFunc(node(1), func(s string) bool { return strings.HasPrefix(s, "profiling") })},
		"profiling-taken":           {args: []string{few}, script: append(node(1), "fail profiling -34")},
		"profiling-unrecoverable":   {args: []string{few}, script: append(node(1), "fail profiling -37")},
		"cards-not-alike":           {args: []string{few}, script: append(slices.DeleteFunc(node(2), func(s string) bool { return strings.HasPrefix(s, "profiling 1") }), "profiling 1 1001")},
		"fields-of-a-later-release": {script: append(node(1), "unknown 1420", "unknown 1421", "unknown 1422", "unknown 1423", "unknown 1424", "unknown 1523")},
		"mig": {args: []string{few}, script: append(node(2),
			"instance 3 of 1 gi 7", "instance 4 of 1 gi 9",
			"value instance * 50 s 1g.10gb", "value instance 3 54 s MIG-33333333-0000-0000-0000-000000000000", "value instance 4 54 s GPU-00000001-0000-0000-0000-000000000000",
			"value instance * 252 i 9000", "value instance * 155 d 412.5", "value instance 3 1001 d 0.25", "value instance 4 1001 d 0.75")},
	} {
		for mode, flags := range modes {
			t.Run(name+"/"+mode, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, library, c.script...)
				f := w.start(slices.Concat(flags, []string{"--interval=1s"}, c.args)...).next()
				if f.Mode != mode {
					t.Errorf("mode %q", f.Mode)
				}
				golden.Compare(t, "testdata/frames/"+name+".txt", shown(t, f))
			})
		}
	}
}

// TestCallsAreFew holds the child to what a host engine that others share can ask of it.
func TestCallsAreFew(t *testing.T) {
	w := newWorld(t, double(t), append(node(3), "instance 3 of 1 gi 7")...)
	c := w.start("--address=unix:///run/dcgm.sock", "--interval=200ms")
	for range 5 {
		c.next()
	}
	c.stdin.Close()
	if status := c.exit(); status != 0 {
		t.Errorf("exit status %d at the end of standard input; %s", status, c.said())
	}
	if got := w.called("dcgmConnect_v2"); len(got) != 1 || got[0] != "dcgmConnect_v2 address=/run/dcgm.sock socket=1 persist=0" {
		t.Errorf("connects %q", got)
	}
	reads, since := w.called("dcgmEntitiesGetLatestValues"), w.called("dcgmGetValuesSince_v2")
	for _, r := range reads {
		if r != "dcgmEntitiesGetLatestValues entities=4 fields=40 flags=0" {
			t.Errorf("reads with %q", r)
		}
	}
	if len(reads) < 5 || len(since) != len(reads) {
		t.Errorf("%d reads of values and %d of events for at least 5 frames", len(reads), len(since))
	}
	for _, watch := range w.called("dcgmWatchFields") {
		if !strings.Contains(watch, "usec=200000 age=0.6 samples=0") && !strings.Contains(watch, "fields=1 first=230 usec=200000 age=600 samples=0") {
			t.Errorf("watches with %q", watch)
		}
	}
	if n := len(w.called("dcgmGetGpuStatus")); n != 0 {
		t.Errorf("healthy cards were asked %d times how they are", n)
	}
	if n := len(w.called("dcgmProfGetSupportedMetricGroups")); n != 3 {
		t.Errorf("%d cards of 3 were asked for their profiling fields", n)
	}
	names := map[string]bool{}
	for _, made := range append(w.called("dcgmGroupCreate"), w.called("dcgmFieldGroupCreate")...) {
		_, name, _ := strings.Cut(made, "name=")
		if names[name] || !strings.HasPrefix(name, "goodput-") {
			t.Errorf("the name %q of a group is not its own", name)
		}
		names[name] = true
	}
	for made, taken := range map[string]string{
		"dcgmWatchFields": "dcgmUnwatchFields", "dcgmGroupCreate": "dcgmGroupDestroy", "dcgmFieldGroupCreate": "dcgmFieldGroupDestroy",
		"dcgmConnect_v2": "dcgmDisconnect", "dcgmInit": "dcgmShutdown",
	} {
		if a, b := len(w.called(made)), len(w.called(taken)); a != b || a == 0 {
			t.Errorf("%s: %d, %s: %d", made, a, taken, b)
		}
	}
}
