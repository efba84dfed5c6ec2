package exporter

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
)

// family is a declared series with its descriptors. An absent label is a label that the descriptor does not have, so
// a family needs one for each set of labels that it is exposed with; the two usual ones are made once.
type family struct {
	catalog.Series
	bare *prometheus.Desc // without the labels of Maybe
	full *prometheus.Desc // with all of them
}

// families are all declared series by name. Read-only after newFamilies.
type families map[string]*family

func newFamilies() families {
	all := families{}
	for _, s := range catalog.All() {
		all[s.Name] = &family{
			Series: s,
			bare:   prometheus.NewDesc(s.Name, s.Help(), s.Labels, nil),
			full:   prometheus.NewDesc(s.Name, s.Help(), slices.Concat(s.Labels, s.Maybe), nil),
		}
	}
	return all
}

// page builds the metrics of one collection from the catalogue and sends them. Label values are given in the order of
// the declaration, those of Maybe last, empty where they are not known. What does not fit its declaration is sent as
// an invalid metric: the gatherer reports it, tests fail on it, and the rest of the page is served.
type page struct {
	families families
	ch       chan<- prometheus.Metric
	held     *part // where metrics go instead, while it is not nil
}

// part is some metrics that have not been sent yet.
type part struct {
	metrics []prometheus.Metric
	series  int // as a scraper counts them
}

// part collects metrics without sending them.
func (p *page) part(collect func()) part {
	var out part
	p.held = &out
	collect()
	p.held = nil
	return out
}

// sendPart sends what was collected.
func (p *page) sendPart(part part) {
	for _, m := range part.metrics {
		p.ch <- m
	}
}

// gauge sends a gauge. A value that is not a number is unknown, and what is unknown is not sent.
func (p *page) gauge(name string, v float64, values ...string) {
	if math.IsNaN(v) {
		return
	}
	desc, labels, err := p.describe(name, catalog.Gauge, values)
	p.send(name, err, 1, func() (prometheus.Metric, error) {
		return prometheus.NewConstMetric(desc, prometheus.GaugeValue, v, labels...)
	})
}

// counter sends a counter that started at 0 at the given time, unix seconds; 0 is an unknown time.
func (p *page) counter(name string, v, created float64, values ...string) {
	desc, labels, err := p.describe(name, catalog.Counter, values)
	p.send(name, err, 1, func() (prometheus.Metric, error) {
		if created == 0 {
			return prometheus.NewConstMetric(desc, prometheus.CounterValue, v, labels...)
		}
		return prometheus.NewConstMetricWithCreatedTimestamp(desc, prometheus.CounterValue, v, unixTime(created), labels...)
	})
}

// buckets is a histogram as counts per bucket, not cumulative: one more than edges.
type buckets struct {
	edges  []float64
	counts []uint64
	sum    float64
}

// histogram sends a histogram that started empty at the given time, unix seconds.
func (p *page) histogram(name string, h buckets, created float64, values ...string) {
	desc, labels, err := p.describe(name, catalog.Histogram, values)
	if err == nil && len(h.counts) != len(h.edges)+1 {
		err = fmt.Errorf("%d counts for %d edges", len(h.counts), len(h.edges))
	}
	// All finite buckets, that of +Inf, the sum and the count.
	p.send(name, err, len(h.edges)+3, func() (prometheus.Metric, error) {
		cumulative := make(map[float64]uint64, len(h.edges))
		var n uint64
		for i, c := range h.counts {
			n += c
			if i < len(h.edges) {
				cumulative[h.edges[i]] = n
			}
		}
		if created == 0 {
			return prometheus.NewConstHistogram(desc, n, h.sum, cumulative, labels...)
		}
		return prometheus.NewConstHistogramWithCreatedTimestamp(desc, n, h.sum, cumulative, unixTime(created), labels...)
	})
}

// info sends an info.
func (p *page) info(name string, values ...string) {
	desc, labels, err := p.describe(name, catalog.Info, values)
	p.send(name, err, 1, func() (prometheus.Metric, error) {
		return prometheus.NewConstMetric(desc, prometheus.GaugeValue, 1, labels...)
	})
}

// openInfo sends an info with the labels of a target beside the declared ones. A label of the target that is empty,
// has no valid name, is reserved, or would hide a declared one is left out.
func (p *page) openInfo(name string, extra map[string]string, values ...string) {
	_, labels, err := p.describe(name, catalog.Info, values)
	if err == nil && !p.families[name].Open {
		err = errors.New("is not declared with the labels of a target")
	}
	p.send(name, err, 1, func() (prometheus.Metric, error) {
		f := p.families[name]
		names := f.present(values)
		for _, l := range slices.Sorted(maps.Keys(extra)) {
			if legalLabel(l) && extra[l] != "" && !slices.Contains(f.Labels, l) && !slices.Contains(f.Maybe, l) {
				names, labels = append(names, l), append(labels, labelValue(extra[l]))
			}
		}
		return prometheus.NewConstMetric(prometheus.NewDesc(name, f.Help(), names, nil), prometheus.GaugeValue, 1, labels...)
	})
}

// describe checks values against the declaration and returns the descriptor and the label values that fit it.
func (p *page) describe(name string, kind catalog.Kind, values []string) (*prometheus.Desc, []string, error) {
	f := p.families[name]
	switch {
	case f == nil:
		return nil, nil, errors.New("is not in the catalogue")
	case f.Kind != kind:
		return nil, nil, fmt.Errorf("is declared as a %s, not as a %s", f.Kind, kind)
	case len(values) != len(f.Labels)+len(f.Maybe):
		return nil, nil, fmt.Errorf("has %d label values for the labels %v and %v", len(values), f.Labels, f.Maybe)
	}
	labels := make([]string, 0, len(values))
	for i, v := range values {
		switch {
		case v != "":
			labels = append(labels, labelValue(v))
		case i < len(f.Labels):
			return nil, nil, fmt.Errorf("has no value for its label %s", f.Labels[i])
		}
	}
	switch len(labels) {
	case len(f.Labels):
		return f.bare, labels, nil
	case len(values):
		return f.full, labels, nil
	}
	return prometheus.NewDesc(name, f.Help(), f.present(values), nil), labels, nil
}

// present lists the names of the labels that have a value.
func (f *family) present(values []string) []string {
	names := slices.Clone(f.Labels)
	for i, l := range f.Maybe {
		if values[len(f.Labels)+i] != "" {
			names = append(names, l)
		}
	}
	return names
}

// send makes and sends a metric that counts as so many series.
func (p *page) send(name string, err error, series int, build func() (prometheus.Metric, error)) {
	var m prometheus.Metric
	if err == nil {
		m, err = build()
	}
	if err != nil {
		err = fmt.Errorf("series %s %w", name, err)
		m, series = prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err), 0
	}
	if p.held != nil {
		p.held.metrics, p.held.series = append(p.held.metrics, m), p.held.series+series
		return
	}
	p.ch <- m
}

// maxLabelValue bounds label values that come from outside, in bytes: an engine that calls its model by a whole
// configuration must not make the page grow with it.
const maxLabelValue = 256

// labelValue makes a text from outside fit to be a label value: valid UTF-8 of bounded length.
func labelValue(s string) string {
	if len(s) > maxLabelValue {
		cut := maxLabelValue
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// legalLabel reports whether a target's label name may stand on the page: in the form that every Prometheus accepts,
// and not among the names that Prometheus keeps for itself.
func legalLabel(name string) bool {
	if name == "" || strings.HasPrefix(name, "__") {
		return false
	}
	for i, c := range name {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if digit := '0' <= c && c <= '9'; !letter && (!digit || i == 0) {
			return false
		}
	}
	return true
}

// unixTime is the time of unix seconds, to the microsecond, which is what a float64 of today resolves.
func unixTime(seconds float64) time.Time { return time.UnixMicro(int64(math.Round(seconds * 1e6))) }
