package fold

import (
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

func TestPages(t *testing.T) {
	t.Run("a torn page is skipped and counted, and its requests are in the next slice", func(t *testing.T) {
		s := tell(t, 90).page(100, says{born: 50}).page(110, says{born: 50, first: 5, finished: 5, http2xx: 5, tear: true})
		equal(t, "sequences", len(s.engine().Ranks[0].Sequences), 0)
		equal(t, "skipped", s.engine().Skipped[0], Tally{"torn", 1})
		equal(t, "up", s.engine().Up, true)
		s.page(112, says{born: 50, first: 6, finished: 6, http2xx: 6}).end()
		equal(t, "sequences", s.windows[0].Sequences, 6)
		equal(t, "method", s.windows[0].Method, slo.MethodExplain)
	})
	t.Run("pages that stay torn are counted but not judged", func(t *testing.T) {
		s := tell(t, 90).page(100, says{born: 50})
		for i := uint64(1); i <= 60; i++ {
			s.page(100+float64(i), says{born: 50, first: i, finished: i, http2xx: i, tear: true})
		}
		w := s.end().windows[0]
		equal(t, "method", w.Method, slo.MethodMarginal)
		equal(t, "lower", w.Lower, 0)
		if w.Sequences < 25 || w.Upper != w.Sequences {
			t.Errorf("%d sequences, upper %d", w.Sequences, w.Upper)
		}
	})
	t.Run("a threshold inside a bucket is refused with its neighbouring edges, the denominator still known", func(t *testing.T) {
		s := tell(t, 90, objective_("x", 0.3, 0.025)).page(100, says{born: 50}).page(110, says{born: 50, first: 5, finished: 5, http2xx: 5}).end()
		w := s.windows[0]
		equal(t, "evidence", w.Evidence, "")
		equal(t, "requests", w.Requests, 5)
		for _, want := range []string{"300ms", "250ms", "500ms"} {
			if !strings.Contains(w.Reason, want) {
				t.Errorf("reason %q does not name %s", w.Reason, want)
			}
		}
		equal(t, "judged", s.engine().SLOs[0].Judged, false)
	})
	t.Run("MRG-11: an edge that is missing on one page makes that slice coarser, not wrong, and is no reset", func(t *testing.T) {
		few := []float64{.1, .5, 1, 2.5}
		s := tell(t, 90, objective_("x", 0.25, 0)).page(100, says{born: 50}).page(110, says{born: 50, first: 5, finished: 5, http2xx: 5})
		s.page(112, says{born: 50, first: 9, finished: 9, slowTTFT: 1, http2xx: 9, ttftEdges: few})
		s.page(114, says{born: 50, first: 12, finished: 12, slowTTFT: 1, http2xx: 12}).end()
		w := s.windows[0]
		equal(t, "resets", s.engine().Resets, 0)
		equal(t, "sequences", w.Sequences, 12)
		if w.Lower > 11 || w.Upper < 11 {
			t.Errorf("truth 11 outside [%d, %d]", w.Lower, w.Upper)
		}
	})
	t.Run("GDP-05: a failed scrape is a gap, not a zero and then a double", func(t *testing.T) {
		s := tell(t, 90).page(100, says{born: 50, tokens: 1000}).miss(115, fact.ReasonTimeout)
		equal(t, "fresh", s.engine().Ranks[0].Fresh, false)
		s.page(130, says{born: 50, tokens: 1600})
		equal(t, "tokens", s.engine().Ranks[0].OutputTokens.V, 600)
	})
	t.Run("a window closes at the poll nearest to its due end", func(t *testing.T) {
		s := tell(t, 90).page(100, says{born: 50})
		for _, at := range []float64{110, 158, 163, 219, 230} {
			s.page(at, says{born: 50, first: uint64(at), finished: uint64(at), http2xx: uint64(at)})
		}
		equal(t, "first end", s.windows[0].End, 158)
		equal(t, "second end", s.windows[3].End, 219)
	})
	t.Run("an engine that falls silent commits its window at the last page", func(t *testing.T) {
		s := tell(t, 90).page(100, says{born: 50}).page(140, says{born: 50, first: 5, finished: 5, http2xx: 5})
		s.miss(170, fact.ReasonTimeout)
		equal(t, "too early", len(s.windows), 0)
		s.miss(181, fact.ReasonTimeout)
		equal(t, "end", s.windows[0].End, 140)
	})
}
