package engine

import "fmt"

// labels are the values of one series by role; an empty value is an absent label, as everywhere in Prometheus.
type labels [numLabels][]byte

// warning is a kind of fault that is forgiven; each is told once a page, with the first place and the number of them.
type warning int

const (
	warnRepeated  warning = iota // HELP or TYPE twice
	warnType                     // a type that is unknown or not the expected one
	warnGauge                    // a gauge without a usable value
	warnProcesses                // a gauge of which several processes say different things
	numWarnings
)

type warned struct {
	first string
	n     int
}

// page is what has been gathered of one page.
type page struct {
	format format
	bytes  int
	line   int
	series int
	eof    bool
	signs  signs

	helped, declared []bool // by slot
	dated            []bool // by row of the dating table
	warnings         [numWarnings]warned

	ranks     []rank // the first used of them
	used      int
	byKey     map[rankKey]int
	rows      []row // of http_requests_total
	refusals  []row // of the admission limit
	hasRows   bool
	hasRefuse bool
	start     float64 // process start, 0 unknown

	labels   labels
	scratch  []byte // unescaped label values of one line
	lastName []byte
	lastRef  ref
	lastRank int // index of the rank of the line before, -1 none
}

// rankKey identifies a rank; its strings are interned.
type rankKey struct{ model, name string }

// rank gathers the numbers of one rank.
type rank struct {
	key      rankKey
	cells    []cell // by slot
	finished []row
	created  float64
	ofTTFT   bool  // created is that of the preferred family
	sources  []row // prompt tokens by where they came from
	caches   []row // cached prompt tokens by where they came from
	sleep    string
}

// cell gathers one field of one rank under one spelling.
type cell struct {
	line    int // of the first sample, 0: none
	value   float64
	buckets []bucket
	sum     float64
	count   float64
	has     parts
	counted bool     // a count was seen; there is no second one
	values  []member // of a gauge
}

// member is one series of a gauge: of one process, or of one scheduler of several.
type member struct {
	pid, shard, part string
	value            float64 // NaN: unknown
}

type parts uint8

const (
	hasSum parts = 1 << iota
	hasCount
)

type bucket struct{ le, n float64 }

// row is a count with up to three labels.
type row struct {
	a, b, c string
	n       uint64
}

// reset prepares for a page; the memory of the page before is used again.
func (p *page) reset(f format, size int) {
	if p.byKey == nil {
		p.byKey = map[rankKey]int{}
		p.helped, p.declared = make([]bool, len(names.slots)), make([]bool, len(names.slots))
		p.dated = make([]bool, len(dating))
	}
	clear(p.byKey)
	clear(p.helped)
	clear(p.declared)
	clear(p.dated)
	*p = page{
		format: f, bytes: size, signs: signs{openMetrics: f == openMetrics},
		helped: p.helped, declared: p.declared, dated: p.dated,
		ranks: p.ranks, byKey: p.byKey, rows: p.rows[:0], refusals: p.refusals[:0], scratch: p.scratch[:0],
		lastRank: -1,
	}
}

// forgetPage lets go of the page's bytes.
func (d *Decoder) forgetPage() {
	d.lastName, d.labels = nil, labels{}
}

func (p *page) warn(kind warning, format string, args ...any) {
	w := &p.warnings[kind]
	if w.n++; w.n > 1 {
		return
	}
	w.first = fmt.Sprintf(format, args...)
	if p.line > 0 { // 0: of the page as a whole
		w.first = fmt.Sprintf("line %d: ", p.line) + w.first
	}
}

// intern returns the string of a label value, the same one from page to page.
func (d *Decoder) intern(b []byte) string {
	if s, ok := d.strings[string(b)]; ok {
		return s
	}
	s := string(b)
	d.strings[s] = s
	return s
}
