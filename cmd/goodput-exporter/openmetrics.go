package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/goodput-exporter/goodput-exporter/exporter"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// openMetricsSink collects what a scrape would have returned at every step of virtual time, and prints it as one
// OpenMetrics exposition with timestamps: all points of a series together, in time order, as the format wants it and
// `promtool tsdb create-blocks-from openmetrics` reads it.
type openMetricsSink struct {
	out      io.Writer
	step     float64 // seconds
	current  *fold.Snapshot
	next     float64 // when the next scrape is due, unix seconds
	gatherer prometheus.Gatherer
	families map[string]*replayedFamily
}

// hole is the time without a page, in seconds, after which the recording has a hole: the series end there, as they do
// in Prometheus, and go on behind it.
const hole = 300

// replayedFamily holds one family's points by series.
type replayedFamily struct {
	family *dto.MetricFamily // without metrics
	series map[string][]*dto.Metric
}

func newOpenMetricsSink(cfg *config.Config, step time.Duration, out io.Writer) (*openMetricsSink, error) {
	if step < time.Second {
		return nil, fmt.Errorf("--step=%s is too short: at least 1s", step)
	}
	s := &openMetricsSink{out: out, step: step.Seconds(), families: map[string]*replayedFamily{}}
	registry := prometheus.NewRegistry()
	objectives := cfg.Objectives()
	var cost fold.Cost
	if cfg.GPU.Cards() {
		cost = costOf(cfg)
	}
	collector := exporter.NewSnapshotCollector(exporter.SnapshotConfig{Published: func() exporter.Published {
		return exporter.Published{Snapshot: s.current, Objectives: objectives, MaxSeries: cfg.Engines.MaxSeries, Cost: cost}
	}})
	if err := registry.Register(collector); err != nil {
		return nil, fmt.Errorf("register the collector: %w", err)
	}
	s.gatherer = registry
	return s, nil
}

// Take scrapes at every step that lies before the snapshot, which shows what stood on the page until then.
func (s *openMetricsSink) Take(snapshot *fold.Snapshot) error {
	if s.current == nil {
		s.next = math.Ceil(snapshot.At/s.step) * s.step
	}
	for s.current != nil && s.next < snapshot.At && s.next <= s.current.At+hole {
		if err := s.scrape(); err != nil {
			return err
		}
	}
	s.next = max(s.next, math.Ceil((snapshot.At-s.step)/s.step)*s.step) // nothing is known inside a hole
	s.current = snapshot
	return nil
}

func (s *openMetricsSink) scrape() error {
	gathered, err := s.gatherer.Gather()
	if err != nil {
		return fmt.Errorf("gather at %.3f: %w", s.next, err)
	}
	at := int64(math.Round(s.next * 1000))
	for _, f := range gathered {
		kept := s.families[f.GetName()]
		if kept == nil {
			kept = &replayedFamily{family: &dto.MetricFamily{Name: f.Name, Help: f.Help, Type: f.Type, Unit: f.Unit}, series: map[string][]*dto.Metric{}}
			s.families[f.GetName()] = kept
		}
		for _, m := range f.Metric {
			m.TimestampMs = &at
			key := seriesKey(m)
			kept.series[key] = append(kept.series[key], m)
		}
	}
	s.next += s.step
	return nil
}

func seriesKey(m *dto.Metric) string {
	var b strings.Builder
	for _, l := range m.Label {
		b.WriteString(l.GetName())
		b.WriteByte(0)
		b.WriteString(l.GetValue())
		b.WriteByte(1)
	}
	return b.String()
}

// Close scrapes once more, so that the end of the recording is in the output, and prints.
func (s *openMetricsSink) Close() error {
	if s.current != nil {
		if err := s.scrape(); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.families)) {
		f := s.families[name]
		for _, key := range slices.Sorted(maps.Keys(f.series)) {
			f.family.Metric = append(f.family.Metric, f.series[key]...)
		}
		if _, err := expfmt.MetricFamilyToOpenMetrics(s.out, f.family); err != nil {
			return fmt.Errorf("write family %s: %w", name, err)
		}
	}
	_, err := expfmt.FinalizeOpenMetrics(s.out)
	return err
}
