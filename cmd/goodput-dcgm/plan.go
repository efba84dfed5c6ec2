//go:build linux && cgo

package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/NVIDIA/go-dcgm/pkg/dcgm"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
)

// plan is what is watched, and so what one tick reads.
type plan struct {
	inv       inventory
	fields    []int // what is read of every entity in the one call; more than an entity is watched for
	instances []int // those of fields that may be an instance's own
	values    []*watch
	events    *watch // of XIDs; nil when there is none
	missing   map[int]string
	retry     bool   // a watch of profiling fields failed: somebody else may have the counters
	note      string // what a person should know of it; "" when all is well
}

// makePlan begins to watch. What the cards themselves cannot do costs their fields; any other failure is an error.
func makePlan(w *watcher, opts options, inv inventory) (*plan, error) {
	plain, profiling := split(opts.fields)
	p := &plan{inv: inv}
	plain, p.missing = w.known(plain)
	if p.missing == nil {
		p.missing = map[int]string{}
	}
	own := common(plain, append(frame.InstanceFields(), frame.FieldUUID))
	for _, group := range []struct {
		entities []dcgm.GroupEntityPair
		fields   []int
	}{
		{cardPairs(inv.cards), slices.DeleteFunc(slices.Clone(plain), isEvent)},
		{instancePairs(inv.instances), own},
	} {
		made, err := w.values(group.entities, group.fields)
		if err != nil {
			return nil, fmt.Errorf("watch %d fields of %d entities: %w", len(group.fields), len(group.entities), err)
		}
		p.values = append(p.values, made)
	}
	if slices.Contains(plain, frame.FieldXID) {
		made, err := w.events(inv.sources(), []int{frame.FieldXID})
		if err != nil {
			return nil, fmt.Errorf("watch XIDs: %w", err)
		}
		p.events = made
	}
	watched := p.profile(w, opts, profiling)
	p.fields = append(plain, watched...)
	p.instances = append(own, inInstance(watched)...)
	return p, nil
}

// profile watches what the cards have of the wanted fields, and returns what of it is watched on any card.
func (p *plan) profile(w *watcher, opts options, wanted []int) []int {
	if opts.profiling != "" {
		for _, f := range wanted {
			p.missing[f] = opts.profiling
		}
		return nil
	}
	shares, why := profilable(p.inv.cards, wanted)
	maps.Copy(p.missing, why)
	watched := map[int]bool{}
	failed := map[int]string{}
	for _, s := range shares {
		made, err := w.watchShare(p.inv, s)
		if err != nil {
			// What cannot be recovered is not tried again, so that whoever else profiles is left alone.
			remedy := "end what else profiles the cards, such as another host engine, and restart this one"
			if !unrecoverable(err) {
				p.retry, remedy = true, "is another profiler or host engine using the counters?"
			}
			p.note = fmt.Sprintf("profiling fields of cards %v are not watched: %v; %s", s.cards, err, remedy)
			for _, f := range s.fields {
				failed[f] = fmt.Sprintf("cards %v: %v", s.cards, err)
			}
			continue
		}
		p.values = append(p.values, made...)
		for _, f := range s.fields {
			watched[f] = true
		}
	}
	for f, text := range failed {
		if !watched[f] {
			p.missing[f] = text
		}
	}
	return slices.Sorted(maps.Keys(watched))
}

// end takes all watches back.
func (p *plan) end() {
	for _, w := range append(p.values, p.events) {
		w.end()
	}
}

// unavailable lists what is not watched, by field.
func (p *plan) unavailable() []frame.Unavailable {
	var out []frame.Unavailable
	for f, why := range p.missing {
		out = append(out, frame.Unavailable{Field: f, Why: why})
	}
	slices.SortFunc(out, func(a, b frame.Unavailable) int { return cmp.Compare(a.Field, b.Field) })
	return out
}

// split separates the profiling fields, which a card may not have, from the rest.
func split(fields []int) (plain, profiling []int) {
	return without(fields, frame.Profiling()), common(fields, frame.Profiling())
}

func isEvent(field int) bool { return field == frame.FieldXID }

func common(a, b []int) []int {
	return slices.DeleteFunc(slices.Clone(a), func(f int) bool { return !slices.Contains(b, f) })
}

func without(a, b []int) []int {
	return slices.DeleteFunc(slices.Clone(a), func(f int) bool { return slices.Contains(b, f) })
}
