package hist

// Projection carries counts of one layout onto a grid of edges that a whole fleet shares. Because an observation in
// (lower, upper] may lie on either side of a grid edge inside that bucket, there are two images: Ceil pushes each
// observation up to the next grid edge at or above its bucket's upper edge, Floor pushes it down to the bucket of the
// grid that begins at its lower edge or holds it. For every grid edge g
//
//	cumulative Ceil at g <= number of observations <= g <= cumulative Floor at g
//
// with equality where g is an edge of the layout. Images of any layouts add bucket by bucket, so
// `sum by (le)` over engines is legal for each of the two.
type Projection struct {
	grid        []float64
	ceil, floor []int
}

// NewProjection prepares the projection from a layout onto a grid; both strictly increasing.
func NewProjection(layout, grid []float64) *Projection {
	p := &Projection{grid: grid, ceil: make([]int, len(layout)+1), floor: make([]int, len(layout)+1)}
	up, down := 0, 0
	for i := range p.ceil {
		// Ceil: the first grid edge g with g >= the bucket's upper edge.
		for up < len(grid) && (i == len(layout) || grid[up] < layout[i]) {
			up++
		}
		// Floor: the first grid edge g with g > the bucket's lower edge.
		for i > 0 && down < len(grid) && grid[down] <= layout[i-1] {
			down++
		}
		p.ceil[i], p.floor[i] = up, down
	}
	return p
}

// AddCeil adds the upper image of counts to dst, which holds len(grid)+1 counts per bucket.
func (p *Projection) AddCeil(dst, counts []uint64) {
	for i, c := range counts {
		dst[p.ceil[i]] += c
	}
}

// AddFloor adds the lower image of counts to dst, which holds len(grid)+1 counts per bucket.
func (p *Projection) AddFloor(dst, counts []uint64) {
	for i, c := range counts {
		dst[p.floor[i]] += c
	}
}

// ImageQuantile is the interval of an order statistic over everything that was projected: its lower end comes from the
// floor image, its upper end from the ceil image. For one layout whose edges are all on the grid it equals
// Histogram.Quantile.
//
// others is how many of the observations are not meant, wherever they lie: the statistic is that of rank ceil(q*n) of
// the n that are, which has as many before it among all of them, and at most others more. ok is false when none is meant.
func ImageQuantile(floor, ceil Histogram, q float64, others uint64) (lower, upper float64, ok bool) {
	n := floor.Count()
	if n <= others {
		return 0, 0, false
	}
	rank := Rank(q, n-others)
	return floor.Lower(floor.rankBucket(rank)), ceil.Upper(ceil.rankBucket(rank + others)), true
}
