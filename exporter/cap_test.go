package exporter

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
)

// TestSeriesAreCappedInOrder: the fixture's first engine under ever lower limits. What is said of it stays within the
// limit, kinds go whole and in the stated order, and how many are missing is said.
func TestSeriesAreCappedInOrder(t *testing.T) {
	kinds := []struct{ name, series string }{
		{"quantiles", "goodput_latency_quantile_upper_seconds{"},
		{"other histograms", "goodput_queue_ceil_seconds_bucket{"},
		{"main histograms", "goodput_ttft_ceil_seconds_bucket{"},
		{"span histograms", "goodput_span_ttft_seconds_bucket{"},
		{"classes", "goodput_slo_class_requests_lower_total{"},
		{"the rest of ranks", "goodput_sequences_finished_total{"},
	}
	whole := -1
	var stages []string
	for limit := 260; limit > 0; limit-- {
		s := fixture()
		s.Engines = s.Engines[:1]
		c := NewSnapshotCollector(SnapshotConfig{Started: startedAt, Published: func() Published { return Published{Snapshot: s, MaxSeries: limit} }})
		page := encode(t, gather(t, c), expfmt.NewFormat(expfmt.TypeTextPlain))
		n, dropped := 3*strings.Count(page, "goodput_span_ttft_seconds_count{"), 0 // native histograms are not in the text
		for line := range strings.Lines(page) {
			if !strings.HasPrefix(line, "#") && strings.Contains(line, `engine="a"`) && !strings.HasPrefix(line, "goodput_gpu_info{") { // which is the GPU's
				n++
			}
			if rest, is := strings.CutPrefix(line, `goodput_series_dropped{engine="a"} `); is {
				if _, err := fmt.Sscan(rest, &dropped); err != nil {
					t.Fatal(err)
				}
			}
		}
		if whole < 0 {
			whole = n
		}
		if n+dropped != whole {
			t.Errorf("limit %d: %d series and %d dropped, of %d", limit, n, dropped, whole)
		}
		stage := ""
		for _, k := range kinds {
			if !strings.Contains(page, k.series) {
				stage += "without " + k.name + ", "
			}
		}
		if len(stages) == 0 || stages[len(stages)-1] != stage {
			stages = append(stages, stage)
		}
		if n > limit && strings.Contains(page, "goodput_sequences_finished_total{") {
			t.Errorf("limit %d: %d series", limit, n)
		}
		for _, always := range []string{"goodput_engine_up{", "goodput_requests_arrived_total{", "goodput_slo_requests_total{", fmt.Sprintf(`goodput_series{engine="a"} %d`, n)} {
			if !strings.Contains(page, always) {
				t.Errorf("limit %d: %s is missing", limit, always)
			}
		}
	}
	want, all := []string{""}, ""
	for _, k := range kinds {
		all += "without " + k.name + ", "
		want = append(want, all)
	}
	sameLines(t, stages, want...)
}

// TestAChangedPromiseHasItsOwnBeginning: the created timestamp of its counters moves, those of others do not.
func TestAChangedPromiseHasItsOwnBeginning(t *testing.T) {
	s := fixture()
	s.Engines = s.Engines[:1]
	s.Engines[0].SLOs[0].Since = startedAt + 100
	c := NewSnapshotCollector(SnapshotConfig{Started: startedAt, Published: func() Published { return Published{Snapshot: s} }})
	for _, mf := range gather(t, c) {
		for _, m := range mf.Metric {
			began := m.GetCounter().GetCreatedTimestamp()
			if began == nil {
				continue
			}
			want := startedAt + 1
			switch name := mf.GetName(); {
			case strings.HasPrefix(name, "goodput_slo_"):
				want = startedAt + 100
			case name == "goodput_pages_skipped_total", name == "goodput_engine_poll_failures_total", name == "goodput_spans_unmatched_total", name == "goodput_gpu_values_dropped_total", name == "goodput_gpu_claim_conflicts_total":
				want = startedAt
			}
			if began.AsTime().Unix() != int64(want) {
				t.Errorf("%s began at %v, want %v", mf.GetName(), began.AsTime().Unix(), want)
			}
		}
	}
}
