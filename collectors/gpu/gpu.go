// Package gpu reads the GPUs of a node in base units, through a dcgm-exporter page, through DCGM in a child process, or
// not at all. It checks each value and says what it did not believe and why. It does not know engines, and joins nothing.
package gpu

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// Source brings one reading at a time. Read returns when ctx ends at the latest, and never without an answer: GPUs, or a
// reason with one line for a person. A Source is safe for concurrent use; after Close it brings nothing.
type Source interface {
	Name() string // as in fact.GPUReading.Source
	Read(ctx context.Context) fact.GPUReading
	Close() error
}

// The names of the sources.
const (
	NamePage  = "dcgm-exporter"
	NameChild = "dcgm"
	NameNone  = "none"
)

// Why a value was dropped: a closed set, fit for a label.
const (
	dropBlank        = "blank"        // DCGM's way to say that there is none: not supported, not permitted, no data
	dropStatus       = "status"       // DCGM reports an error for the value
	dropStale        = "stale"        // sampled more than three intervals ago, or the same for too long
	dropFuture       = "future"       // sampled later than it was read
	dropRange        = "out_of_range" // no such card exists
	dropNotANumber   = "not_a_number"
	dropConflict     = "conflict"     // two fields of a card cannot both be true
	dropDisagree     = "disagree"     // rows of one card show different values
	dropUnidentified = "unidentified" // no UUID
	dropUnreadable   = "unreadable"   // not a line of the exposition format
	dropTooMany      = "too_many"     // more cards or instances than a node can have
)

// maxEntities bounds the cards and instances of a reading: DCGM knows 32 cards with up to 8 instances each.
const maxEntities = 32 * 9

// maxWarnings bounds the kinds of warnings of a reading.
const maxWarnings = 32

// tally is what a reading left out.
type tally struct {
	dropped map[string]uint64
	warned  map[string]bool
}

func newTally() tally { return tally{dropped: map[string]uint64{}, warned: map[string]bool{}} }

func (t tally) drop(why string) { t.dropped[why]++ }

func (t tally) warn(text string) {
	if len(t.warned) < maxWarnings {
		t.warned[text] = true
	}
}

// into writes the tally into a reading, sorted.
func (t tally) into(r *fact.GPUReading) {
	for _, why := range slices.Sorted(maps.Keys(t.dropped)) {
		r.Dropped = append(r.Dropped, fact.ReasonCount{Reason: why, Count: t.dropped[why]})
	}
	r.Warnings = slices.Sorted(maps.Keys(t.warned))
}

// settle does what holds for every source once all values are in: it drops what contradicts itself and sorts.
func settle(all []*entity, t tally) []fact.GPU {
	gpus := make([]fact.GPU, 0, len(all))
	for _, e := range all {
		checkProfiling(&e.GPU, t)
		e.Throttled = dropCoarse(e.Throttled)
		slices.SortFunc(e.Throttled, func(a, b fact.Throttle) int { return strings.Compare(string(a.Reason), string(b.Reason)) })
		slices.SortFunc(e.XIDs, func(a, b fact.XIDCount) int { return a.XID - b.XID })
		gpus = append(gpus, e.GPU)
	}
	slices.SortFunc(gpus, byCard)
	return gpus
}

// dropCoarse leaves out what held the clocks for either thermal reason where each is told for itself: it would count twice.
func dropCoarse(all []fact.Throttle) []fact.Throttle {
	fine := slices.ContainsFunc(all, func(t fact.Throttle) bool {
		return t.Seconds.Known && (t.Reason == fact.ThrottleSWThermal || t.Reason == fact.ThrottleHWThermal)
	})
	if !fine {
		return all
	}
	return slices.DeleteFunc(all, func(t fact.Throttle) bool { return t.Reason == fact.ThrottleThermal })
}

// byCard sorts by the card's UUID, a card before its instances, and those by their number.
func byCard(a, b fact.GPU) int {
	cardOf := func(g fact.GPU) string {
		if g.Card != "" {
			return g.Card
		}
		return g.UUID
	}
	if c := strings.Compare(cardOf(a), cardOf(b)); c != 0 {
		return c
	}
	if c := len(a.Instance) - len(b.Instance); c != 0 {
		return c
	}
	return strings.Compare(a.Instance, b.Instance)
}

// busyCard is from where on a card counts as certainly at work. Field 203 covers a moment (a sixth of a second to one
// second), the profiling fields the whole interval between samples, so that at the edges of a load both may be true.
const busyCard = 0.9

// checkProfiling drops the profiling values of a card that is busy while they say that nothing runs: after some errors
// they stay at 0 until the host engine restarts (NVIDIA/DCGM#303, #202).
func checkProfiling(g *fact.GPU, t tally) {
	if !g.Busy.Known || g.Busy.V < busyCard {
		return
	}
	witness := g.Engine
	if !witness.Known {
		witness = g.SMActive
	}
	if !witness.Known || witness.V != 0 {
		return
	}
	for _, q := range quantities {
		if n := q.of(g); q.profiling && n.Known {
			*n = fact.Number{}
			t.drop(dropConflict)
		}
	}
	t.warn("profiling values of " + g.UUID + " read 0 while the card is busy, as after an XID: they are not told; restart the host engine or dcgm-exporter, or resume profiling (dcgmi profile --resume)")
}

// validUUID reports whether a text is a UUID of a card, as DCGM writes it. It becomes a label, so anything else is refused.
func validUUID(s string) bool { return uuidOf("GPU-", s) }

// validMIG is validUUID for a MIG instance.
func validMIG(s string) bool { return uuidOf("MIG-", s) }

func uuidOf(prefix, s string) bool {
	rest, ok := strings.CutPrefix(s, prefix)
	return ok && rest != "" && len(s) <= 64 && !strings.ContainsFunc(rest, func(c rune) bool {
		return !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-')
	})
}

// tidy makes a text of a source fit for a label: short, and without control characters.
func tidy(s string) string { return clip(s, 128) }

// clip bounds a text to n bytes and takes control characters out.
func clip(s string, n int) string {
	s = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return -1
		}
		return c
	}, strings.ToValidUTF8(s, ""))
	if len(s) > n {
		s = strings.ToValidUTF8(s[:n], "")
	}
	return strings.TrimSpace(s)
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func unix(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }

var (
	_ Source = (*Page)(nil)
	_ Source = (*Child)(nil)
	_ Source = (*Auto)(nil)
)
