package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestStopEndsTheWholeFamily: an engine is several processes, and none may be left over.
func TestStopEndsTheWholeFamily(t *testing.T) {
	dir := t.TempDir()
	child := filepath.Join(dir, "child")
	p, err := launch("family", filepath.Join(dir, "log"), []string{"CHILD=" + child}, "/bin/sh", "-c",
		`sleep 1000 & echo up; echo $! > "$CHILD.new"; mv "$CHILD.new" "$CHILD"; wait`)
	if err != nil {
		t.Fatal(err)
	}
	defer p.stop(syscall.SIGKILL)
	var pid int
	within(t, "the child has started", func() bool {
		text, _ := os.ReadFile(child)
		pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil
	})
	p.stop(syscall.SIGTERM)
	within(t, "the child is gone", func() bool {
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(state), ") Z ") // nobody may be there to bury it
	})
	if log, _ := os.ReadFile(p.log); string(log) != "up\n" {
		t.Errorf("the log has %q", log)
	}
}

func TestAProcessThatEndsBeforeItAnswers(t *testing.T) {
	p, err := launch("mayfly", filepath.Join(t.TempDir(), "log"), nil, "/bin/sh", "-c", "exit 3")
	if err != nil {
		t.Fatal(err)
	}
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	err = p.answers(t.Context(), fmt.Sprintf("http://127.0.0.1:%d/", port), time.Minute)
	if err == nil || !strings.Contains(err.Error(), "mayfly ended before it answered (exit status 3)") {
		t.Errorf("%v", err)
	}
	p.stop(syscall.SIGKILL) // and it can be stopped once more
}

func TestAProcessThatAnswers(t *testing.T) {
	l, port, err := listen()
	if err != nil {
		t.Fatal(err)
	}
	defer serveHTTP(l, http.NotFoundHandler()).Close()
	p, err := launch("mute", filepath.Join(t.TempDir(), "log"), nil, "/bin/sh", "-c", "exec sleep 1000")
	if err != nil {
		t.Fatal(err)
	}
	defer p.stop(syscall.SIGKILL)
	url := fmt.Sprintf("http://127.0.0.1:%d/", port)
	if err := p.answers(t.Context(), url, 300*time.Millisecond); err == nil || !strings.Contains(err.Error(), "mute does not answer") {
		t.Errorf("%v", err)
	}
	l2, port2, err := listen()
	if err != nil {
		t.Fatal(err)
	}
	defer serveHTTP(l2, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).Close()
	if err := p.answers(t.Context(), fmt.Sprintf("http://127.0.0.1:%d/", port2), time.Minute); err != nil {
		t.Error(err)
	}
}

// within waits until something that another process does has happened.
func within(t *testing.T, what string, happened func() bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(20 * time.Second); !happened(); {
		select {
		case <-deadline:
			t.Fatalf("not so after 20 s: %s", what)
		case <-ticker.C:
		}
	}
}
