package web

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// TestTheBarAddsUp: over random ledgers whose sum holds, the parts and what was in flight before make the arrivals.
func TestTheBarAddsUp(t *testing.T) {
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 5))
		n := func() uint64 { return rng.Uint64N(50) }
		either := rng.Uint64N(4)
		c, f := n(), n()
		w := fold.PastWindow{Start: now - 60, End: now, From: now - 60, InFlight: int64(n()) - 25, Ledger: fold.Ledger{
			Finished: exactly(n() + 30), Cancelled: within(c, c+either), Failed: within(f, f+either), RejectedAdmission: exactly(n()), RejectedClient: exactly(n()), Lost: exactly(n())}}
		l := &w.Ledger
		l.Arrived = exactly(uint64(int64(l.Finished.Lower+c+f+either+l.RejectedAdmission.Lower+l.RejectedClient.Lower+l.Lost.Lower) + w.InFlight))
		a := accountOf([]*fold.Engine{{Past: fold.Past{Windows: []fold.PastWindow{w}}}}, 0)
		parts, rest := a.parts()
		sum := int64(0)
		for _, p := range parts {
			sum += int64(p.amount)
			if p.Class == "between" {
				t.Errorf("seed %d: a rest although the sum holds: %+v", seed, parts)
			}
		}
		if want := int64(l.Arrived.Lower) + max(0, -w.InFlight); sum != want || rest != 0 {
			t.Errorf("seed %d: parts make %d, want %d; rest %d", seed, sum, want, rest)
		}
	}
}

func TestLedgerWords(t *testing.T) {
	f := frame{axis: newTimeAxis(0, now), terms: fold.Terms{JudgementWindow: 60}, now: now, ids: new(int)}
	bar := func(ws ...fold.PastWindow) ledgerBar {
		return f.ledger("x", []*fold.Engine{{ID: "a", Past: fold.Past{Windows: ws}}})
	}
	all := fold.Ledger{Arrived: exactly(100), Finished: exactly(110), Failed: exactly(0), Cancelled: exactly(2), RejectedAdmission: exactly(0), RejectedClient: exactly(0), Lost: exactly(0), Unexplained: exactly(0)}
	less := bar(fold.PastWindow{Start: now - 60, End: now, From: now - 60, Ledger: all, InFlight: -12})
	if less.Equation != "100 arrived + 12 in flight before =" || len(less.Parts) != 2 {
		t.Errorf("%q, %+v", less.Equation, less.Parts)
	}
	late := all
	late.Arrived = exactly(115)
	if got := bar(fold.PastWindow{Start: now - 60, End: now, From: now - 60, Ledger: late}); got.Parts[len(got.Parts)-1].Class != "between" || got.Parts[len(got.Parts)-1].Count != "3" {
		t.Errorf("%+v", got.Parts)
	}
	unknown := fold.PastWindow{Start: now - 120, End: now - 60, Ledger: fold.Ledger{Unexplained: exactly(2)}}
	settled := fold.PastWindow{Start: now - 60, End: now, From: now - 120, Ledger: all, InFlight: -12}
	if got := bar(unknown); got.Empty == "" || !strings.Contains(got.Alarm, "2 HTTP requests unexplained") || !strings.HasPrefix(got.Notes[0], "1 judgement window") {
		t.Errorf("%+v", got)
	}
	if got := bar(unknown, settled); len(got.Notes) != 0 || len(got.Parts) == 0 {
		t.Errorf("a window whose outcomes came with the next one is taken for missing: %+v", got)
	}
}
