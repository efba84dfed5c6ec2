package gpu

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// DefaultStuckAfter is six of dcgm-exporter's default collection intervals.
const DefaultStuckAfter = 3 * time.Minute

// Decoder reads one dcgm-exporter's pages, one after another. A page has no times: a value whose sampling stopped stays
// on it as if it were fresh. What a Decoder remembers from page to page tells such values, since the energy of a card that
// draws power cannot stand still. It is not safe for concurrent use.
type Decoder struct {
	node       string
	stuckAfter float64 // seconds
	seen       map[string]sight
}

// sight is how a card looked, and since when.
type sight struct {
	print uint64
	since float64
}

// NewDecoder returns a Decoder. node is the name for GPUs of which a page does not tell the node. A card that shows the
// same values for longer than stuckAfter, which must be well above dcgm-exporter's collection interval, counts as not
// answering; 0 is DefaultStuckAfter.
func NewDecoder(node string, stuckAfter time.Duration) *Decoder {
	if stuckAfter <= 0 {
		stuckAfter = DefaultStuckAfter
	}
	return &Decoder{node: node, stuckAfter: stuckAfter.Seconds(), seen: map[string]sight{}}
}

// Decode reads the page that was there at a time, in unix seconds. Readings of one Decoder must come in their order.
func (d *Decoder) Decode(body []byte, at float64) fact.GPUReading {
	r := decodePage(body, d.node)
	r.Source, r.At = NamePage, at
	stuck := d.look(r.GPUs, at)
	if len(stuck) > 0 {
		withhold(&r, stuck, at)
	}
	return r
}

// look notes how the cards look, and returns those that have been looking the same for too long, each with its time.
func (d *Decoder) look(gpus []fact.GPU, at float64) map[string]float64 {
	stuck := map[string]float64{}
	now := make(map[string]sight, len(gpus))
	for i := range gpus {
		g := &gpus[i]
		if g.Card != "" {
			continue
		}
		s := sight{fingerprint(g), at}
		if before, ok := d.seen[g.UUID]; ok && before.print == s.print && before.since <= at {
			s.since = before.since
		}
		if now[g.UUID] = s; g.Energy.Known && g.Power.Known && g.Power.V > 0 && at-s.since > d.stuckAfter {
			stuck[g.UUID] = s.since
		}
	}
	d.seen = now
	return stuck
}

// fingerprint of all numbers of a card, to the bit.
func fingerprint(g *fact.GPU) uint64 {
	h := fnv.New64a()
	var b [8]byte
	for i, q := range quantities {
		if n := q.of(g); n.Known {
			binary.LittleEndian.PutUint64(b[:], math.Float64bits(n.V))
			h.Write(append(b[:], byte(i)))
		}
	}
	return h.Sum64()
}

// withhold takes the values of cards that are stuck, and of their instances, out of a reading. When no card is left, the
// source as a whole is stale.
func withhold(r *fact.GPUReading, stuck map[string]float64, at float64) {
	t, alive := newTally(), false
	for i, g := range r.GPUs {
		card := g.UUID
		if g.Card != "" {
			card = g.Card
		}
		since, is := stuck[card]
		if !is {
			alive = true
			continue
		}
		for _, q := range quantities {
			if q.of(&g).Known {
				t.drop(dropStale)
			}
		}
		t.warn(fmt.Sprintf("%s shows the same values, energy included, for more than %v although it draws power: they are not told; see whether the card answers nvidia-smi, and whether dcgm-exporter collects less often than that",
			card, time.Duration(math.Floor((at-since)/60))*time.Minute))
		r.GPUs[i] = fact.GPU{UUID: g.UUID, Card: g.Card, Instance: g.Instance, Profile: g.Profile, Model: g.Model, Bus: g.Bus, Node: g.Node, File: g.File, Lost: true}
	}
	for _, d := range r.Dropped {
		t.dropped[d.Reason] += d.Count
	}
	for _, w := range r.Warnings {
		t.warn(w)
	}
	r.Dropped, r.Warnings = nil, nil
	t.into(r)
	if !alive {
		r.GPUs, r.Missing, r.Reason = nil, nil, fact.ReasonStale
		r.Detail = "no card on the page has shown a new value for minutes: dcgm-exporter or its host engine does not sample any more; restart it, or see whether it collects less often than that"
	}
}
