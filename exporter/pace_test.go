package exporter

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// pacing is an exporter with rounds every 2 s whose engine "dear" takes as long as the test says; "cheap" takes 10 ms.
type pacing struct {
	*world
	takes atomic.Int64
	fails atomic.Bool
	dear  atomic.Int64 // polls
}

func startPacing(t *testing.T, most time.Duration) *pacing {
	p := &pacing{}
	p.world = start(t, named("cheap", "dear"), func(ctx context.Context, target fact.Target) fact.Poll {
		if target.ID == "cheap" {
			return after(ctx, 10*time.Millisecond)
		}
		p.dear.Add(1)
		out := after(ctx, time.Duration(p.takes.Load()))
		if p.fails.Load() {
			out.Sample, out.Reason = nil, fact.ReasonStatus
		}
		return out
	}, func(c *Config) { c.Interval, c.Timeout, c.MaxInterval = 2*time.Second, 1500*time.Millisecond, most })
	return p
}

// polls is how often the dear engine was polled in a minute from now on, with pages that take this long.
func (p *pacing) polls(takes time.Duration) int64 {
	p.takes.Store(int64(takes))
	before := p.dear.Load()
	<-time.After(time.Minute)
	synctest.Wait()
	return p.dear.Load() - before
}

func TestADearPageIsAskedForLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startPacing(t, 8*time.Second)
		for _, step := range []struct {
			takes    time.Duration
			minutes  int
			interval float64 // at the end
		}{
			{30 * time.Millisecond, 2, 2},  // 1.5 % of 2 s
			{60 * time.Millisecond, 2, 4},  // 3 %: every other round is 1.5 %
			{100 * time.Millisecond, 2, 6}, // 1.7 % of 6 s
			{time.Second, 3, 8},            // 12 % even of 8 s: no further than that
			{70 * time.Millisecond, 8, 6},  // 1.75 % of 4 s is within a quarter of the limit
			{50 * time.Millisecond, 8, 4},
			{35 * time.Millisecond, 4, 4}, // 1.75 % of 2 s: within a quarter again
			{20 * time.Millisecond, 8, 2},
		} {
			var n int64
			for range step.minutes {
				n = p.polls(step.takes)
			}
			if want := int64(60 / step.interval); n < want-1 || n > want+1 {
				t.Errorf("pages of %v: %d polls in the last minute, want about %d", step.takes, n, want)
			}
			page := p.engines(t)
			if got := page["dear"]["goodput_engine_poll_interval_seconds"]; got != step.interval {
				t.Errorf("pages of %v: interval %v, want %v", step.takes, got, step.interval)
			}
			if got := page["cheap"]["goodput_engine_poll_interval_seconds"]; got != 2 {
				t.Errorf("the cheap engine has an interval of %v", got)
			}
			if up := page["dear"]["goodput_engine_up"]; up != 1 && n > 20 {
				t.Errorf("pages of %v: up %v", step.takes, up)
			}
		}
		if v := p.view(); v.missed != 0 || v.rounds < 900 {
			t.Errorf("%d rounds, %d missed", v.rounds, v.missed)
		}
		for want, times := range map[string]int{
			`level=WARN msg="engine is polled less often: its page takes more than 2 % of poll.interval, in the event loop that streams tokens" engine=dear`: 1,
			`level=INFO msg="engine is polled as often as configured again" engine=dear`:                                                                     1,
			"engine=cheap \"page takes": 0,
		} {
			if n := strings.Count(p.log.String(), want); n != times {
				t.Errorf("%q is %d times in the log, want %d\n%s", want, n, times, p.log.String())
			}
		}
		if err := p.end(); err != nil {
			t.Error(err)
		}
	})
}

// TestOneSlowPageIsNoReason, and neither are polls that fail: what a page costs is not known from them.
func TestOneSlowPageIsNoReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startPacing(t, 8*time.Second)
		p.polls(10 * time.Millisecond)
		p.takes.Store(int64(300 * time.Millisecond))
		<-time.After(2 * time.Second)
		if n := p.polls(10 * time.Millisecond); n < 30 {
			t.Errorf("%d polls after one slow page", n)
		}
		p.fails.Store(true)
		if n := p.polls(1400 * time.Millisecond); n < 30 {
			t.Errorf("%d polls of an engine that fails", n)
		}
		if err := p.end(); err != nil {
			t.Error(err)
		}
	})
}

// TestADownEngineIsShownBetweenItsPolls: the reason of the last poll stays while the engine is not polled.
func TestADownEngineIsShownBetweenItsPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startPacing(t, 8*time.Second)
		p.polls(time.Second)
		p.polls(time.Second)
		p.fails.Store(true)
		p.polls(10 * time.Millisecond)
		for range 8 {
			<-time.After(2 * time.Second)
			synctest.Wait()
			if got := p.view().down["dear"].Reason; got != fact.ReasonStatus {
				t.Errorf("reason %q", got)
			}
		}
		p.fails.Store(false)
		p.polls(10 * time.Millisecond)
		if got := p.view().down; len(got) > 0 {
			t.Errorf("down: %v", got)
		}
		if err := p.end(); err != nil {
			t.Error(err)
		}
	})
}

func TestPacesFollowSettings(t *testing.T) {
	p := newPaces(&Settings{Interval: time.Second, MaxInterval: 4 * time.Second})
	targets := named("a").list
	for range 40 {
		if len(p.due(targets)) == 1 {
			p.note([]fact.Poll{{Target: "a", Sent: 1, Received: 1.05, Sample: &fact.EngineSample{}}}, slog.New(slog.DiscardHandler))
		}
	}
	for _, c := range []struct {
		interval, most time.Duration
		want           float64
	}{{time.Second, 4 * time.Second, 3}, {time.Second, time.Second, 1}, {2 * time.Second, 8 * time.Second, 4}, {5 * time.Second, 15 * time.Second, 5}} {
		p.follow(&Settings{Interval: c.interval, MaxInterval: c.most})
		if got := p.intervals()["a"]; got != c.want {
			t.Errorf("%v up to %v: %v s, want %v", c.interval, c.most, got, c.want)
		}
	}
	p.due(nil)
	if len(p.engines) != 0 {
		t.Error("a target that is gone is remembered")
	}
}
