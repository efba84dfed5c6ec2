package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
)

// promises are the objectives of live.yaml.
var promises = []promise{{"chat", 0.250, 0.025}, {"quick", 0.120, 0.018}}

// report prints what was published beside what is true, in Markdown, and returns how often they contradict each other.
func report(w io.Writer, r *record) (wrong int) {
	t := tell(r.Requests, r.Spans, r.Lives)
	for _, line := range r.About {
		fmt.Fprintf(w, "- %s\n", line)
	}
	wrong += reportChecks(w, r)
	wrong += reportLedger(w, compareLedger(r.Samples, ledgerOf(t, r.Published)))
	windows := judgeWindows(t, r.Published, promises)
	wrong += reportWindows(w, windows)
	wrong += reportSums(w, r)
	wrong += reportSpans(w, r, windows)
	percentiles, unknown := judgePercentiles(t, r.Published, r.Published.Quantiles)
	fmt.Fprint(w, "### Percentiles at the end, ms\n\n")
	wrong += reportPercentiles(w, percentiles)
	fmt.Fprintf(w, "Of all windows, %d published percentiles were held against the truth. %d more, of gaps between tokens, "+
		"could not be: no span tells them, and a client may get several tokens at once.\n\n", len(percentiles), unknown)
	images, _ := judgePercentiles(t, r.Published, imageQuantiles(r.Samples, r.Published))
	fmt.Fprint(w, "### Percentiles of the whole run from the exporter's histograms, over both layouts of buckets, ms\n\n")
	wrong += reportPercentiles(w, images)
	reportClocks(w, t)
	if r.Published.Missed > 0 {
		fmt.Fprintf(w, "%d rounds of the exporter were over before they were looked at: their windows are missing above.\n\n", r.Published.Missed)
		wrong++
	}
	return wrong
}

// reportChecks prints what check and engine-flags said. The engine with the flags has to answer every objective.
func reportChecks(w io.Writer, r *record) (wrong int) {
	for i, title := range []string{"check, on the engine with its default buckets", "check, on the engine with these flags"} {
		if i == 1 {
			fmt.Fprintf(w, "\n### engine-flags\n\n%s", indent(r.Flags))
		}
		if i < len(r.Checks) {
			fmt.Fprintf(w, "\n### %s\n\n%s", title, indent(r.Checks[i]))
		}
	}
	fmt.Fprintln(w)
	if len(r.Checks) != 2 || strings.Contains(r.Checks[1], "refused") || !strings.Contains(r.Checks[1], "all answerable") {
		fmt.Fprint(w, "**contradiction**: the engine has the flags that engine-flags printed, and check is not content with it.\n\n")
		wrong++
	}
	return wrong
}

func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimRight("    "+line, " \n") + "\n")
	}
	return b.String()
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
	reasons := map[string]bool{}
	for i := range all {
		j := &all[i]
		published, finished := "no interval", "absent"
		if j.Evidence != "" {
			published = span(int(j.Lower), int(j.Upper))
		} else {
			reasons[fmt.Sprintf("No interval for %s: %s.", j.SLO, j.Reason)] = true
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
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		fmt.Fprintf(w, "\n%s\n", reason)
	}
	fmt.Fprintln(w)
	return wrong
}

// reportSums compares the counters on the page with the windows: two ways on which the same numbers come.
func reportSums(w io.Writer, r *record) (wrong int) {
	for _, p := range promises {
		var requests, lower, upper uint64
		for _, win := range r.Published.Windows {
			if win.SLO == p.name && win.Evidence != "" {
				requests, lower, upper = requests+win.Requests, lower+win.Lower, upper+win.Upper
			}
		}
		label := fmt.Sprintf("slo=%q", p.name)
		n, _ := sum(r.Samples, "goodput_slo_requests_total", label)
		l, _ := sum(r.Samples, "goodput_slo_qualified_requests_lower_total", label)
		u, _ := sum(r.Samples, "goodput_slo_qualified_requests_upper_total", label)
		holds := n == float64(requests) && l == float64(lower) && u == float64(upper)
		fmt.Fprintf(w, "On `/metrics` %s has %v requests, of which %v to %v qualified; the windows add up to %d, and %d to %d. %s\n\n",
			p.name, n, l, u, requests, lower, upper, verdict(holds, &wrong))
	}
	return wrong
}

// shownMetrics and shownQuantiles are the percentiles that are printed one by one; all are judged.
var (
	shownMetrics   = []string{"ttft", "tpot", "e2e"}
	shownQuantiles = []float64{0.5, 0.95, 0.99}
)

// reportPercentiles prints those of the last window, and all that contradict the truth.
func reportPercentiles(w io.Writer, all []ranked) (wrong int) {
	last := 0.0
	for i := range all {
		last = max(last, all[i].Quantile.End)
	}
	fmt.Fprint(w, "| | window | observations: published | true | interval: published | the engine's own | the client's | |\n|---|---|---:|---:|---:|---:|---:|---|\n")
	for i := range all {
		r := &all[i]
		q := &r.Quantile
		mark := verdict(r.holds() && r.counts(), &wrong)
		if mark == "" && (q.End != last || !slices.Contains(shownMetrics, q.Metric) || !slices.Contains(shownQuantiles, q.Q)) {
			continue
		}
		fmt.Fprintf(w, "| %s p%g | %.0f s | %d | %s | (%s, %s] | %s | %s | %s |\n", q.Metric, 100*q.Q, q.Window, q.Count, span(r.n[0], r.n[1]),
			ms(q.Lower), ms(float64(q.Upper)), between(r.engine[0], r.engine[1]), ms(r.client), mark)
	}
	fmt.Fprintln(w)
	return wrong
}

func reportClocks(w io.Writer, t *truth) {
	fmt.Fprint(w, "### Two clocks: the client's minus the engine's in the same sequence, ms\n\n| | sequences | least | median | p95 | most |\n|---|---:|---:|---:|---:|---:|\n")
	for _, a := range clocks(t) {
		fmt.Fprintf(w, "| %s | %d | %.1f | %.1f | %.1f | %.1f |\n", a.name, a.n, a.least, a.median, a.p95, a.most)
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
