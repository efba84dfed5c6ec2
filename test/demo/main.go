// Command demo plays a recorded vLLM on a loopback port, in a loop, and runs the exporter on top of it, so that the real
// thing can be looked at on a machine without a GPU. It knows recordings and processes, and nothing of what the exporter
// computes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	defaultRecording = "testdata/recordings/vllm-0.32-day/recording.jsonl.gz"
	defaultOffset    = 60.0              // seconds: past the quiet first phase
	engineAddress    = "127.0.0.1:18000" // the one in goodput.yaml
	startUp          = 20 * time.Second  // the exporter must have read a page by then
)

// options are the command line.
type options struct {
	exporter, recording, config, listen string
	offset                              float64
	check                               bool
}

func main() {
	var o options
	flag.StringVar(&o.exporter, "exporter", "bin/goodput-exporter", "the exporter's binary")
	flag.StringVar(&o.recording, "recording", defaultRecording, "what to play")
	flag.StringVar(&o.config, "config", "test/demo/goodput.yaml", "the exporter's configuration; it names "+engineAddress)
	flag.StringVar(&o.listen, "listen", "127.0.0.1:9810", "the exporter's address; a free port is taken when it is in use")
	flag.Float64Var(&o.offset, "offset", defaultOffset, "seconds into the recording at which to begin")
	flag.BoolVar(&o.check, "check", false, "end as soon as the exporter has read the engine")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// run serves the recording and the exporter until ctx ends, or until --check is answered.
func run(ctx context.Context, o options) error {
	pages, err := load(o.recording)
	if err != nil {
		return err
	}
	engine, err := listen(engineAddress)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler(&playback{pages: pages, offset: o.offset, started: unix(time.Now())})}
	go server.Serve(engine) //nolint:errcheck // ends with Close, below
	defer server.Close()

	config, err := configure(o.config, engine.Addr().String())
	if err != nil {
		return err
	}
	defer os.RemoveAll(filepath.Dir(config))
	address, err := free(o.listen)
	if err != nil {
		return err
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	exporter := start(ctx, o.exporter, config, address)
	line, err := waitUp(ctx, "http://"+address+"/metrics", exporter)
	switch {
	case errors.Is(err, context.Canceled):
		<-exporter
		return nil
	case err != nil:
		cancel()
		<-exporter
		return err
	case o.check:
		fmt.Println(line)
		cancel()
		return <-exporter
	}
	length := pages[len(pages)-1].T - pages[0].T
	fmt.Printf(banner, engine.Addr(), length/60, address)
	return <-exporter
}

const banner = `
A recorded vLLM plays at   http://%s/metrics   (%.0f minutes, then a restart and again)
The exporter reads it at   http://%[3]s/   and publishes   http://%[3]s/metrics
Goodput appears after the first judgement window, in a minute:
  watch -n5 "curl -s %[3]s/metrics | grep ^goodput_slo_"
Ctrl-C stops both.

`

// handler answers as the recorded engine did. Where that did not answer, the connection is closed without a word.
func handler(p *playback) http.Handler {
	mux := http.NewServeMux()
	var first sync.Once
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		first.Do(func() { p.align(unix(time.Now())) })
		answer, ok := p.at(unix(time.Now()))
		if !ok || answer.Err != "" {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", answer.ContentType)
		w.WriteHeader(answer.Status)
		w.Write(answer.Body) //nolint:errcheck // the poller may have left
	})
	return mux
}

func unix(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }

// listen takes an address, or any free port of its host when it is in use.
func listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		host, _, _ := net.SplitHostPort(address)
		return net.Listen("tcp", net.JoinHostPort(host, "0"))
	}
	return l, err
}

// free is an address that nobody listened on a moment ago.
func free(address string) (string, error) {
	l, err := listen(address)
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// configure writes the configuration with the engine's real address into a directory of its own and returns its path.
func configure(path, address string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if !strings.Contains(string(text), engineAddress) {
		return "", fmt.Errorf("%s names no target at %s, where the demo plays the engine", path, engineAddress)
	}
	dir, err := os.MkdirTemp("", "goodput-demo-")
	if err != nil {
		return "", err
	}
	written := filepath.Join(dir, "goodput.yaml")
	return written, os.WriteFile(written, []byte(strings.ReplaceAll(string(text), engineAddress, address)), 0o600)
}

// start runs the exporter until ctx ends and hands over how it ended: nil when it was asked to.
func start(ctx context.Context, binary, config, address string) <-chan error {
	cmd := exec.CommandContext(ctx, binary, "serve", "--config.file="+config, "--web.listen-address="+address)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C reaches us alone, and the exporter once
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	ended := make(chan error, 1)
	go func() {
		defer close(ended)
		if err := cmd.Run(); err != nil && !(ctx.Err() != nil && errors.Is(err, ctx.Err())) {
			ended <- fmt.Errorf("%s: %w", binary, err)
		}
	}()
	return ended
}

var up = regexp.MustCompile(`(?m)^goodput_engine_up\{.*\} 1$`)

// waitUp asks the exporter until it says that it has read the engine, and returns the line that says so.
func waitUp(ctx context.Context, url string, exporter <-chan error) (string, error) {
	deadline := time.After(startUp)
	for {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case err := <-exporter:
			if err == nil {
				err = errors.New("without saying why")
			}
			return "", fmt.Errorf("the exporter ended before it had read the engine: %w", err)
		case <-deadline:
			return "", fmt.Errorf("after %v, %s has no goodput_engine_up of 1", startUp, url)
		case <-time.After(200 * time.Millisecond):
		}
		if line := up.FindString(get(ctx, url)); line != "" {
			return line, nil
		}
	}
}

// get is the body of a page, or "" when there is none yet.
func get(ctx context.Context, url string) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return ""
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return ""
	}
	return string(body)
}
