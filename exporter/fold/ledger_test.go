package fold

import (
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
)

func TestLedger(t *testing.T) {
	base := says{born: 50}
	for name, c := range map[string]struct {
		after says
		check func(t *testing.T, w Window)
	}{
		"a stream that was cancelled is a 2xx that did not finish": {
			says{born: 50, first: 12, finished: 10, http2xx: 13},
			func(t *testing.T, w Window) { equal(t, "cancelled", w.Cancelled, Span{3, 3, true}) },
		},
		"refusals inside a 200 are not cancellations": {
			says{born: 50, first: 10, finished: 10, http2xx: 16, http5xx: 134, admission: 138},
			func(t *testing.T, w Window) {
				equal(t, "cancelled", w.Cancelled, Span{2, 2, true})
				equal(t, "rejected", w.Rejected, Span{138, 138, true})
				equal(t, "failed", w.Failed, Span{0, 0, true})
			},
		},
		"5xx beyond the refusals are failures, and then the rest is an interval": {
			says{born: 50, first: 10, finished: 10, http2xx: 13, http5xx: 7, admission: 5},
			func(t *testing.T, w Window) {
				equal(t, "rejected", w.Rejected, Span{5, 5, true})
				equal(t, "failed", w.Failed, Span{2, 5, true})
				equal(t, "cancelled", w.Cancelled, Span{0, 3, true})
				equal(t, "denominator takes the upper end", w.Requests, 10+5+5)
				equal(t, "what may not be bad widens the interval", w.Upper, 10+3)
				equal(t, "lower", w.Lower, 10)
			},
		},
		"an error finish is failed, not finished": {
			says{born: 50, first: 12, finished: 10, errors: 2, http2xx: 12},
			func(t *testing.T, w Window) {
				equal(t, "failed", w.Failed, Span{2, 2, true})
				equal(t, "finished", w.Finished, Span{10, 10, true})
				equal(t, "cancelled", w.Cancelled, Span{0, 0, true})
				equal(t, "upper", w.Upper, 10)
				equal(t, "denominator", w.Requests, 12)
			},
		},
		"a handler whose requests hold several prompts makes the ledger absent": {
			says{born: 50, first: 10, finished: 10, http2xx: 10, embeddings: 1},
			func(t *testing.T, w Window) {
				equal(t, "arrived", w.Arrived.Known, false)
				equal(t, "cancelled", w.Cancelled.Known, false)
			},
		},
		"without http_requests_total arrivals and cancellations are unknown, not zero": {
			says{born: 50, first: 10, finished: 10, noHTTP: true},
			func(t *testing.T, w Window) {
				equal(t, "arrived", w.Arrived.Known, false)
				equal(t, "denominator", w.Requests, 10)
			},
		},
		"more finished requests than responses are unexplained": {
			says{born: 50, first: 50, finished: 50, http2xx: 30},
			func(t *testing.T, w Window) {
				equal(t, "unexplained", w.Unexplained, Span{20, 20, true})
				equal(t, "cancelled", w.Cancelled, Span{0, 0, true})
			},
		},
		"first tokens that went nowhere are unexplained": {
			says{born: 50, first: 50, finished: 30, http2xx: 30},
			func(t *testing.T, w Window) { equal(t, "unexplained", w.Unexplained, Span{20, 20, true}) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := base
			b.noHTTP = c.after.noHTTP
			s := tell(t, 90, objective_("x", 0.25, 0.025)).page(100, b)
			s.page(130, c.after).page(131, c.after).page(132, c.after).end()
			c.check(t, s.windows[0])
		})
	}
}

// lacking is a page with something taken away.
func lacking(p says, take func(*fact.EngineSample)) *fact.EngineSample {
	s := p.page()
	take(s)
	return s
}

func TestPagesThatLackAFamily(t *testing.T) {
	at := func(n uint64) says { return says{born: 50, first: n, finished: n, http2xx: n} }
	noHTTP := func(s *fact.EngineSample) { s.HTTP, s.HTTPKnown = nil, false }
	story := func(t *testing.T, take func(*fact.EngineSample), from, to int) *story {
		s := tell(t, 90, objective_("x", 0.25, 0.025))
		for i := range 150 {
			page := at(uint64(i)).page()
			if i >= from && i < to {
				page = lacking(at(uint64(i)), take)
			}
			s.round(100+float64(i), fact.Poll{Target: "a", Sent: 100 + float64(i), Received: 100 + float64(i), Sample: page})
		}
		return s.end()
	}
	t.Run("responses that were off the page for a while are made up for when they are back", func(t *testing.T) {
		s := story(t, noHTTP, 40, 70)
		equal(t, "first window", s.windows[0].Arrived.Known, false)
		equal(t, "second window", s.windows[1].Arrived, Span{120, 120, true})
		equal(t, "in all", s.engine().Ledger.Arrived, Span{149, 149, true})
	})
	t.Run("responses that never come leave the ledger absent, not zero", func(t *testing.T) {
		s := story(t, noHTTP, 0, 150)
		equal(t, "arrived", s.engine().Ledger.Arrived.Known, false)
		equal(t, "finished", s.engine().Ledger.Finished.Known, false)
		equal(t, "unexplained", s.engine().Ledger.Unexplained, Span{0, 0, true})
	})
	t.Run("without TTFT nothing is unexplained, and there is no interval", func(t *testing.T) {
		s := story(t, func(s *fact.EngineSample) { s.Ranks[0].Histograms[fact.TTFT] = hist.Histogram{} }, 0, 150)
		equal(t, "unexplained", s.engine().Ledger.Unexplained, Span{0, 0, true})
		equal(t, "evidence", s.windows[0].Evidence, "")
	})
	t.Run("without finish reasons what succeeded is unknown", func(t *testing.T) {
		s := story(t, func(s *fact.EngineSample) { s.Ranks[0].Finished = nil }, 0, 150)
		equal(t, "evidence", s.windows[0].Evidence, "")
		equal(t, "sequences known", s.windows[0].SequencesOK, false)
		equal(t, "denominator known", s.windows[0].RequestsOK, false)
	})
	t.Run("without gauges arrivals are unknown", func(t *testing.T) {
		s := story(t, func(s *fact.EngineSample) { s.Ranks[0].Running = fact.Number{} }, 0, 150)
		equal(t, "arrived", s.engine().Ledger.Arrived.Known, false)
	})
}
