// Package dcgmdouble builds, for tests, the child that reads DCGM and the double of libdcgm that it can be run on. It does
// not know what a script of the double says: see cmd/goodput-dcgm/testdata/double/script.h.
package dcgmdouble

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	module = "github.com/goodput-exporter/goodput-exporter"
	child  = module + "/cmd/goodput-dcgm"

	libraryName = "libdcgm.so.4" // the one name that go-dcgm opens
)

// Missing says why nothing can be built on this machine; "" when it can.
func Missing() string {
	if _, err := exec.LookPath("gcc"); err != nil {
		return "there is no gcc"
	}
	if out, err := exec.Command("go", "env", "CGO_ENABLED").Output(); err != nil || strings.TrimSpace(string(out)) != "1" {
		return "cgo is not enabled (CGO_ENABLED)"
	}
	return ""
}

// Child builds goodput-dcgm as file. The binary looks symbols up when they are first called, as the one of make build-dcgm
// does, else it would not start on a library that lacks one.
func Child(file string) error {
	return run(exec.Command("go", "build", "-ldflags", "-extldflags=-Wl,-z,lazy", "-o", file, child))
}

// Library compiles the double into dir, which is made: LD_LIBRARY_PATH of a child that is to find it. The headers are
// go-dcgm's. defines leave functions out.
func Library(dir string, defines ...string) error {
	headers, err := where("github.com/NVIDIA/go-dcgm")
	if err != nil {
		return err
	}
	root, err := where(module)
	if err != nil {
		return err
	}
	sources, err := filepath.Glob(filepath.Join(root, "cmd/goodput-dcgm/testdata/double/*.c"))
	if err == nil && len(sources) == 0 {
		err = errors.New("no sources of the double of libdcgm")
	}
	if err == nil {
		err = os.Mkdir(dir, 0o700)
	}
	if err != nil {
		return err
	}
	args := []string{
		"-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-fvisibility=hidden", "-DDCGM_API_EXPORT", "-Wl,-z,lazy",
		"-I" + filepath.Join(headers, "pkg/dcgm"), "-Wl,-soname," + libraryName, "-o", filepath.Join(dir, libraryName),
	}
	for _, d := range defines {
		args = append(args, "-D"+d)
	}
	return run(exec.Command("gcc", append(args, sources...)...))
}

// where is the directory of a module.
func where(module string) (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("where is module %s: %w", module, err)
	}
	return strings.TrimSpace(string(out)), nil
}

func run(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return nil
}
