package gpu

import (
	"slices"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// entity is a card or an instance while a reading is made: first every value is put in as the source has it, then finish
// chooses, converts and checks.
type entity struct {
	fact.GPU
	raw []rawValue // beside fields

	contested bool // rows name several holders

	// Errors that the source counts, and those that it merely shows as the last one or as recent.
	counted, recent []fact.XIDCount
}

// rawValue is what a source has of one field, in the field's own unit.
type rawValue struct {
	v          float64
	has, split bool // split: rows that mean the same card differ, so that none of them is the card's
	repeated   bool // from the row of an instance, which repeats the card's
}

func newEntity(g fact.GPU) *entity { return &entity{GPU: g, raw: make([]rawValue, len(fields))} }

// put takes a value of field i. What is no number, or one of DCGM's blanks, is dropped.
func (e *entity) put(i int, v float64, t tally) bool {
	switch {
	case !finite(v):
		t.drop(dropNotANumber)
		return false
	case fields[i].blank(v):
		t.drop(dropBlank)
		return false
	}
	e.raw[i] = rawValue{v: v, has: true}
	return true
}

// finish turns the raw values into those of the GPU. ratio is the divisor of nameBusyRatio, 0 when its scale is unknown.
func (e *entity) finish(ratio float64, t tally) {
	for i := range fields {
		f, raw := &fields[i], e.raw[i]
		switch {
		case !raw.has:
		case raw.split:
			t.drop(dropDisagree)
		case f.of != nil:
			e.number(f, raw.v, ratio, t)
		case f.held != "":
			e.heldFor(f.held, f.base(raw.v), t)
		case f.id == frame.FieldThrottleReasons:
			e.heldNow(raw.v, t)
		case f.id == frame.FieldXID:
			if n := e.lastXID(raw.v, t); n != 0 {
				e.recent = noteXID(e.recent, n, 1)
			}
		case f.id == frame.FieldRecovery:
			e.recovery(raw.v, t)
		}
	}
}

func (e *entity) number(f *field, raw, ratio float64, t tally) {
	n := f.of.of(&e.GPU)
	if n.Known {
		return // by a field that is preferred
	}
	v := f.base(raw)
	if f.names[0] == nameBusyRatio {
		switch {
		case raw == 0: // the same on both scales
		case ratio == 0:
			t.drop(dropConflict)
			t.warn(nameBusyRatio + " may be a share or a percentage, which nothing on the page decides: it is not told; let dcgm-exporter print DCGM_FI_DEV_GPU_UTIL or DCGM_FI_DEV_FB_USED too")
			return
		default:
			v = raw / ratio
		}
	}
	if f.of == memoryTemperature && v == 0 {
		t.drop(dropBlank)
		return
	}
	v, why := f.of.judge(v)
	if why != "" {
		t.drop(why)
		return
	}
	*n = fact.Known(v)
}

// throttle finds or adds the row of a reason.
func (e *entity) throttle(reason fact.ThrottleReason) *fact.Throttle {
	i := slices.IndexFunc(e.Throttled, func(t fact.Throttle) bool { return t.Reason == reason })
	if i < 0 {
		i = len(e.Throttled)
		e.Throttled = append(e.Throttled, fact.Throttle{Reason: reason})
	}
	return &e.Throttled[i]
}

func (e *entity) heldFor(reason fact.ThrottleReason, seconds float64, t tally) {
	if seconds < 0 || seconds > maxHeld {
		t.drop(dropRange)
		return
	}
	if row := e.throttle(reason); !row.Seconds.Known {
		row.Seconds = fact.Known(seconds)
	}
}

// throttleBits are those of field 112 that cost a busy card work (dcgm_fields.h, DCGM_CLOCKS_EVENT_REASON_*).
var throttleBits = []struct {
	bit    uint64
	reason fact.ThrottleReason
}{
	{0x04, fact.ThrottleSWPower}, {0x08, fact.ThrottleHWSlowdown}, {0x10, fact.ThrottleSyncBoost},
	{0x20, fact.ThrottleSWThermal}, {0x40, fact.ThrottleHWThermal}, {0x80, fact.ThrottlePowerBrake},
}

func (e *entity) heldNow(v float64, t tally) {
	if v < 0 || v > 1<<32 || v != float64(uint64(v)) {
		t.drop(dropRange)
		return
	}
	for _, b := range throttleBits {
		now := 0.0
		if uint64(v)&b.bit != 0 {
			now = 1
		}
		e.throttle(b.reason).Now = fact.Known(now)
	}
}

// maxXID is beyond the numbers that NVIDIA documents (below 200): it bounds a label.
const maxXID = 999

// lastXID is an XID, or 0 for none and for what is no XID.
func (e *entity) lastXID(v float64, t tally) int {
	if v < 0 || v > maxXID || v != float64(int(v)) {
		t.drop(dropRange)
		return 0
	}
	return int(v)
}

// noteXID adds a count of an XID. Instances of a card and pods that share it repeat the card's, so that the highest holds.
func noteXID(all []fact.XIDCount, xid int, count uint64) []fact.XIDCount {
	for i := range all {
		if all[i].XID == xid {
			all[i].Count = max(all[i].Count, count)
			return all
		}
	}
	return append(all, fact.XIDCount{XID: xid, Count: count})
}

// recoveries are the values of nvmlDeviceGpuRecoveryAction_t from 1 on.
var recoveries = []string{"reset the GPU", "reboot the node", "drain peer to peer traffic", "drain and reset the GPU"}

func (e *entity) recovery(v float64, t tally) {
	switch n := int(v); {
	case v < 0 || v > float64(len(recoveries)) || v != float64(n):
		t.drop(dropRange)
	case n > 0:
		e.RecoveryHint = recoveries[n-1]
	}
}
