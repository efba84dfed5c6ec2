package fold

import (
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// totals are an endpoint's counters since the process was first seen, in the terms of the ledger. Signed: the front
// end's counters may be corrected downwards under a process that goes on.
type totals struct {
	http2xx, http4xx, http5xx int64 // responses of handlers with one prompt a request
	admission                 int64 // refused by the admission limit
	requests                  int64 // finished requests, whatever their reason
	sequences                 int64 // finished sequences
	errors, aborts            int64 // of sequences: with that reason
	firstTokens               int64
}

func (t totals) minus(u totals) totals {
	return totals{
		t.http2xx - u.http2xx, t.http4xx - u.http4xx, t.http5xx - u.http5xx, t.admission - u.admission,
		t.requests - u.requests, t.sequences - u.sequences, t.errors - u.errors, t.aborts - u.aborts, t.firstTokens - u.firstTokens,
	}
}

func (t totals) plus(u totals) totals { return t.minus(totals{}.minus(u)) }

// totalsOf sums a page over its ranks, and the rows of the response counter over the handlers that are counted.
func totalsOf(s *fact.EngineSample, rows []fact.HTTPCount, handlers []string) totals {
	var t totals
	for _, h := range rows {
		if !slices.Contains(handlers, h.Handler) {
			continue
		}
		switch h.Class {
		case "2xx":
			t.http2xx += int64(h.Count)
		case "4xx":
			t.http4xx += int64(h.Count)
		case "5xx":
			t.http5xx += int64(h.Count)
		}
	}
	t.admission = int64(s.Admission.V)
	t.sequences = sequencesOf(s)
	for i := range s.Ranks {
		r := &s.Ranks[i]
		t.requests += int64(r.Requests.V)
		t.errors += int64(r.FinishedWith(reasonError))
		t.aborts += int64(r.FinishedWith(reasonAbort))
		t.firstTokens += int64(r.Histograms[fact.TTFT].Count())
	}
	return t
}

// ledger accounts for an endpoint's HTTP requests. Steps add up to the window's end, where they are committed; what
// came out negative there (two counters read an instant apart) waits for the next window, so nothing published falls.
type ledger struct {
	traits  fact.Traits
	broken  string // what makes the accounting impossible for the rest of this process; "" when nothing does
	lacking string // what the last page lacks of what the accounting needs
	last    totals // of the last page; 0 at the birth of a process
	total   totals // since the zero point of this process
	window  totals // of the open window
	newest  int64  // admission refusals of the window's last step
	late    int64  // refusals of the last window's last step, whose 503 may fall into this one

	inFlight  uint64 // at the last page
	atStart   uint64 // at the window's start
	oldFlight int64  // sequences in flight at the zero point that have their first token, at most
	oldOpen   int64  // responses begun and not finished there (front ends that count at the start)
	died      bool   // the process went during the open window

	carryArrived, carryCancelled int64
	relief                       int64   // of the window just ended: unexplained requests that no cancellation has to cover
	unexplained                  uint64  // committed, of this process
	shortfalls                   []int64 // what each page of the window left unexplained

	http     []fact.HTTPCount // the rows of the last page that had them
	httpLate bool             // the zero point had none although requests had finished

	sum    Ledger // committed, over all processes
	opened bool   // outcomes have been committed to sum
	waited bool   // outcomes of this process have been put off before
	putOff bool   // the outcomes of the window just ended will be committed with a later one
}

// absent says why there is no accounting; "" when there is.
func (l *ledger) absent() string {
	if l.broken != "" {
		return l.broken
	}
	return l.lacking
}

// newProcess starts over for a process; what was committed stays.
func (l *ledger) newProcess(s *fact.EngineSample) {
	*l = ledger{traits: s.Traits, sum: l.sum, opened: l.opened, shortfalls: l.shortfalls[:0]}
}

// lacks says what a page lacks of what the accounting needs. A family that appears with its first sample (multi-process
// pages) is missed only once a request has finished without it.
func lacks(s *fact.EngineSample, finished int64) string {
	for i := range s.Ranks {
		if !s.Ranks[i].Requests.Known {
			return "the page has no count of finished requests (request_params_n)"
		}
		if !s.Ranks[i].Running.Known || !s.Ranks[i].Waiting.Known {
			return "the page does not say what is in flight (num_requests_running, num_requests_waiting)"
		}
	}
	if !s.HTTPKnown && finished > 0 {
		return noResponses
	}
	return ""
}

// noResponses is what is lacking without the front end's counter.
const noResponses = "the page has no http_requests_total: arrivals and cancellations are unknown"

// startAt takes a page as the zero point.
func (l *ledger) startAt(s *fact.EngineSample, o *Options) {
	l.inFlight = inFlight(s)
	l.atStart = l.inFlight
	l.http, l.httpLate = s.HTTP, !s.HTTPKnown && sequencesOf(s) > 0
	t := totalsOf(s, l.http, o.OnePrompt)
	l.last = t
	l.oldFlight = max(0, t.firstTokens-(t.sequences-t.aborts))
	l.oldOpen = max(0, t.http2xx-t.requests)
}

// reread is what the last page says in the terms of other options.
func (l *ledger) reread(s *fact.EngineSample, o *Options) totals {
	return totalsOf(s, l.http, o.OnePrompt)
}

// step adds what happened since the last page of the process. Where a page lacks the responses, those of the last page
// that had them stand in: what was counted in between comes with the next that has them.
func (l *ledger) step(now *fact.EngineSample, o *Options) {
	rows := l.http
	if now.HTTPKnown {
		rows = now.HTTP
	}
	t := totalsOf(now, rows, o.OnePrompt)
	d := t.minus(l.last)
	l.last = t
	if h := usedHandler(l.http, rows, o.ManyPrompts); h != "" && l.broken == "" {
		l.broken = "handler " + h + " was used, whose requests may hold several prompts"
	}
	if now.HTTPKnown && l.httpLate && l.broken == "" {
		l.broken = "http_requests_total came late: what it had counted before is unknown"
	}
	l.http = rows
	l.lacking = lacks(now, l.total.requests+d.requests)
	l.total, l.window = l.total.plus(d), l.window.plus(d)
	l.newest = d.admission
	l.inFlight = inFlight(now)
	l.shortfalls = append(l.shortfalls, l.short(now))
}

func sequencesOf(s *fact.EngineSample) int64 {
	var n int64
	for i := range s.Ranks {
		n += int64(s.Ranks[i].Sequences())
	}
	return n
}

// usedHandler names a handler of the list that answered a request between two pages' rows; "" when none did.
func usedHandler(before, now []fact.HTTPCount, handlers []string) string {
	count := func(h *fact.HTTPCount) uint64 {
		for i := range before {
			if p := &before[i]; p.Handler == h.Handler && p.Method == h.Method && p.Class == h.Class {
				return p.Count
			}
		}
		return 0
	}
	for i := range now {
		h := &now[i]
		if h.Class == "2xx" && slices.Contains(handlers, h.Handler) && h.Count > count(h) {
			return h.Handler
		}
	}
	return ""
}

// short is how many requests the page cannot account for, over the routes that share no counter. At a single instant
// two counters may be apart by a request or two, see nextUnexplained.
//
// Routes: finished requests without a response (Python front end: responses are counted when they end; Rust: when they
// start); finished sequences without a first token; first tokens that neither finished nor are in flight, where nothing
// was cancelled (a cancelled request may have had any number of sequences); finish counts of two families that differ.
func (l *ledger) short(now *fact.EngineSample) int64 {
	t := l.total
	flight := int64(l.inFlight)
	short, tokens := int64(0), true
	for i := range now.Ranks {
		r := &now.Ranks[i]
		if now.Traits.Unjudged == "" {
			short = max(short, int64(disagree(r, now.Traits)))
		}
		tokens = tokens && r.Histograms[fact.TTFT].Known() && len(r.Finished) > 0
	}
	if tokens && !now.Traits.RequestHistograms {
		short = max(short, t.sequences-t.aborts-t.firstTokens-l.oldFlight)
	}
	if l.absent() != "" {
		return short
	}
	answered := t.http2xx - t.admission + min(t.http5xx, t.admission+t.errors)
	if l.traits.HTTPAtStart {
		return max(short, t.requests-t.http2xx-l.oldOpen, t.http2xx-t.requests-flight)
	}
	short = max(short, t.requests-answered)
	if answered <= t.requests && tokens && !now.Traits.RequestHistograms {
		short = max(short, t.firstTokens-t.sequences-flight)
	}
	return short
}

// lose gives up what is in flight: its process is gone.
func (l *ledger) lose() {
	l.died = true
}

// loses reports whether something was given up and is not committed yet.
func (l *ledger) loses() bool { return l.died && l.inFlight > 0 }

// change is how much more is in flight at the window's end than where its account began; what is lost no longer is.
func (l *ledger) change() int64 {
	if l.died {
		return -int64(l.atStart)
	}
	return int64(l.inFlight) - int64(l.atStart)
}

// revive takes back that the process went: what was given up is counted as lost, and arrives anew.
func (l *ledger) revive() { l.died, l.inFlight, l.atStart = false, 0, 0 }
