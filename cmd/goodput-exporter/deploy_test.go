package main

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/config"
)

// TestDeployedConfigurations reads every configuration that deploy/ would install.
func TestDeployedConfigurations(t *testing.T) {
	n := 0
	err := filepath.WalkDir("../../deploy", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "goodput.yaml" || strings.Contains(path, "grafana") {
			return err
		}
		n++
		if _, err := config.Load(path); err != nil {
			t.Error(err)
		}
		return nil
	})
	if err != nil || n < 6 {
		t.Errorf("%d configurations were found: %v", n, err)
	}
}

// TestSystemdUnit starts what the unit starts, with its own configuration, and holds the unit to what systemd itself says of
// it, where there is one.
func TestSystemdUnit(t *testing.T) {
	text, err := os.ReadFile("../../deploy/systemd/goodput-exporter.service")
	if err != nil {
		t.Fatal(err)
	}
	start := regexp.MustCompile(`(?m)^ExecStart=(\S+) (.*)$`).FindSubmatch(text)
	if start == nil {
		t.Fatal("the unit starts nothing")
	}
	args := strings.Fields(string(start[2]))
	for i, a := range args {
		switch name, _, _ := strings.Cut(a, "="); name {
		case "--config.file":
			args[i] = "--config.file=../../deploy/systemd/goodput.yaml"
		case "--web.listen-address":
			args[i] = "--web.listen-address=127.0.0.1:0"
		}
	}
	ended, end := context.WithCancel(context.Background())
	end() // it is asked to stop before it has begun
	var out, notes bytes.Buffer
	if status := run(ended, args, &out, &notes); status != 0 {
		t.Errorf("%q ends with status %d: %s", args, status, notes.String())
	}

	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not on PATH: the unit was not shown to systemd")
	}
	self, err := os.Executable() // systemd wants the program to be there
	if err != nil {
		t.Fatal(err)
	}
	unit := filepath.Join(t.TempDir(), "goodput-exporter.service")
	if err := os.WriteFile(unit, bytes.ReplaceAll(text, start[1], []byte(self)), 0o644); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.Command(analyze, "verify", "--man=no", unit).CombinedOutput(); err != nil || len(bytes.TrimSpace(said)) > 0 {
		t.Errorf("systemd-analyze verify: %s, %v", said, err)
	}
	// Of 100, tenths of its scale: 20 is 2.0, and the unit is at 1.4.
	if said, err := exec.Command(analyze, "security", "--offline=true", "--threshold=20", unit).CombinedOutput(); err != nil {
		t.Errorf("systemd-analyze security: %s, %v", said[max(0, len(said)-300):], err)
	}
}
