package exporter

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// cards is a source of readings; read is told how many were asked for before.
type cards struct {
	read  func(ctx context.Context, n int) fact.GPUReading
	asked atomic.Int64
}

func (c *cards) Read(ctx context.Context) fact.GPUReading { return c.read(ctx, int(c.asked.Add(1))-1) }

// numbered brings readings whose driver is their number.
func numbered(ctx context.Context, n int) fact.GPUReading {
	return fact.GPUReading{Source: "dcgm", Driver: fmt.Sprint(n)}
}

// kubelet is a source of claims that brings one answer.
type kubelet fact.DeviceClaims

func (k *kubelet) Read(context.Context) fact.DeviceClaims { return fact.DeviceClaims(*k) }

// readingsTaken are the drivers of the readings that rounds took, "-" for a round without one, with "+" where there were claims.
func (w *world) readingsTaken() string {
	w.reducer.mu.Lock()
	defer w.reducer.mu.Unlock()
	var out []string
	for _, r := range w.reducer.rounds {
		word := "-"
		if r.GPUs != nil {
			word = r.GPUs.Driver
		}
		if r.Claims != nil {
			word += "+"
		}
		out = append(out, word)
	}
	return strings.Join(out, " ")
}

// quick is a poller whose pages take so long that a reading which takes no time comes first.
func quick(ctx context.Context, _ fact.Target) fact.Poll { return after(ctx, 100*time.Millisecond) }

func TestARoundTakesTheNewestReadingAndWaitsForNone(t *testing.T) {
	for name, c := range map[string]struct {
		gpus GPUs
		want string // of the rounds at 0, 10, 20, 30 and 40 s
	}{
		"a reading as often as a round":               {GPUs{Source: &cards{read: numbered}, Interval: 10 * time.Second}, "0 1 2 3 4"},
		"more often":                                  {GPUs{Source: &cards{read: numbered}, Interval: 5 * time.Second}, "0 2 4 6 8"},
		"less often: in between there is nothing new": {GPUs{Source: &cards{read: numbered}, Interval: 20 * time.Second}, "0 - 1 - 2"},
		"one that takes its time is had by the round after": {GPUs{Interval: 10 * time.Second, Source: &cards{read: func(ctx context.Context, n int) fact.GPUReading {
			after(ctx, 7*time.Second)
			return numbered(ctx, n)
		}}}, "- 0 1 2 3"},
		"one that takes too long is told so": {GPUs{Interval: 10 * time.Second, Source: &cards{read: func(ctx context.Context, n int) fact.GPUReading {
			<-ctx.Done()
			return fact.GPUReading{Driver: "late", Reason: fact.ReasonTimeout}
		}}}, "- late late late late"},
		"one that hangs brings nothing": {GPUs{Interval: 10 * time.Second, Source: &cards{read: func(ctx context.Context, n int) fact.GPUReading {
			if n == 2 {
				<-time.After(time.Hour)
			}
			return numbered(ctx, n)
		}}}, "0 1 - - -"},
		"one that panics costs that reading": {GPUs{Interval: 10 * time.Second, Source: &cards{read: func(ctx context.Context, n int) fact.GPUReading {
			if n == 1 {
				panic("oops")
			}
			return numbered(ctx, n)
		}}}, "0 - 2 3 4"},
		"claims beside it":                         {GPUs{Source: &cards{read: numbered}, Interval: 10 * time.Second, Claims: &kubelet{}, ClaimsInterval: 20 * time.Second}, "0+ 1 2+ 3 4+"},
		"claims that failed are told too":          {GPUs{Claims: &kubelet{Reason: fact.ReasonTimeout}, ClaimsInterval: 10 * time.Second}, "-+ -+ -+ -+ -+"},
		"a kubelet that is not there is not asked": {GPUs{Claims: &kubelet{Reason: fact.ReasonNoSource}, ClaimsInterval: 10 * time.Second}, "- - - - -"},
		"nothing": {GPUs{}, "- - - - -"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, named("a"), quick, func(c2 *Config) { c2.GPUs = c.gpus })
				w.until(41 * time.Second)
				if got := w.readingsTaken(); got != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
				for i, got := range w.history() { // whatever the source does
					if want := fmt.Sprintf("%.3gs a:ok", float64(10*i)+0.1); got != want {
						t.Errorf("round %d: %q, want %q", i, got, want)
					}
				}
				hangs := strings.HasPrefix(name, "one that hangs")
				if err := w.end(); (err != nil) != hangs {
					t.Errorf("Run returned %v", err)
				} else if hangs && !strings.Contains(err.Error(), "1 readings of GPUs have not returned") {
					t.Errorf("Run returned %v", err)
				}
				<-time.After(time.Hour) // until what hangs has ended
			})
		})
	}
}

// TestAReloadChangesWhoIsRead: the source that stays is not disturbed, and of one that goes nothing more is heard.
func TestAReloadChangesWhoIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := &cards{read: func(ctx context.Context, n int) fact.GPUReading {
			after(ctx, time.Second)
			return fact.GPUReading{Driver: fmt.Sprintf("a%d", n)}
		}}
		second := &cards{read: func(ctx context.Context, n int) fact.GPUReading {
			return fact.GPUReading{Driver: fmt.Sprintf("b%d", n)}
		}}
		w := start(t, named("a"), quick, func(c *Config) { c.GPUs = GPUs{Source: first, Interval: 10 * time.Second} })
		reload := func(at time.Duration, g GPUs) {
			w.until(at)
			s := w.settings.Load().Settings
			s.GPUs = g
			if err := w.Reload(s); err != nil {
				t.Fatal(err)
			}
		}
		reload(15*time.Second, GPUs{Source: first, Interval: 10 * time.Second})  // holds from 20 s on
		reload(25*time.Second, GPUs{Source: second, Interval: 10 * time.Second}) // from 30 s on
		reload(45*time.Second, GPUs{})                                           // from 50 s on
		w.until(61 * time.Second)
		if got, want := w.readingsTaken(), "- a0 a1 b0 b1 - -"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if a, b := first.asked.Load(), second.asked.Load(); a > 4 || b > 3 { // the last of each may begin as it is replaced
			t.Errorf("the first was asked %d times, the second %d times", a, b)
		}
		if err := w.end(); err != nil {
			t.Error(err)
		}
	})
}

func TestSettingsOfReadingsAreChecked(t *testing.T) {
	s := Settings{Interval: time.Second, Timeout: time.Second, Source: named(), Poller: pollerFunc(sound), GPUs: GPUs{Source: &cards{}, Claims: &kubelet{}}}
	var got []string
	for _, err := range s.mistakes() {
		got = append(got, err.Error())
	}
	want := []string{"interval 0s of GPU readings must be positive", "interval 0s of device claims must be positive"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
