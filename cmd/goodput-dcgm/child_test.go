//go:build linux && cgo

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
)

// patienceOfTests bounds every wait for a child, on machines that are busy too.
const patienceOfTests = 60 * time.Second

// world is a double with its script.
type world struct {
	t             testing.TB
	library       string // directory of libdcgm.so.4
	script, calls string
}

func newWorld(t testing.TB, library string, script ...string) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{t: t, library: library, script: filepath.Join(dir, "script"), calls: filepath.Join(dir, "calls")}
	w.is(script...)
	return w
}

// is replaces the script, at once for whoever reads it.
func (w *world) is(script ...string) {
	w.t.Helper()
	if err := os.WriteFile(w.script+".new", []byte(strings.Join(script, "\n")+"\n"), 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Rename(w.script+".new", w.script); err != nil {
		w.t.Fatal(err)
	}
}

// called lists the calls of one function so far, or of all with "", with what the double noted of their arguments.
func (w *world) called(function string) []string {
	w.t.Helper()
	text, err := os.ReadFile(w.calls)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); function == "" || line == function || strings.HasPrefix(line, function+" ") {
			out = append(out, line)
		}
	}
	return out
}

func (w *world) env() []string {
	return append(os.Environ(), "LD_LIBRARY_PATH="+w.library, "DCGM_DOUBLE_SCRIPT="+w.script, "DCGM_DOUBLE_CALLS="+w.calls)
}

// child is the program, running on a world.
type child struct {
	t      testing.TB
	cmd    *exec.Cmd
	stdin  io.Closer
	frames chan *frame.Frame // closed at the end of standard output
	broken error             // why frames ended, after they are closed: nil at a clean end
	ended  chan error
	mu     sync.Mutex
	stderr bytes.Buffer
}

func (c *child) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stderr.Write(p)
}

func (c *child) said() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stderr.String()
}

// start runs the program; it is killed at the end of the test if it still runs.
func (w *world) start(args ...string) *child {
	w.t.Helper()
	needsCompiler(w.t)
	c := &child{t: w.t, cmd: exec.Command(built, args...), frames: make(chan *frame.Frame), ended: make(chan error, 1)}
	c.cmd.Env, c.cmd.Stderr = w.env(), c
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	c.stdin = stdin
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	stop := make(chan struct{})
	go c.pump(out, stop)
	w.t.Cleanup(func() {
		close(stop)
		_ = c.cmd.Process.Kill()
	})
	return c
}

// pump hands on frames until there are no more, and then waits for the process.
func (c *child) pump(out io.Reader, stop <-chan struct{}) {
	r := frame.NewReader(out)
	for {
		f, err := r.Next()
		if err != nil {
			if err != io.EOF {
				c.broken = err
			}
			break
		}
		select {
		case c.frames <- f:
		case <-stop:
		}
	}
	close(c.frames)
	c.ended <- c.cmd.Wait()
}

// next is the next frame.
func (c *child) next() *frame.Frame {
	c.t.Helper()
	select {
	case f, ok := <-c.frames:
		if !ok {
			c.t.Fatalf("no more frames (%v); standard error: %s", c.broken, c.said())
		}
		return f
	case <-time.After(patienceOfTests):
		c.t.Fatalf("no frame within %s; standard error: %s", patienceOfTests, c.said())
	}
	return nil
}

// until is the first frame that is as wanted.
func (c *child) until(what string, wanted func(*frame.Frame) bool) *frame.Frame {
	c.t.Helper()
	for range 600 {
		if f := c.next(); wanted(f) {
			return f
		}
	}
	c.t.Fatalf("600 frames, and none with %s", what)
	return nil
}

// exit waits for the end, and returns the exit status, -1 for a signal. Frames that are still coming are thrown away.
func (c *child) exit() int {
	c.t.Helper()
	late, frames := time.After(patienceOfTests), c.frames
	for {
		select {
		case _, more := <-frames:
			if !more {
				frames = nil
			}
		case err := <-c.ended:
			if c.broken != nil {
				c.t.Errorf("standard output is not frames only: %v", c.broken)
			}
			var status *exec.ExitError
			if err != nil && !errors.As(err, &status) {
				c.t.Fatal(err)
			}
			return c.cmd.ProcessState.ExitCode()
		case <-late:
			c.t.Fatalf("still running after %s; standard error: %s", patienceOfTests, c.said())
		}
	}
}

// entity is one of a frame's, which must be there.
func entity(t testing.TB, f *frame.Frame, kind string, id int) frame.Entity {
	t.Helper()
	for _, e := range f.Entities {
		if e.Kind == kind && e.ID == id {
			return e
		}
	}
	t.Fatalf("no %s %d in the frame: %+v", kind, id, f.Entities)
	return frame.Entity{}
}

// value is one of an entity's, nil when it is not there.
func value(e frame.Entity, field int) *frame.Value {
	for i := range e.Values {
		if e.Values[i].Field == field {
			return &e.Values[i]
		}
	}
	return nil
}

// node is a script of n healthy cards with a value in every field.
func node(n int) []string {
	var script []string
	for id := range n {
		script = append(script,
			fmt.Sprintf("card %d", id),
			fmt.Sprintf("value card %d 54 s GPU-%08d-0000-0000-0000-000000000000", id, id),
			fmt.Sprintf("value card %d 55 i %d", id, id),
			fmt.Sprintf("value card %d 57 s 00000000:%02X:00.0", id, 16+id),
			fmt.Sprintf("profiling %d 1001 1002 1003 1004 1005 1009 1010 1011 1012", id))
	}
	script = append(script, "value card * 1 s 580.65.06", "value card * 50 s NVIDIA H100 80GB HBM3")
	for _, f := range append(frame.CardFields(), frame.Profiling()...) {
		switch f {
		case frame.FieldDriver, frame.FieldName, frame.FieldUUID, frame.FieldMinor, frame.FieldBus, frame.FieldXID:
		case frame.FieldPower, frame.FieldPowerLimit, frame.FieldEngine, frame.FieldSMActive, frame.FieldOccupancy, frame.FieldTensor, frame.FieldDRAM:
			script = append(script, fmt.Sprintf("value card * %d d 0.5", f))
		default:
			script = append(script, fmt.Sprintf("value card * %d i 42", f))
		}
	}
	return script
}
