package engine

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// build makes the sample of what was gathered.
func (d *Decoder) build() (*fact.EngineSample, *Error) {
	d.line = 0
	chosen, absent := d.choose()
	d.signs.newNames = chosen[fact.TokenGap] >= 0 && names.slots[chosen[fact.TokenGap]].spelling.first != "" ||
		chosen[fieldKVUsage] >= 0 && names.slots[chosen[fieldKVUsage]].spelling.first != ""
	dia, err := recognise(d.signs, d.series)
	if err != nil {
		return nil, err
	}
	for _, u := range dia.unread {
		chosen[u] = -1
		absent |= 1 << u
	}
	s := &fact.EngineSample{
		Dialect: dia.name, Version: versions(dia, d.present()), Traits: dia.traits,
		ProcessStart: d.start, HTTP: d.http(), HTTPKnown: chosen[fieldHTTP] >= 0,
		Ranks:  make([]fact.Rank, d.used),
		Series: d.series, Bytes: d.bytes,
	}
	if chosen[fieldAdmission] >= 0 {
		s.Admission = fact.Known(0)
		for _, r := range d.refusals {
			s.Admission.V += float64(r.n)
		}
	}
	s.Disaggregated = d.disaggregated(chosen[fieldTransfers], dia.alwaysTransfers)
	created := d.used > 0
	for i := range s.Ranks {
		if err := d.buildRank(&s.Ranks[i], &d.ranks[i], &chosen); err != nil {
			return nil, err
		}
		created = created && s.Ranks[i].Created > 0
	}
	slices.SortFunc(s.Ranks, func(a, b fact.Rank) int {
		return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.Name, b.Name))
	})
	if !created {
		absent |= 1 << numFields
	}
	s.Missing = d.lacks(absent)
	s.Warnings = d.told()
	return s, nil
}

// choose picks the spelling of each field for the whole page: the first that has samples, else the first that is
// announced, else -1. absent has a bit for each field without any.
func (d *Decoder) choose() (chosen [numFields]int, absent uint64) {
	for i := range aliases {
		f := aliases[i].field
		chosen[f] = -1
		for _, s := range names.byAlias[i] {
			if d.sampled(s) {
				chosen[f] = s
				break
			}
			if d.declared[s] && chosen[f] < 0 {
				chosen[f] = s
			}
		}
		if chosen[f] < 0 && !aliases[i].optional {
			absent |= 1 << f
		}
	}
	return chosen, absent
}

// sampled reports whether any series of a slot is on the page.
func (d *Decoder) sampled(slot int) bool {
	switch names.slots[slot].alias.field {
	case fieldHTTP:
		return d.hasRows
	case fieldAdmission:
		return d.hasRefuse
	case fieldProcessStart:
		return d.start > 0
	}
	for i := range d.ranks[:d.used] {
		if d.ranks[i].cells[slot].line > 0 {
			return true
		}
	}
	return false
}

// present lists the spellings on the page that bound the engine's version.
func (d *Decoder) present() []spelling {
	found := make([]spelling, 0, len(names.slots)+len(dating))
	for i := range names.slots {
		if s := names.slots[i].spelling; (s.first != "" || s.gone != "") && (d.declared[i] || d.sampled(i)) {
			found = append(found, s)
		}
	}
	for i, seen := range d.dated {
		if seen {
			found = append(found, dating[i])
		}
	}
	return found
}

func (d *Decoder) buildRank(r *fact.Rank, k *rank, chosen *[numFields]int) *Error {
	r.Name, r.Model, r.Created, r.Sleep = k.key.name, k.key.model, k.created, k.sleep
	for f := range fact.NumFamilies {
		slot := chosen[f]
		if slot < 0 || k.cells[slot].line == 0 {
			continue
		}
		h, err := d.histogram(&k.cells[slot])
		if err != nil {
			return err.on(k.cells[slot].line, fmt.Sprintf("%s{%s=%s,model_name=%s}", names.slots[slot].name, rankLabel, excerpt([]byte(k.key.name)), excerpt([]byte(k.key.model))))
		}
		r.Histograms[f] = h
	}
	for _, x := range k.finished {
		r.Finished = append(r.Finished, fact.ReasonCount{Reason: x.a, Count: x.n})
	}
	slices.SortFunc(r.Finished, func(a, b fact.ReasonCount) int { return cmp.Compare(a.Reason, b.Reason) })
	r.Requests = d.number(k, chosen[fieldRequests])
	r.PromptTokens = d.number(k, chosen[fieldPromptTokens])
	r.OutputTokens = d.number(k, chosen[fieldOutputTokens])
	r.Preemptions = d.number(k, chosen[fieldPreemptions])
	r.Running = d.number(k, chosen[fieldRunning])
	r.Waiting = d.number(k, chosen[fieldWaiting])
	r.KVUsage = d.number(k, chosen[fieldKVUsage])
	if swapped := d.number(k, chosen[fieldSwapped]); r.Waiting.Known {
		r.Waiting.V += swapped.V // they wait for their memory
	}
	return nil
}

// number is a rank's value under the chosen spelling. A count whose family is announced but has no series for the rank
// is 0, not unknown: the Rust front end makes a series when it first counts.
func (d *Decoder) number(k *rank, slot int) fact.Number {
	if slot < 0 {
		return fact.Number{}
	}
	c, s := &k.cells[slot], &names.slots[slot]
	switch {
	case s.alias.kind == gauge && len(c.values) == 0:
		return fact.Number{}
	case s.alias.kind == gauge:
		if v := d.folded(s.alias, s.name, c.values); !math.IsNaN(v) {
			return fact.Known(v)
		}
		return fact.Number{}
	case c.line > 0:
		return fact.Known(c.value)
	}
	return fact.Known(0)
}

// costCreated is what the page lacks without the _created gauges of its ranks.
const costCreated = "new metrics in a process that goes on show only by counters that fall; absent with several API servers and from the Rust front end"

// lacks lists the absent fields in the table's order; the list is made once for each set of them.
func (d *Decoder) lacks(absent uint64) []fact.Missing {
	if absent == 0 {
		return nil
	}
	if m, ok := d.missing[absent]; ok {
		return m
	}
	var m []fact.Missing
	for _, a := range aliases {
		if absent&(1<<a.field) != 0 {
			m = append(m, fact.Missing{Field: a.what, Cost: a.cost})
		}
	}
	if absent&(1<<numFields) != 0 {
		m = append(m, fact.Missing{Field: "created", Cost: costCreated})
	}
	if len(d.missing) >= maxLayouts {
		clear(d.missing)
	}
	d.missing[absent] = m
	return m
}

// told are the warnings of the page, each kind once.
func (d *Decoder) told() []string {
	var all []string
	for _, w := range d.warnings {
		switch {
		case w.n == 1:
			all = append(all, w.first)
		case w.n > 1:
			all = append(all, fmt.Sprintf("%s (%d of this kind)", w.first, w.n))
		}
	}
	return all
}
