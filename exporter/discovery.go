package exporter

import (
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/web"
)

// Discovery is how it goes where engines are looked for. Texts are for people, and hold no secret.
type Discovery struct {
	Source  string       // a word of a closed set: "kubernetes"
	Where   string       // is looked: "node gpu-1"
	Up      bool         // what was found is what there is
	Since   time.Time    // that Up is what it is
	Synced  time.Time    // when it was last heard what there is, or that nothing is new, leaving out what is unknown; zero: never
	Detail  string       // why Up is false, or why there may be nothing; "" for nothing to say
	Unknown []string     // namespaces of which nothing was heard yet, while others are known
	Pods    []fold.Tally // by what became of them; those that are meant for engines only
	Others  int          // pods that are not, among those that are looked at; -1: not known
	// Skipped are pods that are meant for engines and are not polled, with why. A few; there may be more.
	Skipped []SkippedPod
}

// SkippedPod is a pod that is not polled.
type SkippedPod struct{ Pod, State, Why string }

// collectDiscovery sends how the looking for engines goes, and how many of those that were found are not there yet.
func collectDiscovery(p *page, d *Discovery, s *fold.Snapshot) {
	if d == nil {
		return
	}
	p.gauge(catalog.DiscoveryUp, truth(d.Up), d.Source)
	if !d.Synced.IsZero() {
		p.gauge(catalog.DiscoverySynced, unix(d.Synced), d.Source)
		for _, t := range closed(everyState(d.Pods), among(catalog.PodStates()...)) {
			p.gauge(catalog.DiscoveryPods, float64(t.Count), t.Name)
		}
	}
	if s != nil {
		p.gauge(catalog.EnginesStarting, float64(starting(s)))
	}
}

// everyState adds the states that no pod is in: that there are none is known too.
func everyState(pods []fold.Tally) []fold.Tally {
	all := make([]fold.Tally, 0, len(pods)+len(catalog.PodStates()))
	for _, state := range catalog.PodStates() {
		all = append(all, fold.Tally{Name: state})
	}
	return append(all, pods...)
}

func starting(s *fold.Snapshot) (n int) {
	for i := range s.Engines {
		if e := &s.Engines[i]; e.Phase == fold.PhaseStarting && !e.Gone {
			n++
		}
	}
	return n
}

// shownDiscovery is the same for the status page.
func shownDiscovery(d *Discovery) *web.Discovery {
	if d == nil {
		return nil
	}
	shown := &web.Discovery{
		Source: d.Source, Where: d.Where, Up: d.Up, Since: d.Since, Synced: d.Synced, Detail: d.Detail, Unknown: d.Unknown, Pods: d.Pods, Others: d.Others,
	}
	for _, s := range d.Skipped {
		shown.Skipped = append(shown.Skipped, web.SkippedPod(s))
	}
	return shown
}
