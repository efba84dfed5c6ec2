//go:build linux && cgo

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
)

// TestAHangIsNotHeldAgainstTheEnd: a call that does not return keeps the process no longer than the farewell.
func TestAHangIsNotHeldAgainstTheEnd(t *testing.T) {
	w := newWorld(t, double(t), node(1)...)
	const tick = 100 * time.Millisecond
	c := w.start("--embedded", "--interval="+tick.String())
	c.next()
	w.is(append(node(1), "delay dcgmEntitiesGetLatestValues 60000")...)
	// A call that was under way may have been scripted otherwise still, so the hang is known by no other call following it.
	for reads, since := 0, time.Now(); time.Since(since) < 15*tick; c.drain() {
		if n := len(w.called("dcgmEntitiesGetLatestValues")); n != reads {
			reads, since = n, time.Now()
		}
	}
	begin := time.Now()
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if status := c.exit(); status != 0 || !strings.Contains(c.said(), "asked to end while libdcgm did not return; ended after 2s") {
		t.Errorf("exit status %d, %q", status, c.said())
	}
	if took := time.Since(begin); took < farewell || took > 30*time.Second {
		t.Errorf("it took %s", took)
	}
}

// drain takes a frame if one comes within a tick.
func (c *child) drain() {
	select {
	case <-c.frames:
	case <-time.After(20 * time.Millisecond):
	}
}

func TestWhatTheLibraryPrintsIsNoFrame(t *testing.T) {
	w := newWorld(t, double(t), append(node(1), "say DCGM initialized")...)
	c := w.start("--embedded", "--interval=100ms")
	c.next()
	c.next()
	if !strings.Contains(c.said(), "DCGM initialized") {
		t.Errorf("standard error: %q", c.said())
	}
}

// parentEnv makes the test binary a parent that starts the child and says its process id. Its standard input is the
// child's too, so that the pipe stays open when it is killed.
const parentEnv = "GOODPUT_DCGM_TEST_PARENT"

func actAsParent() int {
	c := exec.Command(os.Getenv(parentEnv), "--embedded", "--interval=1m")
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := c.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_ = c.Wait()
	return 0
}

func TestTheParentsDeathIsNoticedThoughThePipeIsOpen(t *testing.T) {
	w := newWorld(t, double(t), node(1)...)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	held, stdin, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	parent := exec.Command(self)
	parent.Env = append(w.env(), parentEnv+"="+built)
	parent.Stdin = held
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	held.Close()
	if _, err := frame.NewReader(out).Next(); err != nil {
		t.Fatalf("the child did not begin: %v", err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// The child holds the other end of this pipe: it ends when the child does.
	ended := make(chan error, 1)
	go func() { _, err := io.Copy(io.Discard, out); ended <- err }()
	select {
	case <-ended:
	case <-time.After(patienceOfTests):
		t.Fatal("the child outlives its parent")
	}
	_ = parent.Wait()
	if n := len(w.called("dcgmStopEmbedded")); n != 1 {
		t.Errorf("the child ended without stopping its engine: %q", w.called(""))
	}
}
