package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/goodput-exporter/goodput-exporter/dashboards"
)

// runGenerateDashboards writes the Grafana dashboards into dir.
func runGenerateDashboards(dir string) error {
	boards, err := dashboards.Build()
	if err != nil {
		return err
	}
	for _, b := range boards {
		if err := os.WriteFile(filepath.Join(dir, b.File), b.JSON, 0o644); err != nil { //nolint:gosec // anybody may read a dashboard
			return fmt.Errorf("write %s: %w", b.File, err)
		}
	}
	return nil
}
