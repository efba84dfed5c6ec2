//go:build linux && cgo

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/NVIDIA/go-dcgm/pkg/dcgm"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
)

// share is a set of cards that have the same profiling fields: the cards of a node need not be alike.
type share struct {
	cards  []uint
	fields []int // ascending
}

// profilable asks every card which of the wanted fields it has. why holds, for a field that no card has, the reason.
func profilable(cards []uint, wanted []int) (shares []share, why map[int]string) {
	have := map[int]bool{}
	reason := "no card has it"
	for _, card := range cards {
		groups, err := dcgm.GetSupportedMetricGroups(card)
		if err != nil {
			reason = fmt.Sprintf("card %d: %v", card, err)
			continue
		}
		var fields []int
		for _, f := range wanted {
			if slices.ContainsFunc(groups, func(g dcgm.MetricGroup) bool { return slices.Contains(g.FieldIds, uint(f)) }) {
				fields, have[f] = append(fields, f), true
			}
		}
		i := slices.IndexFunc(shares, func(s share) bool { return slices.Equal(s.fields, fields) })
		if i < 0 {
			i, shares = len(shares), append(shares, share{fields: fields})
		}
		shares[i].cards = append(shares[i].cards, card)
	}
	why = map[int]string{}
	for _, f := range wanted {
		if !have[f] {
			why[f] = reason
		}
	}
	return shares, why
}

// inInstance are the profiling fields that an instance has for itself. Traffic over PCIe and NVLink is the card's.
func inInstance(profiling []int) []int {
	return slices.DeleteFunc(slices.Clone(profiling), func(f int) bool { return f > frame.FieldDRAM })
}

// watchShare watches the profiling fields of some cards and of their instances.
func (w *watcher) watchShare(inv inventory, s share) ([]*watch, error) {
	cards, err := w.values(cardPairs(s.cards), s.fields)
	if err != nil {
		return nil, err
	}
	var instances []instance
	for _, in := range inv.instances {
		if slices.Contains(s.cards, in.card) {
			instances = append(instances, in)
		}
	}
	inside, err := w.values(instancePairs(instances), inInstance(s.fields))
	if err != nil {
		cards.end()
		return nil, err
	}
	return []*watch{cards, inside}, nil
}

// unrecoverable is true of what the profiling module says when somebody else has the counters for good, or when it has
// failed for good itself (DCGM_ST_PROFILING_LIBRARY_ERROR). go-dcgm hands on the text of a failed watch and no code.
func unrecoverable(err error) bool { return strings.Contains(err.Error(), "unrecoverable") }
