package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// program is the whole program, serving one configuration file.
type program struct {
	t       *testing.T
	file    string
	address string
	logs    *lockedBuffer
}

// serveProgram runs the program until the test ends, which must then end at once and without an error.
func serveProgram(t *testing.T, config string, flags ...string) *program {
	t.Helper()
	p := &program{t: t, file: writeFile(t, "goodput.yaml", config), address: freeAddress(t), logs: newLockedBuffer()}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, append([]string{"serve", "--config.file=" + p.file, "--web.listen-address=" + p.address}, flags...), io.Discard, p.logs)
	}()
	t.Cleanup(func() {
		cancel()
		select {
		case status := <-done:
			if status != 0 {
				t.Errorf("status %d: %s", status, p.logs)
			}
		case <-time.After(10 * time.Second):
			t.Error("the program does not end")
		}
	})
	return p
}

func (p *program) shows(want string) string {
	p.t.Helper()
	return waitFor(p.t, "http://"+p.address+"/metrics", want)
}

// write replaces the configuration, or a file beside it.
func (p *program) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(filepath.Dir(p.file), name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *program) post() (status int, body string) {
	p.t.Helper()
	resp, err := http.Post("http://"+p.address+"/-/reload", "", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

const fast = "poll: {interval: 100ms, allow_fast: true}\njudgement: {window: 10s}\n"

func TestReloadOfTheProgram(t *testing.T) {
	engine := livePage(t).URL
	config := func(slos, targets string) string {
		return fast + "slos: [" + slos + "]\nengines: {targets: [" + targets + "]}\n"
	}
	const chat, quick = "{name: chat, clauses: {ttft: 250ms}, objective: 0.95}", "{name: quick, clauses: {ttft: 100ms}, objective: 0.9}"
	a, b := fmt.Sprintf("{id: a, url: %q}", engine), fmt.Sprintf("{id: b, url: %q}", "http://user:hunter2@"+freeAddress(t))
	p := serveProgram(t, config(chat, a), "--web.enable-lifecycle")
	p.shows(`goodput_engine_up{engine="a"} 1`)
	sequences := `goodput_sequences_finished_total{engine="a"`
	p.shows(sequences)

	p.write("goodput.yaml", config(chat+", "+quick, a+", "+b))
	if status, body := p.post(); status != http.StatusOK {
		t.Fatalf("status %d: %s", status, body)
	}
	page := p.shows(`goodput_engine_up{engine="b"} 0`)
	for _, want := range []string{"goodput_config_last_reload_successful 1", `goodput_slo_objective_ratio{slo="quick"} 0.9`, `goodput_engine_up{engine="a"} 1`, sequences} {
		if !strings.Contains(page, want) {
			t.Errorf("%s is missing after a reload", want)
		}
	}

	p.write("goodput.yaml", config(chat, b)+"  nonsense: 1\n")
	status, body := p.post()
	if status != http.StatusInternalServerError || !strings.Contains(body, "the configuration before stays in force") || !strings.Contains(body, "goodput.yaml:") {
		t.Errorf("status %d: %s", status, body)
	}
	page = p.shows("goodput_config_last_reload_successful 0")
	if !strings.Contains(page, `goodput_slo_objective_ratio{slo="quick"} 0.9`) || !strings.Contains(page, `goodput_engine_up{engine="a"} 1`) {
		t.Error("what was in force is gone")
	}

	// SIGHUP, with a target and an objective less.
	p.write("goodput.yaml", config(chat, a))
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	page = p.shows("goodput_config_last_reload_successful 1")
	for deadline := time.Now().Add(10 * time.Second); strings.Contains(page, `engine="b"`) && strings.Contains(page, "goodput_engine_up{engine=\"b\"}"); {
		if time.Now().After(deadline) {
			t.Fatal("a target that was removed is still polled")
		}
		page = p.shows("goodput_config_last_reload_successful 1")
	}
	if strings.Contains(page, `slo="quick"`) {
		t.Error("an objective that was removed is still there")
	}
	if text := p.logs.String() + page + body; strings.Contains(text, "hunter2") {
		t.Error("a secret is told")
	}
	if n := strings.Count(p.logs.String(), "The configuration was reloaded"); n != 2 {
		t.Errorf("%d reloads in the log\n%s", n, p.logs)
	}
}

func TestReloadOverHTTPMustBeEnabled(t *testing.T) {
	p := serveProgram(t, fast+"slos: [{name: chat, clauses: {ttft: 250ms}, objective: 0.95}]\nengines: {targets: [{id: a, url: \"http://127.0.0.1:1\"}]}\n")
	p.shows("goodput_engine_up")
	if status, body := p.post(); status != http.StatusForbidden || !strings.Contains(body, "--web.enable-lifecycle") {
		t.Errorf("status %d: %s", status, body)
	}
	resp, err := http.Get("http://" + p.address + "/-/reload")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		t.Error("a GET reloads")
	}
}

// TestFilesOfTargetsAndAccess: an engine that is named by a file and guarded by a token, which are both changed under the
// running program, beside a target of the configuration that has no business with the token.
func TestFilesOfTargetsAndAccess(t *testing.T) {
	page := livePage(t)
	guarded := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer open-sesame" {
			http.Error(w, r.Header.Get("Authorization"), http.StatusUnauthorized)
			return
		}
		page.Config.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(guarded.Close)
	address := strings.TrimPrefix(guarded.URL, "http://")
	p := serveProgram(t, fast+`
slos: [{name: chat, clauses: {ttft: 250ms}, objective: 0.95}]
engines:
  files: ["targets/*.yaml"]
  access: {bearer_token_file: token}
  targets: [{id: own, url: "http://127.0.0.1:1", access: {}}]
`)
	if err := os.Mkdir(filepath.Join(filepath.Dir(p.file), "targets"), 0o700); err != nil {
		t.Fatal(err)
	}
	p.shows(`goodput_engine_up{engine="own"} 0`)
	p.write("targets/a.yaml", fmt.Sprintf("- targets: [%q]\n  labels: {goodput_id: listed, tier: gold, job: vllm}\n- targets: [\"127.0.0.1:2\"]\n  labels: {goodput_id: own}\n", address))
	// The directory came after the start, so that nothing watches it yet: a reload finds it at once, the next reading within
	// half a minute.
	p.signalUntil(`goodput_engine_poll_failures_total{engine="listed",reason="auth"}`)
	shown := p.shows("goodput_targets_refused 1")
	if !strings.Contains(shown, "goodput_access_files_broken 1") {
		t.Error("the missing token file is not on the page")
	}
	p.write("token", "open-sesame\n")
	shown = p.shows(`goodput_engine_up{engine="listed"} 1`)
	if !strings.Contains(shown, `engine="listed",model=`) || !strings.Contains(shown, `tier="gold"`) || strings.Contains(shown, `job="vllm"`) {
		t.Error("labels of the file are not as they should be")
	}
	p.shows("goodput_access_files_broken 0")

	p.write("targets/a.yaml", "- targets: [\n")
	shown = p.shows("goodput_target_files_broken 1")
	if !strings.Contains(shown, `goodput_engine_up{engine="listed"} 1`) {
		t.Error("a broken file takes its targets away")
	}
	p.write("targets/a.yaml", "[]\n")
	p.shows("goodput_target_files_broken 0")
	for _, want := range []string{"what it named before is kept", "a.yaml:", "its id is taken by engines.targets"} {
		if !strings.Contains(p.logs.String(), want) {
			t.Errorf("%q is not in the log\n%s", want, p.logs)
		}
	}
	round := waitFor(t, "http://"+p.address+"/debug/round", "snapshot")
	if text := p.logs.String() + shown + round; strings.Contains(text, "sesame") {
		t.Error("the token is told")
	}
}

// signalUntil reloads once and waits for what the page shall show.
func (p *program) signalUntil(want string) {
	p.t.Helper()
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		p.t.Fatal(err)
	}
	p.shows(want)
}

// TestCheckReadsTheFilesOfTargets: what serve would only say in its log is a mistake here.
func TestCheckReadsTheFilesOfTargets(t *testing.T) {
	const config = `
slos: [{name: chat, clauses: {ttft: 250ms}, objective: 0.95}]
engines: {files: ["*.json", "none-*.yaml"], targets: [{id: a, url: "http://user:hunter2@h:1"}]}
`
	for name, c := range map[string]struct {
		targets string
		status  int
		want    []string
	}{
		"sound":          {`[{"targets": ["h:2", "h:3"]}]`, 0, []string{"t.json names 2 engines", "no file fits", "is valid"}},
		"broken":         {"[\n{\"targets\": [\"h:2\"}]", 1, []string{"t.json:2: not valid JSON here"}},
		"an id twice":    {`[{"targets": ["h:2"], "labels": {"goodput_id": "a"}}]`, 1, []string{"t.json:1: a is not polled: its id is taken by engines.targets"}},
		"a page of ours": {`[{"targets": ["h:1"]}]`, 1, []string{"t.json:1: h:1 is not polled: its page is that of a"}},
	} {
		t.Run(name, func(t *testing.T) {
			file := writeFile(t, "goodput.yaml", config)
			if err := os.WriteFile(filepath.Join(filepath.Dir(file), "t.json"), []byte(c.targets), 0o600); err != nil {
				t.Fatal(err)
			}
			out := newLockedBuffer()
			if status := run(t.Context(), []string{"check", "--config.file=" + file}, out, out); status != c.status {
				t.Errorf("status %d: %s", status, out)
			}
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is missing: %s", want, out)
				}
			}
			if strings.Contains(out.String(), "hunter2") {
				t.Error("a secret is told")
			}
		})
	}
}

// TestCheckDoesNotRepeatACredential: the engine gives its model the name of what it was asked with, here in the query,
// which a poll cannot refuse because a query may name a model.
func TestCheckDoesNotRepeatACredential(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		fmt.Fprintf(w, "vllm:num_requests_running{engine=\"0\",model_name=\"m-%s\"} 1\n", r.URL.Query().Get("key"))
	}))
	t.Cleanup(server.Close)
	file := writeFile(t, "goodput.yaml", "slos: [{name: chat, clauses: {ttft: 250ms}, objective: 0.95}]\n")
	out := newLockedBuffer()
	run(t.Context(), []string{"check", "--config.file=" + file, server.URL + "/metrics?key=hunter2"}, out, out)
	if strings.Contains(out.String(), "hunter2") || !strings.Contains(out.String(), "m-<secret>") {
		t.Errorf("check says %s", out)
	}
}

// TestReloadsLeaveNothingBehind: after many reloads, with files that are watched and real connections, there are as many
// goroutines and connections as after one.
func TestReloadsLeaveNothingBehind(t *testing.T) {
	var opened, closed atomic.Int32
	engine := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 1\n")
	}))
	engine.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			opened.Add(1)
		case http.StateClosed:
			closed.Add(1)
		}
	}
	engine.Start()
	t.Cleanup(engine.Close)
	file := writeFile(t, "goodput.yaml", fast+fmt.Sprintf("slos: [{name: chat, clauses: {ttft: 250ms}, objective: 0.95}]\nengines: {files: [\"*.json\"], targets: [{id: a, url: %q}]}\n", engine.URL))
	s, err := newServed(file, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	rounds := func(n uint64) {
		t.Helper()
		awaitFirstRound(t.Context(), s.Exporter)
		for from, deadline := s.Snapshot().Rounds, time.Now().Add(20*time.Second); s.Snapshot().Rounds < from+n; {
			if time.Now().After(deadline) {
				t.Fatal("no rounds")
			}
			<-time.After(10 * time.Millisecond)
		}
	}
	reload := func(times int) (goroutines int, connections int32) {
		for range times {
			if err := s.reload(); err != nil {
				t.Fatal(err)
			}
			rounds(2)
		}
		// What ends takes a moment.
		for deadline := time.Now().Add(10 * time.Second); opened.Load()-closed.Load() > 1 && time.Now().Before(deadline); {
			<-time.After(10 * time.Millisecond)
		}
		return runtime.NumGoroutine(), opened.Load() - closed.Load()
	}
	one, _ := reload(1)
	many, connections := reload(20)
	if many > one+3 || connections > 1 {
		t.Errorf("%d goroutines after one reload, %d after 21; %d connections", one, many, connections)
	}
	if opened.Load() < 20 {
		t.Errorf("%d connections were opened: the reloads did not take hold", opened.Load())
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	s.wait()
}

// TestUnverifiedCertificatesAreSaid at each start and reload.
func TestUnverifiedCertificatesAreSaid(t *testing.T) {
	logs := newLockedBuffer()
	file := writeFile(t, "goodput.yaml", `
slos: [{name: chat, clauses: {ttft: 250ms}, objective: 0.95}]
engines:
  targets:
    - {id: blind, url: "https://h:1", access: {tls_config: {insecure_skip_verify: true}}}
    - {id: sound, url: "https://h:2"}
`)
	s, err := newServed(file, slog.New(slog.NewTextHandler(logs, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer s.wait()
	if n := strings.Count(logs.String(), "Certificates are not verified"); n != 1 || !strings.Contains(logs.String(), "target blind") {
		t.Errorf("%d warnings: %s", n, logs)
	}
}

// TestAReloadThatHangsHoldsNoScrapeUp: a configuration on a disk that does not answer, here a pipe that nobody has written
// to yet, costs the reload only.
func TestAReloadThatHangsHoldsNoScrapeUp(t *testing.T) {
	const config = "engines: {targets: [{id: a, url: \"http://127.0.0.1:1/metrics\"}]}\nslos: [{name: chat, clauses: {ttft: 250ms}, objective: 0.95}]\n"
	s, err := newServed(writeFile(t, "goodput.yaml", config), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.wait()
	if err := os.Remove(s.file); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(s.file, 0o600); err != nil {
		t.Fatal(err)
	}
	reloaded, asked := make(chan error, 1), make(chan bool, 1)
	go func() { reloaded <- s.reload() }()
	pipe, err := os.OpenFile(s.file, os.O_WRONLY, 0) // returns when the reload reads it
	if err != nil {
		t.Fatal(err)
	}
	go func() { asked <- s.inputs().ReloadOK }()
	select {
	case ok := <-asked:
		if !ok {
			t.Error("the last reload is said to have failed")
		}
	case <-time.After(10 * time.Second):
		t.Error("a scrape waits for the file")
	}
	if _, err := pipe.WriteString(config); err != nil {
		t.Error(err)
	}
	pipe.Close()
	if err := <-reloaded; err != nil {
		t.Error(err)
	}
}
