package gpu

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

const (
	// longestRetry is how long a child that never brings anything is left alone at most.
	longestRetry = 30 * time.Minute
	// proofs is for how many patiences a page must have brought GPUs, at every look, before it takes the place of a child that
	// brings them too: ten times what it takes to lose the choice, so that a page that comes and goes does not have the source
	// change with it.
	proofs = 10
	// settling is for how long from the beginning a page that is nowhere is waited for, before a child takes its place.
	settling = 15 * time.Second
	// longestProof bounds that, which doubles when a page that came back went away again soon.
	longestProof = 2 * time.Hour
)

// Read reads the chosen source, and chooses first where that is due. Detail ends with what was chosen and why.
func (a *Auto) Read(ctx context.Context) fact.GPUReading {
	a.mu.Lock()
	defer a.mu.Unlock()
	looked := !a.due()
	switch {
	case a.closed:
		return a.none("closed")
	case a.chosen == nil && looked:
		return a.none(a.why)
	case a.chosen == nil:
		return a.choose(ctx)
	}
	r := a.chosen.Read(ctx)
	switch {
	case r.Reason != "" && time.Since(a.good) > a.cfg.Patience:
		return a.choose(ctx)
	case a.chosen == a.child && !looked:
		if page, back := a.returned(ctx); back {
			return a.told(page)
		}
	}
	return a.told(r)
}

// told notes how the choice does, and adds the choice to its reading.
func (a *Auto) told(r fact.GPUReading) fact.GPUReading {
	if r.Reason == "" {
		a.good = time.Now()
		a.log()
		if a.chosen == a.child {
			a.retry = 0
		}
	}
	if r.Detail != "" {
		r.Detail += "; "
	}
	r.Detail += a.why
	return r
}

// choose looks for a source, in the order of preference. A child is the choice as soon as it runs, for as long as patience
// lasts: its first frame takes a while.
func (a *Auto) choose(ctx context.Context) fact.GPUReading {
	a.lost()
	page := a.look(ctx)
	if page.Reason == "" {
		a.takePage("chosen since the dcgm-exporter page brings GPUs")
		return a.told(page)
	}
	failed := "no GPUs from " + page.Detail
	if a.nowhere && a.child == nil && a.looked.Sub(a.begun) < settling {
		a.take(nil, failed+"; it is waited for")
		return a.none(a.why)
	}
	if a.child != nil { // it was the choice, and brought nothing for too long
		failed += "; none through DCGM: " + a.child.Read(ctx).Detail
		a.dismiss()
		a.retry = min(max(2*a.retry, 2*a.cfg.Patience), longestRetry)
		a.resting = a.looked.Add(a.retry)
	} else if a.looked.Before(a.resting) {
		failed += "; goodput-dcgm brought none and is tried again later"
	} else if child, err := a.open(page.Reason); err != nil {
		failed += "; and " + err.Error()
	} else {
		a.child = child
		a.take(child, "chosen since there are "+failed)
		return a.told(child.Read(ctx))
	}
	a.take(nil, failed+"; install dcgm-exporter or goodput-dcgm, or set gpu.source to none where there are no GPUs")
	a.log()
	return a.none(a.why)
}

// due reports whether the page is to be looked for: after a while, and as soon as one that was nowhere is somewhere. Pods are not
// known in the first moment, which must neither cost a node its GPUs for the first minute, nor have a child preferred.
func (a *Auto) due() bool {
	switch {
	case a.looked.IsZero() || time.Since(a.looked) >= a.cfg.Patience:
		return true
	case !a.nowhere:
		return false
	case a.looked.Sub(a.begun) < settling && time.Since(a.begun) >= settling:
		return true
	}
	return !a.lacking()
}

// lacking reports whether the page has to be found, and is not to be found now.
func (a *Auto) lacking() bool {
	if a.cfg.Page.Locate == nil {
		return false
	}
	address, _ := a.cfg.Page.Locate()
	return address == ""
}

// look reads the page, with little patience.
func (a *Auto) look(ctx context.Context) fact.GPUReading {
	a.looked, a.nowhere = time.Now(), a.lacking()
	probe, cancel := context.WithTimeout(ctx, DefaultProbe)
	defer cancel()
	return a.page.Read(probe)
}

// returned looks whether the page is back while a child is the choice. It is preferred for what the child costs, and since it
// is the operator's own; but what works is not given up for a page that answers once.
func (a *Auto) returned(ctx context.Context) (page fact.GPUReading, back bool) {
	page = a.look(ctx)
	switch {
	case page.Reason != "":
		a.backSince = time.Time{}
		return page, false
	case a.backSince.IsZero():
		a.backSince = a.looked
	}
	proof := a.proof
	if a.cfg.Child.Embedded { // two host engines on a node are in each other's way
		proof = a.cfg.Patience
	}
	if a.looked.Sub(a.backSince) < proof {
		return page, false
	}
	a.takePage("chosen since the dcgm-exporter page brings GPUs again")
	return page, true
}

// lost notes that the choice has brought nothing for too long. A page that went soon after it had come has to prove itself
// for longer before it is the choice again.
func (a *Auto) lost() {
	if a.chosen != a.page {
		return
	}
	if time.Since(a.taken) > 2*a.proof {
		a.proof = proofs * a.cfg.Patience
	} else {
		a.proof = min(2*a.proof, longestProof)
	}
}

func (a *Auto) takePage(why string) {
	a.dismiss()
	a.take(a.page, why)
}

// openChild starts goodput-dcgm. An embedded host engine is for a node that has no other one: not beside a dcgm-exporter that
// answers, however badly, and not beside nv-hostengine, since the second host engine can take the profiling counters from the
// first (NVIDIA/dcgm-exporter#7).
func (a *Auto) openChild(page fact.Reason) (Source, error) {
	cfg := a.cfg.Child
	path, err := FindChild(cfg.Path)
	if err != nil {
		return nil, errors.New("goodput-dcgm is not installed")
	}
	cfg.Path = path
	if cfg.Embedded {
		switch {
		case time.Since(a.begun) < a.cfg.Patience: // a dcgm-exporter may start after this exporter, and pods are not known at once
			return nil, errors.New("no host engine is embedded before a page has been looked for for a while")
		case page != fact.ReasonRefused && page != fact.ReasonConnect:
			return nil, errors.New("something answers there, beside which no host engine is embedded (gpu.source: dcgm has one all the same)")
		case a.listens(DefaultAddress):
			cfg.Embedded, cfg.Address = false, DefaultAddress
		}
	}
	return NewChild(cfg)
}

// listens reports whether somebody accepts connections at an address.
func listens(address string) bool {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}
