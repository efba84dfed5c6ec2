package fold

import (
	"slices"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// page is an accepted page with the times it was asked for and received.
type page struct {
	sent, received float64
	sample         *fact.EngineSample
}

// engine is the state of one endpoint.
type engine struct {
	target fact.Target
	last   *page // the last accepted page; nil before the first
	since  float64

	up       bool
	pollTook float64
	failures map[string]uint64
	skipped  map[string]uint64
	resets   uint64

	elsewhere bool // the target has another address since the last page, whose process may well live on, or is another pod

	dead   bool // the process of the last page is taken for gone: what was in flight is lost
	gone   bool // the target has vanished
	goneAt float64

	cutOff       bool    // since the last accepted page a connection was refused or broken
	refusedSince float64 // first of an unbroken run of refused connections; 0 none
	refusedAt    float64 // the newest of them
	fellRun      int     // pages in a row refused because a counter fell
	tornSince    float64 // first of an unbroken run of torn pages; 0 none
	moved        float64 // when something last moved, or nothing was in flight

	gpus       engineGPUs
	spans      engineSpans
	life       int        // counts the processes whose pages were taken up
	marks      []mark     // of the pages that a window needs that is open or pending, while spans are taken in
	pending    []*pending // windows that ended and wait for spans, in order
	begun      int        // the life of the newest committed window
	cut        int        // the life in whose newest committed window the waiting spans were told from the others; 0: none
	window     window
	ledger     ledger
	objectives []*objective
	ranks      []*rank // of the last page
	known      []*rank // all that were seen
	many       bool    // several ranks were seen on one page
	committed  bool
	past       remembered
	fallbacks  map[string]uint64
	conflicts  uint64

	committedAt     float64 // when a window was last committed
	committedLedger Ledger  // up to the newest committed window
}

func newEngine(t fact.Target, objectives []slo.Objective) *engine {
	e := &engine{target: t, failures: map[string]uint64{}, skipped: map[string]uint64{}, fallbacks: map[string]uint64{}}
	for i := range objectives {
		e.objectives = append(e.objectives, newObjective(&objectives[i]))
	}
	return e
}

// fellLimit is how many pages in a row may be refused for a fallen counter, although the process is the same, before
// the fall is believed: engines can re-create their metrics without a restart, and a stale page comes alone.
const fellLimit = 3

// deathGrace is for how long connections must be refused before the process counts as gone, in seconds: a listener
// that is being replaced refuses for an instant.
const deathGrace = 10

// poll folds one poll of an engine.
func (s *State) poll(e *engine, p fact.Poll) {
	e.pollTook = p.Received - p.Sent
	if p.Sample == nil {
		s.miss(e, p)
		return
	}
	e.refusedSince = 0
	e.up = true
	now := &page{sent: p.Sent, received: p.Received, sample: p.Sample}
	if e.last == nil {
		s.firstSight(e, now)
		return
	}
	what := identify(e.last.sample, p.Sample)
	if what == fellUntold && e.wasAway(now) {
		what = newProcess
	}
	if what == sameProcess && e.elsewhere && birth(p.Sample) == 0 {
		what = newProcess // counters that have not fallen are no evidence across two addresses, or two pods
	}
	switch what {
	case sameProcess:
		s.next(e, now)
	case newProcess:
		s.restart(e, now)
	case otherRanks:
		s.rebase(e, now)
	case contradictory, fellUntold:
		if e.fellRun++; e.fellRun < fellLimit {
			e.up = false
			e.failures[string(fact.ReasonFell)]++
			s.overdue(e, p.Sent)
			return
		}
		// Which of its counts are new is not known, so the page is a new zero point.
		e.resets++
		s.rebase(e, now)
	}
	e.fellRun, e.cutOff = 0, false
}

// wasAway reports whether there was time and reason for a restart since the last page. An engine that has replaced its
// process has refused connections, or broken some, for as long as it loaded its model; where nothing of the kind was
// seen, counters that fell are those of a stale page or of another process behind the same address.
func (e *engine) wasAway(now *page) bool {
	return e.dead || e.elsewhere || e.cutOff || now.sent-e.last.sent >= deathGrace
}

// miss folds a poll that brought no page.
func (s *State) miss(e *engine, p fact.Poll) {
	e.up = false
	e.tornSince = 0
	e.failures[string(p.Reason)]++
	e.cutOff = e.cutOff || p.Reason == fact.ReasonRefused || p.Reason == fact.ReasonConnect
	if p.Reason != fact.ReasonRefused {
		e.refusedSince = 0
	} else {
		if e.refusedSince == 0 {
			e.refusedSince = p.Sent
		}
		e.refusedAt = p.Sent
		if e.last != nil && !e.dead && !e.elsewhere && p.Sent-e.refusedSince >= deathGrace {
			s.bury(e)
		}
	}
	s.overdue(e, p.Sent)
}

// overdue ends a window whose nearest page to its due end is already known to be the last one.
func (s *State) overdue(e *engine, now float64) {
	if e.last == nil || e.last.sent <= e.window.start {
		return
	}
	if due := e.window.start + s.opts.JudgementWindow; now-due > due-e.last.sent {
		s.closeWindow(e, false)
	}
}

// firstSight takes an engine's first page. A young engine, whose counters began after the exporter did, is judged since
// its birth; an old one's first page is the baseline.
func (s *State) firstSight(e *engine, now *page) {
	isTorn, skip := s.unfit(e, now)
	if skip {
		return
	}
	how := baseline
	if b := birth(now.sample); b > 0 && b >= s.opts.Started {
		how = sinceBirth
	}
	s.begin(e, now, how, isTorn)
}

// restart takes the first page of another process of a known engine. If that was born after the last page of the old
// one, or does not say when, all its counters began at 0 in between; else the address leads to several processes (a
// load balancer), and what this one counted before is not ours; nor is it when the target has another address now, or is another pod.
func (s *State) restart(e *engine, now *page) {
	isTorn, skip := s.unfit(e, now)
	if skip {
		return
	}
	how := sinceBirth
	if b := birth(now.sample); b > 0 && b < e.last.sent-1 || b == 0 && e.elsewhere {
		how = baseline
	}
	if !e.elsewhere {
		s.bury(e)
	}
	e.resets++
	s.begin(e, now, how, isTorn)
}

// rebase takes a page of the same process that does not follow from the one before it as a new zero point.
func (s *State) rebase(e *engine, now *page) {
	isTorn, skip := s.unfit(e, now)
	if skip {
		return
	}
	s.closeWindow(e, true)
	s.begin(e, now, baseline, isTorn)
}

// next takes a further page of the same process.
func (s *State) next(e *engine, now *page) {
	isTorn := torn(e.last.sample, now.sample)
	if isTorn && s.skipTorn(e, now) {
		s.overdue(e, now.sent)
		return
	}
	e.tornSince, e.elsewhere = 0, false
	if e.dead {
		// It only looked dead. What was in flight has been given up as lost and arrives anew.
		e.dead = false
		e.ledger.revive()
	}
	due := e.window.start + s.opts.JudgementWindow
	if now.sent >= due && e.last.sent > e.window.start && due-e.last.sent < now.sent-due {
		s.closeWindow(e, false) // the page before this one was nearer to the due end
	}
	s.advance(e, now, isTorn)
}

// unfit reports whether a first page of a process is torn, and whether it is skipped for that.
func (s *State) unfit(e *engine, now *page) (isTorn, skip bool) {
	isTorn = torn(nil, now.sample)
	return isTorn, isTorn && s.skipTorn(e, now)
}

// skipTorn skips a torn page, unless pages have been torn for so long that half a window would be lost: then the page
// is taken, and the window that holds it is left unjudged.
func (s *State) skipTorn(e *engine, now *page) bool {
	if e.tornSince == 0 {
		e.tornSince = now.sent
	}
	if now.sent-e.tornSince >= s.opts.JudgementWindow/2 {
		return false
	}
	e.skipped["torn"]++
	return true
}

// start says what is known about the time before an engine's first page.
type start int

const (
	baseline   start = iota // an old process: the page is the zero point
	sinceBirth              // a process whose counters all began in sight: zero is the zero point
)

// begin starts over with a first page of a process.
func (s *State) begin(e *engine, now *page, how start, isTorn bool) {
	first := e.last == nil
	from := now.sent
	if how == sinceBirth {
		from = max(birth(now.sample), e.refusedAt)
		if e.last != nil {
			from = max(from, e.last.received)
		}
		from = min(from, now.sent)
	}
	if first {
		e.since = from
	}
	e.moved = now.sent
	e.life++
	e.dead, e.elsewhere, e.tornSince, e.fellRun, e.refusedAt = false, false, 0, 0, 0
	e.ranks = s.newRanks(e, now.sample, from)
	e.ledger.newProcess(now.sample)
	e.window = window{start: from}
	e.past.from = 0
	e.last = now
	if how == baseline {
		for i, r := range e.ranks {
			r.startAt(&now.sample.Ranks[i])
		}
		e.ledger.startAt(now.sample, &s.opts)
		s.note(e, now, isTorn)
		return
	}
	// Since birth: the page before this one is an empty page at the time of birth.
	zero := *now.sample
	zero.Ranks = make([]fact.Rank, len(now.sample.Ranks))
	for i := range zero.Ranks {
		zero.Ranks[i] = emptyRank(&now.sample.Ranks[i])
	}
	e.last = &page{sent: from, received: from, sample: &zero}
	s.note(e, e.last, false)
	s.advance(e, now, isTorn)
}

// advance folds the step from the last page to this one, and ends the window there if it is due.
func (s *State) advance(e *engine, now *page, isTorn bool) {
	before := e.last
	if isTorn {
		e.skipped["unjudged"]++
		e.window.torn = true
		e.tornSince = 0
	}
	progress := false
	for i, r := range e.ranks {
		step := r.step(before, now, i)
		s.observe(r, step)
		progress = progress || step.FirstTokens+step.Finished > 0 || moved(&before.sample.Ranks[i], &now.sample.Ranks[i])
	}
	e.ledger.step(now.sample, &s.opts)
	if progress || inFlight(now.sample) == 0 {
		e.moved = now.sent
	}
	e.window.pages++
	e.last = now
	s.note(e, now, isTorn)
	if now.sent >= e.window.start+s.opts.JudgementWindow {
		s.closeWindow(e, false)
	}
}

// bury ends the window of the last page's process at that page: the process, and with it what was in flight, is gone.
func (s *State) bury(e *engine) {
	if e.last == nil || e.dead {
		return
	}
	e.ledger.lose()
	s.closeWindow(e, true)
	e.dead = true
}

func tallies(m map[string]uint64) []Tally {
	out := make([]Tally, 0, len(m))
	for name, n := range m {
		out = append(out, Tally{Name: name, Count: n})
	}
	slices.SortFunc(out, func(a, b Tally) int { return strings.Compare(a.Name, b.Name) })
	return out
}
