package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/goodput-exporter/goodput-exporter/test/live/load"
)

// entry is one line of the ledger: what is published, and between what the clients' account lies.
type entry struct {
	name         string
	published    float64
	known        bool
	client       int // all requests of this kind that the client saw
	lower, upper int // of them, those that any page of the engine could show
}

func (e entry) holds() bool {
	return e.known && float64(e.lower) <= e.published && e.published <= float64(e.upper)
}

// account is the clients' ledger by outcome, each between two ends.
type account map[string]*[3]int // all, lower, upper

func (a account) line(name string) *[3]int {
	if a[name] == nil {
		a[name] = &[3]int{}
	}
	return a[name]
}

// see notes that a client saw a request end so.
func (a account) see(name string) {
	if a.line(name)[0]++; early(name) {
		a.line(shed)[0]++
	}
}

// add notes that the pages show a request so, or may.
func (a account) add(name string, certain bool) {
	l := a.line(name)
	if l[2]++; certain {
		l[1]++
	}
}

// near is how far from a page an end or a start has to lie so that it is certain which side of the page it is on: the
// client sees both a little later or earlier than the engine, and counters lag by a step.
const near = 0.15

// names of the ledger's lines.
const (
	arrived   = "arrived"
	finished  = "finished"
	cancelled = "cancelled"
	client4xx = "rejected: client error"
	admission = "rejected: admission"
	failed    = "failed"
	lost      = "lost"
	shed      = "cancelled or rejected: admission"
)

// ledgerOf accounts for the requests as far as the pages could show them.
func ledgerOf(t *truth, p *published) account {
	a := account{}
	var refusals []float64
	for i := range t.requests {
		if r := &t.requests[i]; outcome(r) == admission {
			refusals = append(refusals, r.End)
		}
	}
	for i := range t.requests {
		r := &t.requests[i]
		if r.Outcome == load.Unreached {
			continue
		}
		a.see(arrived)
		a.see(outcome(r))
		a.place(t, p, r, refusals)
	}
	return a
}

// place notes what the pages show of a request. What an engine did between its last page and its death is on no page:
// what was in flight on that page is lost for the exporter, whatever became of it.
func (a account) place(t *truth, p *published, r *load.Seen, refusals []float64) {
	name := outcome(r)
	// An engine that had all tokens before it noticed that its client hung up has finished the request.
	if name == cancelled && t.told[r.ID] >= r.N {
		name = finished
	}
	last, _, died := t.deathOf(p, r.Start)
	switch {
	case !died || r.End < last.Sent-near: // all of it before the last page
		// A client that hung up before it got any answer may have done so before the engine had read its request.
		heard := name != cancelled || r.Status != 0
		// And a full queue may have refused a request whose client did not wait to hear of it.
		refused := name == cancelled && !r.FirstToken() && anyNear(refusals, r.End, 1)
		a.add(arrived, heard)
		if a.add(name, heard && !refused); refused {
			a.add(admission, false)
		}
		if early(name) {
			a.add(shed, heard)
		}
	case r.Start > last.Received+near: // all of it after
	case r.Start < last.Sent-near && r.End > last.Received+near: // in flight
		a.add(arrived, true)
		a.add(lost, true)
	default:
		for _, n := range []string{arrived, name, lost} {
			a.add(n, false)
		}
		if early(name) {
			a.add(shed, false)
		}
	}
}

// early says whether an outcome is one of the two that a client that hangs up early cannot tell apart.
func early(name string) bool { return name == cancelled || name == admission }

func anyNear(times []float64, t, distance float64) bool {
	return slices.ContainsFunc(times, func(x float64) bool { return math.Abs(x-t) < distance })
}

func outcome(r *load.Seen) string {
	switch r.Outcome {
	case load.Finished:
		return finished
	case load.Cancelled:
		return cancelled
	case load.Refused:
		if r.Inside || r.Status == 503 {
			return admission
		}
		return client4xx
	}
	return failed
}

// compareLedger puts the published counters beside the account.
func compareLedger(samples map[string]float64, a account) []entry {
	lines := []struct {
		name, series string
		pairs        []string
	}{
		{arrived, "goodput_requests_arrived_total", nil},
		{finished, "goodput_requests_finished_total", nil},
		{cancelled, "goodput_requests_cancelled_total", nil},
		{client4xx, "goodput_requests_rejected_total", []string{`by="client_error"`}},
		{admission, "goodput_requests_rejected_total", []string{`by="admission"`}},
		{failed, "goodput_requests_failed_total", nil},
		{lost, "goodput_requests_lost_total", nil},
		{"unexplained", "goodput_requests_unexplained_total", nil},
	}
	var out []entry
	for _, l := range lines {
		e := entry{name: l.name}
		e.published, e.known = sum(samples, l.series, l.pairs...)
		out = append(out, e.beside(a))
	}
	c, r := out[2], out[4]
	out = append(out, entry{name: shed, published: c.published + r.published, known: c.known && r.known}.beside(a))
	parts := entry{name: "arrived, as the sum of finished, cancelled, rejected, failed and lost", known: true, client: out[0].client}
	for _, e := range out[1:7] {
		parts.published, parts.known = parts.published+e.published, parts.known && e.known
	}
	parts.lower, parts.upper = int(out[0].published), int(out[0].published)
	return append(out, parts)
}

// beside takes what the account says.
func (e entry) beside(a account) entry {
	if c := a[e.name]; c != nil {
		e.client, e.lower, e.upper = c[0], c[1], c[2]
	}
	return e
}

func (e entry) String() string {
	return fmt.Sprintf("%s: %v published, the client's account says %d to %d", e.name, e.published, e.lower, e.upper)
}
