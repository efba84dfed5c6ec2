package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestArguments(t *testing.T) {
	for name, c := range map[string]struct {
		args   []string
		status int
		want   string
	}{
		"help":                        {[]string{"--help"}, 0, "Poll the engines"},
		"version":                     {[]string{"--version"}, 0, "goodput-exporter, version"},
		"no command":                  {nil, 0, "Commands:"},
		"an unknown flag":             {[]string{"serve", "--colour"}, 2, "unknown long flag '--colour'"},
		"an unknown format":           {[]string{"replay", "--format=csv", "x"}, 2, "openmetrics,windows"},
		"a step without a unit":       {[]string{"replay", "--step=15", "x"}, 2, "missing unit"},
		"a missing configuration":     {[]string{"serve", "--config.file=nowhere.yaml"}, 1, "nowhere.yaml"},
		"an unreadable log level":     {[]string{"serve", "--log.level=loud"}, 2, "log level loud"},
		"nothing to poll":             {[]string{"serve", "--config.file=testdata/slos-only.yaml"}, 1, "engines.targets is empty"},
		"a listen address of no use":  {[]string{"serve", "--config.file=testdata/one-engine.yaml", "--web.listen-address=127.0.0.1:notaport"}, 1, "notaport"},
		"a missing web configuration": {[]string{"serve", "--config.file=testdata/one-engine.yaml", "--web.listen-address=127.0.0.1:0", "--web.config.file=nowhere.yml"}, 1, "nowhere.yml"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			if status := run(ctx, c.args, &out, &out); status != c.status || !strings.Contains(out.String(), c.want) {
				t.Errorf("status %d, want %d; want %q in %s", status, c.status, c.want, out.String())
			}
			if strings.Count(out.String(), "usage:") > 1 {
				t.Error("the usage is printed twice")
			}
		})
	}
}

// livePage serves the pages of a recording one after the other, so that its counters move.
func livePage(t *testing.T) *httptest.Server {
	t.Helper()
	pages, err := openRecordings([]string{recordingPath("vllm-0.32-day")})
	if err != nil {
		t.Fatal(err)
	}
	defer pages.Close()
	var bodies [][]byte
	for range 100 {
		p, err := pages.nextPage()
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, p.Body)
	}
	var at atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=1.0.0; charset=utf-8")
		i := min(int(at.Add(1)), len(bodies)) - 1
		w.Write(bodies[i]) //nolint:errcheck // the reader is the test
	}))
	t.Cleanup(server.Close)
	return server
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// lockedBuffer may be written by the program and read by the test at once.
type lockedBuffer struct {
	mu  chan struct{}
	buf bytes.Buffer
}

func newLockedBuffer() *lockedBuffer { return &lockedBuffer{mu: make(chan struct{}, 1)} }

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu <- struct{}{}
	defer func() { <-b.mu }()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu <- struct{}{}
	defer func() { <-b.mu }()
	return b.buf.String()
}

// TestServe runs the whole program against a real engine's pages and an engine that is not there.
func TestServe(t *testing.T) {
	address := freeAddress(t)
	secret := strings.Replace(livePage(t).URL, "http://", "http://alice:s3cret@", 1) + "/metrics?token=abc"
	cfg := writeFile(t, "goodput.yaml", fmt.Sprintf(`
poll: {interval: 100ms, allow_fast: true}
judgement: {window: 10s}
slos: [{name: chat, clauses: {ttft: 250ms, tpot: 25ms}, objective: 0.95, policy: {retries: logical}}]
engines:
  targets:
    - {id: live, url: %q, labels: {tier: gold}}
    - {id: gone, url: "http://%s/metrics"}
`, secret, freeAddress(t)))
	logs := newLockedBuffer()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, []string{"serve", "--config.file=" + cfg, "--web.listen-address=" + address}, io.Discard, logs)
	}()
	page := waitFor(t, "http://"+address+"/metrics", `goodput_sequences_finished_total{engine="live"`)
	for _, want := range []string{
		`goodput_engine_up{engine="live"} 1`, `goodput_engine_up{engine="gone"} 0`,
		`goodput_engine_poll_failures_total{engine="gone",reason="refused"}`, `tier="gold"`, "go_goroutines", "process_cpu_seconds_total", "goodput_build_info",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%s is missing from the page", want)
		}
	}
	if strings.Contains(page, `goodput_requests_arrived_total{engine="gone"`) {
		t.Error("an engine that was never seen has a ledger")
	}
	round := waitFor(t, "http://"+address+"/debug/round", "live")
	landing := waitFor(t, "http://"+address+"/", "live")
	for _, path := range []string{"/-/healthy", "/-/ready"} {
		waitFor(t, "http://"+address+path, "")
	}
	cancel()
	select {
	case status := <-done:
		if status != 0 {
			t.Errorf("status %d: %s", status, logs)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("the program does not end")
	}
	for what, text := range map[string]string{"page": page, "round": round, "landing page": landing, "log": logs.String()} {
		if strings.Contains(text, "s3cret") || strings.Contains(text, "token=abc") || strings.Contains(text, "alice") {
			t.Errorf("the %s tells the secret", what)
		}
	}
	if !strings.Contains(logs.String(), "policy.retries: logical needs a span for each request") {
		t.Errorf("the log does not name the idle key: %s", logs)
	}
}

// waitFor asks until the answer is 200 and holds want.
func waitFor(t *testing.T, url, want string) string {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(20 * time.Second)
	for {
		if resp, err := http.Get(url); err == nil {
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err == nil && resp.StatusCode == http.StatusOK && strings.Contains(string(body), want) {
				return string(body)
			}
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s does not say %q", url, want)
		}
	}
}

func TestGenerateDocsWritesWhatIsCommitted(t *testing.T) {
	dir := t.TempDir()
	if status := run(context.Background(), []string{"generate", "docs", "--dir=" + dir}, io.Discard, io.Discard); status != 0 {
		t.Fatalf("status %d", status)
	}
	for _, name := range []string{"metrics.md", "config.md"} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join("../../docs", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("docs/%s has drifted: run make generate", name)
		}
	}
}
