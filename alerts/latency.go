package alerts

import (
	"fmt"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
)

// latencies are the percentiles of each model over all its engines, as the two ends of the bucket that holds them.
func latencies() Group {
	g := Group{Name: "goodput-latency", Interval: "1m"}
	for _, metric := range catalog.RuleLatencies() {
		ceil, floor := catalog.RuleBuckets(metric, catalog.CeilSeconds), catalog.RuleBuckets(metric, catalog.FloorSeconds)
		g.Rules = append(g.Rules,
			Rule{Record: ceil, Expr: bucketIncrease(catalog.LatencyHistogram(metric) + catalog.CeilSeconds)},
			Rule{Record: floor, Expr: bucketIncrease(catalog.LatencyHistogram(metric) + catalog.FloorSeconds)},
		)
		for _, q := range catalog.RuleQuantiles() {
			labels := map[string]string{catalog.LabelMetric: metric, catalog.LabelQ: q}
			g.Rules = append(g.Rules,
				Rule{Record: catalog.RuleName(catalog.RuleQuantileLower, catalog.LatencyWindow), Expr: quantileLower(floor, q), Labels: labels},
				Rule{Record: catalog.RuleName(catalog.RuleQuantileUpper, catalog.LatencyWindow), Expr: quantileUpper(ceil, q), Labels: labels},
			)
		}
	}
	return g
}

// bucketIncrease is the histogram of the last 5 minutes, in whole observations. increase() would extrapolate every
// bucket on its own, and less where a bucket began near zero: the buckets of a new engine would then not fit each other,
// and a percentile could move to another bucket. The greatest value less the least is exact, for counters that were not
// reset; after a reset, increase() is what there is.
func bucketIncrease(histogram string) string {
	b := histogram + "_bucket[" + catalog.LatencyWindow + "]"
	return lines(
		"sum by (cluster, model, le) (",
		fmt.Sprintf("    (max_over_time(%s) - min_over_time(%s)) and resets(%s) == 0", b, b, b),
		"  or",
		fmt.Sprintf("    increase(%s)", b),
		")",
	)
}

// smallRank stands for "more than none" of the one observation in the indicator histogram. It is small enough that the
// interpolation, which adds it times the bucket's width, stays below what is rounded away: the widest bucket is hours.
const smallRank = "1e-12"

// observed is how many observations there are, where there are any. An idle model has no percentile.
func observed(buckets string) string {
	return fmt.Sprintf(`(sum %s (%s{le="+Inf"}) > 0)`, byModel, buckets)
}

// rank is the wanted count of observations. Without the tolerance a rank that falls on a count exactly would be moved
// into the next bucket by the rounding of q times a whole number. Safe while a window has fewer than 1e9 observations.
func rank(buckets, q string) string {
	return fmt.Sprintf("((%s - 1e-9) * %s)", q, observed(buckets))
}

// indicator is 0 below the bucket that holds the quantile and 1 from there on: a cumulative histogram of one
// observation, whose smallest and greatest quantiles are the edges of the bucket. Without this, histogram_quantile()
// draws a line through the bucket and answers with a point that nobody measured.
func indicator(buckets, q string) string {
	return fmt.Sprintf("%s >= bool %s group_left () %s", buckets, onModel, rank(buckets, q))
}

func quantileLower(buckets, q string) string {
	return lines(
		fmt.Sprintf("round(histogram_quantile(%s,", smallRank),
		"  "+indicator(buckets, q),
		"), 1e-6)",
	)
}

// quantileUpper is +Inf when the rank lies above the last edge: histogram_quantile() alone would answer with that edge.
func quantileUpper(buckets, q string) string {
	return lines(
		"(",
		"    histogram_quantile(1,",
		"      "+indicator(buckets, q),
		"    )",
		fmt.Sprintf("  and %s", onModel),
		fmt.Sprintf(`    (max %s (%s{le!="+Inf"}) >= %s %s)`, byModel, buckets, onModel, rank(buckets, q)),
		")",
		fmt.Sprintf("or %s", onModel),
		fmt.Sprintf("  (%s * 0 + Inf)", observed(buckets)),
	)
}
