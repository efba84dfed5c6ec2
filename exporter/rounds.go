package exporter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// Run polls in rounds until the context is done, and returns when all its goroutines have ended. It returns an error
// only when a poller held on to its poll although the context was done. It must be called once.
//
// Rounds are due at whole intervals after the first, which starts at once. A round that is due while the one before
// is still going on does not happen: it is counted as missed, and the next is again on time.
func (e *Exporter) Run(ctx context.Context) error {
	begun := time.Now()
	e.begun.Store(&begun)
	due := begun
	timer := time.NewTimer(0)
	defer timer.Stop()
	var missed uint64
	defer e.end()
	for {
		select {
		case <-ctx.Done():
			limit := time.Now().Add(drainLimit)
			return errors.Join(e.fan.drain(drainLimit), e.readings.drain(time.Until(limit)))
		case <-timer.C:
		}
		now := e.follow()
		e.readings.follow(ctx, now.GPUs)
		interval := now.Interval
		e.round(ctx, missed)
		due = due.Add(interval)
		var n uint64
		if late := time.Since(due); late > 0 {
			n = uint64(late/interval) + 1
			due = due.Add(time.Duration(n) * interval)
		}
		missed += n
		e.journal.pace(n, interval)
		timer.Reset(time.Until(due))
	}
}

// drainLimit is how long Run waits for pollers that do not heed their context, so that the program ends within a
// second.
const drainLimit = 500 * time.Millisecond

// round polls all targets, folds what they said and publishes the outcome. A round that is cut off by the end of the
// program is not published: it would show every engine as down.
func (e *Exporter) round(ctx context.Context, missed uint64) {
	start := time.Now()
	now := e.settings.Load()
	due := e.paces.due(distinct(now.Source.Targets()))
	polls := e.fan.poll(ctx, now, start.Add(now.Interval*8/10), due)
	if ctx.Err() != nil {
		return
	}
	// A target that went away during the round, or that is another engine now, is not published any more, whatever
	// its poll brought.
	targets := distinct(now.Source.Targets())
	round := fold.Round{At: unix(time.Now()), Targets: targets, Polls: current(polls, targets)}
	if now.Spans != nil {
		round.Spans = now.Spans.Drain()
	}
	round.GPUs, round.Claims = e.readings.take()
	e.paces.note(round.Polls, e.log)
	v := &view{
		settings: now, snapshot: e.reducer.Apply(round), missed: missed, intervals: e.paces.intervals(),
		down: failures(e.view().down, targets, round.Polls),
	}
	v.rounds = e.view().rounds + 1
	v.ended = time.Now()
	e.duration.Observe(v.ended.Sub(start).Seconds())
	e.last.Store(v)
	e.journal.note(v, targets)
	e.journal.noteIntake(e.inputs().Spans, v.snapshot.At)
	e.forget(now.Poller, targets)
}

// failures are the last polls of the targets that are down: those of this round, and for a target that was not polled in
// it, that of an earlier one.
func failures(before map[string]fact.Poll, targets []fact.Target, polls []fact.Poll) map[string]fact.Poll {
	polled := make(map[string]bool, len(polls))
	out := map[string]fact.Poll{}
	for _, p := range polls {
		polled[p.Target] = true
		if p.Sample == nil {
			out[p.Target] = p
		}
	}
	for _, t := range targets {
		if p, down := before[t.ID]; down && !polled[t.ID] {
			out[t.ID] = p
		}
	}
	return out
}

// forget has the poller drop what it keeps for targets that are none any more, as soon as no poll of theirs goes on.
func (e *Exporter) forget(p Poller, targets []fact.Target) {
	gone := e.known
	e.known = make(map[string]bool, len(targets))
	for _, t := range targets {
		e.known[t.ID] = true
		delete(gone, t.ID)
	}
	for id := range gone {
		if e.fan.flies(id) {
			e.known[id] = true // next time
			continue
		}
		p.Forget(id)
	}
}

// distinct leaves out targets whose id another before them has.
func distinct(targets []fact.Target) []fact.Target {
	seen := make(map[string]bool, len(targets))
	out := make([]fact.Target, 0, len(targets))
	for _, t := range targets {
		if !seen[t.ID] {
			seen[t.ID] = true
			out = append(out, t)
		}
	}
	return out
}

// current picks the polls of targets that are still there at the same address, and no other pod.
func current(polls []polled, targets []fact.Target) []fact.Poll {
	now := make(map[string]fact.Target, len(targets))
	for _, t := range targets {
		now[t.ID] = t
	}
	const pod = "pod_uid"
	out := make([]fact.Poll, 0, len(polls))
	for _, p := range polls {
		if t, there := now[p.target.ID]; there && t.URL == p.target.URL && t.Labels[pod] == p.target.Labels[pod] {
			out = append(out, p.Poll)
		}
	}
	return out
}

// newDuration is the histogram of the durations of rounds. Most rounds take as long as their slowest page, 10 to 50
// ms; the longest that the deadline allows is 0.8 of an interval.
func newDuration() prometheus.Histogram {
	s := newFamilies()[catalog.RoundDuration]
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: s.Name, Help: s.Help(), Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	})
}

// roundsCollector publishes how the rounds go.
type roundsCollector struct {
	families families
	started  float64
	exporter *Exporter
}

func (c *roundsCollector) Describe(chan<- *prometheus.Desc) {}

func (c *roundsCollector) Collect(ch chan<- prometheus.Metric) {
	p := &page{families: c.families, ch: ch}
	v := c.exporter.view()
	p.counter(catalog.Rounds, float64(v.rounds), c.started)
	p.counter(catalog.RoundsMissed, float64(v.missed), c.started)
	in := c.exporter.inputs()
	p.gauge(catalog.ReloadOK, truth(in.ReloadOK))
	p.gauge(catalog.ReloadTime, unix(in.Reloaded))
	p.gauge(catalog.FilesBroken, float64(in.TargetFilesBroken))
	p.gauge(catalog.Refused, float64(in.TargetsRefused))
	p.gauge(catalog.AccessBroken, float64(in.AccessFilesBroken))
	collectDiscovery(p, in.Discovery, v.snapshot)
	collectIntake(p, in.Spans, c.started)
	c.exporter.duration.Collect(ch)
}

// health says why the exporter is not healthy; nil when it is: rounds end, the last one less than three intervals ago.
func (e *Exporter) health(now time.Time) error {
	begun := e.begun.Load()
	if begun == nil {
		return errors.New("polling has not begun")
	}
	what, since := "polling began", *begun
	v := e.view()
	if v.rounds > 0 {
		what, since = "the last round ended", v.ended
	}
	// Right after a reload the next round is due by the interval before.
	interval := max(v.settings.Interval, e.settings.Load().Interval)
	if age := now.Sub(since); age > 3*interval {
		return fmt.Errorf("%s %v ago, and one is due every %v", what, age.Round(time.Millisecond), interval)
	}
	return nil
}

func unix(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }
