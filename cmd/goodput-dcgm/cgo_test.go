package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestThereIsACompiler fails where the other tests of this package would silently not be there or be skipped, and where
// somebody counts on them.
func TestThereIsACompiler(t *testing.T) {
	if os.Getenv("GOODPUT_REQUIRE_CGO") == "" {
		t.Skip("GOODPUT_REQUIRE_CGO is not set: without cgo or gcc there is nothing to test here, and that is fine")
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Error(err)
	}
	if out, err := exec.Command("go", "env", "CGO_ENABLED").Output(); err != nil || strings.TrimSpace(string(out)) != "1" {
		t.Errorf("CGO_ENABLED is %q (%v): libdcgm is out of reach", out, err)
	}
}
