//go:build linux && cgo

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/internal/dcgmdouble"
)

// built is where the child was built for all tests, the real program: "" when it could not be. doubles are the libraries
// that were compiled so far, by what was left out of them.
var (
	built   string
	doubles = struct {
		sync.Mutex
		dir  string
		have map[string]string
	}{have: map[string]string{}}
)

func TestMain(m *testing.M) {
	os.Exit(func() int {
		if os.Getenv(parentEnv) != "" {
			return actAsParent()
		}
		dir, err := os.MkdirTemp("", "goodput-dcgm")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		doubles.dir = dir
		if _, err := exec.LookPath("gcc"); err == nil {
			built = filepath.Join(dir, "goodput-dcgm")
			args := append(append([]string{"build", "-o", built}, childFlags...), ".")
			if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
				panic(string(out))
			}
		}
		return m.Run()
	}())
}

func needsCompiler(t testing.TB) {
	t.Helper()
	if built == "" {
		t.Skip("no gcc, so that neither the child nor the double of libdcgm can be built; with GOODPUT_REQUIRE_CGO that fails")
	}
}

// double compiles testdata/double into a libdcgm.so.4, once for all tests, and returns its directory. defines leave
// functions out.
func double(t testing.TB, defines ...string) string {
	t.Helper()
	needsCompiler(t)
	doubles.Lock()
	defer doubles.Unlock()
	key := strings.Join(append([]string{"double"}, defines...), "-")
	if dir := doubles.have[key]; dir != "" {
		return dir
	}
	dir := filepath.Join(doubles.dir, key)
	if err := dcgmdouble.Library(dir, defines...); err != nil {
		t.Fatal(err)
	}
	doubles.have[key] = dir
	return dir
}
