package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFilesThatCannotBeRead: check says so and goes on, whatever stands at the path.
func TestFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("token"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(at("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct{ path, want string }{
		"a file":                           {at("token"), ""},
		"no file":                          {at("none"), "no such file"},
		"a directory":                      {dir, "not a regular file"},
		"a pipe that nobody writes to":     {at("pipe"), "not a regular file"},
		"a path through what is no folder": {at("token/x"), "not a directory"},
	} {
		t.Run(what, func(t *testing.T) {
			if got := unreadable(c.path); got != c.want && (c.want == "" || !strings.Contains(got, c.want)) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
