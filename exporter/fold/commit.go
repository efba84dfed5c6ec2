package fold

import "slices"

// commit closes the ledger's window: what it adds is returned, and is in l.sum. last says that no page of this process
// will follow, so nothing can be left for the next window.
//
// With u the 5xx responses that are accounted for elsewhere (admission refusals with 503, error finishes answered 5xx):
//
//	finished  = finished requests - errors          (- aborts, where those count as finished)
//	failed    = errors + 5xx - u
//	cancelled = 2xx - finished requests - (refusals - 503) - ..., that is 2xx - requests - refusals + u
//	arrived   = responses + change of what is in flight
//
// The Rust front end counts aborts itself and responses at their start; there cancelled = aborts, arrived = responses.
func (l *ledger) commit(last bool) Ledger {
	d := l.window
	w := Ledger{Committed: true, Absent: l.absent()}
	w.Lost = exactly(0)
	if l.died {
		w.Lost = exactly(int64(l.inFlight))
	}
	w.Unexplained = exactly(l.nextUnexplained())
	l.sum.Absent, l.shortfalls = w.Absent, l.shortfalls[:0]
	addSpans([][2]*Span{{&l.sum.Lost, &w.Lost}, {&l.sum.Unexplained, &w.Unexplained}}, l.sum.Committed)
	l.sum.Committed = true
	if l.putOff = l.broken == "" && l.lacking != "" && !last && !l.died && !(l.traits.NoFrontEnd && l.waited); l.putOff {
		l.waited = true // the first request may have finished an instant before its response was counted
		return w        // what the page lacks may come back, and then tells of this window too
	}
	if l.traits.NoFrontEnd && l.broken == "" && l.lacking == noResponses {
		// What finished is known without the responses; what else became of requests is not.
		w.Finished = exactly(d.requests - d.errors)
	}
	if w.Absent == "" {
		l.commitOutcomes(&w, d)
	} else if l.lacking == "" {
		// Refusals and failures do not rest on the identity that is broken, and stay in every denominator.
		w.RejectedAdmission, w.RejectedClient = exactly(d.admission), exactly(d.http4xx)
		unpaired := d
		unpaired.requests = 0 // they are not only those of the handlers that are counted
		lower, upper := l.elsewhere(unpaired, 0, d.admission)
		w.failedBeside = between(d.http5xx-upper, d.http5xx-lower)
	}
	addSpans([][2]*Span{
		{&l.sum.Arrived, &w.Arrived}, {&l.sum.Finished, &w.Finished}, {&l.sum.Failed, &w.Failed}, {&l.sum.Cancelled, &w.Cancelled},
		{&l.sum.RejectedAdmission, &w.RejectedAdmission}, {&l.sum.RejectedClient, &w.RejectedClient},
	}, l.opened)
	l.opened = true
	l.window, l.newest = totals{}, 0
	if l.died {
		l.inFlight, l.died = 0, false
	}
	l.atStart = l.inFlight
	return w
}

// shortfallPages is how many pages it takes to believe a shortfall.
const shortfallPages = 3

// nextUnexplained is what the window adds to the unexplained: the shortfall that three quarters of its pages show or
// exceed. Counters that are read an instant apart differ by a request now and then, in either direction, but not on
// page after page.
func (l *ledger) nextUnexplained() int64 {
	l.relief = 0
	if len(l.shortfalls) < shortfallPages {
		return 0
	}
	slices.Sort(l.shortfalls)
	step := max(0, l.shortfalls[len(l.shortfalls)/4]-int64(l.unexplained))
	l.unexplained += uint64(step)
	// What is unexplained now no longer waits for later cancellations to make up for it.
	carried := l.carryCancelled
	l.carryCancelled = min(0, carried+step)
	l.relief = step - (l.carryCancelled - carried)
	return step
}

func (l *ledger) commitOutcomes(w *Ledger, d totals) {
	// A refusal of the last window's last step may be answered in this one.
	refused := d.admission + l.late
	l.late = l.newest
	lower, upper := l.elsewhere(d, d.admission, refused)

	w.RejectedAdmission, w.RejectedClient = exactly(d.admission), exactly(d.http4xx)
	w.Failed = between(d.errors+d.http5xx-upper, d.errors+d.http5xx-lower)
	w.failedBeside = between(d.http5xx-upper, d.http5xx-lower)
	if l.traits.AbortsFinish {
		w.Finished = exactly(d.requests - d.errors - d.aborts)
		w.Cancelled = exactly(d.aborts)
	} else {
		w.Finished = exactly(d.requests - d.errors)
		// A refusal whose response is still on the way makes this one less; the next window has it back.
		rest := d.http2xx - d.requests - d.admission + l.carryCancelled
		w.Cancelled = between(rest+lower, rest+upper)
		w.cancelledBeside = w.Cancelled
		l.carryCancelled = min(0, rest+upper+l.relief)
	}
	arrived := d.http2xx + d.http4xx + d.http5xx
	if !l.traits.HTTPAtStart {
		arrived += int64(l.inFlight) - int64(l.atStart) + l.carryArrived
		l.carryArrived = min(0, arrived)
	}
	w.Arrived = exactly(arrived)
}

// elsewhere bounds u. Statuses are grouped, so how many refusals were a 503 is known only while no other 5xx can be
// among them: no sequence ended with an error and there were no more 5xx than refusals. (A refusal that comes after the
// headers is an error inside a 200.)
func (l *ledger) elsewhere(d totals, settled, refused int64) (lower, upper int64) {
	switch {
	case d.http5xx <= 0, refused+d.errors == 0:
		return 0, 0
	case d.errors == 0 && d.http5xx <= refused:
		return d.http5xx, d.http5xx
	}
	upper = min(d.http5xx, refused+d.errors)
	if !l.traits.AbortsFinish { // cancelled cannot be negative
		lower = min(upper, max(0, settled+d.requests-d.http2xx))
	}
	return lower, upper
}

func exactly(n int64) Span { return between(n, n) }

func between(lower, upper int64) Span {
	return Span{Lower: uint64(max(0, lower)), Upper: uint64(max(0, upper)), Known: true}
}

func (s Span) plus(t Span) Span {
	return Span{Lower: s.Lower + t.Lower, Upper: s.Upper + t.Upper, Known: s.Known && t.Known}
}

// addSpans adds a window's spans to the committed ones; begun says that there are some. What was unknown in one window for
// good is unknown in the sum from then on: a counter that left a window out would be a lie without a mark.
func addSpans(pairs [][2]*Span, begun bool) {
	for _, p := range pairs {
		if begun {
			*p[0] = p[0].plus(*p[1])
		} else {
			*p[0] = *p[1]
		}
	}
}
