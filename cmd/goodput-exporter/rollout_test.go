package main

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/collectors/engine"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/sim"
)

// An upgrade runs each replica on every version in turn. A version is a world of its own; a replica that has been upgraded
// answers from the next one's.
const (
	replicas    = 3
	soak        = 240.0 // seconds that all replicas run one version
	stagger     = 100.0 // seconds from one replica's upgrade to the next one's
	away        = 40.0  // seconds that a replica is down for
	stepLength  = soak + replicas*stagger
	upgradeEnds = 4 * stepLength
)

// rollout are the worlds of a rolling upgrade, with the truth of all of them.
type rollout struct {
	worlds       [][]*sim.World // by replica and version
	observations [][][fact.NumFamilies][]observed
	sequences    [][][]sim.Sequence
}

// born is when a replica starts a version, and gone when it stops it, seconds since the start.
func born(replica, version int) float64 {
	if version == 0 {
		return 0
	}
	return float64(version)*stepLength - stepLength + soak + stagger*float64(replica) + away
}

func gone(replica, version int) float64 {
	if version == 3 {
		return math.Inf(1)
	}
	return born(replica, version+1) - away
}

func newRollout(t *testing.T, versions func(string) []sim.Engine, habits sim.Habits) *rollout {
	r := &rollout{}
	for i := range replicas {
		r.worlds = append(r.worlds, nil)
		r.observations = append(r.observations, make([][fact.NumFamilies][]observed, 4))
		r.sequences = append(r.sequences, make([][]sim.Sequence, 4))
		for v, e := range versions(fmt.Sprintf("r%d", i)) {
			seen, ended := &r.observations[i][v], &r.sequences[i][v]
			c := sim.Config{
				Seed: uint64(10*i + v), Start: simStart + born(i, v), Engines: []sim.Engine{e},
				Loads: []sim.Load{{Name: "l", Engines: []string{e.ID}, Rate: sim.Diurnal(12, 0.6, 300), Mix: sim.Chat, Habits: habits}},
				Truth: sim.Truth{
					FirstToken: func(f sim.FirstToken) { seen[fact.TTFT] = append(seen[fact.TTFT], observed{f.At, f.TTFT}) },
					Sequence: func(q sim.Sequence) {
						*ended = append(*ended, q)
						for f, value := range map[fact.Family]float64{fact.E2E: q.Values.E2E, fact.Queue: q.Values.Queue, fact.Prefill: q.Values.Prefill, fact.Decode: q.Values.Decode} {
							seen[f] = append(seen[f], observed{q.Values.End, value})
						}
						if tpot, has := q.Values.TPOT(); has {
							seen[fact.TPOT] = append(seen[fact.TPOT], observed{q.Values.End, tpot})
						}
					},
				},
			}
			w, err := sim.New(c)
			if err != nil {
				t.Fatal(err)
			}
			r.worlds[i] = append(r.worlds[i], w)
		}
	}
	return r
}

// poll asks a replica for its page: that of the version that it runs.
func (r *rollout) poll(t *testing.T, replica int, at float64, d *engine.Decoder) fact.Poll {
	t.Helper()
	p := fact.Poll{Target: fmt.Sprintf("r%d", replica), Sent: simStart + at, Received: simStart + at + simPageTook, Reason: fact.ReasonRefused}
	for v, w := range r.worlds[replica] {
		rendered := at + simPageTook/2
		if rendered < born(replica, v)+1 || rendered >= gone(replica, v) {
			continue
		}
		w.Run(simStart + rendered)
		body, _ := w.Page(p.Target)
		sample, err := d.Decode(body, w.ContentType(p.Target))
		if err != nil {
			t.Fatal(err)
		}
		p.Sample, p.Reason = sample, ""
	}
	return p
}

// version is the one that a replica ran between two polls; false where it ran several.
func (r *rollout) version(replica int, from, to float64) (int, bool) {
	for v := range 4 {
		if from-simStart >= born(replica, v)-1 && to-simStart < gone(replica, v) {
			return v, true
		}
	}
	return 0, false
}

// wrong says what a window claims that is not true; "" for nothing. shift moves the truth by some seconds, to see that a
// wrong window would be noticed.
func (r *rollout) wrong(w *fold.Window, shift float64) string {
	replica := int(w.Engine[1] - '0')
	v, one := r.version(replica, w.Start, w.End)
	if !one {
		return fmt.Sprintf("%s (%.0f, %.0f]: a window over two versions", w.Engine, w.Start-simStart, w.End-simStart)
	}
	from, to := w.Start+simPageTook/2+shift, w.End+simPageTook/2+shift
	if w.Start-simStart < born(replica, v)+1 {
		from = 0 // judged since the birth of the process
	}
	var in []sim.Sequence
	for _, q := range r.sequences[replica][v] {
		if q.Values.End > from && q.Values.End <= to {
			in = append(in, q)
		}
	}
	good := qualified(w.SLO, in)
	switch {
	case w.Evidence == "" && v == 3:
		// Custom edges do not answer every threshold, and the reason says which.
	case w.Evidence == "":
		return fmt.Sprintf("%s %s: no interval: %s", w.Engine, w.SLO, w.Reason)
	case shift == 0 && uint64(len(in)) != w.Sequences || good < w.Lower || good > w.Upper:
		return fmt.Sprintf("%s %s (%.0f, %.0f] version %d: truth %d of %d outside [%d, %d] of %d", w.Engine, w.SLO, w.Start-simStart, w.End-simStart, v, good, len(in), w.Lower, w.Upper, w.Sequences)
	}
	return ""
}

// checkQuantile holds a percentile to the order statistic. A sliding window goes on over an upgrade, so its observations
// are those of all versions.
func (r *rollout) checkQuantile(t *testing.T, q *fold.RankQuantile) {
	t.Helper()
	if q.Metric == fact.TokenGap {
		return
	}
	var all []observed
	for v := range 4 {
		for _, x := range r.observations[q.Engine[1]-'0'][v][q.Metric] {
			// What a process did after its last page is on none of ours.
			if x.at-simStart < lastPageOf(int(q.Engine[1]-'0'), v) {
				all = append(all, x)
			}
		}
	}
	slices.SortFunc(all, func(a, b observed) int { return cmpFloat(a.at, b.at) })
	v, n := orderStatistic(all, q.Quantile)
	if uint64(n) != q.Count || v > q.Upper || v <= q.Lower && q.Lower > 0 {
		t.Fatalf("%s %s p%g over %gs at %.0f: %d observations, true %v outside (%v, %v] of %d", q.Engine, q.Metric, 100*q.Q, q.Window, q.End-simStart, n, v, q.Lower, q.Upper, q.Count)
	}
}

// lastPageOf is of which moment the last page of a version is.
func lastPageOf(replica, version int) float64 {
	end := gone(replica, version)
	if math.IsInf(end, 1) {
		return end
	}
	offset := simStagger*float64(replica) + simPageTook/2
	return 2*math.Ceil((end-offset)/2-1) + offset
}

// watcher sees that no counter of ours falls, and that none goes away while its engine is there.
type watcher struct {
	t    *testing.T
	last map[string]float64
}

func newWatcher(t *testing.T) *watcher { return &watcher{t: t, last: map[string]float64{}} }

func (w *watcher) watch(s *fold.Snapshot) {
	note := func(name string, v float64) {
		if before := w.last[name]; v < before {
			w.t.Errorf("%s fell from %v to %v at %.0f", name, before, v, s.At-simStart)
		}
		w.last[name] = v
	}
	for _, e := range s.Engines {
		for name, span := range map[string]fold.Span{"arrived": e.Ledger.Arrived, "finished": e.Ledger.Finished, "cancelled": e.Ledger.Cancelled, "lost": e.Ledger.Lost} {
			note(e.ID+" "+name, float64(span.Lower))
		}
		for _, o := range e.SLOs {
			note(e.ID+" "+o.Objective.Name, float64(o.Requests))
			note(e.ID+" lower "+o.Objective.Name, float64(o.Lower))
			note(e.ID+" upper "+o.Objective.Name, float64(o.Upper))
		}
		for _, r := range e.Ranks {
			note(r.ID+" tokens", r.OutputTokens.V)
			for _, c := range r.Sequences {
				note(r.ID+" "+c.Reason, float64(c.Count))
			}
			for f, h := range r.Histograms {
				if h == nil {
					continue
				}
				for i := range h.Ceil {
					note(fmt.Sprint(r.ID, " ceil ", f, " ", i), float64(h.Ceil[i]))
					note(fmt.Sprint(r.ID, " floor ", f, " ", i), float64(h.Floor[i]))
				}
			}
		}
	}
}
