package fold

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// BenchmarkRound folds one round of a node, and of a fleet behind one exporter: engines polled every 2 s, so a
// thirtieth of them commit a judgement window in each round, under three objectives.
func BenchmarkRound(b *testing.B) {
	const length = 120
	w := newWorld(7, length)
	w.restarts = nil
	var pages []*fact.EngineSample
	for t := 0.0; t < length; t += 2 {
		pages = append(pages, w.page(t))
	}
	for _, engines := range []int{1, 8, 100} {
		b.Run(fmt.Sprintf("engines=%d", engines), func(b *testing.B) {
			state := New(testOptions(epoch))
			round := Round{Targets: make([]fact.Target, engines), Polls: make([]fact.Poll, engines)}
			for i := range round.Targets {
				round.Targets[i].ID = fmt.Sprint(i)
			}
			i := 0
			for b.Loop() {
				// When the pages are used up they begin again, as a new process would: a restart every two minutes.
				lap := float64(i / len(pages))
				page := later(pages[i%len(pages)], lap*length)
				at := epoch + lap*length + 2*float64(i%len(pages))
				for j := range round.Polls {
					round.Polls[j] = fact.Poll{Target: round.Targets[j].ID, Sent: at, Received: at + 0.01, Sample: page}
				}
				round.At = at + 0.01
				state.Apply(round)
				i++
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(engines), "us/engine")
		})
	}
}

// later is a page of a process that was born shift seconds after the page's own.
func later(p *fact.EngineSample, shift float64) *fact.EngineSample {
	moved := *p
	moved.ProcessStart += shift
	moved.Ranks = slices.Clone(p.Ranks)
	for i := range moved.Ranks {
		moved.Ranks[i].Created += shift
	}
	return &moved
}

// BenchmarkSettleWindow commits a window of 10,000 sequences with a span for each, under three objectives and one with
// classes: from the spans of a round to the verdicts.
func BenchmarkSettleWindow(b *testing.B) {
	const sequences, pages = 10_000, 30
	rng := rand.New(rand.NewPCG(3, 5))
	spans := make([]fact.Span, sequences)
	origin := &fact.Origin{Peer: "10.0.0.1"}
	for i := range spans {
		s := &spans[i]
		s.Request = fact.Request{TTFT: rng.Float64() / 2, E2E: 1 + rng.Float64(), Decode: rng.Float64(), Prefill: rng.Float64() / 10, PromptTokens: rng.IntN(900), OutputTokens: 1 + rng.IntN(60)}
		s.Origin, s.Call = origin, fmt.Sprint("chatcmpl-", i)
		binary.BigEndian.PutUint64(s.Trace[:], uint64(i+1))
	}
	options := testOptions(0)
	options.Spans, options.Grace = true, 10
	classes := objective_("classes", 0.25, 0.025)
	classes.Classes = slo.Classes{By: slo.ByPromptTokens, List: []slo.Class{{Name: "short", AtMost: 100}, {Name: "long", AtMost: 500}}}
	options.Objectives = append(options.Objectives, classes)
	state := New(options)
	round := Round{Targets: []fact.Target{{ID: "a"}}}
	sample, at, id := says{born: 50}.page(), 100.0, uint64(0)
	show := func(n int) {
		next := *sample
		next.Ranks = slices.Clone(sample.Ranks)
		r := &next.Ranks[0]
		for f := range r.Histograms {
			r.Histograms[f] = r.Histograms[f].Clone()
		}
		for i := range n {
			s := &spans[i]
			for f, v := range map[fact.Family]float64{fact.TTFT: s.TTFT, fact.E2E: s.E2E, fact.Queue: 0, fact.Prefill: s.Prefill, fact.Decode: s.Decode, fact.Inference: s.Prefill + s.Decode, fact.TPOT: 0.01, fact.PromptTokens: float64(s.PromptTokens), fact.OutputTokens: float64(s.OutputTokens)} {
				h := &r.Histograms[f]
				h.Counts[sort.SearchFloat64s(h.Edges, v)]++
				h.Sum += v
			}
		}
		r.Finished = []fact.ReasonCount{{Reason: "stop", Count: r.FinishedWith("stop") + uint64(n)}}
		sample = &next
		round.At, round.Spans = at, nil
		round.Polls = []fact.Poll{{Target: "a", Sent: at, Received: at + 0.01, Sample: sample}}
		state.Apply(round)
	}
	show(0)
	exact := uint64(0)
	for b.Loop() {
		b.StopTimer()
		// The histograms of the whole window come with one page of it: what they cost is measured elsewhere.
		for i := range spans {
			s := &spans[i]
			s.End = at + 60*(float64(i)+0.5)/sequences
			s.Received = s.End + 3
			id++
			binary.BigEndian.PutUint64(s.ID[:], id)
		}
		round.At, round.Spans, round.Polls = at+50, spans[:1], nil
		state.Apply(round)
		e, counted := state.engines["a"], uint64(sequencesOf(sample))
		for k := range pages - 1 {
			at += 60.0 / pages
			e.marks = append(e.marks, mark{sent: at, received: at + 0.01, life: e.life, finished: counted + uint64(sequences*(k+1)/pages)})
		}
		at += 60.0 / pages
		show(sequences)
		round.At, round.Spans, round.Polls = at+12, spans[1:], nil
		b.StartTimer()
		exact = state.Apply(round).Engines[0].Spans.Exact
	}
	if exact == 0 {
		b.Fatal("no window was exact")
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/sequences, "ns/span")
}
