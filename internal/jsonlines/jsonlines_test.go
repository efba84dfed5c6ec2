package jsonlines

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestEach(t *testing.T) {
	var text bytes.Buffer
	z := gzip.NewWriter(&text)
	if _, err := z.Write([]byte("one\n\nthree")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "x.gz")
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	var got []string
	Each(t, file, func(line []byte) { got = append(got, string(line)) })
	if want := []string{"one", "", "three"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
