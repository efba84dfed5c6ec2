// Package catalog declares every series that the exporter publishes, once: name, type, unit, population, window, source,
// failure policy, labels and stability. The exporter builds its metrics from it, and documentation, dashboards and rules
// take the names from it. It does not know where values come from or how they are served.
package catalog

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is how a series behaves over time, and so what may be asked of it.
type Kind string

// The kinds. An info is exposed as a gauge that is always 1 and whose labels are the message.
const (
	Counter   Kind = "counter"
	Gauge     Kind = "gauge"
	Histogram Kind = "histogram"
	Info      Kind = "info"
)

// Stability is a promise about a series' future.
type Stability string

// The stabilities: a stable series keeps its name, type, labels and meaning until it has been announced as deprecated
// for two minor releases; an experimental one may change in any release, and the changelog says so.
const (
	Stable       Stability = "stable"
	Experimental Stability = "experimental"
)

// Group is a chapter of the reference.
type Group string

// The groups, in the order of the reference.
const (
	GroupEngine    Group = "Engines"
	GroupLedger    Group = "The ledger of HTTP requests"
	GroupObjective Group = "Service level objectives"
	GroupLatency   Group = "Latency and length"
	GroupTokens    Group = "Sequences and tokens"
	GroupTrust     Group = "Trust"
	GroupSpans     Group = "Spans"
	GroupGPU       Group = "GPUs"
	GroupSelf      Group = "The exporter itself"
)

// Groups lists the groups in order.
func Groups() []Group {
	return []Group{GroupEngine, GroupLedger, GroupObjective, GroupLatency, GroupTokens, GroupTrust, GroupSpans, GroupGPU, GroupSelf}
}

// Series declares one metric family. The texts are parts of sentences without a full stop, except What.
type Series struct {
	Name  string
	Kind  Kind
	Group Group

	What       string // one sentence: what a sample says
	Unit       string // of a sample, or of one observation of a histogram; "" for an info
	Population string // what is counted or observed; "" where nothing is
	Window     string // over which time; "" for what holds at the last poll or never changes
	Failures   string // how failed, cancelled, rejected and lost work enters; "" where it cannot
	Source     string // the series of the engine's page, by vLLM's newest names; "" for what the exporter knows itself

	Labels    []string // labels that every sample has
	Maybe     []string // labels that are left out where their value is not known
	Open      bool     // the labels of the target are added
	Stability Stability
}

// Help is the HELP text: everything that has to stand beside the number.
func (s Series) Help() string {
	var b strings.Builder
	b.WriteString(s.What)
	for _, part := range []struct{ title, text string }{
		{"Unit", s.Unit}, {"Population", s.Population}, {"Window", s.Window}, {"Failures", s.Failures}, {"From", s.Source},
	} {
		if part.text != "" {
			fmt.Fprintf(&b, " %s: %s.", part.title, part.text)
		}
	}
	return b.String()
}

// All lists every series, sorted by name.
func All() []Series {
	all := slices.Concat(engineSeries(), ledgerSeries(), objectiveSeries(), latencySeries(), tokenSeries(), trustSeries(), spanSeries(), gpuSeries(), discoverySeries(), selfSeries())
	slices.SortFunc(all, func(a, b Series) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// in sets the group of rows that are declared together.
func in(g Group, rows ...Series) []Series {
	for i := range rows {
		rows[i].Group = g
	}
	return rows
}

// interval declares a counter that may be known as an interval only: under base + Total while it is exact, and once it
// is not, under base + LowerTotal and base + UpperTotal. What is the thing counted, a noun phrase.
func interval(base string, s Series) []Series {
	s.Kind = Counter
	exact, lower, upper := s, s, s
	exact.Name, lower.Name, upper.Name = base+Total, base+LowerTotal, base+UpperTotal
	exact.What = upperFirst(s.What) + ". Absent once only an interval is known: then " + lower.Name + " and " + upper.Name + " are there."
	lower.What = "Lower end of an interval: at least so many " + s.What + ". Only while " + exact.Name + " is absent."
	upper.What = "Upper end of an interval: at most so many " + s.What + ". Only while " + exact.Name + " is absent."
	return []Series{exact, lower, upper}
}

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
