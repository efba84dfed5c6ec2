package accessfile

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestReading(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string][]byte{"small": []byte("x"), "full": bytes.Repeat([]byte("x"), Max), "over": bytes.Repeat([]byte("x"), Max+1)} {
		if err := os.WriteFile(at(name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(at("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		read    func(string) ([]byte, error)
		name    string
		size    int
		problem string
	}{
		"a file":                      {Read, "small", 1, ""},
		"a file of the limit":         {Read, "full", Max, ""},
		"a byte more":                 {Read, "over", 0, "it is larger than 1048576 bytes"},
		"no file":                     {Read, "none", 0, "no such file or directory"},
		"a directory":                 {Read, ".", 0, "is a directory"},
		"a regular file":              {ReadRegular, "small", 1, ""},
		"a pipe nobody writes to":     {ReadRegular, "pipe", 0, "it is not a regular file"},
		"no file, regular or not":     {ReadRegular, "none", 0, "no such file or directory"},
		"a regular file that is long": {ReadRegular, "over", 0, "it is larger than 1048576 bytes"},
	} {
		t.Run(what, func(t *testing.T) {
			text, err := c.read(at(c.name))
			if c.problem == "" && (err != nil || len(text) != c.size) || c.problem != "" && (err == nil || err.Error() != c.problem) {
				t.Errorf("%d bytes, error %v", len(text), err)
			}
		})
	}
}

func TestLines(t *testing.T) {
	for text, want := range map[string]string{
		"token": "token", " token\r\n": "token", "two words\n": "two words",
		"": "!the file is empty", "\n\n": "!the file is empty", "a\nb": "!the file holds more than one line", "a\x7fb": "!the file holds more than one line",
	} {
		got, err := Line([]byte(text))
		if err != nil {
			got = "!" + err.Error()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestErrorsRepeatNothing: what is no certificate may be a secret in the wrong file.
func TestErrorsRepeatNothing(t *testing.T) {
	const secret = "hunter2hunter2"
	if _, err := Pair([]byte(secret), []byte(secret)); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("pair: %v", err)
	}
	if _, err := Authorities([]byte(secret)); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("authorities: %v", err)
	}
}
