package main

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// imaged are the metrics whose histograms the exporter publishes on edges of its own, and of which the truth is known.
var imaged = []string{"ttft", "tpot", "e2e", "queue", "prefill", "decode"}

// bucket is one line of a cumulative histogram.
type bucket struct{ le, count float64 }

// buckets are the lines of a histogram in order of their edges.
func buckets(samples map[string]float64, name string) (out []bucket) {
	for key, v := range samples {
		labels, ok := strings.CutPrefix(key, name+"_bucket{")
		if !ok {
			continue
		}
		_, rest, _ := strings.Cut(labels, `le="`)
		text, _, _ := strings.Cut(rest, `"`)
		if le, err := strconv.ParseFloat(text, 64); err == nil {
			out = append(out, bucket{le, v})
		}
	}
	slices.SortFunc(out, func(a, b bucket) int {
		if a.le < b.le {
			return -1
		}
		return 1
	})
	return out
}

// aroundRank is the bucket that holds the observation of a rank: above below, and at most le.
func aroundRank(all []bucket, rank float64) (below, le float64) {
	for _, b := range all {
		if b.count >= rank {
			return below, b.le
		}
		below = b.le
	}
	return below, math.Inf(1)
}

// imageQuantiles are the percentiles of the whole run, as they come out of the two histograms that the exporter
// publishes of a metric: the lower end from the one rounded down, the upper end from the one rounded up. The engine's
// buckets changed at its restart, so these are sums of unlike layouts.
func imageQuantiles(samples map[string]float64, p *published) (out []quantile) {
	if len(p.Polls) == 0 {
		return nil
	}
	for _, metric := range imaged {
		floor, ceil := buckets(samples, "goodput_"+metric+"_floor_seconds"), buckets(samples, "goodput_"+metric+"_ceil_seconds")
		if len(floor) == 0 || len(ceil) == 0 || ceil[len(ceil)-1].count == 0 {
			continue
		}
		n := ceil[len(ceil)-1].count
		for _, q := range []float64{0.5, 0.9, 0.95, 0.99} {
			x := quantile{}
			x.Quantile.Metric, x.Quantile.Q, x.Quantile.Count = metric, q, uint64(n)
			x.Quantile.Start, x.Quantile.End = p.Polls[0].Sent, p.Polls[len(p.Polls)-1].Sent
			x.Quantile.Window = x.Quantile.End - x.Quantile.Start
			rank := math.Ceil(q*n - 1e-9)
			x.Quantile.Lower, _ = aroundRank(floor, rank)
			_, upper := aroundRank(ceil, rank)
			x.Quantile.Upper = edge(upper)
			out = append(out, x)
		}
	}
	return out
}
