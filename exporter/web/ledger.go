package web

import (
	"fmt"

	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// ledgerBar shows where the requests went: parts that add up to what arrived.
type ledgerBar struct {
	Title    string
	Absent   []string // engines without a ledger, and why
	Equation string   // the sum in words
	Parts    []part
	Empty    string
	Alarm    string // the engine's counters contradict each other
	Notes    []string
	Desc     string
}

// mostAbsent is how many engines without a ledger are named.
const mostAbsent = 3

// part is a piece of the bar. X and Width are thousandths of the bar; 0 for a part that takes away.
type part struct {
	Class, Name, Count, Share, X, Width string
	amount                              uint64
}

// account is the sum of the ledgers of some windows.
type account struct {
	windows, without int // windows in the sum, and those whose outcomes are not known
	engines          int
	ledger           fold.Ledger
	inFlight         int64
	unexplained      fold.Span
}

// accountOf adds up the windows that ended after from. A window whose outcomes were committed with a later one is in
// that one.
func accountOf(engines []*fold.Engine, from float64) account {
	var a account
	for _, e := range engines {
		windows := e.Past.Windows
		any := false
		for i := range windows {
			w := &windows[i]
			if w.End <= from {
				continue
			}
			a.unexplained = plus(a.unexplained, w.Ledger.Unexplained)
			if !complete(&w.Ledger) {
				if !coveredLater(windows[i+1:], w.Start) {
					a.without++
				}
				continue
			}
			any = true
			a.windows++
			a.add(w)
		}
		if any {
			a.engines++
		}
	}
	return a
}

func complete(l *fold.Ledger) bool {
	return l.Arrived.Known && l.Finished.Known && l.Failed.Known && l.Cancelled.Known && l.RejectedAdmission.Known && l.RejectedClient.Known && l.Lost.Known
}

func coveredLater(later []fold.PastWindow, start float64) bool {
	for i := range later {
		if complete(&later[i].Ledger) {
			return later[i].From <= start
		}
	}
	return false
}

func (a *account) add(w *fold.PastWindow) {
	l, sum := &w.Ledger, &a.ledger
	sum.Arrived, sum.Finished, sum.Failed = plus(sum.Arrived, l.Arrived), plus(sum.Finished, l.Finished), plus(sum.Failed, l.Failed)
	sum.Cancelled, sum.Lost = plus(sum.Cancelled, l.Cancelled), plus(sum.Lost, l.Lost)
	sum.RejectedAdmission, sum.RejectedClient = plus(sum.RejectedAdmission, l.RejectedAdmission), plus(sum.RejectedClient, l.RejectedClient)
	a.inFlight += w.InFlight
}

// plus adds what is known; whether anything was is noted in Known.
func plus(s, t fold.Span) fold.Span {
	if !t.Known {
		return s
	}
	return fold.Span{Lower: s.Lower + t.Lower, Upper: s.Upper + t.Upper, Known: true}
}

// parts cuts the arrivals. Of failed and cancelled only an interval may be known, and what is certain of each leaves a
// rest that is one of the two; their sum is exact, so the parts add up nevertheless. rest is what no part holds: the
// front end's counter and the engine's are read an instant apart, which the next window takes back.
func (a *account) parts() (parts []part, rest int64) {
	l := &a.ledger
	parts = []part{
		{Class: "finished", Name: "finished", amount: l.Finished.Lower},
		{Class: "cancelled", Name: "cancelled", amount: l.Cancelled.Lower},
		{Class: "rejected", Name: "rejected by the admission limit", amount: l.RejectedAdmission.Lower},
		{Class: "rejected4", Name: "rejected as client errors (4xx)", amount: l.RejectedClient.Lower},
		{Class: "failed", Name: "failed", amount: l.Failed.Lower},
		{Class: "lost", Name: "lost with their process", amount: l.Lost.Lower},
	}
	certain := uint64(0)
	for _, p := range parts {
		certain += p.amount
	}
	if a.inFlight > 0 {
		parts = append(parts, part{Class: "flight", Name: "more in flight than before", amount: uint64(a.inFlight)})
	}
	rest = int64(l.Arrived.Lower) - int64(certain) - a.inFlight
	wide := (l.Cancelled.Upper - l.Cancelled.Lower) + (l.Failed.Upper - l.Failed.Lower)
	if rest > 0 && wide > 0 {
		undecided := min(uint64(rest), wide)
		parts = append(parts, part{Class: "undecided", Name: "cancelled or failed: the page does not tell which", amount: undecided})
		rest -= int64(undecided)
	}
	if rest > 0 {
		parts = append(parts, part{Class: "between", Name: "counted between two readings", amount: uint64(rest)})
	}
	return parts, rest
}

// ledger makes the bar of a group's last hour.
func (f frame) ledger(title string, engines []*fold.Engine) ledgerBar {
	b := ledgerBar{Title: title}
	for _, e := range engines {
		if e.Ledger.Absent != "" {
			b.Absent = append(b.Absent, "No ledger of engine "+e.ID+": "+e.Ledger.Absent+".")
		}
	}
	if n := len(b.Absent); n > mostAbsent+1 {
		b.Absent = append(b.Absent[:mostAbsent], fmt.Sprintf("Nor is there one of %d more engines; their own pages say why.", n-mostAbsent))
	}
	a := accountOf(engines, f.now-mostSpan)
	if a.unexplained.Known && a.unexplained.Lower > 0 {
		b.Alarm = fmt.Sprintf("%s HTTP requests unexplained in %s: the engine's own counters contradict each other. Do not trust the shares until that is understood.",
			counts(a.unexplained.Lower, a.unexplained.Upper), f.span())
	}
	if a.without > 0 {
		b.Notes = append(b.Notes, fmt.Sprintf("%s whose outcomes are not known are left out.", plural(a.without, "judgement window", "judgement windows")))
	}
	if a.windows == 0 {
		b.Empty = "No judgement window with a ledger has been committed in " + f.span() + "."
		return b
	}
	parts, rest := a.parts()
	b.fill(&a, parts, rest)
	b.Desc = fmt.Sprintf("HTTP requests of %s over %s.", plural(a.engines, "engine", "engines"), f.span())
	return b
}

// fill sizes the parts and writes the sum. What was in flight before and is not any more, and what was counted early,
// stand beside the arrivals: the bar is as long as both together.
func (b *ledgerBar) fill(a *account, parts []part, rest int64) {
	total := uint64(0)
	for _, p := range parts {
		total += p.amount
	}
	arrived := a.ledger.Arrived.Lower
	b.Equation = count(arrived) + " arrived"
	if a.inFlight < 0 {
		b.Equation += " + " + count(-a.inFlight) + " in flight before"
	}
	if rest < 0 {
		b.Equation += " + " + count(-rest) + " counted between two readings"
	}
	b.Equation += " ="
	if total == 0 {
		b.Empty = "No request arrived in this time."
		return
	}
	at := 0.0
	for _, p := range parts {
		if p.amount == 0 && p.Class != "finished" {
			continue
		}
		width := 1000 * float64(p.amount) / float64(total)
		p.X, p.Width = coordinate(at), coordinate(width)
		at += width
		p.Count, p.Share = count(p.amount), share(p.amount, p.amount, total)
		b.Parts = append(b.Parts, p)
	}
}
