package lawtest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// machinePath finds absolute paths that exist on the machine of one developer. A path inside a URL, or one that is
// part of a longer word, is not meant. The names are written apart so that this file does not find itself.
var machinePath = regexp.MustCompile(`(^|[^A-Za-z0-9_./-])/(` + strings.Join([]string{"wo" + "rk", "ro" + "ot", "ho" + "me", "Us" + "ers"}, "|") + `)/[A-Za-z0-9._-]`)

// leaks lists the lines of a text file that hold a path of one machine.
func leaks(name string, text []byte) []string {
	if !utf8.Valid(text) {
		return nil
	}
	var found []string
	for i, line := range bytes.Split(text, []byte("\n")) {
		if m := machinePath.Find(line); m != nil {
			found = append(found, fmt.Sprintf("%s:%d: %q is a path of one machine: name the thing relative to the repository", name, i+1, bytes.TrimSpace(m)))
		}
	}
	return found
}

func TestNoTrackedFileNamesOneMachine(t *testing.T) {
	cmd := exec.Command("git", "ls-files", "-z")
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("not a git checkout, so there are no tracked files to read (%v); CI runs in one", err)
	}
	for _, name := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(cmd.Dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted in the working tree, not yet in the index
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range leaks(name, text) {
			t.Error(l)
		}
	}
}

// TestLeaksBite shows the checker what it must find and what it must leave alone.
func TestLeaksBite(t *testing.T) {
	secret := "/ho" + "me/someone"
	for text, want := range map[string]int{
		"see " + secret + "/notes":             1,
		"a\n" + secret + "\n" + secret:         2,
		`"` + secret + `"`:                     1,
		"https://example.com" + secret:         0,
		"testdata" + secret:                    0,
		"the directory /var/lib/goodput is ok": 0,
	} {
		if got := leaks("f", []byte(text)); len(got) != want {
			t.Errorf("%q: %d leaks (%q), want %d", text, len(got), got, want)
		}
	}
}
