package main

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestGenerateChart writes the chart's generated files as `make generate` does; what is committed is the same.
func TestGenerateChart(t *testing.T) {
	committed, dir := "../../deploy/helm/goodput-exporter", t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(committed)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"files/goodput.prometheusrule.yaml", "files/discovery.json"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	var out, notes bytes.Buffer
	if status := run(context.Background(), []string{"generate", "chart", "--dir", dir}, &out, &notes); status != 0 {
		t.Fatalf("status %d: %s", status, notes.String())
	}
	files := 0
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		got, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil {
			return err
		}
		if want, _ := os.ReadFile(filepath.Join(committed, path)); !bytes.Equal(got, want) {
			t.Errorf("%s is not what is committed; run make generate", path)
		}
		return nil
	})
	if err != nil || files < 10 {
		t.Fatalf("%d files compared, %v", files, err)
	}
	if status := run(context.Background(), []string{"generate", "chart", "--dir", filepath.Join(dir, "absent")}, &out, &notes); status != 1 {
		t.Errorf("a directory that does not exist: status %d", status)
	}
	if err := os.WriteFile(filepath.Join(dir, "values.schema.json"), []byte(`{"propertes": {}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if status := run(context.Background(), []string{"generate", "chart", "--dir", dir}, &out, &notes); status != 1 {
		t.Errorf("a schema with a typo: status %d", status)
	}
}
