// Package golden compares what a test got with a file that is committed. A package whose tests use it has the flag
// -update, which rewrites the files instead; what differs then shows in the version control's diff.
package golden

import (
	"bytes"
	"flag"
	"os"
	"testing"
)

// update is read by Compare only; a flag has to be known before the tests' flags are parsed.
var update = flag.Bool("update", false, "rewrite the golden files and generated documents")

// Compare fails the test when the file at path does not hold got.
func Compare(t testing.TB, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; make it with -update", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; look at the difference and run with -update when it is meant\n--- got\n%s\n--- want\n%s", path, got, want)
	}
}
