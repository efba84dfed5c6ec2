package catalog

import (
	"fmt"
	"slices"
	"strings"
)

const preamble = `# Metrics

Generated from the catalogue by ` + "`goodput-exporter generate docs`" + `; do not edit.

Every number has its unit, its population, its window and its failure policy in its HELP text and in the tables below.

## How to read them

**Units and populations.** The ledger (` + "`goodput_requests_*`" + `) counts HTTP requests. Objectives, finish reasons, and latency and
length histograms count sequences: a request with n=2 is one request and two sequences. ` + "`token_gap`" + ` counts gaps between tokens, of
which a long sequence has many. The three are never one another's denominator. Times are seconds, ratios go from 0 to 1.

**Intervals.** What the engine's page cannot tell exactly is published as two series, a lower and an upper end, and the truth lies between
them. Counters of the ledger and of clause violations have one series while they are exact and two once they are not; sum the lower ends and
the exact ones for a lower end of the whole, likewise the upper ends. Lower and upper ends may be added over engines; quantiles may not.

**Windows.** The exporter polls on its own clock and judges whole windows of about a minute, because an engine reports a first token and the end of the
same sequence at different times. Counters of the ledger and of the objectives move when such a judgement window is committed, all others after
each poll. Counters start at 0 when the exporter first sees an engine; they carry that moment as their created timestamp, and survive restarts of the engine.
The timestamp is in protobuf and, as ` + "`_created`" + ` lines, in OpenMetrics; a Prometheus without its feature ` + "`created-timestamp-zero-ingestion`" + ` stores those lines as series.

**Evidence.** The page's histograms alone give an interval. Where an engine also sends its ` + "`llm_request`" + ` spans, each names all values of one finished
sequence: what was seen is counted exactly, what was not is doubt, and the interval is narrower, never wrong. ` + "`" + EvidenceCompleteness + "`" + ` says how much was seen;
when all was seen the two ends are equal, but for finish reasons that may not qualify, which no span tells. Windows of such an engine are committed when the spans have had their grace, 10 seconds later. Sampled spans cost width only: no count of
requests comes from spans, except where a series says "with a span".

**Absent.** What is not known is not there: never 0, never NaN, never the last value of something that is gone. Gauges of an engine vanish once its page is
too old to be true now; an objective or a ledger that cannot be judged says why in ` + "`" + SLOUnanswerable + "`" + ` or ` + "`" + LedgerUnanswerable + "`" + `.

**Reading.** A scrape reads the last round and polls nothing. Rates come from the counters, percentiles of more than one engine from the
` + "`_ceil`" + ` and ` + "`_floor`" + ` histograms, which have the same edges on every engine:
the quantile's upper end is ` + "`histogram_quantile`" + ` over the ceil image rounded up to its bucket's edge, its lower end over the floor image rounded down.

**Stability.** A *stable* series keeps its name, type, labels and meaning until it has been announced as deprecated for two minor releases. An *experimental*
one may change in any release; the changelog says so.

`

// Document is the reference of all series, as Markdown.
func Document() string {
	var b strings.Builder
	b.WriteString(preamble)
	b.WriteString("## Labels\n\n")
	b.WriteString("Only what makes a series unique is a label; everything else about an engine stands on `" + EngineInfo + "`, to be joined by `engine`. ")
	b.WriteString("No series of ours has a label `pod`, `namespace`, `node`, `instance` or `job`: those belong to the scraper. A label without a value is left out.\n\n")
	b.WriteString("| label | meaning |\n|---|---|\n")
	meanings := LabelMeanings()
	slices.SortFunc(meanings, func(a, b LabelMeaning) int { return strings.Compare(a.Name, b.Name) })
	for _, l := range meanings {
		fmt.Fprintf(&b, "| `%s` | %s |\n", l.Name, cell(l.Meaning))
	}
	all := All()
	for _, g := range Groups() {
		fmt.Fprintf(&b, "\n## %s\n\n| series | type | labels | what it says | stability |\n|---|---|---|---|---|\n", g)
		for _, s := range all {
			if s.Group == g {
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", s.Name, s.Kind, labelCell(s), meaningCell(s), s.Stability)
			}
		}
	}
	b.WriteString("\nBeside these, the page has the usual `go_*` and `process_*` series of the exporter's own process, and `promhttp_metric_handler_errors_total`.\n")
	b.WriteString(ruleDocument())
	return b.String()
}

func labelCell(s Series) string {
	var parts []string
	for _, l := range s.Labels {
		parts = append(parts, "`"+l+"`")
	}
	for _, l := range s.Maybe {
		parts = append(parts, "`"+l+"` where known")
	}
	if s.Open {
		parts = append(parts, "labels of the target")
	}
	return strings.Join(parts, ", ")
}

func meaningCell(s Series) string {
	parts := []string{cell(s.What)}
	for _, p := range []struct{ title, text string }{
		{"unit", s.Unit}, {"population", s.Population}, {"window", s.Window}, {"failures", s.Failures}, {"from", s.Source},
	} {
		if p.text != "" {
			parts = append(parts, "*"+p.title+"*: "+cell(p.text))
		}
	}
	return strings.Join(parts, "<br>")
}

// cell keeps a text inside one cell of a Markdown table.
func cell(s string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ").Replace(s)
}
