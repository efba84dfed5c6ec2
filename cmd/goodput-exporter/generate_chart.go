package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goodput-exporter/goodput-exporter/exporter/config"
)

// chartNodeLabel is the label in which the chart's PodMonitor puts the node's name.
const chartNodeLabel = "node"

// runGenerateChart writes what the Helm chart in dir has from the code, because a chart cannot read files beside it: the
// boards, the rules for its own objectives, the defaults by which engines are found, and in the schema of its values the keys of a
// configuration.
func runGenerateChart(dir string) error {
	files := filepath.Join(dir, "files")
	if err := runGenerateDashboards(filepath.Join(files, "dashboards")); err != nil {
		return err
	}
	objectives := filepath.Join(files, "rules.config.yaml")
	rules := rulesOptions{ConfigFile: &objectives, Format: "operator", Output: filepath.Join(files, "goodput.prometheusrule.yaml"), NodeLabel: chartNodeLabel}
	if err := runGenerateRules(rules, nil); err != nil {
		return err
	}
	if err := writeDiscovered(objectives, filepath.Join(files, "discovery.json")); err != nil {
		return err
	}
	return writeValuesSchema(filepath.Join(dir, "values.schema.json"))
}

// writeDiscovered writes by what engines are found where a configuration says no more than that they are pods; the chart's notes
// print it.
func writeDiscovered(configFile, path string) error {
	cfg, err := config.Load(configFile)
	if err != nil {
		return err
	}
	k := cfg.Engines.Kubernetes
	text, err := json.MarshalIndent(map[string][]string{"selectors": k.Selectors, "ports": k.Ports}, "", "  ")
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, append(text, '\n'), 0o644) //nolint:gosec // anybody may read it
}

// writeValuesSchema puts the keys of a configuration into the schema of a chart's values; the rest of it stays.
func writeValuesSchema(path string) error {
	text, err := os.ReadFile(path) //nolint:gosec // the caller names it
	if err != nil {
		return err
	}
	var values struct {
		Schema      string                     `json:"$schema"`
		Description string                     `json:"description"`
		Type        string                     `json:"type"`
		Additional  bool                       `json:"additionalProperties"`
		Properties  map[string]json.RawMessage `json:"properties"`
	}
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&values); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	keys, err := json.Marshal(config.JSONSchema())
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	values.Properties["config"] = keys
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	if err := out.Encode(values); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, b.Bytes(), 0o644) //nolint:gosec // anybody may read a schema
}
