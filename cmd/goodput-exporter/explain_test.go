package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/engine"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/internal/golden"
)

const explainConfig = "testdata/explain/slos.yaml"

func explainOutput(t *testing.T, o explainOptions) (string, error) {
	t.Helper()
	if o.ConfigFile == "" {
		o.ConfigFile = explainConfig
	}
	var out bytes.Buffer
	err := runExplain(context.Background(), o, &out)
	return out.String(), err
}

// TestExplainGolden pins what a person reads of every kind of source, and the keys of the JSON.
func TestExplainGolden(t *testing.T) {
	const samples = "../../testdata/samples/"
	for name, o := range map[string]explainOptions{
		"day.txt":          {Source: recordingPath("vllm-0.32-day")},
		"spec.json":        {Source: recordingPath("vllm-0.32-spec"), JSON: true},
		"buckets.txt":      {Source: recordingPath("vllm-0.32-buckets")},
		"restart.txt":      {Source: recordingPath("vllm-0.32-restart")},
		"dp2.txt":          {Source: recordingPath("vllm-0.32-dp2")},
		"rust.txt":         {Source: recordingPath("vllm-0.32-rust")},
		"simulator.txt":    {Source: recordingPath("llm-d-sim-ramp")},
		"page.txt":         {Source: samples + "vllm-0.32-live.prom"},
		"page.json":        {Source: samples + "vllm-0.32-live.prom", JSON: true},
		"page-without.txt": {Source: samples + "vllm-0.32-rust-live.prom"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := explainOutput(t, o)
			if err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, "testdata/explain/"+name, []byte(got))
			if strings.Contains(got, "\x1b") {
				t.Error("a file gets colours")
			}
		})
	}
}

func explainJSON(t *testing.T, o explainOptions) *explained {
	t.Helper()
	o.JSON = true
	text, err := explainOutput(t, o)
	if err != nil {
		t.Fatal(err)
	}
	e := &explained{}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(e); err != nil {
		t.Fatal(err)
	}
	return e
}

// TestExplainSaysWhatReplaySays adds up the windows that replay prints and compares.
func TestExplainSaysWhatReplaySays(t *testing.T) {
	for _, name := range []string{"vllm-0.32-rust", "vllm-0.32-restart"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := explainJSON(t, explainOptions{Source: recordingPath(name)})
			var requests, lower, upper, arrived uint64
			for line := range strings.Lines(replayOutput(t, replayOptions{ConfigFile: explainConfig, Format: "windows", Recordings: []string{recordingPath(name)}})) {
				if !strings.Contains(line, `"slo":"chat"`) {
					continue
				}
				var w windowLine
				if err := json.Unmarshal([]byte(line), &w); err != nil {
					t.Fatal(err)
				}
				if w.Lower != nil {
					requests, lower, upper, arrived = requests+*w.Requests, lower+*w.Lower, upper+*w.Upper, arrived+*w.Arrived
				}
			}
			hour := e.SLOs[0].Verdicts[1]
			if hour.Period != "hour" || hour.Requests != requests || hour.Lower != lower || hour.Upper != upper {
				t.Errorf("the hour is %+v; replay has %d to %d of %d", hour, lower, upper, requests)
			}
			if got := e.Periods[1].Ledger.Arrived; got == nil || got.Lower != arrived {
				t.Errorf("arrived %v; replay has %d", got, arrived)
			}
			if n := len(e.SLOs[0].Narrow); (n == 0) != (lower == upper) {
				t.Errorf("an interval of width %d has %d ways to be narrower", upper-lower, n)
			}
		})
	}
}

// pagesOf is a poller that answers with the pages of a recording, one a poll.
type pagesOf struct {
	pages   *recordings
	decoder *engine.Decoder
	fails   map[int]fact.Reason // polls that fail, from 0
	n       int
}

func (p *pagesOf) Poll(context.Context, fact.Target) fact.Poll {
	now := unix(time.Now())
	reason, failed := p.fails[p.n]
	p.n++
	page, err := p.pages.nextPage()
	switch {
	case err != nil:
		panic(err)
	case failed:
		return fact.Poll{Sent: now, Received: now + 0.01, Reason: reason, Detail: "as it was told"}
	}
	poll := recordedPoll(page, p.decoder)
	poll.Sent, poll.Received = now, now+0.01
	return poll
}

// liveWatch polls a recording as if it were live, for as long as it is told.
func liveWatch(t *testing.T, ctx context.Context, length time.Duration, fails map[int]fact.Reason) *engineWatch {
	t.Helper()
	cfg, err := config.Load(explainConfig)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Poll.Interval = time.Second
	pages, err := openRecordings([]string{recordingPath("vllm-0.32-day")})
	if err != nil {
		t.Fatal(err)
	}
	defer pages.Close()
	w := &engineWatch{cfg: cfg, source: "http://a/metrics", live: true, target: fact.Target{ID: "a"}}
	p := &pagesOf{pages: pages, decoder: engine.NewDecoder(), fails: fails}
	if err := w.poll(ctx, p, length, newProgress(io.Discard, "")); err != nil {
		t.Fatal(err)
	}
	if w.sample != nil {
		w.finish()
	}
	return w
}

func TestExplainALiveEngine(t *testing.T) {
	for name, c := range map[string]struct {
		length, stop  time.Duration // stop: when Ctrl-C comes; 0: never
		fails         map[int]fact.Reason
		polls, good   int
		windows       int
		partial, note bool
	}{
		"a judgement window is seen whole":                        {length: 62 * time.Second, polls: 63, good: 63, windows: 1},
		"less than one is shown as what it is":                    {length: 20 * time.Second, polls: 21, good: 21, windows: 1, partial: true},
		"Ctrl-C ends it with what there is":                       {length: time.Hour, stop: 10500 * time.Millisecond, polls: 11, good: 11, windows: 1, partial: true, note: true},
		"polls that fail are told and survived":                   {length: 62 * time.Second, fails: map[int]fact.Reason{5: fact.ReasonTimeout, 6: fact.ReasonTimeout, 30: fact.ReasonParse}, polls: 63, good: 60, windows: 1},
		"an engine that does not answer at all is not waited for": {length: time.Hour, fails: map[int]fact.Reason{0: fact.ReasonRefused}, polls: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.stop > 0 {
					defer time.AfterFunc(c.stop, cancel).Stop()
				}
				begun := time.Now()
				w := liveWatch(t, ctx, c.length, c.fails)
				if w.polls != c.polls || w.good != c.good {
					t.Fatalf("%d polls, %d good", w.polls, w.good)
				}
				if took := time.Since(begun); took > min(c.length, 63*time.Second) {
					t.Errorf("it took %v", took)
				}
				if c.good == 0 {
					return
				}
				e := explanation(w)
				if len(e.Periods) != 2 || e.Periods[1].Windows != c.windows || e.Periods[0].Partial != c.partial || (len(e.Notes) > 0) != c.note {
					t.Errorf("periods %+v, notes %q", e.Periods, e.Notes)
				}
				for i, n := range e.SLOs[0].Narrow {
					if (n.By == "time") != (c.partial && i == 0) {
						t.Errorf("narrower by %+v", e.SLOs[0].Narrow)
					}
				}
				var text bytes.Buffer
				(&explainer{out: &text}).print(e)
				if n := strings.Count(text.String(), "Ledger of"); n != 1 {
					t.Errorf("one window is told %d times", n)
				}
				failed := uint64(0)
				for _, f := range e.Polls.Failed {
					failed += f.Count
				}
				if int(failed) != len(c.fails) {
					t.Errorf("failed %+v", e.Polls.Failed)
				}
			})
		})
	}
}

// TestExplainOverHTTP asks a real server that wants a password and repeats it.
func TestExplainOverHTTP(t *testing.T) {
	live := livePage(t)
	parrot := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != "hunter2!" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		switch r.URL.Path {
		case "/500":
			w.WriteHeader(http.StatusInternalServerError)
			return
		case "/html":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html>hunter2!</html>")
			return
		case "/cut":
			w.Header().Set("Content-Length", "10000")
			fmt.Fprint(w, "# hunter2!\n")
			return
		}
		resp, err := http.Get(live.URL)
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
		fmt.Fprintf(w, "# hello hunter2!\n")
		_, _ = io.Copy(w, resp.Body)
	}))
	defer parrot.Close()
	host := strings.TrimPrefix(parrot.URL, "http://")
	cfg := writeFile(t, "goodput.yaml", fmt.Sprintf(`
poll: {interval: 100ms, allow_fast: true}
judgement: {window: 10s}
slos: [{name: chat, match: {engine: mine}, clauses: {ttft: 250ms, tpot: 25ms}, objective: 0.95}]
engines: {targets: [{id: mine, url: "http://user:hunter2!@%s/metrics?token=hunter2!"}]}
`, host))
	for name, c := range map[string]struct {
		source string
		want   []string
		fails  bool
	}{
		"as the configured target":    {parrot.URL + "/metrics", []string{"engine mine", "SLO chat", "qualified", "shorter than a whole one"}, false},
		"with credentials of its own": {"http://user:hunter2!@" + host + "/metrics", []string{"engine mine"}, false},
		"a page that is of no target": {"http://user:hunter2!@" + host + "/other?token=hunter2!", []string{"engine engine", "match.engine of SLO chat was not held"}, false},
		"wrong credentials":           {"http://user:hunter3!@" + host + "/metrics", []string{"no page can be used", "auth: ", "401"}, true},
		"a server error":              {"http://user:hunter2!@" + host + "/500", []string{"status: ", "HTTP 500"}, true},
		"a page for people":           {"http://user:hunter2!@" + host + "/html", []string{"not_metrics: "}, true},
		"half a page":                 {"http://user:hunter2!@" + host + "/cut", []string{"truncated: "}, true},
		"nobody there":                {"http://user:hunter2!@" + freeAddress(t) + "/metrics", []string{"refused: ", "nothing listens there"}, true},
		"not a URL":                   {"http://user:hunter2!@" + host + ":1/", []string{"explain: the engine's URL is not a URL"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := explainOutput(t, explainOptions{ConfigFile: cfg, Source: c.source, For: 350 * time.Millisecond})
			if (err != nil) != c.fails {
				t.Errorf("error %v", err)
			}
			got = fmt.Sprint(got, err)
			for _, w := range c.want {
				if !strings.Contains(got, w) {
					t.Errorf("%q is not in\n%s", w, got)
				}
			}
			if strings.Contains(got, "hunter") {
				t.Errorf("a secret is shown:\n%s", got)
			}
		})
	}
}

// TestStrangersSeeNoCredentials: check and explain show what the configuration holds for its engines to no other URL.
func TestStrangersSeeNoCredentials(t *testing.T) {
	page, err := os.ReadFile("../../testdata/samples/vllm-0.32-live.prom")
	if err != nil {
		t.Fatal(err)
	}
	var shown atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown.Store(r.Header.Get("Authorization"))
		if shown.Load() == "" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = w.Write(page)
	}))
	defer server.Close()
	cfg := writeFile(t, "goodput.yaml", fmt.Sprintf(`
slos: [{name: chat, clauses: {ttft: 250ms, tpot: 25ms}, objective: 0.95}]
engines:
  access: {bearer_token_file: %q}
  targets: [{id: mine, url: %q}]
`, writeFile(t, "token", "hunter2-token"), server.URL+"/metrics"))
	for name, c := range map[string]struct{ path, want string }{
		"a configured engine": {"/metrics", "Bearer hunter2-token"}, "any other page": {"/other", ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, command := range []string{"check", "explain"} {
				var out bytes.Buffer
				args := []string{command, "--config.file=" + cfg, server.URL + c.path}
				if command == "explain" {
					args = append(args, "--for=1ms")
				}
				shown.Store("nothing")
				run(context.Background(), args, &out, &out)
				if got := shown.Load(); got != c.want {
					t.Errorf("%s shows %q", command, got)
				}
				if told := strings.Contains(out.String(), "none of its credentials were shown"); told != (c.want == "") {
					t.Errorf("%s says %s", command, &out)
				}
				if strings.Contains(out.String(), "hunter2") {
					t.Errorf("%s tells the secret: %s", command, &out)
				}
			}
		})
	}
}

// TestExplainRefusesWithAReason what is no page, and what holds several engines.
func TestExplainRefusesWithAReason(t *testing.T) {
	page, err := os.ReadFile("../../testdata/samples/vllm-0.32-live.prom")
	if err != nil {
		t.Fatal(err)
	}
	two := writeFile(t, "two.jsonl", page2(t, "a", 1, string(page))+page2(t, "b", 2, string(page))+page2(t, "a", 3, string(page)))
	for name, c := range map[string]struct {
		o    explainOptions
		want string
	}{
		"no such configuration":   {explainOptions{ConfigFile: "nowhere.yaml", Source: two}, "nowhere.yaml"},
		"no such file":            {explainOptions{Source: "nowhere.prom"}, "explain: open nowhere.prom"},
		"no such recording":       {explainOptions{Source: "nowhere.jsonl"}, "nowhere.jsonl"},
		"half a page":             {explainOptions{Source: writeFile(t, "half.prom", string(page[:len(page)/2]))}, "half.prom"},
		"an empty page":           {explainOptions{Source: writeFile(t, "empty.prom", "")}, "empty.prom"},
		"HTML":                    {explainOptions{Source: writeFile(t, "p.html", "<html>\n")}, "p.html"},
		"another exporter's page": {explainOptions{Source: writeFile(t, "node.prom", "node_load1 0.5\n")}, "not an engine"},
		"only failures":           {explainOptions{Source: "testdata/check/only-failures.jsonl"}, "not_metrics"},
		"a recording of nothing":  {explainOptions{Source: writeFile(t, "none.jsonl", `{"kind":"header","version":1}`)}, "holds no page"},
		"several engines":         {explainOptions{Source: two}, "choose one with --engine: a, b"},
		"an engine that is not":   {explainOptions{Source: two, Engine: "c"}, "--engine=c is not in it; there are a, b"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := explainOutput(t, c.o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it; printed %q", err, c.want, got)
			}
		})
	}
	if e := explainJSON(t, explainOptions{Source: two, Engine: "a"}); e.Engine != "a" || e.Polls.Good != 2 {
		t.Errorf("engine %s with %d pages", e.Engine, e.Polls.Good)
	}
}

func page2(t *testing.T, target string, at float64, body string) string {
	t.Helper()
	line, err := json.Marshal(map[string]any{"kind": "engine", "t": at, "target": target, "status": 200, "content_type": "text/plain", "body": body})
	if err != nil {
		t.Fatal(err)
	}
	return string(line) + "\n"
}

// TestExplainUsesWhatCameBeforeAFault of a recording that was cut.
func TestExplainUsesWhatCameBeforeAFault(t *testing.T) {
	whole, err := os.ReadFile(recordingPath("vllm-0.32-spec"))
	if err != nil {
		t.Fatal(err)
	}
	cut := writeFile(t, "cut.jsonl.gz", string(whole[:len(whole)*3/4]))
	got, err := explainOutput(t, explainOptions{Source: cut})
	if err != nil || !strings.Contains(got, "cut short") || !strings.Contains(got, "qualified") {
		t.Errorf("%v\n%s", err, got)
	}
}

// TestExplainPassesOverGPUs: a node's GPUs change nothing of what a recording says of an engine.
func TestExplainPassesOverGPUs(t *testing.T) {
	packed, err := os.Open(recordingPath("vllm-0.32-spec"))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	plain, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := io.ReadAll(plain)
	if err != nil {
		t.Fatal(err)
	}
	var with strings.Builder
	for line := range strings.Lines(string(whole)) {
		with.WriteString(line)
		var page struct {
			Kind string
			T    float64
		}
		if err := json.Unmarshal([]byte(line), &page); err != nil {
			t.Fatal(err)
		}
		if page.Kind == "engine" {
			fmt.Fprintf(&with, `{"kind":"gpu","t":%f,"status":200,"body":"DCGM_FI_DEV_GPU_TEMP{UUID=\"GPU-1\"} 61\n"}`+"\n", page.T)
		}
	}
	got, err := explainOutput(t, explainOptions{Source: writeFile(t, "spec.jsonl", with.String())})
	if err != nil {
		t.Fatal(err)
	}
	want, err := explainOutput(t, explainOptions{Source: writeFile(t, "spec.jsonl", string(whole))})
	if err != nil {
		t.Fatal(err)
	}
	folder := regexp.MustCompile(`\S*/spec\.jsonl`)
	if got, want = folder.ReplaceAllString(got, ""), folder.ReplaceAllString(want, ""); got != want {
		t.Errorf("with GPUs:\n%s\nwithout:\n%s", got, want)
	}
}

// TestExplainDoesNotLetAPageSteerTheTerminal: names on a page are anybody's text.
func TestExplainDoesNotLetAPageSteerTheTerminal(t *testing.T) {
	page, err := os.ReadFile("../../testdata/samples/vllm-0.32-live.prom")
	if err != nil {
		t.Fatal(err)
	}
	hostile := bytes.ReplaceAll(page, []byte(`model_name="demo"`), []byte("model_name=\"demo\x1b]0;owned\x07\u202e\""))
	path := filepath.Join(t.TempDir(), "hostile.prom")
	if err := os.WriteFile(path, hostile, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := explainOutput(t, explainOptions{Source: path})
	if err != nil || strings.ContainsAny(got, "\x1b\x07\u202e") || !strings.Contains(got, `"demo\x1b]0;owned\a\u202e"`) {
		t.Errorf("%v\n%q", err, got)
	}
}

var codes = regexp.MustCompile("\x1b\\[[0-9]+m")

// TestColoursChangeNoWord: whoever sees none reads the same.
func TestColoursChangeNoWord(t *testing.T) {
	w := &engineWatch{cfg: &config.Config{}}
	cfg, err := config.Load(explainConfig)
	if err != nil {
		t.Fatal(err)
	}
	w.cfg = cfg
	if err := w.readRecording(context.Background(), explainOptions{Source: recordingPath("vllm-0.32-spec"), Notes: io.Discard}); err != nil {
		t.Fatal(err)
	}
	w.finish()
	e := explanation(w)
	var plain, coloured bytes.Buffer
	(&explainer{out: &plain}).print(e)
	(&explainer{out: &coloured, paint: paint{on: true}}).print(e)
	if n := len(codes.FindAllString(coloured.String(), -1)); n < 20 || n%2 != 0 {
		t.Errorf("%d codes", n)
	}
	if codes.ReplaceAllString(coloured.String(), "") != plain.String() {
		t.Error("the words differ")
	}
}

func TestWhoGetsColours(t *testing.T) {
	for name, c := range map[string]struct {
		terminal bool
		env      map[string]string
		want     bool
	}{
		"a terminal":                       {true, nil, true},
		"a pipe or a file":                 {false, nil, false},
		"a terminal whose user wants none": {true, map[string]string{"NO_COLOR": "1"}, false},
		"an empty NO_COLOR is none":        {true, map[string]string{"NO_COLOR": ""}, true},
		"a terminal without":               {true, map[string]string{"TERM": "dumb"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := coloured(c.terminal, func(k string) string { return c.env[k] }); got != c.want {
				t.Errorf("%v", got)
			}
		})
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if paintFor(w).on || paintFor(&bytes.Buffer{}).on {
		t.Error("a pipe gets colours")
	}
}
