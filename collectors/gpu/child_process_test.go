package gpu

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// roleKey makes the test binary play goodput-dcgm, in one of its roles.
const roleKey = "GOODPUT_TEST_CHILD"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleKey); role != "" {
		os.Exit(play(role))
	}
	os.Exit(m.Run())
}

func play(role string) int {
	card := tick(h100(0))
	switch role {
	case "well":
		go func() {
			for {
				if frame.Write(os.Stdout, card) != nil {
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
		}()
		io.Copy(io.Discard, os.Stdin)
		return 0
	case "killed":
		frame.Write(os.Stdout, card)
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "loader":
		fmt.Fprintln(os.Stderr, "goodput-dcgm: symbol lookup error: libdcgm.so.4: undefined symbol: dcgmConnect_v3")
		return frame.ExitLoader
	case "connect":
		fmt.Fprint(os.Stderr, "disconnected`goodput-dcgm: nobody listens at localhost:5555; start nv-hostengine") // without a newline
		return frame.ExitConnect
	case "crash":
		panic("out of luck")
	case "garbage":
		fmt.Println("DCGM initialized")
		io.Copy(io.Discard, os.Stdin)
	case "deaf": // neither the end of its input nor SIGTERM ends it
		signal.Ignore(syscall.SIGTERM)
		frame.Write(os.Stdout, &frame.Frame{At: now, Interval: 1})
		time.Sleep(time.Hour)
	case "heir": // leaves a process behind that holds its outputs
		heir := exec.Command("sleep", "20")
		heir.Stdout, heir.Stderr = os.Stdout, os.Stderr
		if err := heir.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 99
		}
		fmt.Fprintf(os.Stderr, "left %d behind\n", heir.Process.Pid)
		return frame.ExitEngine
	}
	return 98
}

// childAs starts the test binary in a role. Its interval is long, since the machine may be busy.
func childAs(t *testing.T, role string) (*Child, *logged) {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	log := &logged{}
	c, err := NewChild(ChildConfig{Path: own, Embedded: true, Interval: 20 * time.Second, Env: []string{roleKey + "=" + role}, Logger: log.logger()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, log
}

// await reads until the reading is as wanted.
func await(t *testing.T, c Source, want func(fact.GPUReading) bool) fact.GPUReading {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		r := c.Read(t.Context())
		if want(r) {
			return r
		}
		if time.Now().After(end) {
			t.Fatalf("got %s: %s", r.Reason, r.Detail)
		}
	}
}

func TestAProcessThatIsWell(t *testing.T) {
	before := runtime.NumGoroutine()
	c, _ := childAs(t, "well")
	r := await(t, c, func(r fact.GPUReading) bool { return r.Reason == "" })
	if only(t, r).UUID != "GPU-00000000" {
		t.Errorf("got %s", shown(t, r))
	}
	c.Close()
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			buf := make([]byte, 1<<16)
			t.Fatalf("goroutines are left:\n%s", buf[:runtime.Stack(buf, true)])
		}
	}
}

func TestProcessesThatEnd(t *testing.T) {
	for role, c := range map[string]struct {
		reason fact.Reason
		says   string
	}{
		"loader":  {fact.ReasonExited, "goodput-dcgm ended (exit status 127): symbol lookup error: libdcgm.so.4: undefined symbol: dcgmConnect_v3: libdcgm.so.4 or a library under it lacks"},
		"connect": {fact.ReasonConnect, "goodput-dcgm ended (exit status 5): nobody listens at localhost:5555; start nv-hostengine"},
		"garbage": {fact.ReasonTooLarge, `its first bytes: "DCGM"`},
		"crash":   {fact.ReasonExited, "goodput-dcgm ended (exit status 2): panic: out of luck"},
		"other":   {fact.ReasonExited, "exit status 98): it did not say why"},
	} {
		t.Run(role, func(t *testing.T) {
			child, log := childAs(t, role)
			r := await(t, child, func(r fact.GPUReading) bool { return r.Reason != fact.ReasonStarting })
			if r.Reason != c.reason || !strings.Contains(r.Detail, c.says) || r.GPUs != nil {
				t.Errorf("got %s: %s", r.Reason, r.Detail)
			}
			child.Close()
			if got := log.lines("is not there"); len(got) != 1 {
				t.Errorf("%d lines: %q", len(got), got)
			}
		})
	}
}

func TestAProcessThatIsKilled(t *testing.T) {
	c, log := childAs(t, "killed")
	r := await(t, c, func(fact.GPUReading) bool { return len(log.lines("is not there")) == 1 })
	if r.Reason != "" {
		t.Errorf("its last frame is young: got %s: %s", r.Reason, r.Detail)
	}
	if got := log.lines("is not there")[0]; !strings.Contains(got, "signal: killed") || !strings.Contains(got, "memory limit") {
		t.Errorf("logged %s", got)
	}
}

func TestAProcessThatDoesNotListen(t *testing.T) {
	c, _ := childAs(t, "deaf")
	await(t, c, func(r fact.GPUReading) bool { return r.Reason == fact.ReasonDialect }) // it ignores SIGTERM by now
	begin := time.Now()
	c.Close()
	if took := time.Since(begin); took < askedFor || took > askedFor+killedFor {
		t.Errorf("Close took %v", took)
	}
}

func TestAProcessThatLeavesAnother(t *testing.T) {
	c, log := childAs(t, "heir")
	r := await(t, c, func(r fact.GPUReading) bool { return r.Reason == fact.ReasonExited })
	c.Close()
	if !strings.Contains(r.Detail, "exit status 6") {
		t.Errorf("got %s", r.Detail)
	}
	for _, line := range log.lines("behind") {
		var pid int
		if _, err := fmt.Sscanf(line[strings.Index(line, "left "):], "left %d", &pid); err == nil {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func TestAProcessThatCannotBeStarted(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for says, path := range map[string]string{
		"no such file; install":     filepath.Join(dir, "none"),
		"permission denied":         file("plain", "#!/bin/sh\n", 0o600),
		"loader that it names":      file("musl", "#!"+dir+"/no-loader\n", 0o700),
		"exec format error":         file("text", "hello\n", 0o700),
		"goodput-dcgm cannot be st": filepath.Join(dir, "none"),
	} {
		c, err := NewChild(ChildConfig{Path: path, Embedded: true, Interval: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		r := await(t, c, func(r fact.GPUReading) bool { return r.Reason != fact.ReasonStarting })
		c.Close()
		if r.Reason != fact.ReasonExited || !strings.Contains(r.Detail, says) || !strings.Contains(r.Detail, path) {
			t.Errorf("got %s: %s", r.Reason, r.Detail)
		}
	}
}

func TestFindChild(t *testing.T) {
	path := filepath.Join(t.TempDir(), ChildName)
	if err := os.WriteFile(path, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(path))
	if got, err := FindChild(""); err != nil || got != path {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := FindChild(path + "-none"); err == nil {
		t.Error("found what is not there")
	}
}
