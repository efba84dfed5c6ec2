package main

import (
	"slices"
	"sort"

	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
)

// orderStatistic finds by sorting the value that an interval is about, among observations in the order of their times.
func orderStatistic(of []observed, q fold.Quantile) (v float64, n int) {
	after := func(at float64) int {
		return sort.Search(len(of), func(i int) bool { return of[i].at > at+simPageTook/2 })
	}
	var values []float64
	for _, o := range of[after(q.Start):after(q.End)] {
		values = append(values, o.value)
	}
	if len(values) == 0 {
		return 0, 0
	}
	slices.Sort(values)
	return values[hist.Rank(q.Q, uint64(len(values)))-1], len(values)
}
