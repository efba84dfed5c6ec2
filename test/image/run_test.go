package image

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// rootOf puts together the root directory of the image that is built without --target, and gives its entry point.
func rootOf(t *testing.T) (dir, entry string) {
	t.Helper()
	from := build(t)
	stages, _ := readDockerfile(t)
	dir = t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s := named(t, stages, "exporter")
	for _, c := range s.all("COPY") {
		m := regexp.MustCompile(`^--from=(\S+) (/\S+) (/\S+)$`).FindStringSubmatch(c)
		if m == nil {
			t.Fatalf("COPY %s: want --from=STAGE and two paths", c)
		}
		path := filepath.Join(from, m[2])
		if m[1] == "source" { // its base, and this machine stands for that
			path = m[2]
		}
		if err := copyTree(path, filepath.Join(dir, m[3])); err != nil {
			t.Fatalf("COPY %s: %v", c, err)
		}
	}
	// Where a runtime mounts.
	for _, d := range []string{"proc", "etc/goodput-exporter"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var entrypoint []string
	if err := json.Unmarshal([]byte(s.all("ENTRYPOINT")[0]), &entrypoint); err != nil || len(entrypoint) != 1 {
		t.Fatalf("ENTRYPOINT %s: %v", s.all("ENTRYPOINT")[0], err)
	}
	return dir, entrypoint[0]
}

// TestImageServes starts the image as the DaemonSet does: as user 65532 without capabilities on a read-only root, with
// the arguments of the manifest. It polls an engine, serves, and ends when it is asked to.
func TestImageServes(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("not root: a read-only root and another user cannot be had; the binaries were built and looked at all the same")
	}
	dir, entry := rootOf(t)
	page, err := os.ReadFile(filepath.Join(root(t), "testdata/samples/vllm-0.32-live.prom"))
	if err != nil {
		t.Fatal(err)
	}
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = w.Write(page)
	}))
	defer engine.Close()
	config := fmt.Sprintf("slos: [{name: interactive, clauses: {ttft: 500ms, tpot: 50ms}, objective: 0.95}]\nengines: {targets: [{id: a, url: %q}]}\ngpu: {source: none}\n", engine.URL+"/metrics")
	if err := os.WriteFile(filepath.Join(dir, "etc/goodput-exporter/goodput.yaml"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}

	address := freeAddress(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, entry, "serve", "--config.file=/etc/goodput-exporter/goodput.yaml", "--web.listen-address="+address)
	cmd.Env = []string{asContainer + "=" + dir, "GOMEMLIMIT=200MiB"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID}
	var notes strings.Builder
	cmd.Stderr = &notes
	if err := cmd.Start(); err != nil {
		t.Skipf("no name spaces of its own to be had on this machine, so the image was not started: %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }()

	text, failed := await(address, "goodput_engine_up{engine=\"a\"} 1", ended)
	if failed != nil {
		if exit, is := failed.(*exec.ExitError); is && exit.ExitCode() == 125 {
			t.Skipf("this machine does not let a container be made, so the image was not started: %s", notes.String())
		}
		t.Fatalf("the image does not serve: %v\n%s\n%s", failed, text, notes.String())
	}
	confined(t, cmd.Process.Pid)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("ends with %v\n%s", err, notes.String())
		}
	case <-time.After(20 * time.Second):
		t.Errorf("does not end within 20 s of SIGTERM, of the 30 that the manifest gives it\n")
	}
}

// freeAddress is where nobody listens yet.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// await asks for the metrics until they hold a line, the process ends, or half a minute has gone.
func await(address, line string, ended chan error) (text string, err error) {
	deadline := time.After(30 * time.Second)
	for tick := time.Tick(50 * time.Millisecond); ; {
		select {
		case err := <-ended:
			if err == nil {
				err = io.EOF
			}
			return text, err
		case <-deadline:
			return text, fmt.Errorf("no line %s within half a minute", line)
		case <-tick:
		}
		answer, err := http.Get("http://" + address + "/metrics")
		if err != nil {
			continue
		}
		body, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if text = string(body); err == nil && strings.Contains(text, line) {
			return text, nil
		}
	}
}

// confined looks at a process from outside: who it is, what it may, and what its root is.
func confined(t *testing.T, pid int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]string{}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		fields[name] = strings.Join(strings.Fields(value), " ")
	}
	for name, want := range map[string]string{
		"Uid": "65532 65532 65532 65532", "Gid": "65532 65532 65532 65532", "Groups": "",
		"CapPrm": "0000000000000000", "CapEff": "0000000000000000", "NoNewPrivs": "1",
	} {
		if fields[name] != want {
			t.Errorf("%s is %q, want %q", name, fields[name], want)
		}
	}
	mounts, err := os.Open(fmt.Sprintf("/proc/%d/mountinfo", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer mounts.Close()
	for s := bufio.NewScanner(mounts); s.Scan(); {
		if f := strings.Fields(s.Text()); f[4] == "/" {
			if !strings.HasPrefix(f[5], "ro,") {
				t.Errorf("the root is mounted %s", f[5])
			}
			return
		}
	}
	t.Error("no root among the mounts")
}
