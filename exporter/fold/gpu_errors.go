package fold

import (
	"cmp"
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// maxXID is beyond the numbers that NVIDIA documents: what is over it is no XID, and must not become a label.
const maxXID = 999

// xids counts the driver errors of one card since it was first seen. The zero value is ready.
type xids struct {
	begun   bool
	source  string
	counted bool
	last    []fact.XIDCount // as the source had them; a reading's own, never written to
	totals  []fact.XIDCount // sorted
}

// take takes what a source tells of errors. One that counts is followed by what its counts grow by. Of one that shows the
// last error only, an error is new when it was not shown before: the same again in a row cannot be seen.
func (x *xids) take(shown []fact.XIDCount, counted bool, source string) {
	// Another way to tell of errors tells of old ones too. So does the first.
	follows := x.begun && x.counted == counted && x.source == source
	for _, now := range shown {
		if now.XID < 0 || now.XID > maxXID {
			continue
		}
		total, before := x.total(now.XID), countOfXID(x.last, now.XID)
		switch {
		case !follows:
		case !counted && before == 0:
			total.Count++
		case counted && now.Count >= before:
			total.Count += now.Count - before
		case counted: // its source started to count anew
			total.Count += now.Count
		}
	}
	x.begun, x.counted, x.source, x.last = true, counted, source, shown
}

// total finds or adds the row of an XID. One that happened before the card was seen has a row too: 0.
func (x *xids) total(xid int) *fact.XIDCount {
	i, found := slices.BinarySearchFunc(x.totals, xid, func(c fact.XIDCount, xid int) int { return cmp.Compare(c.XID, xid) })
	if !found {
		x.totals = slices.Insert(x.totals, i, fact.XIDCount{XID: xid})
	}
	return &x.totals[i]
}

func countOfXID(counts []fact.XIDCount, xid int) uint64 {
	for _, c := range counts {
		if c.XID == xid {
			return c.Count
		}
	}
	return 0
}
