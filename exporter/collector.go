package exporter

import (
	"cmp"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// SnapshotConfig is what a SnapshotCollector needs. All fields are required.
type SnapshotConfig struct {
	Started   float64 // when polling started, unix seconds: the created timestamp of counters of polls
	Published func() Published
}

// Published is what is published of one moment. All but Snapshot may be left out.
type Published struct {
	Snapshot   *fold.Snapshot     // nil before the first
	Objectives []slo.Objective    // the contract, published whether or not an engine is under it
	Intervals  map[string]float64 // seconds between two polls, by engine
	MaxSeries  int                // of one engine; 0 is no limit
	NoSpans    bool               // none are taken in: what came before that was so is not said any more
	Cost       fold.Cost          // what a GPU costs
}

// SnapshotCollector puts a snapshot on a page. It polls nothing and changes nothing, so any number of scrapes may run
// at once.
type SnapshotCollector struct {
	families families
	SnapshotConfig
}

// NewSnapshotCollector returns a collector of everything that a snapshot says; the exporter's own rounds are not
// among it.
func NewSnapshotCollector(c SnapshotConfig) *SnapshotCollector {
	return &SnapshotCollector{families: newFamilies(), SnapshotConfig: c}
}

// Describe sends nothing: what is on the page depends on the engines, so the collector is an unchecked one.
func (c *SnapshotCollector) Describe(chan<- *prometheus.Desc) {}

// Collect sends everything that the snapshot knows.
func (c *SnapshotCollector) Collect(ch chan<- prometheus.Metric) {
	p := &page{families: c.families, ch: ch}
	now := c.Published()
	for i := range now.Objectives {
		collectContract(p, &now.Objectives[i])
	}
	s := now.Snapshot
	if s == nil {
		return
	}
	p.gauge(catalog.LastRound, s.At)
	for f, n := range s.Layouts {
		if n > 0 {
			p.gauge(catalog.HistogramLayouts, float64(n), fact.Family(f).String())
		}
	}
	if !now.NoSpans {
		collectUnmatched(p, &s.Unmatched, c.Started)
	}
	collectGPUs(p, s, &now, c.Started)
	for i := range s.Engines {
		c.collectEngine(p, &s.Engines[i], &now)
	}
}

// collectContract sends what an objective promises, whether or not any engine is under it.
func collectContract(p *page, o *slo.Objective) {
	pol := o.Policy
	p.info(catalog.SLOInfo, o.Name, clauses(o), "sequences", span(o.Window), list(pol.Success), string(pol.Cancelled),
		string(pol.ClientErrors), string(pol.Admission), string(pol.Failed), string(pol.Lost), string(cmp.Or(pol.Retries, slo.RetriesAttempts)), pattern(o.Match.Model), pattern(o.Match.Engine))
	p.gauge(catalog.SLOObjective, o.Objective, o.Name)
	for _, c := range o.Clauses {
		p.gauge(catalog.SLOThreshold, c.Threshold, o.Name, c.Metric.String())
	}
	collectThresholds(p, o)
}

// collectEngine sends one engine and its ranks, and how many series that was. Of an engine that is no target any more
// only what was counted is sent: it is neither up nor down.
func (c *SnapshotCollector) collectEngine(p *page, e *fold.Engine, now *Published) {
	kinds := []part{p.part(func() { c.collectEndpoint(p, e, now) })}
	ranks := func(collect func(*page, *fold.Engine, *fold.Rank)) part {
		return p.part(func() {
			for i := range e.Ranks {
				collect(p, e, &e.Ranks[i])
			}
		})
	}
	if e.Phase.Seen() {
		kinds = append(kinds, ranks(collectRank))
		if !now.NoSpans {
			kinds = append(kinds, p.part(func() { collectClasses(p, e) }), p.part(func() { collectSpanHistograms(p, e) }))
		}
		kinds = append(kinds, ranks(collectMainHistograms), ranks(collectOtherHistograms), ranks(collectQuantiles))
	}
	// The endpoint itself always stays; of the rest the first kinds that fit, each whole: half a kind would differ from
	// one scrape to the next.
	const counts = 2 // of the series below
	sent, dropped := kinds[0].series, 0
	p.sendPart(kinds[0])
	for _, kind := range kinds[1:] {
		if dropped > 0 || now.MaxSeries > 0 && sent+kind.series+counts > now.MaxSeries {
			dropped += kind.series
			continue
		}
		sent += kind.series
		p.sendPart(kind)
	}
	if !e.Gone {
		p.gauge(catalog.EngineSeries, float64(sent+counts), e.ID)
		p.gauge(catalog.SeriesDropped, float64(dropped), e.ID)
	}
}

// collectEndpoint sends what holds for the engine as a whole.
func (c *SnapshotCollector) collectEndpoint(p *page, e *fold.Engine, now *Published) {
	// Polls are counted from the first one on, which may be before the first page and so before e.Since, but not
	// before the exporter started.
	for _, t := range e.Failures {
		p.counter(catalog.PollFailures, float64(t.Count), c.Started, e.ID, t.Name)
	}
	for _, t := range closed(e.Skipped, skipReason) {
		p.counter(catalog.PagesSkipped, float64(t.Count), c.Started, e.ID, t.Name)
	}
	if !e.Gone {
		collectState(p, e)
		if interval := now.Intervals[e.ID]; interval > 0 {
			p.gauge(catalog.PollInterval, interval, e.ID)
		}
	}
	collectEngineGPUs(p, e, now)
	if e.Phase.Seen() {
		collectSeen(p, e)
		collectLedger(p, e)
		for i := range e.SLOs {
			collectSLO(p, e, &e.SLOs[i])
		}
		if !now.NoSpans {
			collectEvidence(p, e)
			for i := range e.SLOs {
				collectTokens(p, e, &e.SLOs[i])
			}
		}
	}
}

// collectState sends what a target is now: who, in which phase, and when it last answered.
func collectState(p *page, e *fold.Engine) {
	p.openInfo(catalog.EngineInfo, e.Target.Labels, e.ID, e.Model, e.Dialect, e.Version, shownURL(e.Target.URL))
	p.info(catalog.EnginePhaseInfo, e.ID, string(e.Phase))
	if e.Phase != fold.PhaseStarting { // it is neither up nor down
		p.gauge(catalog.EngineUp, truth(e.Up), e.ID)
	}
	p.gauge(catalog.PollDuration, e.PollTook, e.ID)
	if e.LastPoll > 0 {
		p.gauge(catalog.LastPoll, e.LastPoll, e.ID)
	}
	if e.Start > 0 {
		p.gauge(catalog.EngineStart, e.Start, e.ID)
	}
	if e.Phase.Seen() && e.Phase != fold.PhaseDown {
		p.gauge(catalog.EngineProgressing, truth(e.Phase != fold.PhaseStalled), e.ID)
	}
	if e.Ledger.Absent != "" {
		p.info(catalog.LedgerUnanswerable, e.ID, e.Ledger.Absent)
	}
	for i := range e.SLOs {
		if s := &e.SLOs[i]; s.Absent != "" {
			p.info(catalog.SLOUnanswerable, e.ID, s.Objective.Name, s.Absent)
		}
	}
}

// collectSeen sends what is counted of an engine as soon as it has shown one page.
func collectSeen(p *page, e *fold.Engine) {
	p.counter(catalog.EngineResets, float64(e.Resets), e.Since, e.ID)
	p.counter(catalog.EvidenceConflicts, float64(e.Conflicts), e.Since, e.ID, catalog.SourcePages)
	for _, t := range closed(e.Fallbacks, fallbackReason) {
		p.counter(catalog.WindowFallbacks, float64(t.Count), e.Since, e.ID, t.Name)
	}
}

func collectLedger(p *page, e *fold.Engine) {
	l := &e.Ledger
	if !l.Committed {
		return
	}
	for _, row := range []struct {
		base   string
		span   fold.Span
		labels []string
	}{
		{catalog.RequestsArrived, l.Arrived, nil},
		{catalog.RequestsFinished, l.Finished, nil},
		{catalog.RequestsFailed, l.Failed, nil},
		{catalog.RequestsCancelled, l.Cancelled, nil},
		{catalog.RequestsRejected, l.RejectedAdmission, []string{"admission"}},
		{catalog.RequestsRejected, l.RejectedClient, []string{"client_error"}},
		{catalog.RequestsLost, l.Lost, nil},
		{catalog.RequestsUnexplained, l.Unexplained, nil},
	} {
		collectSpan(p, row.base, row.span, e.Since, slices.Concat([]string{e.ID}, row.labels, []string{e.Model})...)
	}
}

// collectSpan sends a count as one counter where it is exact, as two where it is an interval, and not at all where it
// is not known.
func collectSpan(p *page, base string, s fold.Span, created float64, labels ...string) {
	switch {
	case !s.Known:
	case s.Exact():
		p.counter(base+catalog.Total, float64(s.Lower), created, labels...)
	default:
		p.counter(base+catalog.LowerTotal, float64(s.Lower), created, labels...)
		p.counter(base+catalog.UpperTotal, float64(s.Upper), created, labels...)
	}
}

func collectSLO(p *page, e *fold.Engine, s *fold.SLO) {
	name := s.Objective.Name
	if !s.Judged {
		return
	}
	since := max(e.Since, s.Since)
	p.counter(catalog.SLORequests, float64(s.Requests), since, e.ID, name, e.Model)
	p.counter(catalog.SLOQualifiedLower, float64(s.Lower), since, e.ID, name, e.Model)
	p.counter(catalog.SLOQualifiedUpper, float64(s.Upper), since, e.ID, name, e.Model)
	for _, v := range s.Violations {
		collectSpan(p, catalog.SLOViolations, fold.Span{Lower: v.Lower, Upper: v.Upper, Known: true}, since,
			e.ID, name, v.Metric.String(), e.Model)
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
