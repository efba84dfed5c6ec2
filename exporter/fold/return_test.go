package fold

import (
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// What comes back is not new, and what is new owes nothing to what was before.
func TestReturns(t *testing.T) {
	t.Run("a process that only looked dead while idle loses nothing later", func(t *testing.T) {
		s := tell(t, 90).page(100, says{born: 50}).page(158, says{born: 50, first: 5, finished: 5, http2xx: 5})
		for at := 160.0; at <= 176; at += 2 {
			s.miss(at, fact.ReasonRefused)
		}
		s.page(178, says{born: 50, first: 10, finished: 5, http2xx: 5, running: 5}).page(218, says{born: 50, first: 10, finished: 10, http2xx: 10}).end()
		equal(t, "lost", s.engine().Ledger.Lost, Span{0, 0, true})
		equal(t, "arrived", s.engine().Ledger.Arrived, Span{10, 10, true})
	})
	t.Run("a target that is away for a round keeps its counters", func(t *testing.T) {
		s := tell(t, 90).page(100, says{born: 50}).page(120, says{born: 50, first: 7, finished: 7, http2xx: 7})
		all := s.targets
		s.targets = nil
		s.round(122)
		s.targets = all
		s.page(124, says{born: 50, first: 9, finished: 9, http2xx: 9}).end()
		equal(t, "finished", s.engine().Ledger.Finished, Span{9, 9, true})
		equal(t, "sequences", total(s.engine().Ranks[0].Sequences), 9)
	})
	t.Run("a clean page of a new process is not torn because an old one was", func(t *testing.T) {
		s := tell(t, 90).page(100, says{born: 50}).page(112, says{born: 50, first: 3, finished: 3, http2xx: 3, tear: true})
		s.page(130, says{born: 125, first: 8, finished: 8, http2xx: 8}).page(186, says{born: 125, first: 28, finished: 28, http2xx: 28}).end()
		for _, w := range s.windows {
			if w.Method == slo.MethodMarginal {
				t.Errorf("%+v", w)
			}
		}
	})
	t.Run("a process a second old is not stalled", func(t *testing.T) {
		s := tell(t, 90).page(100, says{born: 50}).page(102, says{born: 50, first: 1, finished: 1, http2xx: 1})
		s.page(200, says{born: 199, waiting: 3})
		equal(t, "phase", s.engine().Phase != PhaseStalled, true)
	})
	t.Run("a restart that shows fewer ranks is a restart by the counters that fell", func(t *testing.T) {
		two := says{first: 50, finished: 45, http2xx: 45, running: 5}.page()
		other := says{first: 5, finished: 5}.page().Ranks[0]
		other.Name = "1"
		two.Ranks = append(two.Ranks, other)
		s := tell(t, 90)
		s.round(100, fact.Poll{Target: "a", Sent: 100, Received: 100, Sample: two})
		s.page(110, says{first: 3, finished: 3, http2xx: 3}).end()
		equal(t, "resets", s.engine().Resets, 1)
		equal(t, "lost", s.engine().Ledger.Lost, Span{5, 5, true})
	})
	t.Run("a family that comes with its first observations is counted from the first", func(t *testing.T) {
		bare := says{born: 50}.page()
		bare.Ranks[0].Histograms = [fact.NumFamilies]hist.Histogram{}
		s := tell(t, 90, objective_("x", 0.25, 0.025))
		s.round(100, fact.Poll{Target: "a", Sent: 100, Received: 100, Sample: bare})
		s.page(110, says{born: 50, first: 5, finished: 5, http2xx: 5}).page(120, says{born: 50, first: 10, finished: 10, http2xx: 10}).end()
		equal(t, "lower", s.windows[0].Lower, 10)
		h := s.engine().Ranks[0].Histograms[fact.E2E]
		equal(t, "observations on the grid", hist.Histogram{Edges: h.Grid, Counts: h.Ceil}.Count(), 10)
	})
	t.Run("refusals stay in the denominator when the ledger is absent", func(t *testing.T) {
		s := tell(t, 90, objective_("x", 0.25, 0.025)).page(100, says{born: 50})
		s.page(130, says{born: 50, first: 100, finished: 100, http2xx: 100, http5xx: 100, admission: 100, embeddings: 1}).end()
		equal(t, "denominator", s.windows[0].Requests, 200)
		equal(t, "upper", s.windows[0].Upper, 100)
		equal(t, "lower", s.windows[0].Lower, 100)
	})
}
