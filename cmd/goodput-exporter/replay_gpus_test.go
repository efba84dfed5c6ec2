package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu"
	"github.com/goodput-exporter/goodput-exporter/collectors/recording"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/sim"
	"github.com/goodput-exporter/goodput-exporter/internal/golden"
)

// simulatedNode writes a recording of a scenario with one engine, a, and a configuration that says whose its GPUs are.
func simulatedNode(t *testing.T, scenario string) (file, cfg string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "r.jsonl.gz")
	scene, ok := sim.ScenarioNamed(scenario)
	if !ok {
		t.Fatalf("no scenario %s", scenario)
	}
	var out bytes.Buffer
	if err := writeRecording(t.Context(), demoOptions{Recording: file}, scene.Config(1, simStart), simStart+360, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), ", 72 of their GPUs") {
		t.Errorf("it says %q", out.String())
	}
	looks := readGPUs(t, file)
	var cards []string
	for _, g := range gpu.NewReplayer().Read(&gpu.Raw{At: looks[0].T, ContentType: looks[0].ContentType, Body: looks[0].Body}).GPUs {
		cards = append(cards, g.UUID)
	}
	return file, writeFile(t, "goodput.yaml", demoConfig+fmt.Sprintf("gpu:\n  source: dcgm-exporter\n  cost: {currency: EUR, per_gpu_hour: 2, per_kwh: 0.25}\n  engines: {a: [%s]}\n", strings.Join(cards, ", ")))
}

// entriesOf are all lines of a recording.
func entriesOf(t *testing.T, file string) (all []recording.Entry) {
	t.Helper()
	r, err := openRecordings([]string{file})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
}

func readGPUs(t *testing.T, file string) (looks []recording.GPU) {
	t.Helper()
	for _, e := range entriesOf(t, file) {
		if e.GPU != nil {
			looks = append(looks, *e.GPU)
		}
	}
	if looks == nil {
		t.Fatal("no GPUs were recorded")
	}
	return looks
}

// lastPoints is the last point of each series of GPUs, and of what an engine used of them.
func lastPoints(text string) map[string]string {
	last := map[string]string{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "goodput_gpu") || strings.HasPrefix(line, "goodput_engine_gpu") || strings.HasPrefix(line, "goodput_engine_energy") || strings.HasPrefix(line, "goodput_engine_cost") {
			f := strings.Fields(line)
			last[strings.Join(f[:len(f)-2], " ")] = f[len(f)-2]
		}
	}
	return last
}

// TestGPUsOfARecordingAreReplayed: the GPUs of a simulated node come out of a replay as of an exporter that was there, with
// what its engine used of them; the golden file has the last point of each series.
func TestGPUsOfARecordingAreReplayed(t *testing.T) {
	computes(t)
	file, cfg := simulatedNode(t, "throttled")
	text := replayOutput(t, replayOptions{Format: "openmetrics", Step: 15 * time.Second, Recordings: []string{file}, ConfigFile: cfg})
	points := checkPoints(t, text)
	last := lastPoints(text)
	var lines strings.Builder
	for _, series := range slices.Sorted(maps.Keys(last)) {
		fmt.Fprintf(&lines, "%s %s\n", series, last[series])
	}
	golden.Compare(t, "testdata/replayed-gpus.txt", []byte(lines.String()))

	// The same pages, read and folded as an exporter does it, without a recording between.
	loaded, err := config.Load(cfg)
	if err != nil {
		t.Fatal(err)
	}
	live := newReplayer(loaded)
	decoder := gpu.NewDecoder("", 0)
	var waiting *fact.GPUReading
	var snapshot *fold.Snapshot
	for _, e := range entriesOf(t, file) {
		switch {
		case e.GPU != nil:
			r := decoder.Decode(e.GPU.Body, e.GPU.T+e.GPU.Took)
			waiting = &r
		case e.Page != nil:
			snapshot = live.fold(*e.Page)
			if waiting != nil {
				snapshot = live.apply(fold.Round{GPUs: waiting})
				waiting = nil
			}
		}
	}
	if len(snapshot.GPUs) == 0 {
		t.Fatal("the scenario has no GPUs")
	}
	for _, g := range snapshot.GPUs {
		name := fmt.Sprintf(`goodput_gpu_energy_joules_total{gpu="%s"}`, g.UUID)
		if want := fmt.Sprint(g.Joules.V); last[name] != want || g.Joules.V < 1000 || points[name] < 20 {
			t.Errorf("%s is %s at %d points, want %s", name, last[name], points[name], want)
		}
	}
	for _, e := range snapshot.Engines {
		name := fmt.Sprintf(`goodput_engine_energy_joules_total{engine="%s",model="%s"}`, e.ID, e.Model)
		if want := fmt.Sprint(e.GPUs.Joules.V); last[name] != want || e.GPUs.Joules.V < 1000 {
			t.Errorf("%s is %s, want %s", name, last[name], want)
		}
	}
}

// TestGPUsOfTwoRecordings: a rotated recording goes on; of two nodes at once, one node's GPUs are had and the rest is said.
func TestGPUsOfTwoRecordings(t *testing.T) {
	write := func(name string, lines ...string) string {
		return writeFile(t, name, strings.Join(lines, "\n")+"\n")
	}
	engine := func(at int, target string) string {
		return fmt.Sprintf(`{"kind":"engine","t":%d,"target":%q,"error":"refused"}`, at, target)
	}
	look := func(at int, uuid string) string {
		return fmt.Sprintf(`{"kind":"gpu","t":%d,"status":200,"body":"DCGM_FI_DEV_GPU_TEMP{UUID=\"GPU-%s\"} 61\n"}`, at, uuid)
	}
	a := write("a", engine(100, "a"), look(101, "a"), look(103, "a"), engine(105, "a"))
	b := write("b", engine(100, "b"), look(102, "b"), look(104, "b"), engine(106, "b"))
	later := write("later", look(110, "a"), engine(111, "a"))
	for sentence, c := range map[string]struct {
		files []string
		cfg   string
		has   []string // cards
		notes string   // "" none
	}{
		"a rotated one":            {[]string{a, later}, "", []string{"GPU-a"}, ""},
		"two nodes":                {[]string{a, b}, "", []string{"GPU-a"}, "2 readings of GPUs not used: they overlap"},
		"GPUs are not asked for":   {[]string{a}, "gpu: {source: none}\n", nil, "2 readings of GPUs not used: gpu.source is none"},
		"a page that is none":      {[]string{write("c", engine(100, "a"), `{"kind":"gpu","t":101,"body":"<html>"}`, engine(102, "a"))}, "", nil, "1 reading of GPUs brought nothing, reason not_metrics; the first: line 2 at 101.000"},
		"a failure":                {[]string{write("d", engine(100, "a"), `{"kind":"gpu","t":101,"error":"it ended","reason":"exited","source":"dcgm"}`, engine(102, "a"))}, "", nil, "1 reading of GPUs brought nothing, reason exited; the first: line 2 at 101.000: it ended"},
		"GPUs after the last page": {[]string{write("e", engine(100, "a"), look(103, "z"))}, "", []string{"GPU-z"}, ""},
	} {
		var out, notes bytes.Buffer
		err := runReplay(t.Context(), replayOptions{ConfigFile: writeFile(t, "goodput.yaml", chatConfig+c.cfg), Format: "openmetrics", Step: time.Second, Recordings: c.files, Notes: &notes}, &out)
		if err != nil {
			t.Errorf("%s: %v", sentence, err)
		}
		var cards []string
		for series := range lastPoints(out.String()) {
			if rest, is := strings.CutPrefix(series, `goodput_gpu_up{gpu="`); is {
				cards = append(cards, strings.TrimSuffix(rest, `"}`))
			}
		}
		var said []string
		for line := range strings.Lines(notes.String()) {
			if strings.Contains(line, "GPUs") {
				said = append(said, line)
			}
		}
		if !slices.Equal(cards, c.has) || (len(said) > 0) != (c.notes != "") || !strings.Contains(strings.Join(said, ""), c.notes) {
			t.Errorf("%s: cards %v, notes %q", sentence, cards, said)
		}
	}
}

// TestRecordHoldsGPUs: a page as it was served but for its secrets and hidden labels, with failures between, and nothing where
// there are none.
func TestRecordHoldsGPUs(t *testing.T) {
	page, err := os.ReadFile("../../collectors/gpu/testdata/samples/dcgm-exporter-4.8.prom")
	if err != nil {
		t.Fatal(err)
	}
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("vllm:num_requests_running 0\n")) }))
	defer engine.Close()
	asked := 0
	cards := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked == 2 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		fmt.Fprintf(w, "# asked with s3cret-in-url\n%s", page)
	}))
	defer cards.Close()
	record := func(section string, hide ...string) (file, says string) {
		t.Helper()
		file = filepath.Join(t.TempDir(), "r.jsonl.gz")
		cfg := writeFile(t, "goodput.yaml", fmt.Sprintf("poll: {interval: 1s, timeout: 800ms}\n%sengines: {targets: [{id: a, url: %q}]}\ngpu: {%s}\n", chatConfig, engine.URL, section))
		var out bytes.Buffer
		if err := runRecord(t.Context(), recordOptions{ConfigFile: cfg, Output: file, For: 2500 * time.Millisecond, Flush: time.Second, Hide: hide, Log: slog.New(slog.DiscardHandler)}, &out); err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		return file, out.String()
	}
	file, says := record(fmt.Sprintf(`source: dcgm-exporter, interval: 1s, url: "%s/metrics?key=s3cret-in-url"`, cards.URL), "hostname", "Hostname")
	looks := readGPUs(t, file)
	if len(looks) != 3 || !strings.Contains(says, "2 readings of GPUs (1 more failed)") {
		t.Fatalf("%d lines; it says %s", len(looks), says)
	}
	if looks[1].Reason != fact.ReasonStatus || looks[1].Body != nil || looks[1].Source != gpu.NamePage {
		t.Errorf("the failure is %+v", looks[1])
	}
	for _, i := range []int{0, 2} {
		if body := string(looks[i].Body); strings.Contains(body, "s3cret") || !strings.Contains(body, "<secret>") || strings.Count(body, "\n") != strings.Count(string(page), "\n")+1 ||
			!strings.Contains(body, `ostname="hidden-1"`) || looks[i].Took <= 0 || looks[i].Status != 200 {
			t.Errorf("line %d: %+v", i, looks[i])
		}
		r := gpu.NewReplayer().Read(&gpu.Raw{At: looks[i].T, ContentType: looks[i].ContentType, Body: looks[i].Body})
		if len(r.GPUs) != 2 || r.GPUs[0].Node != "hidden-1" {
			t.Errorf("the page is read as %+v", r)
		}
	}
	for section, want := range map[string]string{
		"source: none": "GPUs are not recorded: gpu.source is none.",
		"source: dcgm, dcgm: {command: /nowhere/x, embedded: true}":                                        "GPUs are not recorded: gpu.dcgm.embedded is set",
		fmt.Sprintf(`interval: 1s, url: "http://%s/metrics", dcgm: {command: /nowhere/x}`, freeAddress(t)): "0 readings of GPUs",
	} {
		file, says := record(section)
		for _, e := range entriesOf(t, file) {
			if e.GPU != nil {
				t.Errorf("%s: %+v", section, e.GPU)
			}
		}
		if !strings.Contains(says, want) {
			t.Errorf("%s: it says %s", section, says)
		}
	}
}
