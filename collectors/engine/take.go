package engine

import (
	"math"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
)

// whole reports whether v can be a count: a whole number that a float64 carries exactly.
func whole(v float64) bool { return v >= 0 && v <= hist.MaxExact && v == math.Trunc(v) }

// take puts the value of a needed series where it belongs.
func (d *Decoder) take(r ref, v float64) *Error {
	if r.part == partSign {
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
	case a.field == fieldSleep:
		if state := d.labels[labelSleep]; v == 1 && string(state) != stateAwake {
			k.sleep = d.intern(state)
		}
		return nil
	case a.kind == gauge:
		return d.takeGauge(&names.slots[r.slot], c, v)
	case !whole(v):
		return refuse(fact.ReasonParse, "%v is not a count: counts are whole numbers in [0, 2^53]", v)
	case a.field == fieldFinished:
		reason := d.labels[labelReason]
		if len(reason) == 0 {
			return refuse(fact.ReasonParse, "no label finished_reason")
		}
		k.finished, err = addRow(k.finished, row{a: d.intern(reason), n: uint64(v)}, maxReasons)
		return err
	case a.field == fieldSources:
		k.sources, err = addRow(k.sources, row{a: d.intern(d.labels[labelSource]), n: uint64(v)}, maxReasons)
		return err
	case a.field == fieldCacheSources:
		k.caches, err = addRow(k.caches, row{a: d.intern(d.labels[labelSource]), n: uint64(v)}, maxReasons)
		return err
	case c.counted:
		return twice()
	}
	c.counted, c.value = true, v
	return nil
}

// stateAwake is the sleep state of an engine that works.
const stateAwake = "awake"

func twice() *Error {
	return refuse(fact.ReasonParse, "the series is there twice, or twice with labels that this reader does not know: which of the two counts cannot be told")
}

// rank finds the rank that the labels name, or begins it.
func (d *Decoder) rank() (*rank, *Error) {
	model, name := d.labels[labelModel], d.labels[labelRank]
	if replica := d.labels[labelReplica]; len(replica) > 0 {
		d.signs.replicas = true
		d.scratch = append(append(append(d.scratch, replica...), '/'), name...)
		name = d.scratch[len(d.scratch)-len(replica)-1-len(name):]
	}
	if len(d.labels[labelRank]) > 0 {
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
	*k = rank{key: key, cells: k.cells, finished: k.finished[:0], sources: k.sources[:0], caches: k.caches[:0]}
	for i := range k.cells {
		c := &k.cells[i]
		*c = cell{buckets: c.buckets[:0], values: c.values[:0]}
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

// takeGauge keeps the series of a gauge: one as a rule.
func (d *Decoder) takeGauge(s *slot, c *cell, v float64) *Error {
	m := member{pid: d.intern(d.labels[labelPID]), value: v}
	if s.maker == sglang {
		if len(d.labels[labelPriority]) > 0 {
			return nil // a part of the series without a priority
		}
		m.shard, m.part = d.intern(d.labels[labelShard]), d.intern(d.labels[labelPipeline])+"/"+d.intern(d.labels[labelTensor])
	}
	for i := range c.values {
		if x := &c.values[i]; x.pid == m.pid && x.shard == m.shard && x.part == m.part {
			return twice()
		}
	}
	if len(c.values) == maxPIDs {
		return refuse(fact.ReasonTooLarge, "more than %d series of one gauge", maxPIDs)
	}
	if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		d.warn(warnGauge, "a gauge of %v is unknown", v)
		m.value = math.NaN()
	}
	c.values = append(c.values, m)
	return nil
}

// folded is what the series of a gauge say together.
//
// With several API servers each keeps the number of the last report that it got, and which report is the newest is not on
// the page. (vLLM has such pages for the KV cache's usage from 0.9.2 to 0.11.1: vllm-project/vllm#28792.) Of a share of
// memory the largest is told, for it is what an operator must not miss, with a warning. A number of sequences that
// differs from process to process is unknown: adding old numbers to new ones, or taking the largest, would invent one.
// Schedulers of one engine, as SGLang has them, add up, and the parts of one scheduler say the same.
func (d *Decoder) folded(a *alias, name string, values []member) float64 {
	if len(values) == 1 {
		return values[0].value
	}
	total, top, known, differ := 0.0, math.NaN(), false, false
	for i := range values {
		m := &values[i]
		if math.IsNaN(m.value) {
			continue
		}
		differ = differ || known && m.pid != "" && m.value != top
		if !known || m.value > top {
			top = m.value
		}
		known = true
		if d.largestOfShard(values, i) {
			total += m.value
		}
	}
	if differ {
		if a.folds == foldShare {
			d.warn(warnProcesses, "%s has one series for each API server, and which is the newest is not on the page: the largest is told, which may be an old one", name)
		} else {
			d.warn(warnProcesses, "%s has one series for each API server, and which is the newest is not on the page: it is unknown", name)
			return math.NaN()
		}
	}
	if !known || a.folds == foldShare || values[0].pid != "" {
		return top
	}
	return total
}

// largestOfShard reports whether a value is the one that stands for its scheduler.
func (d *Decoder) largestOfShard(values []member, at int) bool {
	for i := range values {
		same := values[i].shard == values[at].shard
		if same && (values[i].value > values[at].value || values[i].value == values[at].value && i < at) {
			return false
		}
	}
	return true
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
