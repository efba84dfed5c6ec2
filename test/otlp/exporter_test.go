package otlp

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

var binary = flag.String("exporter", "../../bin/goodput-exporter", "the exporter's `binary`")

// serving is an exporter that runs.
type serving struct {
	base       string // URL of its pages
	http, grpc string // addresses where it takes spans in
	log        string // file with what it printed
	pid        int
}

// settings are the parts of a configuration in which the tests differ.
type settings struct {
	engines map[string]*engine
	labels  map[string]string // of engines, as YAML
	only    string            // the one protocol by which spans are taken in; "" is both
	spans   []string          // further keys of spans
	slo     string            // a further key of the objective
	grace   string            // "" is 4s: the senders of the tests hold spans back for half a second
	poll    string            // "" is every 500ms
	environ []string
}

// judgement is the length of the tests' judgement windows: the shortest that there may be.
const judgement = 10 * time.Second

// serve starts the exporter with one objective and ends it with the test.
func serve(t testing.TB, s settings) *serving {
	t.Helper()
	out := &serving{http: freeAddress(t), grpc: freeAddress(t)}
	page := freeAddress(t)
	dir := t.TempDir()
	out.base, out.log = "http://"+page, filepath.Join(dir, "log")
	config := filepath.Join(dir, "goodput.yaml")
	must(t, os.WriteFile(config, []byte(s.yaml(out)), 0o600))
	log, err := os.Create(out.log)
	must(t, err)
	defer log.Close()
	cmd := exec.Command(*binary, "serve", "--config.file="+config, "--web.listen-address="+page)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), s.environ...)
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v: `make build` builds it", err)
	}
	out.pid = cmd.Process.Pid
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { out.end(t, cmd, ended) })
	until(t, 15*time.Second, "the exporter is ready", func() error {
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("the exporter ended: %v\n%s", err, out.printed(t))
		default:
		}
		_, err := fetch(out.base + "/-/ready")
		return err
	})
	return out
}

func (s *settings) yaml(out *serving) string {
	var b strings.Builder
	grace, poll := s.grace, s.poll
	if grace == "" {
		grace = "4s"
	}
	if poll == "" {
		poll = "500ms"
	}
	fmt.Fprintf(&b, "poll: {interval: %s, allow_fast: true}\njudgement: {window: %s}\n", poll, judgement)
	fmt.Fprintf(&b, "slos:\n  - {name: chat, objective: 0.9, clauses: {ttft: 250ms, tpot: 25ms}, %s}\n", s.slo)
	fmt.Fprintf(&b, "spans:\n  grace: %s\n", grace)
	if s.only != "grpc" {
		fmt.Fprintf(&b, "  listen: %q\n", out.http)
	}
	if s.only != "http" {
		fmt.Fprintf(&b, "  grpc_listen: %q\n", out.grpc)
	}
	for _, line := range s.spans {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	b.WriteString("engines:\n  targets:\n")
	for id, e := range s.engines {
		fmt.Fprintf(&b, "    - {id: %q, url: %q, labels: {%s}}\n", id, e.url, s.labels[id])
	}
	return b.String()
}

// end stops the exporter, which has to go in peace, and shows its log when the test has failed.
func (s *serving) end(t testing.TB, cmd *exec.Cmd, ended chan error) {
	must(t, cmd.Process.Signal(syscall.SIGTERM))
	select {
	case err := <-ended:
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Errorf("the exporter was told to end, and: %v", err)
		}
	case <-time.After(15 * time.Second):
		t.Error("the exporter did not end within 15 s of being told to")
		cmd.Process.Kill() //nolint:errcheck // it is late for that
	}
	if t.Failed() {
		t.Logf("the exporter's log:\n%s", s.printed(t))
	}
}

// printed is what the exporter has printed so far.
func (s *serving) printed(t testing.TB) string {
	text, err := os.ReadFile(s.log)
	must(t, err)
	return string(text)
}

// samples is a page of the exporter: name with labels, as written, to value.
type samples map[string]float64

func (s *serving) samples(t testing.TB) samples {
	t.Helper()
	body, err := fetch(s.base + "/metrics")
	must(t, err)
	out := samples{}
	lines := bufio.NewScanner(strings.NewReader(body))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		i := strings.LastIndexByte(lines.Text(), ' ')
		if strings.HasPrefix(lines.Text(), "#") || i < 0 {
			continue
		}
		v, err := strconv.ParseFloat(lines.Text()[i+1:], 64)
		must(t, err)
		out[lines.Text()[:i]] = v
	}
	return out
}

// sum adds the samples of a name whose labels hold all the given pairs; false when there is none.
func (s samples) sum(name string, pairs ...string) (total float64, found bool) {
next:
	for key, v := range s {
		n, labels, _ := strings.Cut(key, "{")
		if n != name {
			continue
		}
		for _, pair := range pairs {
			if !strings.Contains(labels, pair) {
				continue next
			}
		}
		total, found = total+v, true
	}
	return total, found
}

// want compares a sum with what it has to be; a sum of nothing is 0.
func (s samples) want(t testing.TB, want float64, name string, pairs ...string) {
	t.Helper()
	if got, _ := s.sum(name, pairs...); got != want {
		t.Errorf("%s%v is %v, want %v", name, pairs, got, want)
	}
}

// until tries again until there is no error, or the time is over.
func until(t testing.TB, patience time.Duration, what string, try func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v: %v", what, patience, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// committed waits until so many sequences of an engine are in committed windows.
func (s *serving) committed(t testing.TB, engine string, n int) samples {
	t.Helper()
	var last samples
	until(t, 4*judgement, "all sequences of "+engine+" are judged", func() error {
		last = s.samples(t)
		if got, _ := last.sum("goodput_slo_requests_total", label("engine", engine)); got != float64(n) {
			return fmt.Errorf("%v of %d", got, n)
		}
		return nil
	})
	return last
}

func label(name, value string) string { return name + "=" + strconv.Quote(value) }

func fetch(url string) (string, error) {
	ctx, release := context.WithTimeout(context.Background(), 10*time.Second)
	defer release()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s", url, response.Status)
	}
	return string(body), err
}

// freeAddress finds a port for a program that is told its own. Somebody else may take it in between; then the program
// says so and the test fails.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().String()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
