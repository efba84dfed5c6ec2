package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"
)

// card is one physical accelerator of the node.
type card struct {
	index int
	uuid  string
	model GPUModel
	seats []*seat

	// What the driver had counted when the world began, or when it was loaded again: its counters are those of the truth
	// less these.
	energy, power, thermal float64
	lost                   bool // it has fallen off the bus
	xid                    int  // last error; 0: none
	errors                 []GPUError
	holds                  []hold
	total                  map[Throttle]float64 // seconds of the holds that are over
}

// seat is one accelerator under a rank, or its part of one.
type seat struct {
	rank  *rank
	index int // within the rank
	card  *card
	place int    // among the seats of the card, from 0
	uuid  string // of the MIG instance; "" for a card
}

// seat puts the ranks on cards. Cards have dice of their own, by their place on the node.
func (w *World) seat() {
	named := map[string]*card{}
	for _, e := range w.endpoints {
		for _, r := range e.ranks {
			for i := range r.gpu.model.Count {
				c := named[r.gpu.model.Card]
				if c == nil {
					c = w.newCard(r.gpu.model)
				}
				if name := r.gpu.model.Card; name != "" {
					named[name] = c
				}
				s := &seat{rank: r, index: i, card: c, place: len(c.seats)}
				c.seats = append(c.seats, s)
				r.seats, w.seats = append(r.seats, s), append(w.seats, s)
			}
		}
	}
	for _, c := range w.cards {
		c.divide(w.random(6, uint64(c.index)))
	}
}

// newCard is the node's next card. Its driver has been loaded for a while: up to a month, in which the card has idled.
func (w *World) newCard(m GPUModel) *card {
	dice := w.random(5, uint64(len(w.cards)))
	c := &card{index: len(w.cards), uuid: "GPU-" + uuid(dice), model: m, total: map[Throttle]float64{}}
	c.energy = -m.IdleWatts * 30 * 86400 * dice.Float64()
	w.cards = append(w.cards, c)
	return c
}

// divide gives each seat its part of the card: the idle power equally, and of what there is above it as much as its MIG
// instance can draw, or equally. Instances have a UUID.
func (c *card) divide(dice *rand.Rand) {
	for _, s := range c.seats {
		m := &s.rank.gpu
		m.idle, m.share = 1/float64(len(c.seats)), 1/float64(len(c.seats))
		if m.model.MIG != "" {
			slices, _, _ := m.model.instance()
			m.share, s.uuid = float64(slices)/cardSlices, "MIG-"+uuid(dice)
		}
	}
}

// validateCards finds cards that could not be shared as the engines say.
func (c *Config) validateCards() error {
	var errs []error
	first, used := map[string]*Engine{}, map[string]int{}
	for i := range c.Engines {
		e := &c.Engines[i]
		m := e.GPU.withDefaults()
		name, slices := m.Card, 0
		if m.MIG != "" {
			slices, _, _ = m.instance()
		}
		if name == "" {
			continue
		}
		if f := first[name]; f == nil {
			first[name] = e
		} else if o := f.GPU.withDefaults(); (o.MIG == "") != (m.MIG == "") || o.Name != m.Name || o.IdleWatts != m.IdleWatts || o.MaxWatts != m.MaxWatts || m.MIG == "" && o.CapacityBytes != m.CapacityBytes {
			errs = append(errs, fmt.Errorf("engine %q: GPU.Card %q is another card under engine %q: both must say the same of it", e.ID, name, f.ID))
		}
		if used[name] += slices * max(1, e.Ranks); used[name] > cardSlices {
			errs = append(errs, fmt.Errorf("engine %q: the MIG instances of GPU.Card %q take %d sevenths of it", e.ID, name, used[name]))
		}
	}
	return errors.Join(errs...)
}

// unload is the driver that goes: its counters start anew, and it has seen no error.
func (c *card) unload(now float64) {
	c.energy, c.power, c.thermal = c.joules(), c.held(PowerCap, now), c.held(SoftwareThermal, now)+c.held(HardwareThermal, now)
	c.xid = 0
}

// joules is what the card has used since the world began.
func (c *card) joules() (sum float64) {
	for _, s := range c.seats {
		sum += s.gpu().EnergyJoules
	}
	return sum
}
