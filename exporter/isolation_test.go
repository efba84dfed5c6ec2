package exporter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/expfmt"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// folded makes an exporter judge by the real reducer instead of the recorder. A page is old after 9 s: that of the round
// before is, and one of this round never, for a round lasts 8.25 s at most.
func folded(c *Config) {
	c.Objectives = objectives()
	c.Reducer = fold.New(fold.Options{
		Objectives: c.Objectives, Started: unix(time.Now()), JudgementWindow: 60, Stale: 9, Stall: 60,
		Quantiles: []float64{0.5}, QuantileWindows: []float64{300},
	})
}

// idle is the page of a sound engine that has had some work.
func idle() *fact.EngineSample {
	return &fact.EngineSample{Dialect: "vllm-v1", Version: ">=0.11", ProcessStart: 1e9, HTTPKnown: true, Ranks: []fact.Rank{{
		Model: "llama-3", Finished: []fact.ReasonCount{{Reason: "stop", Count: 7}}, Requests: fact.Known(7),
		PromptTokens: fact.Known(700), OutputTokens: fact.Known(70), Preemptions: fact.Known(0),
		Running: fact.Known(0), Waiting: fact.Known(0), KVUsage: fact.Known(0.5),
	}}}
}

// answers is a poll that takes 50 ms and brings the page of a sound engine.
func answers(ctx context.Context) fact.Poll {
	p := after(ctx, 50*time.Millisecond)
	if p.Sample != nil {
		p.Sample = idle()
	}
	return p
}

// engines reads a page: the values of each engine's series, ranks included, by name and remaining labels.
func (w *world) engines(t *testing.T) map[string]map[string]float64 {
	t.Helper()
	status, body := w.ask("/metrics")
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, body)
	}
	out := map[string]map[string]float64{}
	for line := range strings.Lines(body) {
		name, value, found := cutLast(strings.TrimSpace(line), " ")
		_, id, own := strings.Cut(name, `engine="`)
		if !found || !own || strings.HasPrefix(line, "#") {
			continue
		}
		id, _, _ = strings.Cut(id, `"`)
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatal(err)
		}
		if out[id] == nil {
			out[id] = map[string]float64{}
		}
		mark := `engine="` + id + `"`
		out[id][strings.Replace(strings.Replace(name, mark+",", "", 1), "{"+mark+"}", "", 1)] = v
	}
	return out
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// TestOneTargetCostsItself: nine engines answer in 50 ms, the tenth does something bad from the start or after a while.
// Nothing of it may be a zero that is not true, and the nine stay fresh every round.
func TestOneTargetCostsItself(t *testing.T) {
	hangs := func(ctx context.Context) fact.Poll { return after(ctx, time.Hour) }
	broken := func(context.Context) fact.Poll {
		return fact.Poll{Sent: unix(time.Now()), Received: unix(time.Now()), Reason: fact.ReasonStatus, Detail: "HTTP 500"}
	}
	panics := func(context.Context) fact.Poll { panic(errors.New("no name validation scheme is set")) }
	deaf := func(context.Context) fact.Poll {
		p := after(context.Background(), 25*time.Second)
		p.Sample = idle()
		return p
	}
	for name, c := range map[string]struct {
		does   func(context.Context) fact.Poll
		reason string
	}{
		"it hangs":                               {hangs, "timeout"},
		"it answers with status 500":             {broken, "status"},
		"its poll panics":                        {panics, "internal"},
		"its poll ends long after it was called": {deaf, "timeout"},
	} {
		for when, good := range map[string]int{"from the start": 0, "after three pages": 3} {
			t.Run(name+" "+when, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ids := strings.Split("a b c d bad e f g h i", " ")
					polls := 0
					w := start(t, named(ids...), func(ctx context.Context, target fact.Target) fact.Poll {
						if target.ID == "bad" {
							if polls++; polls > good {
								return c.does(ctx)
							}
						}
						return answers(ctx)
					}, folded)
					for round := range 9 {
						w.until(time.Duration(round)*10*time.Second + 9*time.Second)
						page := w.engines(t)
						freshNine(t, page, w.begun.Add(time.Duration(round)*10*time.Second))
						if round >= good {
							onlyFailed(t, page["bad"], c.reason, round+1-good)
						}
					}
					if v := w.view(); v.rounds != 9 || v.missed != 0 {
						t.Errorf("%d rounds, %d missed", v.rounds, v.missed)
					}
					if err := w.end(); err != nil && c.reason != "timeout" {
						t.Error(err)
					}
					w.fan.flying.Wait()
				})
			})
		}
	}
}

// freshNine holds the nine to their pages of the round that began at a time.
func freshNine(t *testing.T, page map[string]map[string]float64, began time.Time) {
	t.Helper()
	want := unix(began.Add(50 * time.Millisecond))
	if len(page) != 10 {
		t.Fatalf("%d engines on the page, want 10", len(page))
	}
	for id, got := range page {
		if id == "bad" {
			continue
		}
		if at := got["goodput_engine_last_poll_timestamp_seconds"]; got["goodput_engine_up"] != 1 || at-want > 1e-3 || want-at > 1e-3 {
			t.Fatalf("%s: up %v, last page at %f, want %f", id, got["goodput_engine_up"], at, want)
		}
		if got[`goodput_engine_kv_usage_ratio{model="llama-3"}`] != 0.5 {
			t.Fatalf("%s: no gauges: %v", id, slices.Sorted(maps.Keys(got)))
		}
	}
}

// onlyFailed holds a target that has failed so many polls in a row: it is not up, its failures are counted, and all
// that holds now is absent. What was counted before stays.
func onlyFailed(t *testing.T, got map[string]float64, reason string, failures int) {
	t.Helper()
	if up, there := got["goodput_engine_up"]; !there || up != 0 {
		t.Errorf("up is %v, there: %v", up, there)
	}
	if n := got[`goodput_engine_poll_failures_total{reason="`+reason+`"}`]; n != float64(failures) {
		t.Errorf("%v failures, want %d: %v", n, failures, got)
	}
	for name, v := range got {
		base := name[:strings.IndexAny(name+"{", "{")]
		switch {
		case slices.Contains([]string{"goodput_engine_kv_usage_ratio", "goodput_requests_in_flight", "goodput_engine_progressing", "goodput_window_coverage_ratio"}, base):
			t.Errorf("%s is on the page although its poll failed", name)
		case v == 0 && base != "goodput_engine_up" && base != "goodput_series_dropped" && base != "goodput_engine_poll_duration_seconds" && !strings.HasSuffix(base, "_total"):
			t.Errorf("%s is 0", name)
		case strings.HasSuffix(base, "_total") && base != "goodput_engine_poll_failures_total" && got["goodput_engine_last_poll_timestamp_seconds"] == 0:
			t.Errorf("%s is counted of an engine that was never seen", name)
		}
	}
}

// TestATargetThatGoesLeavesThePage: a target vanishes while its poll is under way, and the poll ends 200 ms later.
func TestATargetThatGoesLeavesThePage(t *testing.T) {
	for name, c := range map[string]struct {
		rounds int // that it was polled in before
		counts bool
	}{
		"before its first page":  {0, false},
		"after it had been seen": {2, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := named("stays", "goes")
				w := start(t, s, func(ctx context.Context, _ fact.Target) fact.Poll {
					p := answers(ctx)
					<-time.After(250 * time.Millisecond)
					return p
				}, folded)
				began := time.Duration(c.rounds) * 10 * time.Second
				w.until(began + 100*time.Millisecond)
				s.set(s.list[0])
				for round := range 9 {
					w.until(began + time.Duration(round)*10*time.Second + time.Second)
					got := w.engines(t)["goes"]
					for name := range got {
						if base := name[:strings.IndexAny(name+"{", "{")]; !strings.HasSuffix(base, "_total") {
							t.Errorf("round %d: %s says something of a target that is gone", round, name)
						}
					}
					// What was counted stays for one judgement window, so that every scraper has seen its end.
					if want := c.counts && round < 7; (len(got) > 0) != want {
						t.Errorf("round %d: %v", round, got)
					}
				}
				if w.engines(t)["stays"]["goodput_engine_up"] != 1 {
					t.Error("the other target is not up")
				}
				if err := w.end(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestNothingIsRememberedOfTargetsThatWent gives each of many rounds a target of its own, every fifth of which fails.
func TestNothingIsRememberedOfTargetsThatWent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &targets{}
		born := 0
		s.set(fact.Target{ID: "pod-0", URL: "http://pod/metrics"})
		w := start(t, s, func(ctx context.Context, _ fact.Target) fact.Poll {
			if born++; born%5 == 0 {
				return fact.Poll{Reason: fact.ReasonRefused, Detail: "refused"}
			}
			return answers(ctx)
		}, folded)
		for round := range 300 {
			w.until(time.Duration(round)*10*time.Second + 5*time.Second)
			s.set(fact.Target{ID: fmt.Sprint("pod-", round+1), URL: "http://pod/metrics"})
		}
		// The reducer keeps the counts of an engine for a window of 60 s after it went.
		if n := len(w.Snapshot().Engines); n > 8 {
			t.Errorf("%d engines in the snapshot", n)
		}
		if err := w.end(); err != nil {
			t.Error(err)
		}
		if engines, busy := len(w.journal.engines), len(w.fan.busy); engines != 1 || busy != 0 {
			t.Errorf("%d engines in the journal and %d under way, want 1 and 0", engines, busy)
		}
	})
}

func TestRunLeavesNoGoroutine(t *testing.T) {
	for name, stop := range map[string]time.Duration{
		"stopped between two rounds":        7 * time.Second,
		"stopped while polls are under way": 10*time.Second + 20*time.Millisecond,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, named("a", "b", "hangs"), func(ctx context.Context, target fact.Target) fact.Poll {
					if target.ID == "hangs" {
						return after(ctx, time.Hour)
					}
					return answers(ctx)
				}, folded)
				w.until(stop)
				w.ask("/metrics")
				if err := w.end(); err != nil {
					t.Error(err)
				}
				if took := time.Since(w.begun) - stop; took != 0 {
					t.Errorf("Run took %v to end", took)
				}
				synctest.Wait()
				stacks := make([]byte, 1<<20)
				stacks = stacks[:runtime.Stack(stacks, true)]
				for _, mark := range []string{"exporter.(*Exporter)", "exporter.(*fan)", "promhttp."} {
					if strings.Contains(string(stacks), mark) {
						t.Errorf("a goroutine is left in %s:\n%s", mark, stacks)
					}
				}
			})
		})
	}
}

// TestScrapesWhileRoundsRun reads pages while snapshots are replaced: for the race detector.
func TestScrapesWhileRoundsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, named("a", "b"), func(ctx context.Context, _ fact.Target) fact.Poll { return answers(ctx) }, folded)
		for range 4 {
			go func() {
				for range 20 {
					<-time.After(2500 * time.Millisecond)
					for _, path := range []string{"/metrics", "/", "/debug/round", "/-/ready"} {
						if status, body := w.ask(path); status != http.StatusOK {
							t.Errorf("%s says %d: %s", path, status, body)
						}
					}
				}
			}()
		}
		w.until(time.Minute)
		page := encode(t, gather(t, NewSnapshotCollector(SnapshotConfig{Published: w.published})), expfmt.NewFormat(expfmt.TypeTextPlain))
		if !strings.Contains(page, "goodput_engine_up{engine=\"b\"} 1\n") {
			t.Error("engine b is not up")
		}
		if err := w.end(); err != nil {
			t.Error(err)
		}
	})
}
