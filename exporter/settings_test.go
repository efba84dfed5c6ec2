package exporter

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// remembering is a poller that answers in 100 ms and remembers for whom it keeps something.
type remembering struct {
	took time.Duration

	mu     sync.Mutex
	keeps  map[string]bool
	polled int
}

func newRemembering() *remembering {
	return &remembering{took: 100 * time.Millisecond, keeps: map[string]bool{}}
}

func (r *remembering) Poll(ctx context.Context, t fact.Target) fact.Poll {
	p := after(ctx, r.took)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keeps[t.ID] = true
	r.polled++
	return p
}

func (r *remembering) Forget(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.keeps, id)
}

func (r *remembering) kept() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(slices.Sorted(maps.Keys(r.keeps)), " ")
}

// settingsOf are settings like those of start, with a note of what became of them.
func settingsOf(s Source, p Poller, fate *fates, name string) Settings {
	return Settings{
		Interval: 10 * time.Second, Timeout: 5 * time.Second, Source: s, Poller: p,
		Reduce: func() { fate.note(name + " begins") }, Retire: func() { fate.note(name + " ends") },
	}
}

// fates is what became of settings, in order.
type fates struct {
	mu   sync.Mutex
	list []string
}

func (f *fates) note(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, what)
}

func TestReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fate fates
		before, after := newRemembering(), newRemembering()
		w := start(t, named("a"), nil, func(c *Config) { c.Settings = settingsOf(named("a"), before, &fate, "first") })
		w.until(12 * time.Second)

		// One that cannot be used changes nothing, and is not told that it ended.
		wrong := settingsOf(named("a"), nil, &fate, "wrong")
		if err := w.Reload(wrong); err == nil || !strings.Contains(err.Error(), "a poller is missing") {
			t.Errorf("error %v", err)
		}
		// One that is overtaken never holds.
		next := settingsOf(named("a", "b"), after, &fate, "overtaken")
		if err := w.Reload(next); err != nil {
			t.Fatal(err)
		}
		next = settingsOf(named("a", "b"), after, &fate, "second")
		next.Interval, next.Objectives = 4*time.Second, objectives()
		if err := w.Reload(next); err != nil {
			t.Fatal(err)
		}
		if status, page := w.ask("/metrics"); status != http.StatusOK || strings.Contains(page, "goodput_slo_info{") {
			t.Errorf("the new contract is published before a round under it has ended: status %d", status)
		}
		if status, _ := w.ask("/slo/chat"); status != http.StatusNotFound {
			t.Errorf("page of the new objective: status %d", status)
		}
		w.until(25 * time.Second)
		// The round that was due at 20 s is the first of the new settings.
		sameLines(t, w.history(), "0.1s a:ok", "10.1s a:ok", "20.1s a:ok b:ok", "24.1s a:ok b:ok")
		if before.polled != 2 || after.polled != 4 {
			t.Errorf("%d and %d polls", before.polled, after.polled)
		}
		if _, page := w.ask("/metrics"); !strings.Contains(page, `goodput_slo_info{`) {
			t.Error("the new contract is not published")
		}
		if status, _ := w.ask("/slo/chat"); status != http.StatusOK {
			t.Errorf("page of the new objective: status %d", status)
		}
		if err := w.health(time.Now().Add(11 * time.Second)); err != nil {
			t.Error(err)
		}
		if err := w.health(time.Now().Add(13 * time.Second)); err == nil {
			t.Error("healthy three intervals after the last round")
		}
		if err := w.Reload(settingsOf(named("a"), after, &fate, "too late")); err != nil {
			t.Fatal(err)
		}
		if err := w.end(); err != nil {
			t.Error(err)
		}
		sameLines(t, fate.list, "overtaken ends", "second begins", "first ends", "second ends", "too late ends")
	})
}

// TestALongerIntervalAfterAReload: a round is not late because the next one is due later.
func TestALongerIntervalAfterAReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fate fates
		p := newRemembering()
		w := start(t, named("a"), nil, func(c *Config) {
			c.Settings = settingsOf(named("a"), p, &fate, "first")
			c.Interval = time.Second
		})
		w.until(1500 * time.Millisecond)
		if err := w.Reload(settingsOf(named("a"), p, &fate, "second")); err != nil {
			t.Fatal(err)
		}
		w.until(9 * time.Second)
		if err := w.health(time.Now()); err != nil {
			t.Error(err)
		}
		w.until(13 * time.Second)
		sameLines(t, w.history(), "0.1s a:ok", "1.1s a:ok", "2.1s a:ok", "12.1s a:ok")
		if v := w.view(); v.missed != 0 {
			t.Errorf("%d missed", v.missed)
		}
		if err := w.end(); err != nil {
			t.Error(err)
		}
	})
}

// TestVanishedTargetsAreForgotten, but not while a poll of theirs goes on, which would bring back what was dropped.
func TestVanishedTargetsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newRemembering()
		s := named("stays", "goes", "slow")
		w := start(t, s, nil, func(c *Config) { c.Poller = deafToOne{p} })
		w.until(9 * time.Second)
		s.set(s.list[0])
		w.until(11 * time.Second)
		if got := p.kept(); got != "stays" {
			t.Errorf("kept for %q", got)
		}
		w.until(31 * time.Second)
		if got := p.kept(); got != "stays" {
			t.Errorf("kept for %q", got)
		}
		if err := w.end(); err != nil {
			t.Error(err)
		}
		if len(w.known) != 1 {
			t.Errorf("known %v", w.known)
		}
	})
}

// deafToOne polls "slow" for 25 s without heeding the context.
type deafToOne struct{ *remembering }

func (p deafToOne) Poll(ctx context.Context, t fact.Target) fact.Poll {
	if t.ID == "slow" {
		<-time.After(25 * time.Second)
		ctx = context.Background()
	}
	return p.remembering.Poll(ctx, t)
}

func TestInputsAreOnThePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := Inputs{ReloadOK: false, Reloaded: time.Unix(1000, 0), TargetFilesBroken: 1, TargetsRefused: 2, AccessFilesBroken: 3}
		w := start(t, named("a"), func(ctx context.Context, _ fact.Target) fact.Poll { return after(ctx, time.Second) }, func(c *Config) { c.Inputs = func() Inputs { return in } })
		w.until(5 * time.Second)
		_, page := w.ask("/metrics")
		for _, want := range []string{
			"goodput_config_last_reload_successful 0", "goodput_config_last_reload_success_timestamp_seconds 1000",
			"goodput_target_files_broken 1", "goodput_targets_refused 2", "goodput_access_files_broken 3",
		} {
			if !strings.Contains(page, "\n"+want+"\n") {
				t.Errorf("%s is not on the page", want)
			}
		}
		if err := w.end(); err != nil {
			t.Error(err)
		}
	})
}

func TestSettingsAreChecked(t *testing.T) {
	s := Settings{Interval: -1, MaxSeries: -1, Objectives: []slo.Objective{{Name: "x"}, {Name: "x"}}}
	if got := s.mistakes(); len(got) != 6 {
		t.Errorf("%d mistakes, want 6: %v", len(got), got)
	}
}
