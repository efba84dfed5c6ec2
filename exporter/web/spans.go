package web

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// strayRow is spans that match no engine, for one reason.
type strayRow struct{ Reason, Count, Meaning, Remedy, From, When string }

// strays are the spans that say nothing because it is not known whose they are.
func (p *pageMaker) strays() []strayRow {
	u := &p.view.Snapshot.Unmatched
	var out []strayRow
	for _, t := range u.Counts {
		r := strayRow{Reason: t.Name, Count: count(t.Count), When: "unknown", From: "unknown"}
		r.Meaning, r.Remedy = catalog.UnmatchedMeaning(t.Name)
		for i := range u.Last {
			if l := &u.Last[i]; l.Reason == t.Name {
				r.From, r.When = originWords(&l.Origin), ago(p.now-l.At)+" ago"
			}
		}
		out = append(out, r)
	}
	return out
}

func originWords(o *fact.Origin) string {
	var parts []string
	for _, part := range []struct{ name, value string }{
		{"peer", o.Peer}, {"goodput.engine", o.Engine}, {"pod", o.PodName}, {"in", o.PodNamespace}, {"pod uid", o.PodUID}, {"service.instance.id", o.Instance},
	} {
		if part.value != "" {
			parts = append(parts, part.name+" "+short(part.value, 80))
		}
	}
	if len(parts) == 0 {
		return "nobody says"
	}
	return strings.Join(parts, ", ")
}

// strayAlert is for spans that have come not long ago: somebody is setting tracing up, or an engine lost its name.
func (p *pageMaker) strayAlert() []hint {
	const fresh = 600
	n := 0
	for _, l := range p.view.Snapshot.Unmatched.Last {
		if p.now-l.At < fresh {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return []hint{{Text: "came in the last 10 min that match no engine, and say nothing until they do", Link: "#strays", LinkText: "Spans"}}
}

// intakeRows say how the taking in of spans goes.
func (p *pageMaker) intakeRows() []trustRow {
	s := p.view.Inputs.Spans
	if s == nil {
		return nil
	}
	taken, refused, full := s.outcome("taken"), s.outcome("refused"), s.outcome("full")
	rows := []trustRow{
		{Name: "Spans taken in", Value: fmt.Sprintf("%s, and %s of other names dropped", count(taken), count(s.outcome("other_name"))), Meaning: fmt.Sprintf("since the exporter started; %s of %s wait for the next round", count(s.Buffered), count(s.Room))},
		{Name: "Spans refused", Value: "none", Doubt: refused > 0, Meaning: "since the exporter started; their values cannot be true, and their sequences count as unseen"},
		{Name: "Spans turned away for want of room", Value: "none", Doubt: full > 0, Meaning: "since the exporter started; their senders were told to come again. Of messages that were not taken for another reason the spans are not counted"},
	}
	if refused > 0 {
		rows[1].Value = count(refused) + ": " + tallies(s.Refused)
	}
	if full > 0 {
		rows[2].Value = count(full)
	}
	return append(rows, s.turnedAwayRows()...)
}

// matchedWords say what told that spans are an engine's.
func matchedWords(ts []fold.Tally) string {
	words := map[string]string{fold.ByEngine: "by goodput.engine", fold.ByPod: "by their pod", fold.ByInstance: "by their process, which had been matched", fold.ByAddress: "by their address", fold.ByOnly: "because there is no other target"}
	parts := make([]string, len(ts))
	for i, t := range ts {
		parts[i] = count(t.Count) + " " + words[t.Name]
	}
	return list(parts)
}

func tallies(ts []fold.Tally) string {
	parts := make([]string, len(ts))
	for i, t := range ts {
		parts[i] = count(t.Count) + " " + t.Name
	}
	return list(parts)
}

// spanRows say what became of the spans of one engine.
func (p *pageMaker) spanRows(e *fold.Engine) []trustRow {
	if p.view.Inputs.Spans == nil {
		return nil
	}
	s := &e.Spans
	if s.Last == 0 {
		return []trustRow{{Name: "Spans", Value: "none has come", Meaning: "windows do not wait for any, and are judged from the page alone; goodput-exporter engine-flags prints how to start the engine so that it sends them"}}
	}
	rows := []trustRow{{Name: "Newest span", Value: ago(p.now-s.Last) + " ago", Doubt: !s.Expected, Meaning: "windows wait for the spans of what finished in them"}}
	if !s.Expected {
		rows[0].Meaning = "for so long that windows do not wait for them any more, and are judged from the page alone"
	}
	b := p.backingOf(e)
	whole := trustRow{Name: "Completeness", Value: "nothing finished", Meaning: "share of the sequences that finished of which there is a span, in the newest window and in all of the last hour; what has none is doubt, never a request less"}
	if s.Completeness.Known {
		whole.Value, whole.Doubt = ratio(s.Completeness.V)+" in "+newestWindow(e), s.Completeness.V < 0.9
	}
	if b.finished > 0 {
		whole.Value += ", " + share(b.seen, b.seen, b.finished) + " in the hour"
		if p.frame.axis.to-p.frame.axis.from < mostSpan {
			whole.Value = strings.TrimSuffix(whole.Value, "in the hour") + "since " + stamp(p.frame.axis.from, p.now)
		}
	}
	rows = append(rows, whole,
		trustRow{Name: "All have a span", Value: fmt.Sprintf("in %s of %s", count(s.Exact), plural(int(s.Windows), "window", "windows")), Meaning: "since the engine was first seen; windows with a span for each finished sequence, of those that waited for spans"},
		trustRow{Name: "Matched by", Value: matchedWords(s.Matched), Meaning: "spans, by what told that they are this engine's"})
	unused := slices.DeleteFunc([]fold.Tally{{Name: "late", Count: s.Late}, {Name: "outside", Count: s.Outside}, {Name: "duplicate", Count: s.Duplicate}, {Name: "dropped", Count: s.Dropped}}, func(t fold.Tally) bool { return t.Count == 0 })
	row := trustRow{Name: "In no verdict", Value: "none", Doubt: s.Late+s.Dropped > 0, Meaning: "spans that came after their window was judged (late), of a time without a window (outside), twice (duplicate), or too many to be kept (dropped)"}
	if len(unused) > 0 {
		row.Value = tallies(unused)
	}
	return append(rows, row, conflictRow(e),
		trustRow{Name: "Attempts", Value: fmt.Sprintf("%s, of %s", count(s.Attempts), plural(int(s.Logical), "logical request", "logical requests")), Meaning: "requests with a span, and how many are left when those that one trace shows as tries of one request count once"})
}

// newestWindow names the window whose completeness is told as that of now.
func newestWindow(e *fold.Engine) string {
	if n := len(e.Past.Windows); n > 0 {
		w := &e.Past.Windows[n-1]
		return "the window " + utc(w.Start).Format("15:04:05") + " to " + utc(w.End).Format("15:04:05")
	}
	return "the newest window"
}

// conflictRow says in how many windows the spans contradict the page, how, why that may be, and where to look.
func conflictRow(e *fold.Engine) trustRow {
	row := trustRow{Name: "Spans that contradict the page", Value: plural(int(e.Spans.Conflicts), "window", "windows"), Doubt: e.Spans.Conflicts > 0,
		Meaning: "since the engine was first seen; there the page was believed"}
	if e.Spans.Conflicts == 0 {
		return row
	}
	for _, w := range slices.Backward(e.Past.Windows) {
		if at := slices.IndexFunc(w.Verdicts, func(v fold.Verdict) bool { return v.Spans.Conflict }); at >= 0 {
			v := &w.Verdicts[at]
			row.Value += fmt.Sprintf("; in the newest, to %s, %s for %s", utc(w.End).Format("15:04:05"), plural(int(v.Spans.Seen), "span", "spans"), plural(int(v.Sequences.N), "finished sequence", "finished sequences"))
			break
		}
	}
	row.Meaning += ". There are more spans than sequences, or they have other latencies or tokens than the page. Spans of two engines may be matched to one, a Collector may send each twice under new ids, or two clocks may be seconds apart: goodput-exporter explain --spans shows what comes, and docs/spans.md how a span finds its engine"
	return row
}

// backingOf is what the windows of an engine's last hour rest on: of one objective, for sequences count once.
func (p *pageMaker) backingOf(e *fold.Engine) (b backing) {
	for i := range e.Past.Windows {
		w := &e.Past.Windows[i]
		if w.End <= p.now-mostSpan || w.End > p.now {
			continue
		}
		if at := slices.IndexFunc(w.Verdicts, func(v fold.Verdict) bool { return v.Spans.Expected }); at >= 0 {
			b.add(&w.Verdicts[at])
		}
	}
	return b
}
