package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/goodput-exporter/goodput-exporter/alerts"
	"github.com/goodput-exporter/goodput-exporter/collectors/engine"
	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
)

// runGenerateDocs writes the documents that are made from declarations in the code into dir.
func runGenerateDocs(dir string) error {
	for name, text := range map[string][]byte{
		"metrics.md":  []byte(catalog.Document()),
		"config.md":   config.Document(),
		"dialects.md": engine.Document(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil { //nolint:gosec // documentation
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

// rulesOptions is what the generate rules command was told.
type rulesOptions struct {
	ConfigFile     *string
	Format         string // prometheus or operator
	Output         string // "" for standard output
	Job, NodeLabel string
}

// ruleName is the name of the operator's resource.
const ruleName = "goodput-exporter"

// runGenerateRules writes the rules for the objectives of a configuration.
func runGenerateRules(o rulesOptions, out io.Writer) error {
	cfg, err := config.Load(*o.ConfigFile)
	if err != nil {
		return err
	}
	groups, err := alerts.Build(alerts.Options{Objectives: cfg.Objectives(), Job: o.Job, NodeLabel: o.NodeLabel})
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if o.Format == "operator" {
		err = groups.WriteOperator(&b, ruleName)
	} else {
		err = groups.WriteYAML(&b)
	}
	if err != nil {
		return err
	}
	if o.Output == "" {
		_, err = out.Write(b.Bytes())
		return err
	}
	return os.WriteFile(o.Output, b.Bytes(), 0o644) //nolint:gosec // rules are no secret
}
