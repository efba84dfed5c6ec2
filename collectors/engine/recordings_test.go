package engine

import (
	"math"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
	"github.com/goodput-exporter/goodput-exporter/internal/golden"
)

// What each recording must say of itself on every page.
var recordingFacts = map[string]struct {
	dialect, version string
	ranks            int
	restarts         int
}{
	"llm-d-sim-ramp":    {"llm-d-inference-sim", "", 1, 0},
	"vllm-0.11-day":     {"vllm-v1", ">=0.11,<0.15", 1, 0},
	"vllm-0.32-buckets": {"vllm-v1", ">=0.31", 1, 0},
	"vllm-0.32-day":     {"vllm-v1", ">=0.31", 1, 0},
	"vllm-0.32-dp2":     {"vllm-v1", ">=0.31", 2, 0},
	"vllm-0.32-kv":      {"vllm-v1", ">=0.31", 1, 0},
	"vllm-0.32-restart": {"vllm-v1", ">=0.31", 1, 1},
	"vllm-0.32-rust":    {"vllm-rust", ">=0.31", 1, 0},
	"vllm-0.32-spec":    {"vllm-v1", ">=0.31", 1, 0},
	"vllm-0.32-sweep":   {"vllm-v1", ">=0.31", 1, 0},
}

// One page of each recording, taken while requests were under way, has a golden file.
const goldenPage = 60

func TestEveryRecordedPage(t *testing.T) {
	for _, name := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, known := recordingFacts[name]
			d := NewDecoder()
			var before *fact.EngineSample
			restarts, n := 0, 0
			pages(t, name, func(r recorded) {
				n++
				s, err := d.Decode([]byte(r.Body), r.ContentType)
				if err != nil || !known {
					t.Fatalf("page %d: %v; the recording must be in the table", n, err)
				}
				switch {
				case n == goldenPage:
					golden.Compare(t, "testdata/recording-"+name+".json", render(t, s))
					fallthrough
				case n == 1:
					if all, err := expfmtReading([]byte(r.Body)); err != nil {
						t.Fatalf("page %d: expfmt: %v", n, err)
					} else if diff := disagreement(s, all); diff != "" {
						t.Errorf("page %d: %s", n, diff)
					}
				}
				if s.Dialect != want.dialect || s.Version != want.version || len(s.Ranks) != want.ranks || len(s.Warnings) > 0 {
					t.Fatalf("page %d: %s %s, %d ranks, warnings %q; want %+v", n, s.Dialect, s.Version, len(s.Ranks), s.Warnings, want)
				}
				plausible(t, n, s, r.T)
				if before != nil && steps(t, n, before, s) {
					restarts++
				}
				before = s
			})
			if n < goldenPage || restarts != want.restarts {
				t.Errorf("%d pages, %d restarts, want %d", n, restarts, want.restarts)
			}
		})
	}
}

// plausible checks what holds on every page, torn ones included.
func plausible(t *testing.T, page int, s *fact.EngineSample, now float64) {
	t.Helper()
	if s.Bytes == 0 || s.Series == 0 {
		t.Errorf("page %d: %d bytes, %d series", page, s.Bytes, s.Series)
	}
	// A multi-process page has no family before its first sample: gauges and http_requests_total come with the first
	// request. A single process has all of them from the start.
	early := page <= 2 && s.ProcessStart == 0 || s.Series < 20
	if !s.HTTPKnown && !early && !s.Traits.NoFrontEnd {
		t.Errorf("page %d: no http_requests_total", page)
	}
	if s.ProcessStart > now {
		t.Errorf("page %d: process start %v is after the page, %v", page, s.ProcessStart, now)
	}
	for i := range s.Ranks {
		r := &s.Ranks[i]
		if r.Model != "demo" && r.Model != "acme/sim-8b" || r.Created != 0 && (r.Created < s.ProcessStart || r.Created > now) {
			t.Errorf("page %d: rank %q of model %q, created %v", page, r.Name, r.Model, r.Created)
		}
		if (!r.Requests.Known || !r.Preemptions.Known) && !s.Traits.NoFrontEnd || (!r.PromptTokens.Known || !r.OutputTokens.Known) && !early {
			t.Errorf("page %d: rank %q lacks a number: %+v", page, r.Name, r)
		}
		if kv := r.KVUsage; kv.V < 0 || kv.V > 1 || !early && !(kv.Known && r.Running.Known && r.Waiting.Known) {
			t.Errorf("page %d: running %+v, waiting %+v, KV usage %+v", page, r.Running, r.Waiting, kv)
		}
		// The families of a page are read at slightly different moments, so counts may differ by what finished
		// meanwhile.
		if got, finished := r.Histograms[fact.E2E].Count(), r.Sequences(); math.Abs(float64(got)-float64(finished)) > 5 {
			t.Errorf("page %d: %d sequences in e2e, %d by reason", page, got, finished)
		}
		if r.Requests.V > float64(r.Sequences())+5 {
			t.Errorf("page %d: %v requests of %d sequences", page, r.Requests.V, r.Sequences())
		}
		for f, h := range r.Histograms {
			if h.Known() && len(h.Edges) == 0 {
				t.Errorf("page %d: %s has no edges", page, fact.Family(f))
			}
		}
	}
}

// steps checks a page against the one before it: counts rise unless the process is new, and a layout that both have is
// one slice.
func steps(t *testing.T, page int, before, now *fact.EngineSample) (restarted bool) {
	t.Helper()
	restarted = now.ProcessStart > before.ProcessStart+1
	for i := range now.Ranks {
		a, b := &before.Ranks[i], &now.Ranks[i]
		if created := a.Created != b.Created; created != restarted {
			t.Errorf("page %d: created %v then %v, restarted %t", page, a.Created, b.Created, restarted)
		}
		for f := range b.Histograms {
			x, y := a.Histograms[f], b.Histograms[f]
			if !x.Known() || !y.Known() {
				continue
			}
			if &x.Edges[0] != &y.Edges[0] {
				t.Errorf("page %d: %s has a copy of its layout", page, fact.Family(f))
			}
			if _, ok := hist.Delta(x, y); !ok && !restarted {
				t.Errorf("page %d: %s fell", page, fact.Family(f))
			}
		}
	}
	return restarted
}
