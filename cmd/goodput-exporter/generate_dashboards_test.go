package main

import (
	"bytes"
	"context"
	"encoding/json"
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
		// kubectl apply keeps a ConfigMap's text in an annotation, for which there is this much room.
		if quoted, err := json.Marshal(string(got)); err != nil || len(quoted) > 250<<10 {
			t.Errorf("%s takes %d bytes in a ConfigMap, of 256 KiB: %v", name, len(quoted), err)
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
