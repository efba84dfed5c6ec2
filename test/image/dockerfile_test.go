// Package image tries the Dockerfile without Docker and without a registry: its commands are run on this machine, in a
// directory that holds what the build would be given, and what its last stage copies is put together and started as a
// container would start it. It knows nothing of the layers and bases of images.
package image

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// instruction is one instruction of a Dockerfile.
type instruction struct{ Word, Rest string }

// stage is what stands below one FROM.
type stage struct {
	Name         string
	Base         string // with the defaults of arguments put in
	Platform     string // of --platform
	Instructions []instruction
}

// all is what is said with one word, in order.
func (s *stage) all(word string) (all []string) {
	for _, i := range s.Instructions {
		if i.Word == word {
			all = append(all, i.Rest)
		}
	}
	return all
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

// readDockerfile reads the stages, and the defaults of the arguments that stand before the first.
func readDockerfile(t *testing.T) (stages []stage, defaults map[string]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	defaults = map[string]string{}
	joined := regexp.MustCompile(`\\\n\s*`).ReplaceAllString(string(text), "")
	from := regexp.MustCompile(`^(?:--platform=(\S+) )?(\S+) AS (\S+)$`)
	for line := range strings.Lines(joined) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case word == "FROM":
			m := from.FindStringSubmatch(rest)
			if m == nil {
				t.Fatalf("FROM %s: want an image and a name", rest)
			}
			base := os.Expand(m[2], func(name string) string { return defaults[name] })
			stages = append(stages, stage{Name: m[3], Base: base, Platform: m[1]})
		case len(stages) == 0 && word == "ARG":
			name, value, _ := strings.Cut(rest, "=")
			defaults[name] = value
		case len(stages) == 0:
			t.Fatalf("%s stands before the first FROM", line)
		default:
			last := &stages[len(stages)-1]
			last.Instructions = append(last.Instructions, instruction{word, rest})
		}
	}
	return stages, defaults
}

// named finds a stage.
func named(t *testing.T, stages []stage, name string) *stage {
	t.Helper()
	i := slices.IndexFunc(stages, func(s stage) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("there is no stage %s", name)
	}
	return &stages[i]
}

// TestDockerfile holds the stages to pinned bases, to a user who is nobody, and to what makes images for several platforms.
func TestDockerfile(t *testing.T) {
	stages, defaults := readDockerfile(t)
	pinned := regexp.MustCompile(`^[a-z/]+:\d+\.\d+(\.\d+)?-[a-z]+$`)
	for name, image := range defaults {
		if !pinned.MatchString(image) {
			t.Errorf("%s is %s, which is not pinned to a version", name, image)
		}
	}
	known := []string{"scratch"}
	for _, image := range defaults {
		known = append(known, image)
	}
	for _, s := range stages {
		if !slices.Contains(known, s.Base) {
			t.Errorf("stage %s is from %s, which is none of the pinned bases and no stage above", s.Name, s.Base)
		}
		known = append(known, s.Name)
	}
	if last := stages[len(stages)-1]; last.Name != "exporter" || last.Base != "scratch" {
		t.Errorf("the image that is built without --target is %s from %s", last.Name, last.Base)
	}
	// Go is compiled where the builder runs, the child where it is going to run.
	for name, platform := range map[string]string{"source": "$BUILDPLATFORM", "build-dcgm": "", "dcgm": "", "exporter": ""} {
		if got := named(t, stages, name).Platform; got != platform {
			t.Errorf("stage %s is of the platform %q, want %q", name, got, platform)
		}
	}
	if run := named(t, stages, "build").all("RUN"); len(run) != 1 || !strings.Contains(run[0], "GOOS=${TARGETOS} GOARCH=${TARGETARCH} ") {
		t.Errorf("the exporter is not built for the platform that is asked for: %q", run)
	}
	for _, name := range []string{"exporter", "dcgm"} {
		s := named(t, stages, name)
		if user := s.all("USER"); !slices.Equal(user, []string{"65532:65532"}) {
			t.Errorf("%s runs as %q", name, user)
		}
		labels := strings.Join(s.all("LABEL"), " ")
		for _, label := range []string{"title", "description", "licenses", "source", "version", "revision"} {
			if !strings.Contains(labels, "org.opencontainers.image."+label+`="`) {
				t.Errorf("%s has no label %s", name, label)
			}
		}
		if run := s.all("RUN"); run != nil {
			t.Errorf("%s runs %q: nothing is made in an image that is shipped", name, run)
		}
	}
}

// TestGoOfTheImage holds the compiler of the image to what go.mod asks for: an older one would fetch another.
func TestGoOfTheImage(t *testing.T) {
	_, defaults := readDockerfile(t)
	mod, err := os.ReadFile(filepath.Join(root(t), "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	wanted := regexp.MustCompile(`(?m)^go (\d+\.\d+)\.(\d+)$`).FindStringSubmatch(string(mod))
	image := regexp.MustCompile(`^golang:(\d+\.\d+)\.(\d+)-`).FindStringSubmatch(defaults["GO_IMAGE"])
	if wanted == nil || image == nil {
		t.Fatalf("go.mod says %q, the image is %s", wanted, defaults["GO_IMAGE"])
	}
	if image[1] != wanted[1] || len(image[2]) < len(wanted[2]) || len(image[2]) == len(wanted[2]) && image[2] < wanted[2] {
		t.Errorf("the image has Go %s.%s, go.mod wants %s.%s", image[1], image[2], wanted[1], wanted[2])
	}
}
