package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/engine"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/sim"
)

// runningDemo is a demo that serves, and what it printed.
type runningDemo struct {
	url    string
	out    *bytes.Buffer
	cancel context.CancelFunc
	ended  chan error
}

// startDemo runs a demo until the test ends.
func startDemo(t *testing.T, o demoOptions) *runningDemo {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	d := &runningDemo{out: &bytes.Buffer{}, cancel: cancel, ended: make(chan error, 1)}
	ready := make(chan string, 1)
	o.Ready = func(url string) { ready <- url }
	o.Notes, o.Log = io.Discard, slog.New(slog.DiscardHandler)
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	go func() { d.ended <- runDemo(ctx, o, d.out) }()
	select {
	case d.url = <-ready:
	case err := <-d.ended:
		cancel()
		t.Fatalf("the demo ended: %v", err)
	}
	t.Cleanup(cancel)
	return d
}

// stop ends it and returns how that went.
func (d *runningDemo) stop() error {
	d.cancel()
	return <-d.ended
}

func fetch(t *testing.T, url string) (status int, body string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// TestDemo starts the demo as `make demo` does, with a shorter past, and looks at everything that it says can be opened.
func TestDemo(t *testing.T) {
	d := startDemo(t, demoOptions{Scenario: "fleet", Hours: 0.2, Seed: 1})
	if status, body := fetch(t, d.url+"/"); status != 200 || !strings.Contains(body, "chat-2") || !strings.Contains(body, "<svg") {
		t.Errorf("the status page: %d, without an engine or a plot:\n%.400s", status, body)
	}
	if _, metrics := fetch(t, d.url+"/metrics"); !strings.Contains(metrics, `goodput_slo_requests_total{engine="code-dp",model="qwen3-coder-30b",slo="code"}`) {
		t.Errorf("no SLO counter of the simulated past:\n%.2000s", metrics)
	}
	_, metrics := fetch(t, d.url+"/metrics")
	// Two engines tell of every request, one of most of them, and one of none.
	for series, want := range map[string]string{
		`goodput_evidence_completeness_ratio{engine="chat-1",model="llama-3.1-8b",source="spans"}`:             "^1$",
		`goodput_evidence_completeness_ratio{engine="code-dp",model="qwen3-coder-30b",source="spans"}`:         "^1$",
		`goodput_evidence_completeness_ratio{engine="chat-2",model="llama-3.1-8b",source="spans"}`:             `^0\.(8[5-9]|9[0-5])`,
		`goodput_evidence_completeness_ratio{engine="code-2",model="qwen3-coder-30b",source="spans"}`:          "^$",
		`goodput_evidence_exact_windows_total{engine="chat-1",model="llama-3.1-8b",source="spans"}`:            "^1[0-2]$",
		`goodput_slo_class_requests_lower_total{class="long",engine="chat-1",model="llama-3.1-8b",slo="chat"}`: "^[1-9][0-9]{2,}$",
	} {
		if got := valueOf(metrics, series); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%s is %q, want %s", series, got, want)
		}
	}
	engines := 0
	for line := range strings.Lines(d.out.String()) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "engine" {
			status, page := fetch(t, fields[2])
			if _, err := engine.NewDecoder().Decode([]byte(page), sim.ContentType); status != 200 || err != nil {
				t.Errorf("%s: %d, %v", line, status, err)
			}
			engines++
		}
	}
	if engines != 4 || !strings.Contains(d.out.String(), d.url) {
		t.Errorf("four engines and %s are to be named:\n%s", d.url, d.out)
	}
	if err := d.stop(); err != nil {
		t.Errorf("it did not end well: %v", err)
	}
	if _, err := net.Dial("tcp", strings.TrimPrefix(d.url, "http://")); err == nil {
		t.Error("the port is still open")
	}
}

// valueOf is what stands behind a series on a page; "" when it is not there.
func valueOf(page, series string) string {
	_, rest, _ := strings.Cut("\n"+page, "\n"+series+" ")
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

// TestDemoTakesAnotherPort: a port in use is no reason not to start.
func TestDemoTakesAnotherPort(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	d := startDemo(t, demoOptions{Scenario: "steady", Listen: taken.Addr().String()})
	if d.url == "http://"+taken.Addr().String() || !strings.Contains(d.out.String(), d.url) || !strings.Contains(d.out.String(), taken.Addr().String()+" is in use") {
		t.Errorf("serves at %s and says:\n%s", d.url, d.out)
	}
	if status, _ := fetch(t, d.url+"/-/healthy"); status != 200 {
		t.Errorf("health is %d", status)
	}
	if err := d.stop(); err != nil {
		t.Error(err)
	}
}

// TestFleetClosesThePortOfAnEngineThatIsDown: pollers see a refused connection, as they would.
func TestFleetClosesThePortOfAnEngineThatIsDown(t *testing.T) {
	s, _ := sim.ScenarioNamed("steady")
	world, err := sim.New(s.Config(1, unix(time.Now())))
	if err != nil {
		t.Fatal(err)
	}
	f, err := newFleet(world)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	e := f.engines[0]
	fetcher, err := engine.New(engine.FetcherConfig{Timeout: 5 * time.Second, MaxBody: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer fetcher.Close()
	for _, up := range []bool{true, false, false, true} {
		if err := e.set(up); err != nil {
			t.Fatal(err)
		}
		p := fetcher.Poll(t.Context(), fact.Target{ID: "a", URL: e.url()})
		if up != (p.Sample != nil) || (!up && p.Reason != fact.ReasonRefused) {
			t.Errorf("up=%v: reason %q, %s", up, p.Reason, p.Detail)
		}
	}
}

// TestDemoRecordingIsReplayed: what --write-recording writes is a recording like any other, and the truth beside it
// names every request once.
func TestDemoRecordingIsReplayed(t *testing.T) {
	computes(t)
	dir := t.TempDir()
	file, truth := filepath.Join(dir, "r.jsonl.gz"), filepath.Join(dir, "truth.jsonl")
	var out, notes bytes.Buffer
	if status := run(t.Context(), []string{"demo", "--scenario=rejections", "--hours=0.1", "--write-recording=" + file, "--write-truth=" + truth}, &out, &notes); status != 0 {
		t.Fatalf("status %d: %s", status, notes.String())
	}
	if !strings.Contains(out.String(), "180 pages of 1 engine") || notes.Len() > 0 {
		t.Errorf("it says %q and notes %q", out.String(), notes.String())
	}
	windows := replayOutput(t, replayOptions{Format: "windows", Recordings: []string{file}, ConfigFile: writeFile(t, "demo.yaml", demoConfig)})
	if n := strings.Count(windows, `"slo":"chat"`); n < 5 {
		t.Errorf("%d windows", n)
	}
	raw, err := os.ReadFile(truth)
	if err != nil {
		t.Fatal(err)
	}
	seen, sequences := map[uint64]bool{}, 0
	for line := range strings.Lines(string(raw)) {
		var l truthLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		switch {
		case l.Kind == "request" && !seen[l.Request.ID]:
			seen[l.Request.ID] = true
		case l.Kind == "sequence" && l.Sequence.Values.E2E > 0:
			sequences++
		default:
			t.Fatalf("unexpected line: %s", line)
		}
	}
	if len(seen) < 2000 || sequences < 2000 {
		t.Errorf("%d requests and %d sequences", len(seen), sequences)
	}
}

// TestDemoRefuses names what is wrong and what there is instead.
func TestDemoRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		args   []string
		status int
		says   string
	}{
		"a scenario that does not exist": {[]string{"--scenario=apocalypse"}, 1, "--scenario=apocalypse does not exist; there are fleet, steady,"},
		"more hours than it takes":       {[]string{"--hours=1000"}, 1, "--hours=1000: it must be between 0 and 72"},
		"hours that are no number":       {[]string{"--hours=NaN"}, 1, "--hours=NaN: it must be between 0 and 72"},
		"the truth of nothing":           {[]string{"--write-truth=x"}, 1, "give both"},
		"a recording that cannot be written": {[]string{"--hours=0", "--write-recording=/does/not/exist/r"}, 1,
			"--write-recording: open /does/not/exist/r: no such file or directory"},
		"a truth that cannot be written": {[]string{"--hours=0", "--write-recording=" + filepath.Join(t.TempDir(), "r"), "--write-truth=/does/not/exist/t"}, 1,
			"--write-truth: open /does/not/exist/t: no such file or directory"},
		"an address that is none": {[]string{"--hours=0", "--web.listen-address=nowhere"}, 1, "--web.listen-address: listen tcp: address nowhere: missing port in address"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, notes bytes.Buffer
			if status := run(t.Context(), append([]string{"demo"}, test.args...), &out, &notes); status != test.status || !strings.Contains(notes.String(), test.says) {
				t.Errorf("status %d, notes %q; want %d and %q", status, notes.String(), test.status, test.says)
			}
		})
	}
}

func TestDemoListsItsScenarios(t *testing.T) {
	var out, notes bytes.Buffer
	if status := run(t.Context(), []string{"demo", "--list-scenarios"}, &out, &notes); status != 0 {
		t.Fatal(notes.String())
	}
	for _, s := range sim.Scenarios() {
		if !strings.Contains(out.String(), s.Name+" ") || !strings.Contains(out.String(), s.About) {
			t.Errorf("%s is not listed:\n%s", s.Name, out.String())
		}
	}
}
