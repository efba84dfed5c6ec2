package exporter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

func sameLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// TestRounds plays pollers against the clock: rounds are due every 10 s with a deadline of 8 s, and a poll may take 5 s.
func TestRounds(t *testing.T) {
	hang := func(ctx context.Context) fact.Poll { return after(ctx, time.Hour) }
	for name, c := range map[string]struct {
		ids    []string
		poll   pollerFunc
		tune   func(*Config)
		stop   time.Duration
		want   []string
		missed uint64
	}{
		"the first round is at once, the next ones on time": {
			ids: []string{"a", "b"}, stop: 25 * time.Second,
			poll: func(ctx context.Context, _ fact.Target) fact.Poll { return after(ctx, time.Second) },
			want: []string{"1s a:ok b:ok", "11s a:ok b:ok", "21s a:ok b:ok"},
		},
		"an engine that hangs costs only itself": {
			ids: []string{"a", "hangs", "z"}, stop: 25 * time.Second,
			poll: func(ctx context.Context, t fact.Target) fact.Poll {
				if t.ID == "hangs" {
					return hang(ctx)
				}
				return after(ctx, 50*time.Millisecond)
			},
			want: []string{"5s a:ok hangs:timeout z:ok", "15s a:ok hangs:timeout z:ok", "25s a:ok hangs:timeout z:ok"},
		},
		"a timeout above the round's deadline is cut short": {
			ids: []string{"a"}, stop: 15 * time.Second,
			tune: func(c *Config) { c.Timeout = time.Minute },
			poll: func(ctx context.Context, _ fact.Target) fact.Poll { return hang(ctx) },
			want: []string{"8s a:timeout"},
		},
		"a poller that does not heed its context is left behind, and not asked again before it returns": {
			ids: []string{"a", "deaf"}, stop: 35 * time.Second,
			poll: func(ctx context.Context, t fact.Target) fact.Poll {
				if t.ID == "deaf" {
					return after(context.Background(), 22*time.Second)
				}
				return after(ctx, time.Second)
			},
			// From the first round on until 22 s it is busy; the second and third round do not wait for it.
			want: []string{"8.25s a:ok deaf:timeout", "11s a:ok deaf:timeout", "21s a:ok deaf:timeout"},
		},
		"a panic costs one target its poll": {
			ids: []string{"a", "bad"}, stop: 5 * time.Second,
			poll: func(ctx context.Context, t fact.Target) fact.Poll {
				if t.ID == "bad" {
					panic("oh no")
				}
				return after(ctx, time.Second)
			},
			want: []string{"1s a:ok bad:internal"},
		},
		"of two targets with one id the first is polled": {
			ids: []string{"a", "a"}, stop: 5 * time.Second,
			poll: func(ctx context.Context, t fact.Target) fact.Poll { return after(ctx, time.Second) },
			want: []string{"1s a:ok"},
		},
		"many silent engines do not take the turn of a quick one": {
			ids: strings.Split("s1 s2 s3 s4 s5 s6 s7 s8 s9 q", " "), stop: 9 * time.Second,
			tune: func(c *Config) { c.Parallel = 2 },
			poll: func(ctx context.Context, t fact.Target) fact.Poll {
				if t.ID == "q" {
					return after(ctx, time.Millisecond)
				}
				return hang(ctx)
			},
			want: []string{"8s s1:timeout s2:timeout s3:timeout s4:timeout s5:timeout s6:timeout s7:timeout s8:timeout s9:timeout q:ok"},
		},
		"without targets rounds still end": {stop: 15 * time.Second, poll: nil, want: []string{"0s ", "10s "}},
		"a round that is cut off by the end is not published": {
			ids: []string{"a"}, stop: 12 * time.Second,
			poll: func(ctx context.Context, _ fact.Target) fact.Poll { return after(ctx, 3*time.Second) },
			want: []string{"3s a:ok"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, named(c.ids...), c.poll, c.tune)
				w.until(c.stop)
				sameLines(t, w.history(), c.want...)
				if got := w.view().missed; got != c.missed {
					t.Errorf("%d rounds missed, want %d", got, c.missed)
				}
				if err := w.end(); err != nil && !strings.HasPrefix(name, "a poller that does not heed") {
					t.Error(err)
				}
				if left := time.Since(w.begun) - c.stop; left > time.Second {
					t.Errorf("the end took %v", left)
				}
				if got := len(w.history()); got != len(c.want) {
					t.Errorf("%d rounds after the end, want %d", got, len(c.want))
				}
				w.fan.flying.Wait() // what was left behind returns in its own time; the bubble tolerates no goroutine that stays
			})
		})
	}
}

func TestRoundsThatAreDueDuringAnotherAreMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, named("a"), func(ctx context.Context, _ fact.Target) fact.Poll { return after(ctx, time.Second) }, nil)
		w.until(5 * time.Second)
		// The second round lasts from 10 s to 35 s: those due at 20 s and 30 s do not happen.
		w.reducer.setSlow(func() { <-time.After(24 * time.Second) })
		w.until(12 * time.Second)
		w.reducer.setSlow(nil) // from the next round on
		w.until(55 * time.Second)
		sameLines(t, w.history(), "1s a:ok", "11s a:ok", "41s a:ok", "51s a:ok")
		if v := w.view(); v.missed != 2 || v.rounds != 4 {
			t.Errorf("%d rounds and %d missed, want 4 and 2", v.rounds, v.missed)
		}
		if err := w.end(); err != nil {
			t.Error(err)
		}
		for _, want := range []string{"level=WARN msg=\"a round took too long, and rounds were missed\" missed=2 interval=10s", "level=INFO msg=\"rounds are on time again\""} {
			if n := strings.Count(w.log.String(), want); n != 1 {
				t.Errorf("%q is %d times in the log, want once:\n%s", want, n, w.log.String())
			}
		}
	})
}

func TestPollsOfATargetThatWentAwayAreNotFolded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := named("stays", "goes", "moves", "replaced")
		uid := func(uid string) map[string]string { return map[string]string{"pod_uid": uid} }
		s.list[0].Labels, s.list[3].Labels = uid("1"), uid("2")
		w := start(t, s, func(ctx context.Context, _ fact.Target) fact.Poll { return after(ctx, 2*time.Second) }, nil)
		w.until(time.Second)
		replaced := s.list[3]
		replaced.Labels = uid("3")
		s.set(s.list[0], fact.Target{ID: "moves", URL: "http://elsewhere/metrics"}, replaced, fact.Target{ID: "new", URL: "http://new/metrics"})
		w.until(5 * time.Second)
		sameLines(t, w.history(), "2s stays:ok")
		got := w.reducer.round(0).Targets
		if len(got) != 4 || got[3].ID != "new" {
			t.Errorf("targets of the round %v, want those at its end", got)
		}
		w.until(15 * time.Second)
		sameLines(t, w.history(), "2s stays:ok", "12s stays:ok moves:ok replaced:ok new:ok")
		if err := w.end(); err != nil {
			t.Error(err)
		}
	})
}

func TestRunSaysWhenAPollerHoldsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, named("deaf"), func(context.Context, fact.Target) fact.Poll { return after(context.Background(), time.Hour) }, nil)
		w.until(time.Second)
		err := w.end()
		if err == nil || !strings.Contains(err.Error(), "1 polls have not returned 500ms after the end") {
			t.Errorf("error %v", err)
		}
		if took := time.Since(w.begun) - time.Second; took != drainLimit {
			t.Errorf("Run took %v to end, want %v", took, drainLimit)
		}
		w.fan.flying.Wait()
	})
}

// TestSlotsBoundTheWork: with two slots and quick engines, never more than two polls are under way.
func TestSlotsBoundTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		var ids []string
		for i := range 20 {
			ids = append(ids, fmt.Sprint("e", i))
		}
		w := start(t, named(ids...), func(ctx context.Context, _ fact.Target) fact.Poll {
			n := now.Add(1)
			defer now.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			return after(ctx, 100*time.Millisecond)
		}, func(c *Config) { c.Parallel = 2 })
		w.until(9 * time.Second)
		if most.Load() != 2 {
			t.Errorf("%d polls at once, want 2", most.Load())
		}
		if got := strings.Count(w.history()[0], ":ok"); got != 20 {
			t.Errorf("%d engines answered, want 20", got)
		}
		if err := w.end(); err != nil {
			t.Error(err)
		}
	})
}

func TestHealthIsProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		w := start(t, named("a"), func(ctx context.Context, _ fact.Target) fact.Poll { return after(ctx, time.Second) }, nil)
		w.until(25 * time.Second)
		if err := w.health(time.Now()); err != nil {
			t.Error(err)
		}
		w.reducer.setSlow(func() { <-release })
		w.until(51 * time.Second) // 30 s after the end of the third round
		if err := w.health(time.Now()); err != nil {
			t.Error(err)
		}
		w.until(52 * time.Second)
		if err := w.health(time.Now()); err == nil || err.Error() != "the last round ended 31s ago, and one is due every 10s" {
			t.Errorf("health %v", err)
		}
		close(release)
		synctest.Wait()
		if err := w.health(time.Now()); err != nil {
			t.Errorf("after the round has ended: %v", err)
		}
		if err := w.end(); err != nil {
			t.Error(err)
		}
	})
}

func TestHealthBeforeTheFirstRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := New(Config{Settings: Settings{Interval: time.Second, Timeout: time.Second, Source: named(), Poller: pollerFunc(nil)}, Reducer: &recorder{}})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.health(time.Now()); err == nil || err.Error() != "polling has not begun" {
			t.Errorf("health %v", err)
		}
		begun := time.Now()
		e.begun.Store(&begun)
		<-time.After(4 * time.Second)
		if err := e.health(time.Now()); err == nil || err.Error() != "polling began 4s ago, and one is due every 1s" {
			t.Errorf("health %v", err)
		}
	})
}

func TestConfigIsChecked(t *testing.T) {
	o := objectives()
	o = append(o, o[0])
	_, err := New(Config{Settings: Settings{Interval: -1, Objectives: o}, Parallel: -1})
	if err == nil {
		t.Fatal("accepted")
	}
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		t.Fatalf("error %v", err)
	}
	for _, want := range []string{"interval -1ns", "timeout 0s", "parallel -1", "source of targets", "a poller", "a reducer", `two objectives are called "chat"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %q", want, err)
		}
	}
	if got := len(joined.Unwrap()); got != 7 {
		t.Errorf("%d mistakes, want 7: %v", got, err)
	}
}

func TestScrub(t *testing.T) {
	for text, want := range map[string]string{
		`Get "` + secretURL + `": EOF`:                                  `Get "http://10.0.0.7:8000/metrics": EOF`,
		`Get "http://alice:xxxxx@10.0.0.7:8000/metrics?key=t0ken": EOF`: `Get "http://10.0.0.7:8000/metrics": EOF`,
		`parse "alice:s3cret@10.0.0.7": first path segment`:             `parse "<secret>@10.0.0.7": first path segment`,
		`the password s3cret is wrong, and so is key=t0ken`:             `the password <secret> is wrong, and so is <secret>`,
		`connection refused`:                                            `connection refused`,
	} {
		if got := scrub(text, secretURL); got != want {
			t.Errorf("%q\nbecomes %q\nwant    %q", text, got, want)
		}
	}
	if got := scrub("as it was", ""); got != "as it was" {
		t.Errorf("without an address: %q", got)
	}
}
