// Package browser opens the status page in a real browser. It is a module of its own, so that what drives the browser
// is no dependency of the exporter. It has tests only and knows nothing of the exporter but a page's address.
package browser

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/engine"
	"github.com/goodput-exporter/goodput-exporter/collectors/recording"
	"github.com/goodput-exporter/goodput-exporter/exporter"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// tapes are the recordings that stand for engines, by the engine's id. Each is played again and again, a new process
// each time, until it fills an hour that ends now.
type tapes map[string]string

var usual = tapes{"gpu-0": "vllm-0.32-day", "gpu-1": "vllm-0.11-day", "gpu-2": "vllm-0.32-rust", "gpu-3": "vllm-0.32-dp2"}

// site runs an exporter that has watched the tapes for an hour and returns its address. model renames what they serve,
// if it is not empty.
func site(t *testing.T, tapes tapes, model string) string {
	t.Helper()
	now := float64(time.Now().UnixMicro()) / 1e6
	begun := now - 3600
	objectives := contract()
	state := fold.New(options(objectives, begun))
	var polls []fact.Poll
	var spans []fact.Span
	targets := stillTargets{{ID: "gpu-4", URL: "http://127.0.0.1:8004/metrics"}}
	last := held{}
	for id, tape := range tapes {
		targets = append(targets, fact.Target{ID: id, URL: "http://127.0.0.1:8000/metrics", Labels: map[string]string{"tier": "gold"}})
		played := play(t, id, tape, begun, now)
		for i := range played {
			if s := played[i].Sample; s != nil && model != "" {
				for k := range s.Ranks {
					s.Ranks[k].Model = model
				}
			}
		}
		polls = append(polls, played...)
		if id != silent {
			spans = append(spans, tracedBy(t, id, tape, played)...)
		}
		last[id] = played[len(played)-1].Sample
	}
	slices.SortFunc(polls, func(a, b fact.Poll) int { return int(1e3 * (a.Received - b.Received)) })
	spans = append(spans, stray(now))
	slices.SortFunc(spans, func(a, b fact.Span) int { return int(1e3 * (a.Received - b.Received)) })
	for _, p := range polls {
		n, _ := slices.BinarySearchFunc(spans, p.Received, func(s fact.Span, at float64) int { return cmp.Compare(s.Received, at) })
		state.Apply(fold.Round{At: p.Received, Targets: targets, Polls: []fact.Poll{p}, Spans: spans[:n]})
		spans = spans[n:]
	}
	e, err := exporter.New(exporter.Config{
		Settings: exporter.Settings{Interval: 2 * time.Second, Timeout: time.Second, Source: targets, Poller: last, Spans: noSpans{}, Objectives: objectives},
		Reducer:  state, Version: "test", Inputs: func() exporter.Inputs {
			return exporter.Inputs{ReloadOK: true, Reloaded: time.Unix(int64(begun), 0), TargetFilesBroken: 1, Spans: &exporter.SpanIntake{
				Spans: []fold.Tally{{Name: "other_name", Count: 5127}, {Name: "refused", Count: 2}, {Name: "taken", Count: 20_000}}, Refused: []fold.Tally{{Name: "negative", Count: 2}}, Room: 50_000}}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	server := httptest.NewServer(e.Handler())
	t.Cleanup(func() {
		server.Close()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	for e.Snapshot() == nil {
		if _, err := server.Client().Get(server.URL + "/-/ready"); err != nil {
			t.Fatal(err)
		}
	}
	return server.URL
}

func contract() []slo.Objective {
	return []slo.Objective{
		{Name: "chat", Objective: 0.95, Window: 30 * 24 * time.Hour, Policy: slo.DefaultPolicy(),
			Clauses: []slo.Clause{{Metric: fact.TTFT, Threshold: 0.25}, {Metric: fact.TPOT, Threshold: 0.025}},
			Classes: slo.Classes{By: slo.ByPromptTokens, List: []slo.Class{
				{Name: "short", AtMost: 150}, {Name: "long", Clauses: []slo.Clause{{Metric: fact.TTFT, Threshold: 1}, {Metric: fact.TPOT, Threshold: 0.025}}},
			}}},
		{Name: "patient", Objective: 0.9, Window: 30 * 24 * time.Hour, Policy: slo.DefaultPolicy(), Match: slo.Match{Model: regexp.MustCompile("^(?:demo|long.*)$")},
			Clauses: []slo.Clause{{Metric: fact.TTFT, Threshold: 5}}},
	}
}

func options(objectives []slo.Objective, begun float64) fold.Options {
	return fold.Options{
		Objectives: objectives, Started: begun, JudgementWindow: 60, Quantiles: []float64{0.5, 0.9, 0.99}, QuantileWindows: []float64{300, 3600},
		Stale: 10, Stall: 60, History: 3600, Spans: true, Grace: 10, OnePrompt: []string{"/v1/completions", "/v1/chat/completions"},
	}
}

// play shifts a recording so that its copies, one after the other, end now.
func play(t *testing.T, id, tape string, from, to float64) []fact.Poll {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "testdata", "recordings", tape, "recording.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	reader, err := recording.NewReader(f, tape)
	if err != nil {
		t.Fatal(err)
	}
	decoder := engine.NewDecoder()
	var once []fact.Poll
	for {
		p, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		poll := fact.Poll{Target: id, Sent: p.T, Received: p.T + p.Took, Reason: fact.ReasonConnect}
		if sample, err := decoder.Decode(p.Body, p.ContentType); err == nil {
			poll.Sample = sample
		}
		once = append(once, poll)
	}
	begin, end := once[0].Sent, once[len(once)-1].Received
	lap := end - begin + 5
	var out []fact.Poll
	for shift := to - 1 - end; begin+shift > from; shift -= lap {
		for _, p := range slices.Backward(once) {
			p.Sent, p.Received = p.Sent+shift, p.Received+shift
			if p.Sample != nil {
				p.Sample = reborn(p.Sample, begin+shift)
			}
			out = append(out, p)
		}
	}
	slices.Reverse(out)
	return out
}

// reborn is a page of a process of another time.
func reborn(s *fact.EngineSample, born float64) *fact.EngineSample {
	out := *s
	out.ProcessStart = born
	out.Ranks = slices.Clone(s.Ranks)
	for i := range out.Ranks {
		out.Ranks[i].Created = born
		for f, h := range out.Ranks[i].Histograms {
			out.Ranks[i].Histograms[f] = hist.Histogram{Edges: h.Edges, Counts: h.Counts, Sum: h.Sum}
		}
	}
	return &out
}

// stillTargets never change.
type stillTargets []fact.Target

func (s stillTargets) Targets() []fact.Target { return s }

// held goes on showing each engine's last page.
type held map[string]*fact.EngineSample

func (held) Forget(string) {}

func (h held) Poll(_ context.Context, t fact.Target) fact.Poll {
	now := float64(time.Now().UnixMicro()) / 1e6
	if h[t.ID] == nil {
		return fact.Poll{Target: t.ID, Sent: now, Received: now, Reason: fact.ReasonRefused, Detail: "nothing listens at the address; is the engine still loading?"}
	}
	return fact.Poll{Target: t.ID, Sent: now, Received: now, Sample: h[t.ID]}
}
