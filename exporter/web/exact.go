package web

import "strconv"

// exactHeight is the height of the strip under the axis that marks exact stretches.
const exactHeight = 4

// exactZones mark where the two ends of the sum are one, and how much that is of the time in which something finished.
// Where nothing did there is no sum to know. Stretches that touch are one zone.
func (a timeAxis) exactZones(lower, upper, throughput []stretch) (out []zone, exact, all float64) {
	var last float64 // where the zone before ended
	for i, s := range lower {
		if idle(throughput, s) {
			continue
		}
		all += s.to - s.from
		if s.rate != upper[i].rate || len(s.missing) > 0 {
			continue
		}
		exact += s.to - s.from
		x0, x1 := a.x(s.from), a.x(s.to)
		if n := len(out); n > 0 && last == s.from {
			begin, _ := strconv.ParseFloat(out[n-1].X, 64)
			out[n-1].Width = coordinate(x1 - begin)
		} else {
			out = append(out, zone{X: coordinate(x0), Y: coordinate(plotBottom), Width: coordinate(x1 - x0), Height: coordinate(exactHeight), Class: "exact"})
		}
		last = s.to
	}
	return out, exact, all
}

// idle reports whether nothing finished in the whole of a stretch.
func idle(throughput []stretch, s stretch) bool {
	for _, t := range throughput {
		if t.from < s.to && t.to > s.from && (t.rate > 0 || len(t.missing) > 0) {
			return false
		}
	}
	return true
}
