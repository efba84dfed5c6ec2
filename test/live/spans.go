package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// reportSpans prints what the exporter made of the engine's spans beside the same spans, read on their way to it.
func reportSpans(w io.Writer, r *record, windows []judged) (wrong int) {
	if len(r.Taken) == 0 {
		return 0 // an exporter that takes none in
	}
	fmt.Fprint(w, "### Spans\n\n")
	wrong += reportIntake(w, r)
	fmt.Fprint(w, "| SLO | window | rests on | finished | seen | unsure | completeness | goodput: published | true | lag of the spans: median | most | |\n"+
		"|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---|\n")
	for i := range windows {
		j := &windows[i]
		rests, published, completeness := j.Evidence, "no interval", "-"
		if j.Evidence == "" {
			rests = "nothing"
		} else {
			published = span(int(j.Lower), int(j.Upper))
		}
		if j.Spans.Complete {
			rests += ", complete"
		}
		if j.Spans.Expected && j.Sequences > 0 {
			completeness = fmt.Sprintf("%.4g", float64(j.Spans.Seen)/float64(j.Sequences))
		}
		fmt.Fprintf(w, "| %s | %.1f s | %s | %d | %d | %d | %s | %s | %s | %s | %s | %s |\n", j.SLO, j.End-j.Start, rests, j.Sequences, j.Spans.Seen, j.Spans.Unsure,
			completeness, published, span(j.good[0], j.good[1]), after(j.lags, 0.5), after(j.lags, 1), verdict(!j.Spans.Conflict && j.saw(), &wrong))
	}
	fmt.Fprintln(w)
	return wrong
}

// saw reports whether the exporter can have seen so many sequences of a window: no more than there were spans.
func (j *judged) saw() bool {
	return int(j.Spans.Seen) <= len(j.lags)
}

// reportIntake compares what the exporter says it took in with what it answered well.
func reportIntake(w io.Writer, r *record) (wrong int) {
	handed := 0
	for _, protocol := range slices.Sorted(maps.Keys(r.Taken)) {
		fmt.Fprintf(w, "- By %s the exporter took %d messages, with %d spans of requests.\n", protocol, r.Taken[protocol].Messages, r.Taken[protocol].Spans)
		handed += r.Taken[protocol].Spans
	}
	took, _ := sum(r.Samples, "goodput_spans_received_total", `outcome="taken"`)
	refused, _ := sum(r.Samples, "goodput_spans_received_total", `outcome="refused"`)
	others, _ := sum(r.Samples, "goodput_spans_received_total", `outcome="other_name"`)
	fmt.Fprintf(w, "- On `/metrics`: %v spans taken, %v refused, %v of other names dropped. %s\n", took, refused, others, verdict(int(took+refused) == handed, &wrong))
	matched, _ := sum(r.Samples, "goodput_spans_matched_total")
	unmatched, _ := sum(r.Samples, "goodput_spans_unmatched_total")
	fmt.Fprintf(w, "- Matched by: %s. Not matched: %v. In no window's verdict: %s. %s\n\n", words(r.Samples, "goodput_spans_matched_total", "by"), unmatched,
		words(r.Samples, "goodput_spans_unused_total", "reason"), verdict(matched+unmatched == took, &wrong))
	return wrong
}

// words lists the samples of a series above 0 by one label.
func words(samples map[string]float64, name, label string) string {
	var out []string
	for key, v := range samples {
		n, labels, _ := strings.Cut(key, "{")
		_, word, found := strings.Cut(labels, label+`="`)
		if n == name && found && v > 0 {
			word, _, _ = strings.Cut(word, `"`)
			out = append(out, fmt.Sprintf("%v %s", v, word))
		}
	}
	if len(out) == 0 {
		return "none"
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// after prints an order statistic of delays.
func after(sorted []float64, q float64) string {
	if len(sorted) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f s", statistic(sorted, q))
}
