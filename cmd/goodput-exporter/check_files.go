package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/goodput-exporter/goodput-exporter/collectors/discovery"
	"github.com/goodput-exporter/goodput-exporter/collectors/engine"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
)

// checkFiles prints, as comments, what the files of targets name. The error holds every mistake in them, and every target
// that would not be polled.
func checkFiles(cfg *config.Config, out io.Writer) error {
	fixed, err := discovery.NewStatic(cfg.Targets())
	if err != nil {
		return err
	}
	listers := []discovery.Lister{fixed}
	var mistakes []error
	for _, pattern := range cfg.Engines.Files {
		paths := targetFiles(cfg, pattern)
		if len(paths) == 0 {
			fmt.Fprintf(out, "# engines.files: no file fits %s at the moment\n", cfg.Path(pattern))
		}
		for _, path := range paths {
			found, err := targetsIn(path)
			if err != nil {
				mistakes = append(mistakes, err)
				continue
			}
			listers = append(listers, listed(found))
			fmt.Fprintf(out, "# %s names %s\n", path, count(len(found), "engine"))
		}
	}
	union := discovery.NewUnion(slog.New(slog.DiscardHandler), listers...)
	union.Targets()
	for _, why := range union.Refusals() {
		mistakes = append(mistakes, errors.New(why))
	}
	return errors.Join(mistakes...)
}

// targetFiles are the files of targets that fit a pattern of the configuration at the moment.
func targetFiles(cfg *config.Config, pattern string) []string {
	paths, _ := filepath.Glob(cfg.Path(pattern)) // the configuration has checked it
	return paths
}

// targetsIn reads a file of targets.
func targetsIn(path string) ([]discovery.Found, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("engines.files: %w", err)
	}
	return listedTargets(text, path)
}

// listed is a list that does not change.
type listed []discovery.Found

func (l listed) List() []discovery.Found { return l }

// masked is a text about an engine's page without what the page repeats of the credentials that it was asked with.
func masked(cfg *config.Config, source, text string) string {
	text = engine.Mask(source, text)
	for _, t := range cfg.Engines.Targets {
		text = engine.Mask(t.URL.Reveal(), text)
	}
	return text
}
