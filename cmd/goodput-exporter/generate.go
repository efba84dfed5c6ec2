package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
)

// runGenerateDocs writes the documents that are made from declarations in the code into dir.
func runGenerateDocs(dir string) error {
	for name, text := range map[string][]byte{
		"metrics.md": []byte(catalog.Document()),
		"config.md":  config.Document(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil { //nolint:gosec // documentation
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}
