// Package jsonlines hands the lines of recordings, and of the truth beside them, to tests.
package jsonlines

import (
	"bufio"
	"compress/gzip"
	"os"
	"testing"
)

// maxLine is longer than any page that was recorded, in bytes.
const maxLine = 64 << 20

// Each hands the lines of a gzipped file on, one by one. A line must not be kept after the call.
func Each(t testing.TB, file string, each func(line []byte)) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	lines := bufio.NewScanner(unzipped)
	for lines.Buffer(nil, maxLine); lines.Scan(); {
		each(lines.Bytes())
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
