// Package discovery knows which engines there are at the moment. It does not ask them anything.
package discovery

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// Static is a fixed list of targets, as a configuration names them.
type Static struct {
	targets []fact.Target
	found   []Found
}

// NewStatic checks that ids are there, unique, and not to be mistaken for a rank, and copies the list.
func NewStatic(targets []fact.Target) (*Static, error) {
	seen := map[string]bool{}
	for i, t := range targets {
		if t.ID == "" {
			return nil, fmt.Errorf("target %d has no id", i)
		}
		if seen[t.ID] {
			return nil, fmt.Errorf("two targets have the id %q: give one of them another", t.ID)
		}
		if strings.Contains(t.ID, "/") {
			return nil, fmt.Errorf("the id %q holds a /, which separates the rank in the engine label: use another character", t.ID)
		}
		seen[t.ID] = true
	}
	s := &Static{targets: slices.Clone(targets)}
	for _, t := range targets {
		s.found = append(s.found, Found{t, "engines.targets"})
	}
	return s, nil
}

// Targets is the list; it must not be written to.
func (s *Static) Targets() []fact.Target { return s.targets }

// List is the list with its origin.
func (s *Static) List() []Found { return s.found }
