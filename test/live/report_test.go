package main

import (
	"bytes"
	"math"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/internal/golden"
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

	p := &play{published: polled(0, 30), samples: page(`goodput_requests_arrived_total{engine="live"} 23
goodput_requests_finished_total{engine="live"} 20
goodput_requests_cancelled_total{engine="live"} 1
goodput_requests_rejected_total{engine="live",by="admission"} 1
goodput_requests_rejected_total{engine="live",by="client_error"} 0
goodput_requests_failed_total{engine="live"} 0
goodput_requests_lost_total{engine="live"} 0
`)}
	p.published.Windows = []window{
		{SLO: "chat", Start: 10, End: 20, Sequences: 21, SequencesOK: true, Lower: 12, Upper: 14, Evidence: "histogram"},
		{SLO: "quick", Start: 10, End: 20, Sequences: 21, SequencesOK: true, Reason: "18 ms is inside a bucket"},
		{SLO: "chat", Start: 20, End: 30, Partial: true, Lower: 2, Upper: 3, Evidence: "histogram"},
	}
	p.published.Quantiles = append(onePercentile("ttft", 0.5, 0.1, 0.15, 22).Quantiles, onePercentile("tpot", 0.99, 0.025, math.Inf(1), 21).Quantiles...)
	var out bytes.Buffer
	wrong := report(&out, p, w.truth())
	if wrong != 4 { // finished, unexplained, a window, a percentile
		t.Errorf("%d contradictions, want 4", wrong)
	}
	golden.Compare(t, "testdata/report.md", out.Bytes())
}
