package image

import (
	"debug/buildinfo"
	"debug/elf"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// built is what the Dockerfile's commands made, once for all tests.
var built struct {
	sync.Once
	dir string // what stands at / in the image's stages stands here
	log string
	err error
}

// TestMain removes what was built.
func TestMain(m *testing.M) {
	if os.Getenv(asContainer) != "" {
		container()
	}
	status := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(status)
}

// version and revision are the arguments of the build.
const version, revision = "1.2.3", "0123456789abcdef"

// build runs the commands of the building stages, and returns the directory of what they wrote to /.
func build(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil && os.Getenv("GOODPUT_REQUIRE_CGO") == "" {
		t.Skip("gcc is not on PATH: the stage build-dcgm needs it")
	}
	stages, _ := readDockerfile(t)
	built.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "image"); built.err != nil {
			return
		}
		context := filepath.Join(built.dir, "src")
		copyContext(t, context)
		args := map[string]string{"VERSION": version, "REVISION": revision, "TARGETOS": runtime.GOOS, "TARGETARCH": runtime.GOARCH}
		for _, name := range []string{"build", "build-dcgm"} {
			env := os.Environ()
			for k, v := range args {
				env = append(env, k+"="+v)
			}
			for _, set := range named(t, stages, name).all("ENV") {
				k, v, _ := strings.Cut(set, "=")
				env = append(env, k+"="+os.Expand(strings.Trim(v, `"`), func(a string) string { return args[a] }))
			}
			for _, command := range named(t, stages, name).all("RUN") {
				if command == "go mod download" { // this machine has the modules, or the build says which it lacks
					continue
				}
				// The root of this machine is not the image's.
				cmd := exec.Command("sh", "-c", strings.Replace(command, " -o /", " -o "+built.dir+"/", 1))
				cmd.Dir, cmd.Env = context, env
				out, err := cmd.CombinedOutput()
				if built.log += string(out); err != nil {
					built.err = err
					return
				}
			}
		}
	})
	if built.err != nil {
		t.Fatalf("build: %v\n%s", built.err, built.log)
	}
	return built.dir
}

// copyContext copies what .dockerignore lets into the build.
func copyContext(t *testing.T, to string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), ".dockerignore"))
	if err != nil {
		t.Fatal(err)
	}
	let := regexp.MustCompile(`(?m)^!(\S+)$`).FindAllStringSubmatch(string(text), -1)
	if !strings.Contains("\n"+string(text), "\n*\n") || len(let) == 0 {
		t.Fatal(".dockerignore does not begin with leaving everything out")
	}
	for _, l := range let {
		if err := copyTree(filepath.Join(root(t), l[1]), filepath.Join(to, l[1])); err != nil {
			t.Fatalf(".dockerignore lets in %s: %v", l[1], err)
		}
	}
}

// copyTree copies a file, or a directory and what is below it but for tests and their data.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rest, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rest)
		switch {
		case entry.IsDir() && entry.Name() == "testdata":
			return fs.SkipDir
		case entry.IsDir():
			return os.MkdirAll(target, 0o755)
		case strings.HasSuffix(path, "_test.go"):
			return nil
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, content, 0o755)
	})
}

// TestBuild runs the commands of the building stages on nothing but what .dockerignore lets in, and looks at what they make: a
// static exporter for the platform that was asked for, the child, both with their version, and with the list of their
// modules, which bills of materials are made from.
func TestBuild(t *testing.T) {
	dir := build(t)
	for _, name := range []string{"goodput-exporter", "goodput-dcgm"} {
		binary := filepath.Join(dir, name)
		said, err := exec.Command(binary, "--version").CombinedOutput()
		if err != nil || !strings.Contains(string(said), version) {
			t.Errorf("%s --version: %s, %v", name, said, err)
		}
		info, err := buildinfo.ReadFile(binary)
		if err != nil || len(info.Deps) == 0 || info.Main.Path != "github.com/goodput-exporter/goodput-exporter" {
			t.Errorf("%s: its modules cannot be read: %v", name, err)
			continue
		}
		for _, s := range info.Settings {
			if s.Key == "GOARCH" && s.Value != runtime.GOARCH {
				t.Errorf("%s is for %s", name, s.Value)
			}
		}
	}
	f, err := elf.Open(filepath.Join(dir, "goodput-exporter"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if libraries, err := f.ImportedLibraries(); err != nil || len(libraries) > 0 {
		t.Errorf("the exporter is not static: %v, %v", libraries, err)
	}
}
