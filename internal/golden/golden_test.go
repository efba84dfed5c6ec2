package golden

import (
	"os"
	"path/filepath"
	"testing"
)

// recorder is a test that notes how it fails.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.failed = true }
func (r *recorder) Fatalf(string, ...any) { r.failed = true }

func TestCompareFailsOnEveryDifference(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("text\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		path, got string
		fails     bool
	}{
		"the same":         {path, "text\n", false},
		"another":          {path, "text", true},
		"nothing":          {path, "", true},
		"a file not there": {path + ".not", "text\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{TB: t}
			if Compare(r, c.path, []byte(c.got)); r.failed != c.fails {
				t.Errorf("failed: %t, want %t", r.failed, c.fails)
			}
		})
	}
}
