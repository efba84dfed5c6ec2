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
	"syscall"
	"time"
)

// process is a program that was started, with everything that it started in turn.
type process struct {
	name  string
	log   string // file with what it printed
	cmd   *exec.Cmd
	ended chan error
	began time.Time
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
	p := &process{name: name, log: log, cmd: cmd, ended: make(chan error, 1), began: time.Now()}
	go func() { p.ended <- cmd.Wait() }()
	return p, nil
}

// stop ends the group with a signal and waits until its leader is gone; after ten seconds it is killed.
func (p *process) stop(signal syscall.Signal) {
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
		case err := <-p.ended:
			p.ended <- err
			return fmt.Errorf("%s ended before it answered (%v); see %s", p.name, err, p.log)
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
	otlp     string // where its spans go
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

// start launches an engine with extra flags, in the form of a shell's command line, and waits until it answers.
func (v vllm) start(ctx context.Context, name, env, flags string) (*process, error) {
	// The flags go through a shell since that is where people paste them. With float32 the attention kernel needs no AMX:
	// its bfloat16 one dies of an illegal instruction where the processor has AMX and the kernel does not permit it.
	serve := fmt.Sprintf(`%s exec nice -n %d "$VLLM" serve "$MODEL" --served-model-name %s --load-format dummy `+
		`--host 127.0.0.1 --port %d --dtype float32 --max-model-len 2048 --enforce-eager `+
		`--max-num-seqs %d --max-num-queued-reqs %d %s`, env, v.niceness, model, v.port, seats, queue, flags)
	p, err := launch(name, filepath.Join(v.logs, name+".log"), []string{
		"VLLM=" + filepath.Join(v.env, "bin", "vllm"), "MODEL=" + filepath.Join(v.env, "model"),
		"HF_HUB_OFFLINE=1", "TRANSFORMERS_OFFLINE=1", "VLLM_NO_USAGE_STATS=1", // nothing goes out
		"VLLM_CPU_KVCACHE_SPACE=1",    // GiB
		"VLLM_CPU_OMP_THREADS_BIND=0", // one core computes, the rest is for the front end, the clients and the exporter
		"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf",
	}, "/bin/sh", "-c", serve)
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

// serveHTTP answers on a listener until it is closed.
func serveHTTP(l net.Listener, h http.Handler) *http.Server {
	s := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintln(os.Stderr, "live:", err)
		}
	}()
	return s
}
