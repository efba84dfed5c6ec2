package exporter

import (
	"encoding/hex"
	"fmt"
	"math"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// bothWays is a histogram that is native and classic at once: a scraper takes what it knows. client_golang makes such
// histograms only of values that it observes itself, and its constant ones are of one kind.
type bothWays struct {
	desc      *prometheus.Desc
	labels    []*dto.LabelPair
	histogram *dto.Histogram
}

func (m *bothWays) Desc() *prometheus.Desc { return m.desc }

// Write fills in the sample. The gatherer does not write to what it gets, so many may share it.
func (m *bothWays) Write(out *dto.Metric) error {
	out.Label, out.Histogram = m.labels, m.histogram
	return nil
}

// spanHistogram sends a histogram of exact values: classic buckets at the thresholds with their exemplars, and the same
// values on native buckets.
func (p *page) spanHistogram(name string, h *fold.SpanHistogram, values ...string) {
	desc, labels, err := p.describe(name, catalog.Histogram, values)
	if err == nil && (len(h.Counts) != len(h.Edges)+1 || len(h.Newest) != len(h.Counts)) {
		err = fmt.Errorf("has %d counts and %d exemplars for %d edges", len(h.Counts), len(h.Newest), len(h.Edges))
	}
	// All finite buckets, that of +Inf, the sum and the count, and one native histogram, for a scraper that keeps both.
	p.send(name, err, len(h.Edges)+4, func() (prometheus.Metric, error) {
		pairs := prometheus.MakeLabelPairs(desc, labels)
		return &bothWays{desc, pairs, bothHistograms(h)}, nil
	})
}

func bothHistograms(h *fold.SpanHistogram) *dto.Histogram {
	n := &h.Native
	out := &dto.Histogram{
		SampleCount: new(n.Count), SampleSum: new(n.Sum), Schema: new(n.Schema), ZeroThreshold: new(n.ZeroThreshold), ZeroCount: new(n.Zero),
		CreatedTimestamp: timestamppb.New(unixTime(h.Since)),
	}
	spans, deltas := n.Sparse()
	for _, s := range spans {
		out.PositiveSpan = append(out.PositiveSpan, &dto.BucketSpan{Offset: new(s.Offset), Length: new(s.Length)})
	}
	out.PositiveDelta = deltas
	cumulative := uint64(0)
	for i, c := range h.Counts {
		cumulative += c
		edge, mark := math.Inf(1), exemplar(h.Newest[i])
		if i < len(h.Edges) {
			edge = h.Edges[i]
		} else if mark == nil {
			break // every format writes the last bucket by itself; it is here for its exemplar only
		}
		out.Bucket = append(out.Bucket, &dto.Bucket{CumulativeCount: new(cumulative), UpperBound: new(edge), Exemplar: mark})
	}
	return out
}

// exemplar is one observation with its trace; nil where there is none, or none that could be looked up. Its one label
// has 40 characters, of the 128 that OpenMetrics allows.
func exemplar(e fold.Exemplar) *dto.Exemplar {
	if e.At == 0 || e.Trace == [16]byte{} {
		return nil
	}
	return &dto.Exemplar{
		Label: []*dto.LabelPair{{Name: new("trace_id"), Value: new(hex.EncodeToString(e.Trace[:]))}},
		Value: new(e.Value), Timestamp: timestamppb.New(unixTime(e.At)),
	}
}
