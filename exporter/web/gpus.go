package web

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// gpuRow is one card or MIG instance in a table.
type gpuRow struct {
	UUID, What                               string // what it is: model, profile, card
	State, Class, Reason                     string
	Activity, Memory, Power, Throttled, XIDs []string // lines, the first of which matters most
	Whose                                    string
	Engines                                  []hint
}

// joinWords say how it is known that a GPU and an engine belong together.
var joinWords = map[string]string{
	fold.JoinUUID:      "as the configuration says",
	fold.JoinPod:       "as the kubelet says",
	fold.JoinOnly:      "as the only engine, where nothing says that the GPU is another's",
	fold.JoinUnmatched: "no engine is known to hold it",
	fold.JoinAmbiguous: "more than one engine may hold it, and nothing decides",
}

// gpuRows are the rows of some GPUs.
func (p *pageMaker) gpuRows(keep func(*fold.GPU) bool) []gpuRow {
	var out []gpuRow
	for i := range p.view.Snapshot.GPUs {
		if g := &p.view.Snapshot.GPUs[i]; keep(g) {
			out = append(out, p.gpuRow(g))
		}
	}
	return out
}

func (p *pageMaker) gpuRow(g *fold.GPU) gpuRow {
	r := gpuRow{UUID: g.UUID, What: gpuKind(g), State: "answers", Class: "good", Whose: joinWords[g.Join], XIDs: xidLines(g)}
	for _, id := range g.Engines {
		h := hint{LinkText: short(id, 60)}
		if slices.ContainsFunc(p.view.Snapshot.Engines, func(e fold.Engine) bool { return e.ID == id }) {
			h.Link = link("engine", id)
		}
		r.Engines = append(r.Engines, h)
	}
	if g.Shared {
		r.Whose += "; shared, so what it uses is not said of any one of them"
	}
	if !g.Up {
		r.State, r.Class, r.Reason = "does not answer", "bad", "it was never seen to answer"
		if g.Seen > 0 {
			r.Reason = "last " + ago(p.now-g.Seen) + " ago"
		}
		return r
	}
	if g.RecoveryHint != "" {
		r.Reason = "DCGM says that it needs: " + short(g.RecoveryHint, 80)
	}
	r.Activity, r.Memory, r.Power, r.Throttled = activityLines(&g.GPU), memoryLines(&g.GPU), powerLines(g), p.throttleLines(g)
	return r
}

func gpuKind(g *fold.GPU) string {
	var parts []string
	if g.Model != "" {
		parts = append(parts, g.Model)
	}
	if g.Card != "" {
		parts = append(parts, strings.TrimSpace("MIG "+g.Profile), "of "+g.Card)
	}
	return strings.Join(parts, ", ")
}

// strayGPUs are the GPUs that are not on the page of an engine, and those that do not answer.
func (p *pageMaker) strayGPUs() []gpuRow {
	return p.gpuRows(func(g *fold.GPU) bool { return len(g.Engines) == 0 || !g.Up })
}

// engineGPUs are the GPUs of an engine, and what holds for them together.
func (p *pageMaker) engineGPUs(e *fold.Engine) ([]gpuRow, []trustRow) {
	g := &e.GPUs
	if g.Join == "" {
		return nil, nil
	}
	rows := p.gpuRows(func(x *fold.GPU) bool { return slices.Contains(x.Engines, e.ID) })
	whose := trustRow{Name: "Whose they are", Value: g.Join, Doubt: g.Join == fold.JoinAmbiguous || g.Join == fold.JoinUnmatched, Meaning: upper(joinWords[g.Join])}
	if g.Why != "" {
		whose.Meaning = upper(g.Why)
	}
	notes := []trustRow{whose}
	if g.Partial != "" {
		notes = append(notes, trustRow{Name: "Not all", Value: "partial", Doubt: true, Meaning: upper(g.Partial)})
	}
	used := trustRow{Name: "Energy", Value: "unknown", Meaning: "of its GPUs, since " + stamp(g.Since, p.now)}
	switch {
	case g.Joules.Known:
		used.Value = energy(g.Joules.V)
	case g.Shared:
		used.Meaning = "another holds one of its GPUs too, and nothing is divided"
	case len(rows) > 0:
		used.Meaning = "it cannot be told whose it is: of MIG instances only the card's is known, and some sources tell none"
	default:
		used.Meaning = "there is no GPU that is known to be its own"
	}
	notes = append(notes, used)
	if g.Cost.Known {
		notes = append(notes, trustRow{Name: "Cost", Value: digits(g.Cost.V) + " " + p.view.Currency, Meaning: "of its GPUs, since " + stamp(g.Since, p.now) + ", at the prices in the configuration"})
	}
	return rows, notes
}

// upper begins a sentence.
func upper(s string) string {
	if s == "" {
		return s
	}
	_, n := utf8.DecodeRuneInString(s)
	return strings.ToUpper(s[:n]) + s[n:]
}

// gpuRemark says in the table of engines what an engine has of GPUs.
func gpuRemark(e *fold.Engine) []string {
	g := &e.GPUs
	switch {
	case g.Join == "":
		return nil
	case len(g.UUIDs) == 0:
		return []string{"its GPUs are not known"}
	case g.Shared:
		return []string{plural(len(g.UUIDs), "GPU", "GPUs") + ", shared"}
	}
	return []string{plural(len(g.UUIDs), "GPU", "GPUs")}
}
