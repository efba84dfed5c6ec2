package main

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// report prints what was published beside what is true, in Markdown, and returns how often they contradict each other.
func report(w io.Writer, p *play, t *truth) (contradictions int) {
	contradictions += reportLedger(w, compareLedger(p.samples, ledgerOf(t, p.published)))
	promises := []promise{{"chat", 0.250, 0.025}, {"quick", 0.120, 0.018}}
	contradictions += reportWindows(w, judgeWindows(t, p.published, promises))
	percentiles, unknown := judgePercentiles(t, p.published)
	contradictions += reportPercentiles(w, percentiles, unknown)
	reportClocks(w, t)
	if p.published.Missed > 0 {
		fmt.Fprintf(w, "%d rounds of the exporter were over before they were looked at: their windows are missing above.\n\n", p.published.Missed)
		contradictions++
	}
	return contradictions
}

func reportLedger(w io.Writer, entries []entry) (wrong int) {
	fmt.Fprint(w, "### The ledger, HTTP requests\n\n| | published | the clients saw | of which the pages can show | |\n|---|---:|---:|---:|---|\n")
	for _, e := range entries {
		said := "absent"
		if e.known {
			said = fmt.Sprint(e.published)
		}
		fmt.Fprintf(w, "| %s | %s | %d | %s | %s |\n", e.name, said, e.client, span(e.lower, e.upper), verdict(e.holds(), &wrong))
	}
	fmt.Fprintln(w)
	return wrong
}

func reportWindows(w io.Writer, all []judged) (wrong int) {
	fmt.Fprint(w, "### Goodput, window by window, sequences\n\n"+
		"| SLO | window | finished: published | true | goodput: published | true | by the client's clock | without a span | |\n|---|---|---:|---:|---:|---:|---:|---:|---|\n")
	for i := range all {
		j := &all[i]
		published, finished := "none: "+j.Reason, "absent"
		if j.Evidence != "" {
			published = span(int(j.Lower), int(j.Upper))
		}
		if j.SequencesOK {
			finished = fmt.Sprint(j.Sequences)
		}
		what := fmt.Sprintf("%.1f s", j.End-j.Start)
		if j.Partial {
			what += ", cut short"
		}
		holds := (j.Evidence == "" || j.holds()) && j.counts()
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s | %d | %d | %s |\n", j.SLO, what, finished, span(j.n[0], j.n[1]),
			published, span(j.good[0], j.good[1]), j.byClient, j.unwitnessed, verdict(holds, &wrong))
	}
	fmt.Fprintln(w)
	return wrong
}

// shownMetrics and shownQuantiles are the percentiles that are printed one by one; all are judged.
var (
	shownMetrics   = []string{"ttft", "tpot", "e2e"}
	shownQuantiles = []float64{0.5, 0.95, 0.99}
)

func reportPercentiles(w io.Writer, all []ranked, unknown int) (wrong int) {
	last := 0.0
	for i := range all {
		last = max(last, all[i].Quantile.End)
	}
	fmt.Fprint(w, "### Percentiles at the end, ms\n\n| | window | observations: published | true | interval: published | the engine's own | the client's | |\n|---|---|---:|---:|---:|---:|---:|---|\n")
	for i := range all {
		r := &all[i]
		q := &r.Quantile
		mark := verdict(r.holds() && r.counts(), &wrong)
		if q.End != last && mark == "" || !contains(shownMetrics, q.Metric) || !contains(shownQuantiles, q.Q) {
			continue
		}
		fmt.Fprintf(w, "| %s p%g | %.0f s | %d | %s | (%s, %s] | %s | %s | %s |\n", q.Metric, 100*q.Q, q.Window, q.Count, span(r.n[0], r.n[1]),
			ms(q.Lower), ms(float64(q.Upper)), between(r.engine[0], r.engine[1]), ms(r.client), mark)
	}
	fmt.Fprintf(w, "\n%d published percentiles of all windows were held against the truth, %d contradict it. Of %d the truth is not known: "+
		"neither the engine's spans nor the client tell gaps between tokens, and a killed engine's last spans are missing.\n\n", len(all), wrong, unknown)
	return wrong
}

func reportClocks(w io.Writer, t *truth) {
	fmt.Fprint(w, "### Two clocks: the client's minus the engine's, same sequence\n\n| | sequences | least | median | p95 | most |\n|---|---:|---:|---:|---:|---:|\n")
	for _, a := range clocks(t) {
		fmt.Fprintf(w, "| %s, %s | %d | %.1f | %.1f | %.1f | %.1f |\n", a.name, a.unit, a.n, a.least, a.median, a.p95, a.most)
	}
	fmt.Fprintln(w)
}

// verdict is what stands at the end of a line: nothing when it holds.
func verdict(holds bool, wrong *int) string {
	if holds {
		return ""
	}
	*wrong++
	return "**contradiction**"
}

func span(lower, upper int) string {
	if lower == upper {
		return fmt.Sprint(lower)
	}
	return fmt.Sprintf("%d to %d", lower, upper)
}

func between(a, b float64) string {
	if x, y := ms(a), ms(b); x != y {
		return x + " to " + y
	}
	return ms(a)
}

// ms prints seconds as milliseconds with three digits that matter.
func ms(seconds float64) string {
	switch {
	case math.IsNaN(seconds):
		return "-"
	case math.IsInf(seconds, 0):
		return "inf"
	}
	v := seconds * 1000
	if math.Abs(v) >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return strings.TrimSuffix(strings.TrimSuffix(fmt.Sprintf("%.2f", v), "0"), ".0")
}

func contains[T comparable](list []T, x T) bool {
	for _, y := range list {
		if x == y {
			return true
		}
	}
	return false
}
