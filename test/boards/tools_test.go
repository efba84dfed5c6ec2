package boards

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// tool finds a program of Prometheus. Without it the test is skipped, unless GOODPUT_REQUIRE_PROMETHEUS says that it has
// to be there.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
		return path
	case os.Getenv("GOODPUT_REQUIRE_PROMETHEUS") != "":
		t.Fatalf("%s is not on PATH, and GOODPUT_REQUIRE_PROMETHEUS is set", name)
	default:
		t.Skipf("%s is not on PATH: the boards' queries were not asked of a real Prometheus", name)
	}
	return ""
}

// root is the directory of go.mod.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

var built struct {
	sync.Once
	path string
	err  error
	out  []byte
}

// exporter is the program, built once for all tests. It is not instrumented for races: a simulated hour is too much for
// that, and its own tests are.
func exporter(t *testing.T) string {
	t.Helper()
	built.Do(func() {
		dir, err := os.MkdirTemp("", "boards")
		if err != nil {
			built.err = err
			return
		}
		built.path = filepath.Join(dir, "goodput-exporter")
		cmd := exec.Command("go", "build", "-buildvcs=false", "-o", built.path, "./cmd/goodput-exporter")
		cmd.Dir = root(t)
		built.out, built.err = cmd.CombinedOutput()
	})
	if built.err != nil {
		t.Fatalf("build the exporter: %v\n%s", built.err, built.out)
	}
	return built.path
}

func TestMain(m *testing.M) {
	status := m.Run()
	if built.path != "" {
		os.RemoveAll(filepath.Dir(built.path))
	}
	os.Exit(status)
}

// command runs a program to its end and returns what it printed.
func command(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		var stderr []byte
		if exit, is := err.(*exec.ExitError); is {
			stderr = exit.Stderr
		}
		t.Fatalf("%s %v: %v\n%s%s", name, args, err, out, stderr)
	}
	return out
}
