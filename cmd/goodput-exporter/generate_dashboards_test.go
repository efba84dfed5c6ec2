package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
)

// TestGenerateDashboards writes the boards as `make generate` does; what is committed is the same.
func TestGenerateDashboards(t *testing.T) {
	dir := t.TempDir()
	var out, notes bytes.Buffer
	if status := run(context.Background(), []string{"generate", "dashboards", "--dir", dir}, &out, &notes); status != 0 {
		t.Fatalf("status %d: %s", status, notes.String())
	}
	for _, name := range []string{"goodput.json", "engine.json", "gpu.json"} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, committed := range []string{"../../dashboards", "../../deploy/kustomize/components/grafana"} {
			want, err := os.ReadFile(filepath.Join(committed, name))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s is not what is committed in %s; run make generate", name, committed)
			}
		}
	}
	if status := run(context.Background(), []string{"generate", "dashboards", "--dir", filepath.Join(dir, "absent")}, &out, &notes); status != 1 {
		t.Errorf("a directory that does not exist: status %d", status)
	}
}
