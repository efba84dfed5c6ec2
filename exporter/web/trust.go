package web

import (
	"fmt"
	"math"
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// trustRow is one reason to believe the page, or not.
type trustRow struct {
	Name, Value, Meaning string
	Doubt                bool
}

// trust lists what the numbers rest on, over some engines.
func (p *pageMaker) trust(engines []*fold.Engine) []trustRow {
	rows := []trustRow{p.roundsRow(), coverageRow(engines)}
	rows = append(rows,
		tallyRow("Failed polls", engines, func(e *fold.Engine) []fold.Tally { return e.Failures }, "since the exporter started; nothing is known of the time without pages"),
		tallyRow("Pages read but not judged", engines, func(e *fold.Engine) []fold.Tally { return e.Skipped }, "since the engine was first seen; a torn page is one that was written while it was read, and the next one makes up for it"),
		tallyRow("Windows judged by less than the best method", engines, func(e *fold.Engine) []fold.Tally { return e.Fallbacks }, "since the engine was first seen; their intervals are wider, never wrong"))
	conflicts, unexplained := uint64(0), fold.Span{}
	for _, e := range engines {
		conflicts += e.Conflicts
		unexplained = plus(unexplained, e.Ledger.Unexplained)
	}
	rows = append(rows, trustRow{Name: "Pages that contradict themselves", Value: plural(int(conflicts), "window", "windows"), Doubt: conflicts > 0,
		Meaning: "since the engine was first seen; judgement windows in which two histograms or counters of a page cannot both be right; the wider claim was kept"})
	value := "unknown"
	if unexplained.Known {
		value = counts(unexplained.Lower, unexplained.Upper) + " HTTP requests"
	}
	rows = append(rows, trustRow{Name: "Unexplained", Value: value, Doubt: unexplained.Known && unexplained.Lower > 0,
		Meaning: "since the engine was first seen; two counters of one engine that cannot both be right"})
	return append(rows, layoutRows(&p.view.Snapshot.Layouts)...)
}

func (p *pageMaker) roundsRow() trustRow {
	return trustRow{Name: "Rounds", Value: fmt.Sprintf("%s, of which %s missed", count(p.view.Rounds), count(p.view.Missed)), Doubt: p.view.Missed > 0,
		Meaning: fmt.Sprintf("since the exporter started; one is due every %s, and it is missed when the one before is still going on", duration(p.view.Interval.Seconds()))}
}

func coverageRow(engines []*fold.Engine) trustRow {
	row := trustRow{Name: "Coverage", Value: "unknown", Meaning: "share of the last 5 min that lies between two pages that were read, on the least covered engine"}
	least, on := math.Inf(1), ""
	for _, e := range engines {
		for i := range e.Ranks {
			if c := e.Ranks[i].Coverage; len(c) > 0 {
				shortest := slices.MinFunc(c, func(a, b fold.Coverage) int { return int(a.Window - b.Window) })
				if shortest.Ratio < least {
					least, on = shortest.Ratio, e.ID
					row.Meaning = fmt.Sprintf("share of the last %s that lies between two pages that were read, on the least covered engine", length(shortest.Window))
				}
			}
		}
	}
	if on != "" {
		row.Value, row.Doubt = ratio(least)+", engine "+on, least < 0.9
	}
	return row
}

func tallyRow(name string, engines []*fold.Engine, of func(*fold.Engine) []fold.Tally, meaning string) trustRow {
	var sum []fold.Tally
	for _, e := range engines {
		for _, t := range of(e) {
			at := slices.IndexFunc(sum, func(s fold.Tally) bool { return s.Name == t.Name })
			if at < 0 {
				sum = append(sum, t)
				continue
			}
			sum[at].Count += t.Count
		}
	}
	slices.SortStableFunc(sum, func(a, b fold.Tally) int {
		if a.Count > b.Count {
			return -1
		}
		return 1
	})
	row := trustRow{Name: name, Value: "none", Meaning: meaning}
	var parts []string
	for _, t := range sum {
		parts = append(parts, count(t.Count)+" "+t.Name)
	}
	if len(parts) > 0 {
		row.Value = list(parts)
	}
	return row
}

// layoutRows say where engines bucket differently: then percentiles over several engines are wider.
func layoutRows(layouts *[fact.NumFamilies]int) []trustRow {
	var differing []string
	for f, n := range layouts {
		if n > 1 {
			differing = append(differing, fmt.Sprintf("%s (%d)", metricNames[f], n))
		}
	}
	row := trustRow{Name: "Bucket layouts", Value: "one for each latency", Meaning: "percentiles over engines with differing layouts are taken on the union of their edges, and are wider"}
	if len(differing) > 0 {
		row.Value = "differ in " + list(differing)
	}
	return []trustRow{row}
}
