package main

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/edges"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// mostShown is how many names, senders or resources are printed; JSON has them all.
const mostShown = 12

// spans writes an explanation of spans for a person.
func (x *explainer) spans(e *explainedSpans) {
	x.line("%s %s", x.paint.title("spans"), x.paint.aside("from "+printable(e.Source)))
	for _, n := range e.Notes {
		x.line("%s", x.paint.doubt(printable(n)))
	}
	x.messages(&e.Messages)
	if e.Messages.Count == 0 {
		return
	}
	x.names(e.Names)
	x.resources(e)
	x.refusals(e.Refused)
	x.arrival(e.Arrival)
	for i := range e.Engines {
		x.engineSpans(&e.Engines[i])
	}
}

// sizeText writes a number of bytes.
func sizeText(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1_000_000:
		return digits3(float64(n)/1e3) + " kB"
	}
	return digits3(float64(n)/1e6) + " MB"
}

func (x *explainer) messages(m *explainedMessages) {
	if m.Count == 0 {
		x.section("Messages", "")
		x.line("  %s", x.paint.doubt("none came: the recording has pages only. record keeps spans while spans.listen or spans.grpc_listen is set and engines send there."))
		return
	}
	x.section("Messages", fmt.Sprintf(", %d of %s, %s to %s", m.Count, sizeText(m.Bytes), stampUTC(m.From), stampUTC(m.To)))
	for i, s := range m.Senders {
		if i == mostShown {
			x.line("  and %d more", len(m.Senders)-i)
			break
		}
		encoding := s.Encoding
		if encoding == "" {
			encoding = "uncompressed"
		}
		x.line("  from %s, %s, %s, %s", peerName(s.Peer), orNothing(s.Path, "no path"), orNothing(s.ContentType, "no content type"), printable(encoding))
		x.line("    %s, %s, the largest %s", count(s.Messages, "message"), sizeText(s.Bytes), sizeText(s.Largest))
	}
	if u := m.Unread; u != nil {
		x.line("  %s", x.paint.bad(fmt.Sprintf("%s could not be read; the first: %s", count(u.Count, "message"), u.Example)))
	}
}

func orNothing(s, nothing string) string {
	if s == "" {
		return nothing
	}
	return printable(s)
}

func (x *explainer) names(all []explainedSpanName) {
	total := uint64(0)
	for _, n := range all {
		total += n.Spans
	}
	x.section("Spans by name", fmt.Sprintf(", %d", total))
	if !slices.ContainsFunc(all, func(n explainedSpanName) bool { return n.Request }) {
		x.line("  %s", x.paint.bad("none stands for a request: spans.names must hold what the engine calls its own, llm_request for vLLM"))
	}
	rest := uint64(0)
	for i, n := range all {
		if i >= mostShown {
			rest += n.Spans
			continue
		}
		says := ""
		if n.Request {
			says = "  stands for a request, by spans.names"
		}
		x.line("  %-36s %8d%s", orNothing(n.Name, "(further names)"), n.Spans, says)
	}
	if rest > 0 {
		x.line("  %-36s %8d", fmt.Sprintf("%d further names", len(all)-mostShown), rest)
	}
}

// matchedText says how spans were matched.
func matchedText(by string) string {
	switch by {
	case fold.ByEngine:
		return "their resource names it (goodput.engine)"
	case fold.ByPod:
		return "their resource names its pod"
	case fold.ByInstance:
		return "their process was matched before"
	case fold.ByAddress:
		return "they came from its address"
	case fold.ByOnly:
		return "there is no other target, and nothing contradicts it"
	}
	return by
}

func (x *explainer) resources(e *explainedSpans) {
	x.section("Senders", fmt.Sprintf(", %d by what their resources say", len(e.Resources)))
	for i := range e.Resources {
		if i == mostShown {
			x.line("  and %d more", len(e.Resources)-i)
			break
		}
		r := &e.Resources[i]
		x.line("  %s, from %s", orNothing(r.Service, "no service.name"), peerName(r.Peer))
		for _, part := range []struct{ key, value string }{
			{"goodput.engine", r.Named}, {"k8s.pod.uid", r.PodUID}, {"k8s.pod.name", r.PodName}, {"k8s.namespace.name", r.PodNamespace}, {"service.instance.id", r.Instance},
		} {
			if part.value != "" {
				x.line("    %-20s %s", part.key, printable(part.value))
			}
		}
		x.line("    %-20s %d of requests, %d of other names", "spans", r.Requests, r.Others)
		switch {
		case r.Requests == 0:
		case r.Why == "":
			x.line("    %-20s %s: %s", "matched to", printable(r.Engine), matchedText(r.By))
		default:
			x.line("    %s", x.paint.bad(fmt.Sprintf("%-20s %s: %s", "matched to none", r.Why, r.Meaning)))
			x.line("    %-20s %s", "remedy", r.Remedy)
			if r.Why == fold.UnmatchedPod {
				x.foreignPod(r)
			} else {
				x.paste(e)
			}
		}
	}
}

// foreignPod says how to have the spans of a pod counted, and where they may belong. To name one of the targets in it would
// credit a target with what another engine did.
func (x *explainer) foreignPod(r *explainedResource) {
	x.line("    its pod is no target here. If this exporter is to judge it, give its target these labels, under engines.targets[].labels or in a file of engines.files:")
	for _, l := range []struct{ label, value string }{{"pod_uid", r.PodUID}, {"pod_name", r.PodName}, {"pod_namespace", r.PodNamespace}} {
		if l.value != "" {
			x.line("      %s: %s", l.label, strconv.Quote(l.value))
		}
	}
	x.line("    If another exporter polls it, let it send its spans there.")
}

// paste prints what engines can be started with to say who they are.
func (x *explainer) paste(e *explainedSpans) {
	for i, engine := range e.Engines {
		if i == mostShown {
			x.line("      and so on")
			return
		}
		x.line("      export %s=%s", otlpResource, edges.Quote("goodput.engine="+url.PathEscape(engine.Engine)))
	}
}

func (x *explainer) refusals(all []explainedRefusal) {
	if len(all) == 0 {
		return
	}
	x.section("Refused", ", spans whose values cannot be true")
	for _, r := range all {
		x.line("  %-12s %d; the first: %s", r.Reason, r.Count, r.Example)
	}
}

func (x *explainer) arrival(a *explainedArrival) {
	if a == nil {
		return
	}
	x.section("Arrival", ", time from a request's end until its span came")
	x.line("  of %s: median %s, 95 %% within %s, the last %s", count(a.Spans, "span"), seconds3(a.Median), seconds3(a.P95), seconds3(a.Max))
	text := fmt.Sprintf("later than spans.grace (%s): %d", promDuration(a.Grace), a.Later)
	if a.Later > 0 {
		text = x.paint.doubt(text + "; they may come after their window was committed, and count as unseen then: raise spans.grace, or set OTEL_BSP_SCHEDULE_DELAY as engine-flags prints")
	}
	x.line("  %s", text)
}

func (x *explainer) engineSpans(e *explainedEngineSpans) {
	x.section("Engine "+printable(e.Engine), "")
	if len(e.Matched) == 0 {
		x.line("  %s", x.paint.doubt("no span was matched to it"))
		return
	}
	for i, m := range e.Matched {
		x.line("  %-16s %d: %s", []string{"matched", ""}[min(i, 1)], m.Count, matchedText(m.Reason))
	}
	for _, row := range []struct {
		name string
		n    uint64
		says string
	}{
		{"late", e.Late, "came after their window was committed"},
		{"outside", e.Outside, "ended when no window was open: before the first page, or while a process was replaced"},
		{"duplicates", e.Duplicate, "came before: their sender had no answer to its first attempt"},
		{"dropped", e.Dropped, "more than is kept for open windows"},
	} {
		if row.n > 0 {
			x.line("  %s", x.paint.doubt(fmt.Sprintf("%-16s %d, %s", row.name, row.n, row.says)))
		}
	}
	x.line("  requests         %d, of which %d were further attempts", e.Attempts, e.Attempts-min(e.Logical, e.Attempts))
	if len(e.Windows) == 0 {
		x.line("  %s", x.paint.doubt("no window was judged: no SLO is about it, or the recording is too short"))
		return
	}
	x.line("  complete         %s", completenessText(e.Seen, e.Finished))
	for i := range e.Windows {
		x.line("    %s", x.spanWindow(&e.Windows[i]))
	}
}

func completenessText(seen, finished uint64) string {
	if finished == 0 {
		return "nothing finished"
	}
	return fmt.Sprintf("%d of %d finished sequences have a span, %s", seen, finished, sharesOf(seen, seen, finished))
}

func (x *explainer) spanWindow(w *explainedSpanWindow) string {
	when := fmt.Sprintf("%s to %s", stampUTC(w.Start), strings.TrimSuffix(stampUTC(w.End)[len("2006-01-02 "):], " UTC"))
	switch {
	case !w.Expected:
		return when + "  " + x.paint.doubt("did not wait for spans")
	case w.Finished == nil:
		return when + "  " + x.paint.doubt(fmt.Sprintf("%d seen; how many finished is not known", w.Seen))
	}
	text := fmt.Sprintf("%d of %d", w.Seen, *w.Finished)
	switch {
	case w.Conflict:
		return when + "  " + text + x.paint.bad(", and the spans contradict the page, which was believed")
	case w.Complete:
		return when + "  " + text + ", exact"
	case w.Unsure > 0:
		text += fmt.Sprintf(", of which %d ended too near to an edge to tell in which window", w.Unsure)
	}
	return when + "  " + x.paint.doubt(text)
}
