package engine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// signs is what a page shows of who wrote it.
type signs struct {
	openMetrics  bool // read as OpenMetrics
	bareCounters bool // a TYPE line names a counter without _total, as OpenMetrics has it, whatever the media type
	python       bool // a family that only the Python front end has
	families     bool // a family with a known prefix
	ranked       bool // a series of a rank that carries the rank label
	unranked     int  // line of the first one that does not; 0: none
}

// dialect is one emitter of pages.
type dialect struct {
	name       string
	who        string   // for a person
	since      string   // the first engine version that speaks it
	prefixes   []string // of every name that is not bare
	recognises func(signs) bool
	traits     fact.Traits
}

// dialects are tried in order; the first that recognises a page reads it.
//
// The Rust front end is told from Python by what the two metric libraries cannot both do, not by a header that a proxy
// may rewrite: prometheus_client's text format keeps _total in the family's name and the Python process always has
// python_info or, with several API servers, HTTP summaries, a type that the Rust crate does not have.
var dialects = []dialect{
	{
		name: "vllm-rust", who: "vLLM's Rust front end", since: "0.22", prefixes: []string{"vllm:"},
		recognises: func(s signs) bool {
			return s.ranked && s.unranked == 0 && (s.openMetrics || s.bareCounters) && !s.python
		},
		traits: fact.Traits{AbortsFinish: true, HTTPAtStart: true},
	},
	{
		name: "vllm-v1", who: "vLLM >= 0.8.3 with the V1 engine", since: "0.8.3", prefixes: []string{"vllm:"},
		recognises: func(s signs) bool { return s.ranked && s.unranked == 0 },
	},
}

// pythonSigns are names that only the Python front end has: the interpreter's own gauge, and a summary of the
// instrumentator that is there in multi-process mode too.
var pythonSigns = []string{"python_info", "http_request_size_bytes"}

// recognise picks the dialect of a page, or says what was seen instead.
func recognise(s signs, series int) (*dialect, *Error) {
	for i := range dialects {
		if dialects[i].recognises(s) {
			return &dialects[i], nil
		}
	}
	var known []string
	for _, d := range dialects {
		known = append(known, fmt.Sprintf("%s (%s)", d.name, d.who))
	}
	supported := "this reader knows " + strings.Join(known, ", ")
	families := strings.Join(knownPrefixes(), ", ") + " families"
	switch {
	case s.ranked && s.unranked > 0:
		return nil, refuse(fact.ReasonDialect, "this series has no %s label although others on the page have one; %s", rankLabel, supported).on(s.unranked, "")
	case s.unranked > 0:
		return nil, refuse(fact.ReasonDialect, "%s whose series have no %s label: the V0 engine, vLLM before 0.8.3 or a simulator; %s", families, rankLabel, supported)
	case s.families:
		return nil, refuse(fact.ReasonDialect, "%s without any series of a rank that this reader needs; %s", families, supported)
	}
	return nil, refuse(fact.ReasonDialect, "a valid page of %d samples without %s: not an engine, or one started with --disable-log-stats; %s", series, families, supported)
}

// versions is the range of engine versions that the names on a page fit, such as ">=0.11" or ">=0.11,<0.15".
func versions(d *dialect, present []spelling) string {
	first, gone := d.since, ""
	for _, s := range present {
		if s.first != "" && older(first, s.first) {
			first = s.first
		}
		if s.gone != "" && (gone == "" || older(s.gone, gone)) {
			gone = s.gone
		}
	}
	if gone == "" || !older(first, gone) {
		// Names of disjoint ranges together are a build between releases or a hidden name switched on again:
		// what is there is certain, when it went is not.
		return ">=" + first
	}
	return ">=" + first + ",<" + gone
}

// older compares dotted versions number by number: 0.8.3 is older than 0.11.
func older(a, b string) bool {
	for a != "" || b != "" {
		var x, y string
		x, a, _ = strings.Cut(a, ".")
		y, b, _ = strings.Cut(b, ".")
		m, _ := strconv.Atoi(x)
		n, _ := strconv.Atoi(y)
		if m != n {
			return m < n
		}
	}
	return false
}
