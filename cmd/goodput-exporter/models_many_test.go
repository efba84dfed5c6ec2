package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/goodput-exporter/goodput-exporter/exporter"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// gathered is the exporter's page about a snapshot.
func gathered(t *testing.T, s *fold.Snapshot, maxSeries int) []*dto.MetricFamily {
	t.Helper()
	r := prometheus.NewRegistry()
	r.MustRegister(exporter.NewSnapshotCollector(exporter.SnapshotConfig{Started: simStart, Published: func() exporter.Published {
		return exporter.Published{Snapshot: s, MaxSeries: maxSeries}
	}}))
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// modelsOn are the values of the label model.
func modelsOn(families []*dto.MetricFamily) map[string]bool {
	models := map[string]bool{}
	for _, f := range families {
		for _, m := range f.Metric {
			for _, l := range m.Label {
				if l.GetName() == "model" {
					models[l.GetValue()] = true
				}
			}
		}
	}
	return models
}

// SEC-01: 10,000 names of models within a day, of which 5 are live at any time. Only these are on the page, what is remembered
// of the others does not grow, and no request is left out of the engines' counts or counted twice.
func TestManyNamesOfModels(t *testing.T) {
	computes(t)
	const engines, steps = 5, 2000
	cfg := config.Default()
	cfg.SLOs = simObjectives()[3:4]
	state := fold.New(foldOptions(&cfg, simStart))
	fleet := clockwork{edges: []float64{0.025, 0.1, 0.25, 0.5, 1}, tokens: []float64{1, 2}}
	var targets []fact.Target
	for i := range engines {
		targets = append(targets, fact.Target{ID: fmt.Sprint("e", i), URL: fmt.Sprintf("http://e%d:8000/metrics", i)})
	}
	var truth, counted, early uint64
	var last *fold.Snapshot
	for step := range steps {
		at := simStart + 40*float64(step) // each process lives for two pages
		for half := range 2 {
			r := fold.Round{At: at + 20*float64(half) + 1, Targets: targets}
			for i, target := range targets {
				s := fleet.page(uint64(half * 3))
				s.ProcessStart, s.Ranks[0].Model = at-1, fmt.Sprintf("m-%d-%d", step, i)
				r.Polls = append(r.Polls, fact.Poll{Target: target.ID, Sent: r.At - 0.1, Received: r.At, Sample: s})
				truth += uint64(half * 3)
			}
			last = state.Apply(r)
			for _, w := range last.Windows {
				counted += w.Sequences
			}
		}
		switch step {
		case steps / 5:
			early = heap()
		case steps - 1:
			if late := heap(); late > early+early/2+2<<20 {
				t.Errorf("the heap grew from %d kB to %d kB", early>>10, late>>10)
			}
		}
		if step%200 != 199 {
			continue
		}
		if models := modelsOn(gathered(t, last, cfg.Engines.MaxSeries)); len(models) != engines {
			t.Errorf("step %d: %d models are on the page: %v", step, len(models), models)
		}
	}
	for _, w := range state.Flush(last.At).Windows {
		counted += w.Sequences
	}
	if counted != truth {
		t.Errorf("%d sequences are counted, %d finished", counted, truth)
	}
}

// SEC-01: more models on one page than engines.max_series has room for. What holds for the engine stays and is right, the rest is
// left out whole, and how much that is, is said.
func TestManyModelsOnOnePage(t *testing.T) {
	const models, most = 200, 10_000
	cfg := config.Default()
	cfg.SLOs = simObjectives()[3:4]
	state := fold.New(foldOptions(&cfg, simStart))
	fleet := clockwork{edges: []float64{0.025, 0.1, 0.25, 0.5, 1}, tokens: []float64{1, 2}}
	targets := []fact.Target{{ID: "a", URL: "http://a:8000/metrics"}}
	var last *fold.Snapshot
	for i := range 10 {
		s := fleet.page(uint64(i))
		s.ProcessStart, s.HTTP[0].Count = simStart, uint64(models*i)
		for k := range models {
			r := s.Ranks[0]
			r.Model, r.Name = fmt.Sprintf("m-%d", k), fmt.Sprint(k)
			s.Ranks = append(s.Ranks, r)
		}
		s.Ranks = s.Ranks[1:]
		at := simStart + 10*float64(i+1)
		last = state.Apply(fold.Round{At: at, Targets: targets, Polls: []fact.Poll{{Target: "a", Sent: at - 0.1, Received: at, Sample: s}}})
	}
	series, dropped, finished := 0, 0.0, 0.0
	for _, f := range gathered(t, last, most) {
		for _, m := range f.Metric {
			if h := m.GetHistogram(); h != nil {
				series += len(h.Bucket) + 3 // +Inf, sum and count
				continue
			}
			series++
		}
		switch f.GetName() {
		case "goodput_series_dropped":
			dropped = f.Metric[0].GetGauge().GetValue()
		case "goodput_requests_finished_total":
			finished = f.Metric[0].GetCounter().GetValue()
		}
		if strings.HasPrefix(f.GetName(), "goodput_ttft_quantile") {
			t.Errorf("%s is there, and should have gone first", f.GetName())
		}
	}
	// The first window is from the birth of the process to the page of 60 s, the sixth.
	if series > most || series < most/10 || dropped == 0 || finished != models*5 {
		t.Errorf("%d series are sent, %v are said to be dropped, %v requests finished", series, dropped, finished)
	}
}
