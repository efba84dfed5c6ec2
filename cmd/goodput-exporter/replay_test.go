package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/internal/golden"
)

const chatConfig = `slos:
  - {name: chat, clauses: {ttft: 250ms, tpot: 25ms}, objective: 0.95}
`

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func recordingPath(name string) string {
	return filepath.Join(recordingsDir, name, "recording.jsonl.gz")
}

func replayOutput(t *testing.T, o replayOptions) string {
	t.Helper()
	if o.ConfigFile == "" {
		o.ConfigFile = writeFile(t, "goodput.yaml", chatConfig)
	}
	var out bytes.Buffer
	if err := runReplay(context.Background(), o, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestReplayPrintsTheSameBytesTwice(t *testing.T) {
	computes(t)
	for _, format := range []string{"windows", "openmetrics"} {
		o := replayOptions{Format: format, Step: 15 * time.Second, Recordings: []string{recordingPath("vllm-0.32-dp2")}}
		first := replayOutput(t, o)
		if first != replayOutput(t, o) || first == "" {
			t.Errorf("%s: two runs differ", format)
		}
	}
}

// TestReplayWindowsGolden pins the interface that people load into notebooks: keys, order, what is left out.
func TestReplayWindowsGolden(t *testing.T) {
	got := replayOutput(t, replayOptions{Format: "windows", Recordings: []string{recordingPath("vllm-0.32-spec")}})
	golden.Compare(t, "testdata/windows-vllm-0.32-spec.jsonl", []byte(got))
	for _, line := range strings.Split(strings.TrimSpace(got), "\n") {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// TestReplayOpenMetrics reads the output back: every family once, every series' points in time order, no counter that
// falls, and where Prometheus's own tool is at hand, that it makes blocks of it.
func TestReplayOpenMetrics(t *testing.T) {
	text := replayOutput(t, replayOptions{Format: "openmetrics", Step: 15 * time.Second, Recordings: []string{recordingPath("vllm-0.32-restart")}})
	points := checkPoints(t, text)
	for series, least := range map[string]int{
		`goodput_slo_requests_total{engine="engine-0",model="demo",slo="chat"}`:      5,
		`goodput_engine_up{engine="engine-0"}`:                                       5,
		`goodput_ttft_ceil_seconds_bucket{engine="engine-0",model="demo",le="0.25"}`: 5,
		`goodput_requests_arrived_total{engine="engine-0",model="demo"}`:             5,
	} {
		if points[series] < least {
			t.Errorf("%s: %d points", series, points[series])
		}
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Log("promtool is not installed: blocks are not made here")
		return
	}
	in := writeFile(t, "replayed.om", text)
	if out, err := exec.Command(promtool, "tsdb", "create-blocks-from", "openmetrics", in, t.TempDir()).CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

// checkPoints reads lines of the form series, value, time, and counts the points of each series.
func checkPoints(t *testing.T, text string) map[string]int {
	t.Helper()
	last, value, points, families := map[string]float64{}, map[string]float64{}, map[string]int{}, map[string]bool{}
	if !strings.HasSuffix(text, "\n# EOF\n") {
		t.Error("no # EOF at the end")
	}
	for line := range strings.Lines(text) {
		if name, is := strings.CutPrefix(line, "# TYPE "); is {
			if families[name] {
				t.Errorf("family twice: %s", name)
			}
			families[name] = true
		}
		if strings.HasPrefix(line, "#") {
			continue
		}
		series, rest, labelled := strings.Cut(line, "} ")
		if labelled {
			series += "}"
		} else {
			series, rest, _ = strings.Cut(line, " ")
		}
		var v, at float64
		if _, err := fmt.Sscan(rest, &v, &at); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if at <= last[series] {
			t.Errorf("%s: time goes back", series)
		}
		name, _, _ := strings.Cut(series, "{")
		for _, end := range []string{"_total", "_bucket", "_count", "_sum"} {
			if strings.HasSuffix(name, end) && v < value[series] {
				t.Errorf("%s: falls from %v to %v", series, value[series], v)
			}
		}
		last[series], value[series] = at, v
		points[series]++
	}
	return points
}

func page(target string, at float64) string {
	return fmt.Sprintf(`{"kind":"engine","t":%v,"target":%q,"error":"connection refused"}`, at, target) + "\n"
}

func TestReplayFaults(t *testing.T) {
	good := writeFile(t, "goodput.yaml", chatConfig)
	for name, c := range map[string]struct {
		o    replayOptions
		want string
	}{
		"no such config":    {replayOptions{ConfigFile: "nowhere.yaml", Format: "windows"}, "nowhere.yaml"},
		"no such recording": {replayOptions{ConfigFile: good, Format: "windows", Recordings: []string{"nowhere.jsonl"}}, "nowhere.jsonl"},
		"no such format":    {replayOptions{ConfigFile: good, Format: "csv", Recordings: []string{recordingPath("vllm-0.32-spec")}}, `--format="csv" is unknown`},
		"no step":           {replayOptions{ConfigFile: good, Format: "openmetrics", Recordings: []string{recordingPath("vllm-0.32-spec")}}, "--step=0s is too short"},
		"no page at all":    {replayOptions{ConfigFile: good, Format: "windows", Recordings: []string{writeFile(t, "r.jsonl", `{"kind":"header","version":1}`)}}, "hold no engine page"},
		"one target in two recordings at once": {replayOptions{ConfigFile: good, Format: "windows", Recordings: []string{
			writeFile(t, "one.jsonl", page("a", 1)+page("a", 3)), writeFile(t, "two.jsonl", page("a", 2)+page("a", 4)),
		}}, `target "a" is in`},
	} {
		t.Run(name, func(t *testing.T) {
			err := runReplay(context.Background(), c.o, &bytes.Buffer{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
		})
	}
}

func TestReplayGoesOnInARotatedRecording(t *testing.T) {
	replayOutput(t, replayOptions{Format: "windows", Recordings: []string{
		writeFile(t, "two.jsonl", page("a", 3)+page("a", 4)), writeFile(t, "one.jsonl", page("a", 1)+page("a", 2)),
	}})
}

func TestReplayKeepsWhatWasMeasuredBeforeAFault(t *testing.T) {
	whole, err := os.ReadFile(recordingPath("vllm-0.32-spec"))
	if err != nil {
		t.Fatal(err)
	}
	cut := writeFile(t, "cut.jsonl.gz", string(whole[:len(whole)-2000]))
	var out bytes.Buffer
	err = runReplay(context.Background(), replayOptions{ConfigFile: writeFile(t, "c.yaml", chatConfig), Format: "windows", Recordings: []string{cut}}, &out)
	if err == nil || !strings.Contains(err.Error(), "cut short") {
		t.Errorf("error %v", err)
	}
	if !strings.Contains(out.String(), `"slo":"chat"`) {
		t.Error("the windows before the fault are missing")
	}
}

func TestReplayNotesPagesThatItCouldNotUse(t *testing.T) {
	foreign := writeFile(t, "r.jsonl", strings.Repeat(`{"t":1,"kind":"engine","target":"a","status":200,"content_type":"text/plain","body":"go_goroutines 12\n"}`+"\n", 3))
	var out, notes bytes.Buffer
	o := replayOptions{ConfigFile: writeFile(t, "c.yaml", chatConfig), Format: "windows", Recordings: []string{foreign}, Notes: &notes}
	if err := runReplay(context.Background(), o, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(notes.String(), "3 pages not used, reason dialect") {
		t.Errorf("notes: %q", notes.String())
	}
}

func TestReplayUsesThePageBeforeAFault(t *testing.T) {
	var out, notes bytes.Buffer
	broken := writeFile(t, "r.jsonl", page("a", 1)+page("a", 2)+page("a", 3)+"{")
	err := runReplay(context.Background(), replayOptions{ConfigFile: writeFile(t, "c.yaml", chatConfig), Format: "windows", Recordings: []string{broken}, Notes: &notes}, &out)
	if err == nil || !strings.Contains(notes.String(), "3 pages not used") {
		t.Errorf("error %v, notes %q", err, notes.String())
	}
}
