package slo

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
)

// sequence is one member of a made-up population, with the instants at which an engine would count it.
type sequence struct {
	fact.Request
	arrival        float64
	first, end     float64 // counted under TTFT; counted as finished: +Inf for never
	scheduled      float64 // running from here on
	gone           float64 // the core has done with it: end less the front end's lag, or the cancel
	requeued, back float64 // waiting again in between, after a preemption
	preempted      float64 // when that was counted; +Inf never
	aborted        bool    // finished with reason abort
	failed         bool    // its finish reason may not qualify
	noToken        bool    // aborted before its first token
}

// population is a made-up engine: what it did, and how it is polled.
type population struct {
	rng       *rand.Rand
	sequences []sequence
	length    float64 // seconds
	lag       float64 // most that the front end is behind the core, seconds
	burst     float64 // when many requests come at once
	stall     float64 // most that it is behind while it has to do with them
	layouts   [][fact.NumFamilies][]float64
}

var lagScales = []float64{0.002, 0.04, 0.14}

var (
	defaultTTFT = []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}
	defaultTPOT = []float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	defaultLat  = []float64{.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
	fineLat     = []float64{.05, .1, .15, .2, .25, .3, .5, .75, 1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64}
	coarse      = []float64{.25, 1, 5}
)

func layout(ttft, tpot, lat []float64) (l [fact.NumFamilies][]float64) {
	l[fact.TTFT], l[fact.TPOT] = ttft, tpot
	for _, f := range []fact.Family{fact.E2E, fact.Queue, fact.Prefill, fact.Decode, fact.Inference} {
		l[f] = lat
	}
	return l
}

// populate makes the population of one seed: bursts, cancels before and after the first token, answers of one token,
// several sequences a request, preemptions, and on some seeds a front end that counts aborts as finishes.
func populate(seed uint64) *population {
	rng := rand.New(rand.NewPCG(seed, 1))
	p := &population{rng: rng, length: 20 + 60*rng.Float64(), lag: lagScales[rng.IntN(len(lagScales))]}
	p.layouts = [][fact.NumFamilies][]float64{
		layout(defaultTTFT, defaultTPOT, defaultLat),
		layout(defaultTTFT, defaultTPOT, fineLat),
		layout(fineLat, defaultTPOT, defaultLat),
		layout(coarse, coarse, coarse),
	}
	rng.Shuffle(len(p.layouts), func(i, k int) { p.layouts[i], p.layouts[k] = p.layouts[k], p.layouts[i] })
	long := seed%50 == 49                 // answers of minutes, and as long a look-back
	rate := math.Exp(rng.Float64()*3 - 1) // 0.4 to 7 requests a second
	queue, prefill, gap := rng.ExpFloat64()*0.3, rng.ExpFloat64()*0.15, rng.ExpFloat64()*0.04
	cancels, preempts, tokens := rng.Float64()*0.2, rng.Float64()*0.2, 1+rng.IntN(120)
	if long {
		p.length, rate, gap, tokens = 400, 1, 0.2+rng.Float64(), 500
	}
	countAborts := rng.IntN(3) == 0
	p.burst, p.stall = rng.Float64()*p.length, p.lag
	if rng.IntN(4) == 0 {
		p.stall = 0.6
	}
	for t := 0.0; t < p.length; {
		r := rate
		if t > p.burst && t < p.burst+5 {
			r *= 4
		}
		t += rng.ExpFloat64() / r
		x := fact.Request{Queue: rng.ExpFloat64() * queue, Prefill: 0.002 + rng.ExpFloat64()*prefill}
		if p.busy(t, t) { // the backlog of the burst
			x.Queue *= 5
		}
		children := 1
		if rng.IntN(12) == 0 {
			children = 2 + rng.IntN(2)
		}
		for range children {
			p.add(t, x, gap*(0.5+rng.Float64()), 1+rng.IntN(tokens), fate{rng.Float64() < cancels, rng.Float64() < preempts, countAborts})
		}
	}
	return p
}

// busy reports whether the front end had to do with the burst in a span of time.
func (p *population) busy(from, to float64) bool { return to > p.burst && from < p.burst+7 }

// late is how far behind the core the front end notes what happened at an instant.
func (p *population) late(at float64) float64 {
	if p.busy(at, at) {
		return p.rng.Float64() * p.stall
	}
	return p.rng.Float64() * p.lag
}

type fate struct{ cancelled, preempted, countAborts bool }

func (p *population) add(arrival float64, x fact.Request, gap float64, tokens int, f fate) {
	never := math.Inf(1)
	firstLag := p.late(arrival + x.Queue + x.Prefill)
	x.OutputTokens = tokens
	if p.rng.IntN(8) == 0 {
		x.OutputTokens = 1
	}
	x.TTFT = x.Queue + x.Prefill + firstLag
	x.Decode = gap * float64(x.OutputTokens-1)
	s := sequence{arrival: arrival, first: arrival + x.TTFT, scheduled: arrival + x.Queue, requeued: never, preempted: never}
	if f.preempted && x.OutputTokens > 1 {
		core := s.first - firstLag + x.Decode*p.rng.Float64()
		pause := p.rng.ExpFloat64()
		x.Decode += pause
		s.requeued, s.back, s.preempted = core, core+pause, core+p.late(core)
	}
	s.gone = s.first - firstLag + x.Decode
	s.end = max(s.first, s.gone+p.late(s.gone))
	if x.OutputTokens == 1 {
		s.end, s.requeued, s.preempted = s.first, never, never
	}
	s.failed = p.rng.IntN(25) == 0
	if f.cancelled {
		at := arrival + p.rng.Float64()*(s.end-arrival)
		s.gone, s.end = at, never
		if at < s.first {
			s.first, s.noToken = never, true
		}
		if f.countAborts {
			s.end, s.aborted, s.failed = at, true, true
			x.Decode = max(0, at-s.first+(p.rng.Float64()-0.5)*p.lag)
			if s.noToken { // whatever the front end makes of it
				x.Decode, x.Queue, x.Prefill = p.rng.ExpFloat64()*5, p.rng.ExpFloat64(), p.rng.ExpFloat64()
			}
		}
	}
	x.End = s.end
	x.E2E = s.end - arrival
	s.Request = x
	p.sequences = append(p.sequences, s)
}

// observation times of a page: asked for, read, received.
type look struct{ sent, at, received float64 }

// polls look at the engine from some time after its start, every interval, and miss some.
func (p *population) polls() []look {
	interval := []float64{0.5, 1, 2, 5}[p.rng.IntN(4)]
	missed, slowest := p.rng.Float64()*0.3, []float64{0.005, 0.08}[p.rng.IntN(2)]
	t := 0.0
	if p.rng.IntN(2) == 0 {
		t = p.length / 3 * p.rng.Float64()
	}
	var looks []look
	for ; t < p.length+10 || len(looks) < 4; t += interval {
		if n := len(looks); n > 0 && (t < looks[n-1].received || p.rng.Float64() < missed) {
			continue
		}
		took := 0.001 + slowest*p.rng.Float64()
		if len(looks) > 0 && p.stall > p.lag && p.busy(looks[len(looks)-1].at, t) {
			took = p.stall * (1 + 0.2*p.rng.Float64()) // it is as late with its pages
		}
		looks = append(looks, look{t, t + took*p.rng.Float64(), t + took})
	}
	return looks
}

// window makes a window of the population out of looks, whose own slices begin at slice first, and lists the sequences
// that finished in those.
func (p *population) window(looks []look, first int) (w Window, finished []*sequence) {
	w = Window{First: first, Old: p.old(looks[0].at)}
	noGauges := p.rng.IntN(4) == 0
	change := p.rng.IntN(2 * len(looks)) // the slice after which the engine has another layout
	var lacks [fact.NumFamilies]bool
	for f := fact.E2E; f <= fact.Inference; f++ {
		lacks[f] = p.rng.IntN(10) == 0
	}
	for k := 1; k < len(looks); k++ {
		s, values, ended := p.slice(looks[k-1], looks[k])
		if k > first {
			finished = append(finished, ended...)
		}
		for f := fact.TTFT; f <= fact.Inference; f++ {
			if layouts := p.layouts[min(1, k/(change+1))]; !lacks[f] {
				s.Histograms[f] = tally(layouts[f], values[f])
			}
		}
		if !noGauges {
			s.Running, s.Waiting = p.gauges(looks[k].at - 0.06*p.rng.Float64())
		}
		w.Slices = append(w.Slices, s)
	}
	return w, finished
}

// old is what a reader may know of the sequences decoding at an instant: nothing, their number, or a little more.
func (p *population) old(at float64) (n uint64) {
	for i := range p.sequences {
		if s := &p.sequences[i]; s.first <= at && s.end > at && !math.IsInf(s.end, 1) {
			n++
		}
	}
	switch p.rng.IntN(3) {
	case 0:
		return Unlimited
	case 1:
		return n + uint64(p.rng.IntN(3))
	}
	return n
}

// slice is what a page adds to the one before, with the values to be put into buckets.
func (p *population) slice(before, after look) (s Slice, values [fact.NumFamilies][]float64, ended []*sequence) {
	s = Slice{Lo: before.sent, Hi: after.received, Took: after.received - after.sent}
	within := func(t float64) bool { return t > before.at && t <= after.at }
	for i := range p.sequences {
		x := &p.sequences[i]
		if within(x.first) {
			s.FirstTokens++
			values[fact.TTFT] = append(values[fact.TTFT], x.TTFT)
		}
		s.Preempted = s.Preempted || within(x.preempted)
		if within(x.end) {
			s.Finished++
			if x.aborted {
				s.Aborted++
			}
			x.observe(&values)
			ended = append(ended, x)
		}
	}
	return s, values, ended
}

func (s *sequence) observe(values *[fact.NumFamilies][]float64) {
	for f := fact.TPOT; f <= fact.Inference; f++ {
		v, _ := value(s.Request, f) // 0 for the TPOT of one token, as vLLM observes it
		values[f] = append(values[f], v)
	}
}

// gauges are the engine's at an instant shortly before the page.
func (p *population) gauges(at float64) (running, waiting fact.Number) {
	running, waiting = fact.Known(0), fact.Known(0)
	for i := range p.sequences {
		s := &p.sequences[i]
		switch {
		case at < s.arrival || at >= s.gone:
		case at < s.scheduled || at >= s.requeued && at < s.back:
			waiting.V++
		default:
			running.V++
		}
	}
	return running, waiting
}

func tally(edges, values []float64) hist.Histogram {
	h := hist.Histogram{Edges: edges, Counts: make([]uint64, len(edges)+1)}
	for _, v := range values {
		i, _ := slices.BinarySearch(edges, v)
		h.Counts[i]++
		h.Sum += v
	}
	return h
}

// objective draws clauses: mostly one on TTFT, and up to three on finish-time families, some off the edges.
func (p *population) objective() []Clause {
	var clauses []Clause
	l := p.layouts[p.rng.IntN(2)]
	add := func(f fact.Family) {
		edges := l[f][:min(len(l[f]), 14)]
		x := edges[p.rng.IntN(len(edges))]
		if p.rng.IntN(3) == 0 {
			x *= 0.7 + 0.6*p.rng.Float64()
		}
		clauses = append(clauses, Clause{f, x})
	}
	if p.rng.IntN(8) > 0 {
		add(fact.TTFT)
	}
	finish := []fact.Family{fact.TPOT, fact.E2E, fact.Queue, fact.Prefill, fact.Decode, fact.Inference}
	p.rng.Shuffle(len(finish), func(i, k int) { finish[i], finish[k] = finish[k], finish[i] })
	for _, f := range finish[:p.rng.IntN(4)] {
		add(f)
	}
	if len(clauses) == 0 {
		add(fact.TPOT)
	}
	return clauses
}

// qualified is the truth of finishers: how many met all clauses, and how many did not finish well.
func qualified(finished []*sequence, clauses []Clause) (good, unsuccessful uint64) {
	o := Objective{Clauses: clauses}
	for _, s := range finished {
		ok, _ := o.Meets(s.Request)
		timed := slices.ContainsFunc(clauses, func(c Clause) bool { return c.Metric == fact.TTFT })
		switch {
		case s.failed:
			unsuccessful++
		case ok && !(timed && s.noToken):
			good++
		}
	}
	return good, unsuccessful
}
