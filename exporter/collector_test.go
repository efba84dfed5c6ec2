package exporter

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/internal/golden"
)

func snapshotCollector(s *fold.Snapshot) *SnapshotCollector {
	return NewSnapshotCollector(SnapshotConfig{Started: startedAt, Published: func() Published {
		return Published{Snapshot: s, Objectives: objectives(), Intervals: map[string]float64{"a": 2, "b": 4, "c": 2, "d": 2, "e": 2, "f": 2}, MaxSeries: 10_000,
			Cost: fold.Cost{Currency: "EUR", PerGPUHour: 2.5, PerKWhour: 0.25}}
	}})
}

// gather collects through a pedantic registry, which refuses what is inconsistent.
func gather(t *testing.T, c prometheus.Collector) []*dto.MetricFamily {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(c)
	got, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func encode(t *testing.T, families []*dto.MetricFamily, f expfmt.Format) string {
	t.Helper()
	var b bytes.Buffer
	e := expfmt.NewEncoder(&b, f, expfmt.WithCreatedLines())
	for _, mf := range families {
		if err := e.Encode(mf); err != nil {
			t.Fatal(err)
		}
	}
	if c, ok := e.(expfmt.Closer); ok {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// series are the lines of a page that hold a sample, up to the value.
func series(page string) []string {
	var out []string
	for line := range strings.Lines(page) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line[:strings.LastIndex(line, " ")])
		}
	}
	return out
}

func TestPageOfASnapshot(t *testing.T) {
	got := gather(t, snapshotCollector(fixture()))
	golden.Compare(t, "testdata/page.prom", []byte(encode(t, got, expfmt.NewFormat(expfmt.TypeTextPlain))))
	golden.Compare(t, "testdata/page.openmetrics", []byte(encode(t, got, expfmt.NewFormat(expfmt.TypeOpenMetrics))))
}

func TestPageIsLintFree(t *testing.T) {
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(snapshotCollector(fixture()), &roundsCollector{families: newFamilies(), exporter: &Exporter{duration: newDuration()}})
	problems, err := testutil.GatherAndLint(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestCountersCarryWhenTheyBegan(t *testing.T) {
	for _, mf := range gather(t, snapshotCollector(fixture())) {
		for _, m := range mf.Metric {
			want := startedAt + 1.0
			if slices.Contains([]string{catalog.PollFailures, catalog.PagesSkipped, catalog.SpansUnmatched, catalog.GPUDropped, catalog.GPUClaimConflicts}, mf.GetName()) {
				want = startedAt
			}
			var created float64
			switch {
			case m.Counter != nil:
				created = float64(m.Counter.CreatedTimestamp.AsTime().UnixMilli()) / 1e3
			case m.Histogram != nil:
				created = float64(m.Histogram.CreatedTimestamp.AsTime().UnixMilli()) / 1e3
			default:
				continue
			}
			if label(m, "engine") == "f" {
				want = startedAt + 590
			}
			if created != want {
				t.Errorf("%s %v was created at %v, want %v", mf.GetName(), m.Label, created, want)
			}
		}
	}
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.Label {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

func TestEngineSeriesAreCounted(t *testing.T) {
	page := encode(t, gather(t, snapshotCollector(fixture())), expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
		n := 0
		if id == "a" {
			n = 3 // native histograms, which the text does not show
		}
		own := regexp.MustCompile(`[{,]engine="` + id + `["/]`)
		for _, s := range series(page) {
			if own.MatchString(s) && !strings.HasPrefix(s, catalog.GPUInfo) { // which is the GPU's
				n++
			}
		}
		if want := fmt.Sprintf("goodput_series{engine=%q} %d\n", id, n); !strings.Contains(page, want) {
			t.Errorf("engine %s has %d series, but %q is not on the page", id, n, want)
		}
	}
}

// What is on the page because an engine sends spans.
var (
	evidenceNames = []string{"goodput_evidence_completeness_ratio", "goodput_evidence_conflicts_total", "goodput_evidence_exact_windows_total", "goodput_evidence_sequences_seen_total",
		"goodput_evidence_sequences_total", "goodput_evidence_windows_total", "goodput_logical_requests_total", "goodput_one_token_sequences_total", "goodput_request_attempts_total"}
	spanHistogramNames = []string{"goodput_span_e2e_seconds_bucket", "goodput_span_e2e_seconds_count", "goodput_span_e2e_seconds_sum", "goodput_span_tpot_seconds_bucket", "goodput_span_tpot_seconds_count",
		"goodput_span_tpot_seconds_sum", "goodput_span_ttft_seconds_bucket", "goodput_span_ttft_seconds_count", "goodput_span_ttft_seconds_sum"}
	classNames = []string{"goodput_slo_class_qualified_requests_lower_total", "goodput_slo_class_qualified_requests_upper_total", "goodput_slo_class_qualified_tokens_lower_total",
		"goodput_slo_class_requests_lower_total", "goodput_slo_class_requests_upper_total"}
	tokenNames = []string{"goodput_slo_missed_tokens_lower_total", "goodput_slo_missed_tokens_upper_total", "goodput_slo_qualified_tokens_lower_total", "goodput_slo_qualified_tokens_upper_total"}
)

// TestWhatIsUnknownIsAbsent takes one thing away from an engine at a time, and nothing else may vanish or appear.
func TestWhatIsUnknownIsAbsent(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*fold.Snapshot)
		gone   []string // names of series of which at least one is gone
		come   []string
	}{
		"no window committed: no ledger": {
			change: func(s *fold.Snapshot) { s.Engines[0].Ledger.Committed = false },
			gone: []string{"goodput_requests_arrived_total", "goodput_requests_cancelled_total", "goodput_requests_failed_total", "goodput_requests_finished_total",
				"goodput_requests_lost_total", "goodput_requests_rejected_total", "goodput_requests_unexplained_total"},
		},
		"a count that is not known":    {func(s *fold.Snapshot) { s.Engines[0].Ledger.Lost.Known = false }, []string{"goodput_requests_lost_total"}, nil},
		"a count that is not exact":    {func(s *fold.Snapshot) { s.Engines[0].Ledger.Lost = between(1, 2) }, []string{"goodput_requests_lost_total"}, []string{"goodput_requests_lost_lower_total", "goodput_requests_lost_upper_total"}},
		"a ledger that cannot be kept": {func(s *fold.Snapshot) { s.Engines[0].Ledger.Absent = "why" }, nil, []string{"goodput_ledger_unanswerable_info"}},
		"an objective that was never judged": {func(s *fold.Snapshot) { s.Engines[0].SLOs[0].Judged = false },
			[]string{"goodput_slo_clause_violations_lower_total", "goodput_slo_clause_violations_total", "goodput_slo_clause_violations_upper_total", "goodput_slo_qualified_requests_lower_total", "goodput_slo_qualified_requests_upper_total", "goodput_slo_requests_total"}, nil},
		"an objective that cannot be judged any more": {func(s *fold.Snapshot) { s.Engines[0].SLOs[0].Absent = "why" }, nil, []string{"goodput_slo_unanswerable_info"}},
		"a page too old to be true now": {func(s *fold.Snapshot) { s.Engines[0].Ranks[0].Fresh = false },
			[]string{"goodput_engine_kv_usage_ratio", "goodput_latency_quantile_lower_seconds", "goodput_latency_quantile_upper_seconds", "goodput_requests_in_flight"}, nil},
		"a page without gauges": {func(s *fold.Snapshot) {
			r := &s.Engines[0].Ranks[0]
			r.Running, r.Waiting, r.KVUsage = fact.Number{}, fact.Number{}, fact.Number{}
		}, []string{"goodput_engine_kv_usage_ratio", "goodput_requests_in_flight"}, nil},
		"a page without token counters": {func(s *fold.Snapshot) {
			r := &s.Engines[0].Ranks[0]
			r.PromptTokens, r.DoneOutput, r.Preemptions = fact.Number{}, fact.Number{}, fact.Number{}
		}, []string{"goodput_engine_preemptions_total", "goodput_finished_tokens_total", "goodput_tokens_total"}, nil},
		"a page without a histogram": {func(s *fold.Snapshot) { s.Engines[0].Ranks[0].Histograms[fact.Queue] = nil },
			[]string{"goodput_queue_ceil_seconds_bucket", "goodput_queue_ceil_seconds_count", "goodput_queue_ceil_seconds_sum", "goodput_queue_floor_seconds_bucket", "goodput_queue_floor_seconds_count", "goodput_queue_floor_seconds_sum"}, nil},
		"an engine that never sent a span":                       {func(s *fold.Snapshot) { s.Engines[0].Spans = fold.EngineSpans{} }, slices.Concat(evidenceNames, spanHistogramNames, []string{"goodput_spans_matched_total", "goodput_spans_unused_total"}), nil},
		"no spans for so long that windows do not wait for them": {func(s *fold.Snapshot) { s.Engines[0].Spans.Expected = false }, []string{"goodput_evidence_completeness_ratio"}, nil},
		"a window in which nothing finished":                     {func(s *fold.Snapshot) { s.Engines[0].Spans.Completeness = fact.Number{} }, []string{"goodput_evidence_completeness_ratio"}, nil},
		"no latency yet":                                         {func(s *fold.Snapshot) { s.Engines[0].Spans.Histograms = [fact.NumFamilies]*fold.SpanHistogram{} }, spanHistogramNames, nil},
		"no window with spans expected": {func(s *fold.Snapshot) { s.Engines[0].SLOs[0].Tokens, s.Engines[0].SLOs[0].Classes = fold.Tokens{}, nil },
			slices.Concat(classNames, tokenNames), nil},
		"all spans match": {func(s *fold.Snapshot) { s.Unmatched = fold.Unmatched{} }, []string{"goodput_spans_unmatched_total"}, nil},
		"an engine with spans that is no target any more": {func(s *fold.Snapshot) { s.Engines[0].Gone = true },
			[]string{"goodput_engine_gpus", "goodput_engine_info", "goodput_engine_last_poll_timestamp_seconds", "goodput_engine_phase_info", "goodput_engine_poll_duration_seconds", "goodput_engine_poll_interval_seconds", "goodput_engine_progressing",
				"goodput_engine_start_time_seconds", "goodput_engine_up", "goodput_evidence_completeness_ratio", "goodput_series", "goodput_series_dropped"}, nil},
		"an engine that is down says nothing of progress": {func(s *fold.Snapshot) { s.Engines[0].Phase = fold.PhaseDown }, []string{"goodput_engine_phase_info", "goodput_engine_progressing"}, []string{"goodput_engine_phase_info"}},
		"a process whose start is not known":              {func(s *fold.Snapshot) { s.Engines[0].Start = 0 }, []string{"goodput_engine_start_time_seconds"}, nil},
		"no accepted page yet":                            {func(s *fold.Snapshot) { s.Engines[0].LastPoll = 0 }, []string{"goodput_engine_last_poll_timestamp_seconds"}, nil},
		"a value that is not a number":                    {func(s *fold.Snapshot) { s.Engines[0].Ranks[0].Coverage[0].Ratio = math.NaN() }, []string{"goodput_window_coverage_ratio"}, nil},
		"a family that no engine has":                     {func(s *fold.Snapshot) { s.Layouts[fact.TPOT] = 0 }, []string{"goodput_histogram_layouts"}, nil},
		"an engine that is no target any more, but was never seen": {func(s *fold.Snapshot) { s.Engines[3].Gone = true },
			[]string{"goodput_engine_info", "goodput_engine_phase_info", "goodput_engine_poll_duration_seconds", "goodput_engine_poll_interval_seconds", "goodput_engine_up", "goodput_series", "goodput_series_dropped"}, nil},
		"an engine that is no target any more, and had been judged": {func(s *fold.Snapshot) { s.Engines[2].Gone = true },
			[]string{"goodput_engine_gpus", "goodput_engine_info", "goodput_engine_last_poll_timestamp_seconds", "goodput_engine_phase_info", "goodput_engine_poll_duration_seconds", "goodput_engine_poll_interval_seconds", "goodput_engine_up", "goodput_series", "goodput_series_dropped"}, nil},
		"an engine that is no target any more, and could not be judged": {func(s *fold.Snapshot) { s.Engines[4].Gone = true },
			[]string{"goodput_engine_info", "goodput_engine_last_poll_timestamp_seconds", "goodput_engine_phase_info", "goodput_engine_poll_duration_seconds", "goodput_engine_poll_interval_seconds", "goodput_engine_progressing",
				"goodput_engine_up", "goodput_ledger_unanswerable_info", "goodput_series", "goodput_series_dropped", "goodput_slo_unanswerable_info"}, nil},
		"an engine that is forgotten": {func(s *fold.Snapshot) { s.Engines = slices.Delete(s.Engines, 3, 4) },
			[]string{"goodput_engine_info", "goodput_engine_phase_info", "goodput_engine_poll_duration_seconds", "goodput_engine_poll_failures_total", "goodput_engine_poll_interval_seconds", "goodput_engine_up", "goodput_series", "goodput_series_dropped"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			names := func(s *fold.Snapshot) map[string]bool {
				out := map[string]bool{}
				for _, l := range series(encode(t, gather(t, snapshotCollector(s)), expfmt.NewFormat(expfmt.TypeTextPlain))) {
					out[l] = true
				}
				return out
			}
			before := names(fixture())
			changed := fixture()
			c.change(changed)
			after := names(changed)
			if gone := missing(before, after); !slices.Equal(gone, c.gone) {
				t.Errorf("gone: %q, want %q", gone, c.gone)
			}
			if come := missing(after, before); !slices.Equal(come, c.come) {
				t.Errorf("come: %q, want %q", come, c.come)
			}
		})
	}
}

// missing lists the names of the series of a that are not in b.
func missing(a, b map[string]bool) []string {
	names := map[string]bool{}
	for s := range a {
		if !b[s] {
			names[s[:strings.IndexAny(s+"{", "{")]] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func TestBeforeTheFirstRoundThereIsTheContractOnly(t *testing.T) {
	page := encode(t, gather(t, snapshotCollector(nil)), expfmt.NewFormat(expfmt.TypeTextPlain))
	contract := regexp.MustCompile(`^goodput_slo_(info|threshold_seconds|objective_ratio|class_threshold_seconds){`)
	for _, s := range series(page) {
		if !contract.MatchString(s) {
			t.Errorf("%s is on the page", s)
		}
	}
	if n := len(series(page)); n != 2+2+3+4 {
		t.Errorf("%d series of the contract, want 11:\n%s", n, page)
	}
}

// page of one engine with hostile texts: names of any length, and bytes that are no text.
func TestHostileTextsStaySmallAndValid(t *testing.T) {
	s := fixture()
	e := &s.Engines[0]
	e.Model = strings.Repeat("é", 1<<20)
	e.Version = "\xff\xfe"
	e.Target.Labels = map[string]string{"owner": "a\xffb", "bad-name": "x", "engine": "other"}
	e.Ranks[0].Sequences = nil
	for i := range 10000 {
		e.Ranks[0].Sequences = append(e.Ranks[0].Sequences, fact.ReasonCount{Reason: fmt.Sprint("reason", i), Count: 1})
	}
	page := encode(t, gather(t, snapshotCollector(s)), expfmt.NewFormat(expfmt.TypeTextPlain))
	if len(page) > 200_000 {
		t.Errorf("the page has %d bytes", len(page))
	}
	for _, want := range []string{
		`goodput_sequences_finished_total{engine="a",model="llama-3",reason="other"} 10000`,
		`goodput_engine_info{dialect="vllm-v1",engine="a",model="` + strings.Repeat("é", maxLabelValue/2) + `",owner="a�b",url="http://10.0.0.7:8000/metrics",version="�"} 1`,
	} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("%s is not on the page", want)
		}
	}
}

func FuzzLabelValue(f *testing.F) {
	f.Add("llama-3")
	f.Add(strings.Repeat("\xff", 2*maxLabelValue))
	f.Add(strings.Repeat("é", maxLabelValue))
	f.Fuzz(func(t *testing.T, s string) {
		ch := make(chan prometheus.Metric, 1)
		p := &page{families: newFamilies(), ch: ch}
		if s == "" {
			s = "x"
		}
		p.info(catalog.EnginePhaseInfo, s, "down")
		var out dto.Metric
		if err := (<-ch).Write(&out); err != nil {
			t.Fatal(err)
		}
		// A byte that is no text becomes a mark of three bytes.
		if got := out.Label[0].GetValue(); len(got) > 3*maxLabelValue {
			t.Errorf("a label value of %d bytes", len(got))
		}
	})
}

func TestMetricsMustFitTheirDeclaration(t *testing.T) {
	for name, c := range map[string]struct {
		send func(*page)
		want string // part of the error
	}{
		"a series that is not declared":           {func(p *page) { p.gauge("goodput_made_up", 1) }, "series goodput_made_up is not in the catalogue"},
		"a gauge that is declared as a counter":   {func(p *page) { p.gauge(catalog.Rounds, 1) }, "series goodput_rounds_total is declared as a counter, not as a gauge"},
		"a histogram that is declared as a gauge": {func(p *page) { p.histogram(catalog.LastRound, buckets{counts: []uint64{1}}, 0) }, "declared as a gauge"},
		"an info with too few labels":             {func(p *page) { p.info(catalog.EnginePhaseInfo, "a") }, "has 1 label values for the labels [engine phase]"},
		"too many labels":                         {func(p *page) { p.counter(catalog.Rounds, 1, 0, "a") }, "has 1 label values"},
		"a label without a value":                 {func(p *page) { p.gauge(catalog.EngineUp, 1, "") }, "has no value for its label engine"},
		"labels of a target on a closed series":   {func(p *page) { p.openInfo(catalog.EnginePhaseInfo, nil, "a", "down") }, "is not declared with the labels of a target"},
		"labels of a target on nothing declared":  {func(p *page) { p.openInfo("goodput_made_up_info", nil, "a") }, "is not in the catalogue"},
		"counts that do not fit the edges": {func(p *page) {
			p.histogram("goodput_ttft_ceil_seconds", buckets{edges: []float64{1}, counts: []uint64{1}}, 0, "a", "m")
		}, "1 counts for 1 edges"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &page{families: newFamilies()}
			out := p.part(func() { c.send(p) })
			err := out.metrics[0].Write(&dto.Metric{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
			if out.series != 0 {
				t.Errorf("counted as %d series", out.series)
			}
		})
	}
}

// TestOneFaultCostsOneSeries: the rest of the page is served.
func TestOneFaultCostsOneSeries(t *testing.T) {
	s := fixture()
	s.Engines[2].Failures[0].Name = ""
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(snapshotCollector(s))
	got, err := r.Gather()
	if err == nil || !strings.Contains(err.Error(), catalog.PollFailures) {
		t.Errorf("error %v, want one about %s", err, catalog.PollFailures)
	}
	if len(got) < 50 {
		t.Errorf("only %d families are left", len(got))
	}
}

func BenchmarkCollect(b *testing.B) {
	s := &fold.Snapshot{At: startedAt}
	o := objectives()
	for i := range 8 {
		e := soundEngine(fact.Target{ID: fmt.Sprint("engine-", i), URL: secretURL}, &o[0])
		e.ID = e.Target.ID
		e.Ranks[0].ID = e.ID
		for f := range e.Ranks[0].Histograms {
			h := &fold.Projected{Floor: make([]uint64, 31), Ceil: make([]uint64, 31)}
			for k := range 30 {
				h.Grid = append(h.Grid, math.Pow(1.5, float64(k)))
				h.Ceil[k], h.Floor[k] = uint64(k), uint64(k)
			}
			e.Ranks[0].Histograms[f] = h
		}
		s.Engines = append(s.Engines, e)
	}
	c := snapshotCollector(s)
	b.Run("collect", func(b *testing.B) {
		b.ReportAllocs()
		ch := make(chan prometheus.Metric, 1<<14)
		for b.Loop() {
			c.Collect(ch)
			for len(ch) > 0 {
				<-ch
			}
		}
	})
	b.Run("page", func(b *testing.B) {
		b.ReportAllocs()
		r := prometheus.NewRegistry()
		r.MustRegister(c)
		for b.Loop() {
			got, err := r.Gather()
			if err != nil {
				b.Fatal(err)
			}
			var out bytes.Buffer
			for _, mf := range got {
				expfmt.MetricFamilyToText(&out, mf)
			}
			b.SetBytes(int64(out.Len()))
		}
	})
}

// TestARankThatCameLaterBeganLater: all of its counters and histograms say so.
func TestARankThatCameLaterBeganLater(t *testing.T) {
	s := fixture()
	rank := &s.Engines[0].Ranks[0]
	rank.ID, rank.Since = "a/1", startedAt+100
	seen := map[dto.MetricType]int{}
	for _, mf := range gather(t, snapshotCollector(s)) {
		for _, m := range mf.Metric {
			if label(m, "engine") != "a/1" {
				continue
			}
			created := m.GetHistogram().GetCreatedTimestamp()
			if m.Counter != nil {
				created = m.Counter.GetCreatedTimestamp()
			}
			if created == nil {
				continue
			}
			seen[mf.GetType()]++
			if got := float64(created.AsTime().UnixMilli()) / 1e3; got != rank.Since {
				t.Errorf("%s %v was created at %v, want %v", mf.GetName(), m.Label, got, rank.Since)
			}
		}
	}
	if seen[dto.MetricType_COUNTER] == 0 || seen[dto.MetricType_HISTOGRAM] == 0 {
		t.Errorf("seen %v", seen)
	}
}
