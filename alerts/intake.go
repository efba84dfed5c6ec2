package alerts

import (
	"fmt"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
)

// Numbers of the alerts on spans.
const (
	missingShare = 0.5  // of the spans that the hours before lead to expect
	missingLeast = 30   // spans expected in half an hour: of so many, chance leaves out half once in a thousand times
	unusedShare  = 0.05 // of the spans of an engine
	refusedShare = 0.01 // of the spans that came: engines have a few of impossible values
	conflicts    = 2    // windows in an hour: one may be an accident at an edge
)

// spanAlerts are about what keeps spans from being evidence. None wakes anybody: without spans goodput is an interval
// and still true. What a sampler leaves out on purpose fires none of them, and neither does a configuration without
// spans: then there are no such series.
func spanAlerts(target, where string) []Rule {
	return []Rule{
		spansUnmatched(target, where),
		spansMissing(target, where),
		spansUnused(target, where),
		spansRefused(target, where),
		alert("GoodputSpansContradictPage", ticket, "", "5m",
			fmt.Sprintf("sum by (%s, engine) (increase(%s[1h])) >= %d", target, ofSpans(catalog.EvidenceConflicts), conflicts),
			"Spans contradict the page of engine {{ $labels.engine }}",
			"In {{ $value | humanize }} judgement windows of the last hour, the spans that were matched to engine {{ $labels.engine }} ("+where+") and its page cannot both be right. The page was believed."),
	}
}

// spansUnmatched waits longer than a new pod needs to become a target.
func spansUnmatched(target, where string) Rule {
	return alert("GoodputSpansUnmatched", ticket, "", "10m",
		fmt.Sprintf("sum by (%s, reason) (increase(%s[5m])) > 0", target, catalog.SpansUnmatched),
		"Spans that came to "+where+" are of no engine: {{ $labels.reason }}",
		"{{ $value | humanize }} spans of the last 5 minutes are matched to no engine of "+where+", so their sequences count as unseen. "+byReason(
			"engine", "The resource attribute goodput.engine names no target here: give it the id of a target, or send the spans to the exporter that polls that engine.",
			"pod", "No target here is of the pod that they name: send the spans to the exporter that polls that pod, or let this one discover it.",
			"ambiguous", "Several targets are of their pod or at their address: set the resource attribute goodput.engine on each engine.",
			"nothing", "Nothing on them tells which of several targets they are of: set the resource attribute goodput.engine on each engine.",
			"no_target", "There is no target: see engines in the configuration.",
		)+" The exporter's log and status page say where they came from.")
}

// byReason is a text that depends on the label reason: pairs of a reason and what is said then.
func byReason(pairs ...string) string {
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		word := "else if"
		if i == 0 {
			word = "if"
		}
		fmt.Fprintf(&b, "{{ %s eq $labels.reason %q }}%s", word, pairs[i], pairs[i+1])
	}
	return b.String() + "{{ end }}"
}

// spansMissing compares with what was, never with 1, so that a sampler's ratio is what is normal. It counts over the
// finished sequences of the page, not over those that were expected to have a span: an hour after the last span none is
// expected, and nothing would be missing. It adds up the engines of a model behind one exporter, since new pods have no
// past of their own: a rollout that lost the tracing flag is the likeliest cause. After six hours the new share is what is
// normal.
func spansMissing(target, where string) Rule {
	by := target + ", model"
	seen := func(window string) string {
		return fmt.Sprintf("sum by (%s) (rate(%s[%s))", by, ofSpans(catalog.EvidenceSequencesSeen), window)
	}
	finished := func(window string) string {
		return fmt.Sprintf("sum by (%s) (rate(%s[%s))", by, catalog.SequencesFinished, window)
	}
	const now, before = "30m]", "6h] offset 30m"
	expected := fmt.Sprintf("(%s * %s / %s)", finished(now), seen(before), finished(before))
	return alert("GoodputSpansMissing", ticket, "", "15m",
		lines(
			fmt.Sprintf("((%s or 0 * %s)", seen(now), finished(now)),
			fmt.Sprintf("  / %s) < %s", expected, number(missingShare)),
			"and",
			fmt.Sprintf("%s * 1800 >= %d", expected, missingLeast),
			fmt.Sprintf("and on (%s)", target),
			maxBy(target, catalog.SpansBufferSize),
		),
		"Spans of {{ $labels.model }} on "+where+" are missing",
		"Of the spans that the six hours before lead to expect, {{ $value | humanizePercentage }} were seen in the last half hour for the sequences of {{ $labels.model }} on "+where+". Goodput is a wider interval since then, and token goodput and classes are unknown or wide.")
}

// spansUnused looks at what was matched and came to nothing, where that can be mended: outside and duplicate spans cost nothing.
func spansUnused(target, where string) Rule {
	return alert("GoodputSpansUnused", ticket, "", "15m",
		lines(
			fmt.Sprintf(`sum by (%s, engine, reason) (increase(%s{reason=~"%s|%s"}[30m]))`, target, catalog.SpansUnused, catalog.UnusedLate, catalog.UnusedDropped),
			fmt.Sprintf("  / on (%s, engine) group_left () (sum by (%s, engine) (increase(%s[30m]))) > %s", target, target, catalog.SpansMatched, number(unusedShare)),
		),
		"Spans of engine {{ $labels.engine }} come to nothing: {{ $labels.reason }}",
		"{{ $value | humanizePercentage }} of the spans of engine {{ $labels.engine }} ("+where+") in the last half hour count as unseen. "+byReason(
			catalog.UnusedLate, "They came after their window was committed: raise spans.grace above the time that they need, or shorten the way.",
			catalog.UnusedDropped, "There were more than are kept for one engine until its window ends.",
		))
}

// spansRefused looks at what was not let in. A sender that is turned away for a moment comes again, hence the wait.
func spansRefused(target, where string) Rule {
	lately := func(by, selector string) string {
		return fmt.Sprintf("sum by (%s) (increase(%s[5m]))", by, selector)
	}
	of := func(what, expr string) string {
		return fmt.Sprintf(`label_replace(%s, "what", %q, "", "")`, expr, what)
	}
	received := func(outcomes string) string { return fmt.Sprintf("%s{outcome=~%q}", catalog.SpansReceived, outcomes) }
	return alert("GoodputSpansRefused", ticket, "", "10m",
		lines(
			of("messages", lately(target+", outcome", catalog.SpanMessages+`{outcome!~"ok|partial|full"}`)+" > 0"),
			"or",
			of("spans", lately(target+", outcome", received("full"))+" > 0"),
			"or",
			of("spans", lately(target+", outcome", received("refused"))+
				fmt.Sprintf(" > on (%s) group_left () (%s * %s)", target, lately(target, received("taken|refused")), number(refusedShare))),
		),
		"Spans are turned away by "+where+": {{ $labels.outcome }}",
		"{{ $value | humanize }} {{ $labels.what }} of the last 5 minutes were not taken in by "+where+": {{ $labels.outcome }}. Their sequences count as unseen.")
}
