package engine

import (
	"math"
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
)

// whole reports whether v can be a count: a whole number that a float64 carries exactly.
func whole(v float64) bool { return v >= 0 && v <= hist.MaxExact && v == math.Trunc(v) }

// take puts the value of a needed series where it belongs.
func (d *Decoder) take(r ref, v float64) *Error {
	if r.part == partPython {
		return nil
	}
	a := names.slots[r.slot].alias
	if !a.ranks {
		if r.part == partCreated {
			return nil
		}
		return d.takeEndpoint(a.field, v)
	}
	k, err := d.rank()
	if err != nil {
		return err
	}
	if r.part == partCreated {
		k.takeCreated(a.field, v)
		return nil
	}
	c := &k.cells[r.slot]
	if c.line == 0 {
		c.line = d.line
	}
	switch {
	case r.part != partValue:
		return c.takeHistogram(r.part, v, d.labels[labelLE])
	case a.kind == gauge:
		return d.takeGauge(c, v)
	case !whole(v):
		return refuse(fact.ReasonParse, "%v is not a count: counts are whole numbers in [0, 2^53]", v)
	case a.field == fieldFinished:
		reason := d.labels[labelReason]
		if len(reason) == 0 {
			return refuse(fact.ReasonParse, "no label finished_reason")
		}
		k.finished, err = addRow(k.finished, row{a: d.intern(reason), n: uint64(v)}, maxReasons)
		return err
	case c.noPID:
		return twice()
	}
	c.noPID, c.value = true, v
	return nil
}

func twice() *Error {
	return refuse(fact.ReasonParse, "the series is there twice, or twice with labels that this reader does not know: which of the two counts cannot be told")
}

// rank finds the rank that the labels name, or begins it.
func (d *Decoder) rank() (*rank, *Error) {
	model, name := d.labels[labelModel], d.labels[labelRank]
	if len(name) > 0 {
		d.signs.ranked = true
	} else if d.signs.unranked == 0 {
		d.signs.unranked = d.line
	}
	if d.lastRank >= 0 {
		if k := &d.ranks[d.lastRank]; k.key.name == string(name) && k.key.model == string(model) {
			return k, nil
		}
	}
	i, ok := d.byKey[rankKey{string(model), string(name)}]
	if !ok {
		if d.used == maxRanks {
			return nil, refuse(fact.ReasonTooLarge, "more than %d ranks (pairs of model_name and %s) on one page", maxRanks, rankLabel)
		}
		i = d.used
		d.used++
		if i == len(d.ranks) {
			d.ranks = append(d.ranks, rank{cells: make([]cell, len(names.slots))})
		}
		key := rankKey{d.intern(model), d.intern(name)}
		d.ranks[i].reset(key)
		d.byKey[key] = i
	}
	d.lastRank = i
	return &d.ranks[i], nil
}

func (k *rank) reset(key rankKey) {
	*k = rank{key: key, cells: k.cells, finished: k.finished[:0]}
	for i := range k.cells {
		c := &k.cells[i]
		*c = cell{buckets: c.buckets[:0], pids: c.pids[:0]}
	}
}

// takeCreated keeps the creation time of the preferred family, else of the first one on the page, whose order is
// stable. It is a time and never a count.
func (k *rank) takeCreated(f field, v float64) {
	if !(v > 0) || math.IsInf(v, 0) {
		return
	}
	if f == createdOf {
		k.created, k.ofTTFT = v, true
	} else if k.created == 0 && !k.ofTTFT {
		k.created = v
	}
}

// takeGauge keeps the largest of the series that differ in pid: with several API servers only the one that gets the
// scheduler's reports holds the truth, the others stay at 0 (vllm-project/vllm#28792).
func (d *Decoder) takeGauge(c *cell, v float64) *Error {
	first := !c.noPID && len(c.pids) == 0
	if pid := d.labels[labelPID]; len(pid) == 0 {
		if c.noPID {
			return twice()
		}
		c.noPID = true
	} else {
		if slices.Contains(c.pids, string(pid)) {
			return twice()
		}
		if len(c.pids) == maxPIDs {
			return refuse(fact.ReasonTooLarge, "more than %d series that differ in pid", maxPIDs)
		}
		c.pids = append(c.pids, string(pid))
	}
	if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		d.warn(warnGauge, "a gauge of %v is unknown", v)
		v = math.NaN()
	}
	if first || math.IsNaN(c.value) || v > c.value {
		c.value = v
	}
	return nil
}

// takeEndpoint keeps what a page has once for all ranks.
func (d *Decoder) takeEndpoint(f field, v float64) (err *Error) {
	if f == fieldProcessStart {
		if d.start != 0 {
			return twice()
		}
		if math.IsNaN(v) || math.IsInf(v, 0) || v <= 0 {
			d.warn(warnGauge, "a process start time of %v is unknown", v)
			return nil
		}
		d.start = v
		return nil
	}
	if !whole(v) {
		return refuse(fact.ReasonParse, "%v is not a count: counts are whole numbers in [0, 2^53]", v)
	}
	l := &d.labels
	if f == fieldHTTP {
		d.hasRows = true
		d.rows, err = addRow(d.rows, row{d.intern(l[labelHandler]), d.intern(l[labelMethod]), d.intern(l[labelStatus]), uint64(v)}, maxRows)
		return err
	}
	d.hasRefuse = true
	d.refusals, err = addRow(d.refusals, row{d.intern(l[labelModel]), d.intern(l[labelRank]), d.intern(l[labelReason]), uint64(v)}, maxRows)
	return err
}

func addRow(rows []row, r row, limit int) ([]row, *Error) {
	for i := range rows {
		if rows[i].a == r.a && rows[i].b == r.b && rows[i].c == r.c {
			return rows, twice()
		}
	}
	if len(rows) == limit {
		return rows, refuse(fact.ReasonTooLarge, "more than %d series of this family", limit)
	}
	return append(rows, r), nil
}
