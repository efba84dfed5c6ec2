package engine

import (
	"cmp"
	"math"
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
)

// takeHistogram keeps one number of a histogram. Python prints buckets, count, sum, multi-process Python sum, buckets,
// count and Rust sum, count, buckets: any order will do.
func (c *cell) takeHistogram(p part, v float64, le []byte) *Error {
	switch p {
	case partSum:
		if c.has&hasSum != 0 {
			return twice()
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return refuse(fact.ReasonParse, "the sum is %v: one observation without a value spoils it until the engine restarts", v)
		}
		c.sum, c.has = v, c.has|hasSum
		return nil
	case partCount:
		if c.has&hasCount != 0 {
			return twice()
		}
		c.count, c.has = v, c.has|hasCount
		return nil
	}
	bound, err := number(le)
	if err != nil || math.IsNaN(bound) || math.IsInf(bound, -1) {
		return refuse(fact.ReasonParse, "label le %s is not a bucket's upper bound", excerpt(le))
	}
	if len(c.buckets) == maxBuckets {
		return refuse(fact.ReasonTooLarge, "more than %d buckets in one histogram", maxBuckets)
	}
	c.buckets = append(c.buckets, bucket{bound, v})
	return nil
}

// histogram assembles what was gathered. Buckets may come in any order and with any spelling of their bounds, since
// bounds are numbers; what they say must be consistent.
func (d *Decoder) histogram(c *cell) (hist.Histogram, *Error) {
	b := c.buckets
	if !slices.IsSortedFunc(b, byBound) {
		slices.SortFunc(b, byBound)
	}
	for i := 1; i < len(b); i++ {
		if b[i].le == b[i-1].le {
			return hist.Histogram{}, refuse(fact.ReasonParse, "the bucket le=%v is there twice", b[i].le)
		}
	}
	finite := len(b) - 1
	if finite < 0 || !math.IsInf(b[finite].le, 1) {
		return hist.Histogram{}, refuse(fact.ReasonParse, "the histogram has no bucket le=\"+Inf\"")
	}
	if c.has != hasSum|hasCount {
		return hist.Histogram{}, refuse(fact.ReasonParse, "the histogram has no _sum or no _count")
	}
	edges, cumulative := make([]float64, 0, maxInline), make([]float64, 0, maxInline)
	for _, x := range b {
		edges, cumulative = append(edges, x.le), append(cumulative, x.n)
	}
	h, err := hist.FromCumulative(d.layout(edges[:finite]), cumulative, c.sum)
	if err != nil {
		return hist.Histogram{}, refuse(fact.ReasonParse, "%v", err)
	}
	if cumulative[finite] != c.count {
		return hist.Histogram{}, refuse(fact.ReasonParse, "_count is %v but the bucket le=\"+Inf\" holds %v", c.count, cumulative[finite])
	}
	return h, nil
}

func byBound(a, b bucket) int { return cmp.Compare(a.le, b.le) }

// maxInline buckets are assembled without an allocation; vLLM's longest layout has 22 edges.
const maxInline = 64

// maxLayouts is how many layouts are kept from page to page; an engine has four or five.
const maxLayouts = 32

// layout returns the one copy of a layout, so that equal layouts share memory within a page and from page to page.
func (d *Decoder) layout(edges []float64) []float64 {
	for _, l := range d.layouts {
		if len(l) == len(edges) && slices.Equal(l, edges) {
			return l
		}
	}
	if len(d.layouts) >= maxLayouts {
		d.layouts = nil
	}
	l := slices.Clone(edges)
	d.layouts = append(d.layouts, l)
	return l
}
