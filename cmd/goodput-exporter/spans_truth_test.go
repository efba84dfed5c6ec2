package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/collectors/recording"
	otlp "github.com/goodput-exporter/goodput-exporter/collectors/spans"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// tracedRecordings are the recordings of engines that sent a span of every sequence. 250/25 lies off the edges of the one
// with other buckets, so there the spans alone can judge it.
var tracedRecordings = map[string][]promise{
	"vllm-0.32-day":     {{250, 25}, {100, 25}, {500, 25}, {60, 10}, {230, 17}},
	"vllm-0.32-buckets": {{200, 20}, {100, 20}, {250, 25}},
	"vllm-0.32-kv":      {{250, 25}, {500, 25}},
	"vllm-0.32-restart": {{250, 25}},
	"vllm-0.32-dp2":     {{250, 25}, {500, 50}},
	"vllm-0.32-spec":    {{250, 25}},
	"vllm-0.11-day":     {{250, 25}, {500, 25}},
}

var sentSpansOnce sync.Map // name -> func() []fact.Span

// sentSpans are the spans that the recorded engine sent, read from the messages as they came.
func sentSpans(t *testing.T, name string) []fact.Span {
	t.Helper()
	load, _ := sentSpansOnce.LoadOrStore(name, sync.OnceValue(func() []fact.Span {
		f, err := os.Open(filepath.Join(recordingsDir, name, "recording.jsonl.gz"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		reader, err := recording.NewReader(f, name)
		if err != nil {
			t.Fatal(err)
		}
		decoder := otlp.NewDecoder([]string{"llm_request"}, nil, 16<<20)
		var out []fact.Span
		for {
			entry, err := reader.NextEntry()
			if errors.Is(err, io.EOF) {
				return out
			}
			if err != nil {
				t.Fatal(err)
			}
			if m := entry.Message; m != nil {
				batch, err := decoder.Decode(otlp.Message{Peer: m.Peer, Path: m.Path, ContentType: m.ContentType, ContentEncoding: m.ContentEncoding, Body: m.Body, Received: m.T})
				if err != nil {
					t.Fatal(err)
				}
				if n := batch.Rejected(); n > 0 {
					t.Fatalf("%s: %d spans were refused", name, n)
				}
				out = append(out, batch.Spans...)
			}
		}
	}))
	return load.(func() []fact.Span)()
}

// retellSpans folds polls and spans as an exporter does that takes spans in.
func retellSpans(polls []fact.Poll, sent []fact.Span, promises []promise) *told {
	cfg := config.Default()
	o := foldOptions(&cfg, polls[0].Sent)
	o.Objectives, o.Spans, o.Grace = nil, true, 10
	for _, p := range promises {
		o.Objectives = append(o.Objectives, p.objective())
	}
	sent = slices.Clone(sent)
	slices.SortStableFunc(sent, func(a, b fact.Span) int { return cmpFloat(a.Received, b.Received) })
	state, out := fold.New(o), &told{}
	take := func(s *fold.Snapshot) {
		out.snapshots = append(out.snapshots, s)
		out.windows = append(out.windows, s.Windows...)
	}
	target := []fact.Target{{ID: polls[0].Target}}
	for _, p := range polls {
		n := 0
		for n < len(sent) && sent[n].Received <= p.Received {
			n++
		}
		take(state.Apply(fold.Round{At: p.Received, Targets: target, Polls: []fact.Poll{p}, Spans: sent[:n]}))
		sent = sent[n:]
	}
	end := polls[len(polls)-1].Received + 15
	take(state.Apply(fold.Round{At: end, Targets: target, Spans: sent}))
	take(state.Flush(end))
	return out
}

func TestSpansOfRealEnginesMakeEveryWindowExact(t *testing.T) {
	for name, promises := range tracedRecordings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, sent := loadRecorded(t, name), sentSpans(t, name)
			if len(sent) != len(r.truth) {
				t.Fatalf("%d spans of %d sequences", len(sent), len(r.truth))
			}
			said := retellSpans(r.polls, sent, promises)
			if alone := retell(r.polls, promises); len(alone.windows) != len(said.windows) {
				t.Fatalf("%d windows, without spans %d", len(said.windows), len(alone.windows))
			}
			for _, w := range said.windows {
				good, n, ok := r.good(w, promises)
				what := fmt.Sprintf("%s (%.0f, %.0f]: %d spans of %d", w.SLO, w.Start-r.polls[0].Sent, w.End-r.polls[0].Sent, w.Spans.Seen, w.Sequences)
				switch {
				case !ok:
					t.Errorf("%s: ends at no page", what)
				case n != w.Sequences:
					t.Errorf("%s: %d sequences are true", what, n)
				case !w.Spans.Complete || w.Spans.Seen != n || w.Spans.Unsure != 0 || w.Spans.Conflict:
					t.Errorf("%s: not complete: %+v", what, w.Spans)
				case w.Lower != good || w.Upper != good:
					t.Errorf("%s: [%d, %d], %d are true", what, w.Lower, w.Upper, good)
				}
			}
			e := lastEngine(said).Spans
			if e.Seen != e.Finished || e.Exact != e.Windows || e.Conflicts+e.Late+e.Dropped+e.Duplicate != 0 {
				t.Errorf("%+v", e)
			}
			if waste := uint64(len(sent)) - e.Seen; e.Outside != waste {
				t.Errorf("%d spans are in no window, %d are said to be", waste, e.Outside)
			}
		})
	}
}

func lastEngine(said *told) fold.Engine { return said.snapshots[len(said.snapshots)-1].Engines[0] }

// losses are ways in which spans get lost.
var losses = map[string]func(share float64, rng *rand.Rand, sent []fact.Span) []fact.Span{
	"at random": func(share float64, rng *rand.Rand, sent []fact.Span) []fact.Span {
		return slices.DeleteFunc(slices.Clone(sent), func(fact.Span) bool { return rng.Float64() < share })
	},
	"in runs": func(share float64, rng *rand.Rand, sent []fact.Span) []fact.Span {
		lost, left := false, 0
		return slices.DeleteFunc(slices.Clone(sent), func(fact.Span) bool {
			if left == 0 {
				lost, left = rng.Float64() < share, 1+rng.IntN(80)
			}
			left--
			return lost
		})
	},
	// As a sampler that keeps a share of the traces does.
	"by trace": func(share float64, rng *rand.Rand, sent []fact.Span) []fact.Span {
		return slices.DeleteFunc(slices.Clone(sent), func(s fact.Span) bool {
			return float64(binary.BigEndian.Uint64(s.Trace[8:])>>1)/(1<<63) < share
		})
	},
}

// checkEvidence holds each window against the truth and against what the histograms alone say, and returns how many spans
// of how many sequences are said to have been seen.
func checkEvidence(t *testing.T, what string, r *recorded, said, alone *told, promises []promise) (seen, finished uint64) {
	t.Helper()
	if len(said.windows) != len(alone.windows) {
		t.Fatalf("%s: %d windows, without spans %d", what, len(said.windows), len(alone.windows))
	}
	for i, w := range said.windows {
		good, n, ok := r.good(w, promises)
		at := fmt.Sprintf("%s: %s (%.1f, %.1f] %+v", what, w.SLO, w.Start-r.polls[0].Sent, w.End-r.polls[0].Sent, w.Spans)
		if !ok || n != w.Sequences || w.Evidence != "" && (good < w.Lower || good > w.Upper) {
			t.Fatalf("%s: truth %d of %d outside [%d, %d] of %d", at, good, n, w.Lower, w.Upper, w.Sequences)
		}
		width := w.Upper - w.Lower
		if unseen := w.Sequences - (w.Spans.Seen - w.Spans.Unsure); w.Spans.Expected && !w.Spans.Conflict && width > unseen {
			t.Fatalf("%s: [%d, %d] is wider than the %d that are unseen", at, w.Lower, w.Upper, unseen)
		}
		if h := alone.windows[index(alone.windows, w, i)]; h.Evidence != "" && width > h.Upper-h.Lower {
			t.Fatalf("%s: [%d, %d] is wider than the histograms' [%d, %d]", at, w.Lower, w.Upper, h.Lower, h.Upper)
		}
		if w.SLO == promises[0].String() && w.Spans.Expected {
			seen, finished = seen+w.Spans.Seen, finished+w.Sequences
		}
	}
	return seen, finished
}

// index finds the same window.
func index(windows []fold.Window, w fold.Window, near int) int {
	if near < len(windows) && windows[near].Start == w.Start && windows[near].SLO == w.SLO {
		return near
	}
	return slices.IndexFunc(windows, func(x fold.Window) bool { return x.Start == w.Start && x.End == w.End && x.SLO == w.SLO })
}

func TestTruthSurvivesLostSpans(t *testing.T) {
	for name, promises := range tracedRecordings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, all := loadRecorded(t, name), sentSpans(t, name)
			alone := retell(r.polls, promises)
			for how, lose := range losses {
				for seed, share := range []float64{0.1, 0.5, 0.9, 0.003} {
					what := fmt.Sprintf("%g lost %s", share, how)
					sent := lose(share, rand.New(rand.NewPCG(uint64(seed), 3)), all)
					said := retellSpans(r.polls, sent, promises)
					seen, finished := checkEvidence(t, what, r, said, alone, promises)
					// A span beside an edge of a window may be counted in its neighbour, and those between processes in none.
					if e := lastEngine(said).Spans; e.Expected && (seen+e.Outside+e.Late+20 < uint64(len(sent)) || seen > uint64(len(sent))) {
						t.Errorf("%s: %d seen of %d sequences, %d spans came (%+v)", what, seen, finished, len(sent), e)
					}
				}
			}
		})
	}
}

// TestTruthSurvivesWhateverHappensToSpans cuts windows anywhere, drops polls and spans, and has spans come late, twice, out
// of order, and from clocks that are apart.
func TestTruthSurvivesWhateverHappensToSpans(t *testing.T) {
	const tries = 5
	for name, promises := range tracedRecordings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, all := loadRecorded(t, name), sentSpans(t, name)
			rng := rand.New(rand.NewPCG(uint64(len(name)), 9))
			for try := range 6 * tries {
				skew := []float64{0, 0, 0.3, -0.3, 2, -2}[try%6]
				drop, share, delay := rng.Float64()*0.6, []float64{0, 0, 0.05, 0.5, 0.9}[rng.IntN(5)], []float64{0, 0, 3, 12}[rng.IntN(4)]
				var polls []fact.Poll
				for _, p := range r.polls[rng.IntN(len(r.polls)/2):] {
					if rng.Float64() >= drop {
						polls = append(polls, p)
					}
				}
				sent := slices.DeleteFunc(slices.Clone(all), func(s fact.Span) bool { return rng.Float64() < share || s.Received < polls[0].Received-20 })
				for i := range sent {
					sent[i].End += skew
					sent[i].Received += delay * rng.Float64()
					if rng.IntN(30) == 0 {
						sent = append(sent, sent[i])
						sent[len(sent)-1].Received += 8 * rng.Float64()
					}
				}
				what := fmt.Sprintf("try %d: clocks %g s apart, %.2f of polls and %g of spans lost, %g s late", try, skew, drop, share, delay)
				checkEvidence(t, what, r, retellSpans(polls, sent, promises), retell(polls, promises), promises)
			}
		})
	}
}

// TestTheTruthOfAnotherTimeIsNotInTheIntervals: the checks above can fail.
func TestTheTruthOfAnotherTimeIsNotInTheIntervals(t *testing.T) {
	name, promises := "vllm-0.32-day", tracedRecordings["vllm-0.32-day"][:1]
	r, wrong := loadRecorded(t, name), 0
	said := retellSpans(r.polls, sentSpans(t, name), promises)
	for _, w := range said.windows {
		good := uint64(0)
		for _, f := range r.truth {
			if f.End+2 > w.Start && f.End+2 <= w.End {
				if met, _ := new(promises[0].objective()).Meets(f.request()); met {
					good++
				}
			}
		}
		if good < w.Lower || good > w.Upper {
			wrong++
		}
	}
	if wrong < len(said.windows)/2 {
		t.Errorf("%d of %d windows exclude what finished two seconds earlier", wrong, len(said.windows))
	}
}
