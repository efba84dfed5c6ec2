package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/goodput-exporter/goodput-exporter/test/live/otlp"
)

// process is a program that was started, with everything that it started in turn.
type process struct {
	name  string
	log   string // file with what it printed
	cmd   *exec.Cmd
	ended chan struct{} // closed when the program itself is gone
	err   error         // how it ended; not to be read before
	began time.Time
	gone  bool // stop was called: the group's number may be another's by now
}

// launch starts a program in a process group of its own, so that it can be ended with all its children. What it prints
// goes to a file.
func launch(name, log string, env []string, args ...string) (*process, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = file, file
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &process{name: name, log: log, cmd: cmd, ended: make(chan struct{}), began: time.Now()}
	go func() {
		p.err = cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// stop ends the group with a signal and waits until its leader is gone; after ten seconds it is killed. It may be called
// again.
func (p *process) stop(signal syscall.Signal) {
	if p.gone {
		return
	}
	p.gone = true
	syscall.Kill(-p.cmd.Process.Pid, signal) //nolint:errcheck // it may be gone already
	select {
	case <-p.ended:
	case <-time.After(10 * time.Second):
	}
	syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) //nolint:errcheck // likewise; children may outlive their leader
}

// answers waits until a page answers 200, the process ends, or the time is over.
func (p *process) answers(ctx context.Context, url string, patience time.Duration) error {
	ctx, release := context.WithTimeout(ctx, patience)
	defer release()
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		if _, err := get(ctx, url); err == nil {
			return nil
		}
		select {
		case <-p.ended:
			return fmt.Errorf("%s ended before it answered (%v); see %s", p.name, p.err, p.log)
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer at %s: %w; see %s", p.name, url, ctx.Err(), p.log)
		case <-ticker.C:
		}
	}
}

// vllm is where the engine is installed and how it is served.
type vllm struct {
	env      string // directory made by test/live/install
	logs     string // directory for what it prints
	port     int
	spans    string // address where its spans go, by whichever protocol
	niceness int
}

// model is the name under which the model is served.
const model = "tiny"

// seats and queue make the engine small enough that a few requests a second fill it: so many sequences at once, and so
// many requests waiting for a seat before others are refused.
const (
	seats = 16
	queue = 24
)

func (v vllm) url() string { return "http://127.0.0.1:" + strconv.Itoa(v.port) }

// plain is the command that starts an engine with its defaults, in the form in which engine-flags prints a command. It
// sends its spans by gRPC, as vLLM does when it is told nothing else, and does not say which engine it is.
func (v vllm) plain() string {
	return `vllm serve "$MODEL" --otlp-traces-endpoint http://` + v.spans
}

// start launches an engine with a command as a person would paste it into a shell, followed by what the run needs beside
// it, and waits until the engine answers.
func (v vllm) start(ctx context.Context, name, command string) (*process, error) {
	// With float32 the attention kernel needs no AMX: the one for bfloat16 dies of an illegal instruction where the
	// processor says that it has AMX and the machine does not permit it.
	own := fmt.Sprintf("--served-model-name %s --load-format dummy --host 127.0.0.1 --port %d --dtype float32 --max-model-len 2048 "+
		"--enforce-eager --max-num-seqs %d --max-num-queued-reqs %d", model, v.port, seats, queue)
	p, err := launch(name, filepath.Join(v.logs, name+".log"), []string{
		"PATH=" + filepath.Join(v.env, "bin") + ":" + os.Getenv("PATH"), "MODEL=" + filepath.Join(v.env, "model"),
		"HF_HUB_OFFLINE=1", "TRANSFORMERS_OFFLINE=1", "VLLM_NO_USAGE_STATS=1", // nothing goes out
		"VLLM_CPU_KVCACHE_SPACE=1",    // GiB
		"VLLM_CPU_OMP_THREADS_BIND=0", // one core computes, the rest is for the front end, the clients and the exporter
	}, "nice", "-n", strconv.Itoa(v.niceness), "/bin/sh", "-c", strings.TrimSpace(command)+" "+own)
	if err != nil {
		return nil, err
	}
	if err := p.answers(ctx, v.url()+"/health", 6*time.Minute); err != nil {
		p.stop(syscall.SIGKILL)
		return nil, err
	}
	return p, nil
}

// listen opens a port of this machine that nobody uses.
func listen() (net.Listener, int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, 0, err
	}
	return l, l.Addr().(*net.TCPAddr).Port, nil
}

// freePort finds a port for a program that is told its own. Somebody else may take it in between; then the program says
// so and the run ends.
func freePort() (int, error) {
	l, port, err := listen()
	if err != nil {
		return 0, err
	}
	return port, l.Close()
}

func freeAddress() (string, error) {
	port, err := freePort()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), err
}

// serveHTTP answers on a listener until it is closed.
func serveHTTP(l net.Listener, h http.Handler) *http.Server {
	s := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, Protocols: otlp.Protocols()}
	go func() {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintln(os.Stderr, "live:", err)
		}
	}()
	return s
}
