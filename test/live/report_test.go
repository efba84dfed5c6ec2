package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/internal/golden"
	"github.com/goodput-exporter/goodput-exporter/test/live/otlp"
)

// TestReport prints a little run in which one window, one percentile and one line of the ledger contradict the truth.
func TestReport(t *testing.T) {
	w := world{}
	for i := range 20 {
		w.witnessed(11+0.4*float64(i), 0.02*float64(i+1), 0.02*float64(i+1)+0.5, 41)
	}
	w.request(12, 0.1, 1, 9, cancelledAt(12.5))
	w.request(13, 0, 0, 9, refusedWith(503, false))
	w.request(19.5, 0.1, 0.3, 9)

	p := &record{About: []string{"a made-up engine"}, Checks: []string{"refused: 18 ms", "all answerable"}, Flags: "vllm serve\n", Requests: w.requests, Spans: w.spans, Lives: []life{{Started: -100}}, Published: polled(0, 30), Samples: page(`goodput_requests_arrived_total{engine="live"} 23
goodput_requests_finished_total{engine="live"} 20
goodput_requests_cancelled_total{engine="live"} 1
goodput_requests_rejected_total{engine="live",by="admission"} 1
goodput_requests_rejected_total{engine="live",by="client_error"} 0
goodput_requests_failed_total{engine="live"} 0
goodput_requests_lost_total{engine="live"} 0
goodput_slo_requests_total{engine="live",slo="chat"} 21
goodput_slo_qualified_requests_lower_total{engine="live",slo="chat"} 14
goodput_slo_qualified_requests_upper_total{engine="live",slo="chat"} 17
goodput_spans_received_total{outcome="taken"} 20
goodput_spans_received_total{outcome="other_name"} 31
goodput_spans_matched_total{engine="live",by="address"} 12
goodput_spans_matched_total{engine="live",by="engine"} 8
goodput_spans_unused_total{engine="live",reason="outside"} 3
goodput_spans_unused_total{engine="live",reason="late"} 0
`)}
	p.Taken = map[string]otlp.Taken{"grpc": {Messages: 2, Spans: 12}, "http": {Messages: 1, Spans: 8}}
	p.Published.Windows = []window{
		{SLO: "chat", Start: 10, End: 20, Sequences: 21, SequencesOK: true, Requests: 21, Lower: 12, Upper: 14, Evidence: "both", Spans: seen{Expected: true, Seen: 20, Unsure: 1}},
		{SLO: "quick", Start: 10, End: 20, Sequences: 21, SequencesOK: true, Reason: "18 ms is inside a bucket"},
		{SLO: "chat", Start: 20, End: 30, Partial: true, Lower: 2, Upper: 3, Evidence: "histogram"},
	}
	p.Published.Quantiles = append(onePercentile("ttft", 0.5, 0.1, 0.15, 22).Quantiles, onePercentile("tpot", 0.99, 0.025, math.Inf(1), 21).Quantiles...)
	var out bytes.Buffer
	wrong := report(&out, p)
	if wrong != 5 { // finished, unexplained, the sum, a window, a percentile
		t.Errorf("%d contradictions, want 5", wrong)
	}
	golden.Compare(t, "testdata/report.md", out.Bytes())
}

func TestTheObjectivesAreThoseOfTheConfiguration(t *testing.T) {
	for _, p := range promises {
		want := fmt.Sprintf("name: %s\n    clauses: {ttft: %.0fms, tpot: %.0fms}\n", p.name, 1000*p.ttft, 1000*p.tpot)
		if !strings.Contains(configuration, want) {
			t.Errorf("live.yaml has no\n%s", want)
		}
	}
}

// TestARecordComesBack: what is kept of a run is reported on in the same way.
func TestARecordComesBack(t *testing.T) {
	r := &record{Published: onePercentile("ttft", 0.5, 0.1, math.Inf(1), 3), Lives: []life{{Started: 1, Killed: 2}}, Samples: map[string]float64{"a": 1}}
	path := filepath.Join(t.TempDir(), "seen.json")
	if err := r.save(path); err != nil {
		t.Fatal(err)
	}
	got, err := read(path)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, r) {
		t.Errorf("got %+v, want %+v", got, r)
	}
	if _, err := read(filepath.Join(t.TempDir(), "nothing.json")); err == nil {
		t.Error("a file that is not there was read")
	}
}

// TestCheckHasToBeContentWithTheFlags it has asked for.
func TestCheckHasToBeContentWithTheFlags(t *testing.T) {
	for second, want := range map[string]int{"verdict: 2 objectives, all answerable.": 0, "refused: ttft": 1, "exit status 1": 1} {
		if got := reportChecks(io.Discard, &record{Checks: []string{"refused", second}}); got != want {
			t.Errorf("%q: %d contradictions, want %d", second, got, want)
		}
	}
}

// TestReportSpans: what the exporter says of spans is held against the spans.
func TestReportSpans(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*record)
		wrong  int
	}{
		"all is well":                                   {func(*record) {}, 0},
		"an exporter that takes none in":                {func(r *record) { r.Taken, r.Samples = nil, nil }, 0},
		"a span was taken and is not counted":           {func(r *record) { r.Samples[`goodput_spans_received_total{outcome="taken"}`] = 1 }, 2},
		"a span is of no engine and is not counted":     {func(r *record) { r.Samples[`goodput_spans_matched_total{engine="live",by="only"}`] = 1 }, 1},
		"a sequence was seen of which no span was sent": {func(r *record) { r.Published.Windows[0].Spans.Seen = 3 }, 1},
		"spans and page contradict each other":          {func(r *record) { r.Published.Windows[0].Spans.Conflict = true }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := world{}
			w.witnessed(11, 0.2, 1, 41)
			w.witnessed(12, 0.2, 1, 41)
			r := &record{Published: polled(0, 30), Taken: map[string]otlp.Taken{"http": {Messages: 1, Spans: 2}}, Samples: page(`goodput_spans_received_total{outcome="taken"} 2
goodput_spans_matched_total{engine="live",by="only"} 2
`)}
			r.Published.Windows = []window{{SLO: "chat", Start: 10, End: 20, Sequences: 2, SequencesOK: true, Lower: 2, Upper: 2, Evidence: "both", Spans: seen{Expected: true, Seen: 2, Complete: true}}}
			c.change(r)
			if got := reportSpans(io.Discard, r, judgeWindows(w.truth(), r.Published, promises)); got != c.wrong {
				t.Errorf("%d contradictions, want %d", got, c.wrong)
			}
		})
	}
}
