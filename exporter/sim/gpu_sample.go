package sim

import (
	"errors"
	"math"
	"unicode/utf8"
)

// GPUExporter is the node's dcgm-exporter. What is left out is its default.
type GPUExporter struct {
	Interval float64     // seconds from sample to sample, which a page shows until the next: --collect-interval; 30 by default
	Counters GPUCounters // which families it shows: --collectors
	Hostname string      // "sim-node" by default
	Driver   string      // version of the driver; "580.65.06" by default
}

// GPUCounters is which families a dcgm-exporter is told to show.
type GPUCounters int

// The sets of counters. Default is that of the file that comes with it: no SM activity, throttling or power limit.
const (
	DefaultCounters GPUCounters = iota
	PlainCounters               // Default where the profiling module is missing
	AllCounters                 // Default and those that are commented out or missing there
)

func (p *GPUExporter) validate() error {
	var errs []error
	if !(p.Interval >= 0) || math.IsInf(p.Interval, 1) {
		errs = append(errs, errors.New("GPUExporter.Interval must be finite and not negative"))
	}
	if p.Counters < DefaultCounters || p.Counters > AllCounters {
		errs = append(errs, errors.New("GPUExporter.Counters is no set of counters"))
	}
	if !utf8.ValidString(p.Hostname) || !utf8.ValidString(p.Driver) {
		errs = append(errs, errors.New("GPUExporter.Hostname and GPUExporter.Driver must be UTF-8"))
	}
	return errors.Join(errs...)
}

func (p GPUExporter) withDefaults() GPUExporter {
	if p.Interval == 0 {
		p.Interval = 30
	}
	if p.Hostname == "" {
		p.Hostname = "sim-node"
	}
	if p.Driver == "" {
		p.Driver = "580.65.06"
	}
	return p
}

// gpuSampler looks at all cards from time to time: it has a clock of its own, and changes nothing. The instants are not
// events of the world, so that a world in which nothing more happens comes to its end.
type gpuSampler struct {
	world  *World
	page   GPUExporter
	phase  float64 // seconds from the start to the first of the regular samples
	next   int     // number of the next sample; 0 is the one at the start
	at     float64 // when the last was taken
	before []GPU   // what it saw, by seat
	rows   []gpuRow
	cards  []gpuRow // each card as a whole, those that are lost left out
}

func newGPUSampler(w *World) *gpuSampler {
	s := &gpuSampler{world: w, page: w.config.GPUExporter.withDefaults()}
	s.phase = s.page.Interval * (1 - w.random(7, 0).Float64()) // above 0
	s.until(0)
	return s
}

// due is when the next sample is taken.
func (s *gpuSampler) due() float64 {
	if s.next == 0 {
		return 0
	}
	return s.phase + s.page.Interval*float64(s.next-1)
}

// until takes the samples that are due up to a time before which nothing happens.
func (s *gpuSampler) until(t float64) {
	for s.due() <= t {
		now := s.world.now
		s.world.now = s.due()
		s.sample()
		s.world.now = now
		s.next++
	}
}

func (s *gpuSampler) sample() {
	w := s.world
	now := w.GPUs()
	if s.before == nil {
		s.before = now
	}
	views := make([]seatView, len(now))
	for i, seat := range w.seats {
		views[i] = seatView{seat, now[i], shareOf(s.before[i], now[i], w.now-s.at)}
	}
	s.rows, s.cards = nil, nil
	for _, c := range w.cards {
		if !c.lost {
			row := c.row(views, w.now)
			s.cards = append(s.cards, row)
			s.rows = append(s.rows, c.rows(row, views)...)
		}
	}
	s.at, s.before = w.now, now
}

// seatView is what a sample sees of a seat.
type seatView struct {
	seat  *seat
	gpu   GPU
	share gpuShare
}

// gpuShare is the share of a while in which the units of a GPU were busy, and its mean power, watts.
type gpuShare struct{ active, tensor, dram, power float64 }

func shareOf(from, to GPU, seconds float64) gpuShare {
	if seconds <= 0 {
		return gpuShare{power: to.PowerWatts}
	}
	// Sums of many steps are a little more than the time at most.
	share := func(busy float64) float64 { return min(1, busy/seconds) }
	return gpuShare{
		share(to.ActiveSeconds - from.ActiveSeconds), share(to.TensorSeconds - from.TensorSeconds),
		share(to.DRAMSeconds - from.DRAMSeconds), (to.EnergyJoules - from.EnergyJoules) / seconds,
	}
}
