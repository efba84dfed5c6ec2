package gpu

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/internal/golden"
)

const (
	now   = 1790000000
	nowUS = now * 1e6
)

// h100 is a card as DCGM tells of it, with the values given instead of, or beside, the usual ones.
func h100(id int, values ...frame.Value) frame.Entity {
	usual := []frame.Value{
		frame.String(frame.FieldDriver, 0, nowUS-60e6, "580.65.06"), frame.String(frame.FieldName, 0, nowUS-60e6, "NVIDIA H100 80GB HBM3"),
		frame.String(frame.FieldUUID, 0, nowUS-60e6, fmt.Sprintf("GPU-%08d", id)), frame.String(frame.FieldBus, 0, nowUS-60e6, fmt.Sprintf("00000000:%d7:00.0", id)),
		frame.Integer(frame.FieldSMClock, 0, nowUS, 1755), frame.Integer(frame.FieldMemoryClock, 0, nowUS, 2619),
		frame.Integer(frame.FieldThrottleReasons, 0, nowUS, 4), frame.Integer(frame.FieldMemoryTemperature, 0, nowUS, 72), frame.Integer(frame.FieldTemperature, 0, nowUS, 61),
		frame.Real(frame.FieldPower, 0, nowUS, 612.437), frame.Integer(frame.FieldEnergy, 0, nowUS, 9912345678901), frame.Real(frame.FieldPowerLimit, 0, nowUS, 700),
		frame.Integer(frame.FieldPCIeReplays, 0, nowUS, 0), frame.Integer(frame.FieldBusy, 0, nowUS-1e6, 99), frame.Integer(frame.FieldXID, 0, nowUS-9e6, 31),
		frame.Integer(frame.FieldPowerViolation, 0, nowUS, 5e9),
		frame.Integer(frame.FieldMemoryTotal, 0, nowUS, 81559), frame.Integer(frame.FieldMemoryFree, 0, nowUS, 9000), frame.Integer(frame.FieldMemoryUsed, 0, nowUS, 71234),
		frame.Integer(frame.FieldMemoryReserved, 0, nowUS, 1325), frame.Integer(frame.FieldECCDouble, 0, nowUS, 0), frame.Integer(frame.FieldRemapFailed, 0, nowUS, 0),
		frame.Real(frame.FieldEngine, 0, nowUS, 0.98), frame.Real(frame.FieldSMActive, 0, nowUS, 0.81), frame.Real(frame.FieldOccupancy, 0, nowUS, 0.3),
		frame.Real(frame.FieldTensor, 0, nowUS, 0.4), frame.Real(frame.FieldDRAM, 0, nowUS, 0.6),
		frame.Integer(frame.FieldNVLinkTx, 0, nowUS, 12e9), frame.Integer(frame.FieldThrottledSWPower, 0, nowUS, 2.5e9), frame.Integer(frame.FieldRecovery, 0, nowUS, 0),
	}
	for _, v := range values {
		kept := usual[:0]
		for _, u := range usual {
			if u.Field != v.Field {
				kept = append(kept, u)
			}
		}
		usual = append(kept, v)
	}
	return frame.Entity{Kind: frame.Card, ID: id, Values: usual}
}

func tick(entities ...frame.Entity) *frame.Frame {
	return &frame.Frame{Version: frame.Version, At: now, Interval: 1, Mode: "standalone", Library: "4.6.0", Engine: "4.5.3", Entities: entities}
}

func TestAFrameInBaseUnits(t *testing.T) {
	f := tick(h100(1), h100(0), frame.Entity{Kind: frame.Instance, ID: 9, Card: 1, Instance: 7, Values: []frame.Value{
		frame.String(frame.FieldName, 0, nowUS, "1g.10gb"), frame.Integer(frame.FieldMemoryUsed, 0, nowUS, 100), frame.Real(frame.FieldEngine, 0, nowUS, 0.87),
		frame.Real(frame.FieldPower, 0, nowUS, 612.437), frame.Integer(frame.FieldBusy, 0, nowUS, 0),
	}})
	f.Events = []frame.Event{{Kind: frame.Card, ID: 0, Field: frame.FieldXID, Time: nowUS, Int: 31}}
	f.Unavailable = []frame.Unavailable{{Field: frame.FieldPCIeTx, Why: "no such field"}}
	golden.Compare(t, "testdata/frame.json", shown(t, newJudge("node-a").reading(f)))
}

// TestPageAndFrameAgree reads the same card through both sources.
func TestPageAndFrameAgree(t *testing.T) {
	page := only(t, decodePage([]byte(`DCGM_FI_DEV_SM_CLOCK{UUID="GPU-00000000"} 1755
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{UUID="GPU-00000000"} 9912345678901
DCGM_FI_DEV_POWER_USAGE{UUID="GPU-00000000"} 612.437000
DCGM_FI_DEV_GPU_UTIL{UUID="GPU-00000000"} 99
DCGM_FI_DEV_FB_USED{UUID="GPU-00000000"} 71234
DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{UUID="GPU-00000000"} 4
DCGM_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP_NS{UUID="GPU-00000000"} 2500000000
`), ""))
	g := only(t, newJudge("").reading(tick(h100(0))))
	if page.SMClock != g.SMClock || page.Energy != g.Energy || page.Power != g.Power || page.Busy != g.Busy || page.MemoryUsed != g.MemoryUsed || !reflect.DeepEqual(page.Throttled, g.Throttled) {
		t.Errorf("page  %+v\nframe %+v", page, g)
	}
}

func TestValuesOfAFrameThatAreNotTold(t *testing.T) {
	const field = frame.FieldPower
	watts := func(v float64) frame.Value { return frame.Real(field, 0, nowUS, v) }
	for sentence, c := range map[string]struct {
		v   frame.Value
		why string
	}{
		"not watched":                       {frame.Value{Field: field, Status: -16}, dropStatus},
		"an old value under an error":       {frame.Real(field, -14, nowUS, 612), dropStatus},
		"not supported, and all is well":    {watts(1<<47 + 2), dropBlank},
		"blank, and never sampled":          {frame.Real(field, 0, 0, 1<<47), dropBlank},
		"a blank integer":                   {frame.Integer(field, 0, nowUS, 0x7ffffffffffffff3), dropBlank},
		"older than three intervals":        {frame.Real(field, 0, nowUS-3000001, 612), dropStale},
		"never sampled":                     {frame.Real(field, 0, 0, 612), dropStale},
		"from the future":                   {frame.Real(field, 0, nowUS+3000001, 612), dropFuture},
		"NaN":                               {watts(math.NaN()), dropNotANumber},
		"text":                              {frame.String(field, 0, nowUS, "<<<NOT_PERM>>>"), dropNotANumber},
		"a status alone, and it is no fail": {frame.Value{Field: field, Time: nowUS}, dropNotANumber},
		"negative":                          {watts(-5), dropRange},
		"3 kW":                              {watts(3000), dropRange},
	} {
		r := newJudge("").reading(tick(h100(0, c.v)))
		if g := only(t, r); g.Power.Known || !g.Temperature.Known {
			t.Errorf("%s: got out as %+v", sentence, g)
		}
		if !reflect.DeepEqual(r.Dropped, []fact.ReasonCount{{Reason: c.why, Count: 1}}) {
			t.Errorf("%s: dropped %+v, want one %s", sentence, r.Dropped, c.why)
		}
	}
}

func TestAFieldAtAnotherPace(t *testing.T) {
	f := tick(h100(0, frame.Integer(frame.FieldRecovery, 0, nowUS-80e6, 1), frame.Real(frame.FieldPowerLimit, 0, nowUS-100e6, 700)))
	f.Intervals = map[int]float64{frame.FieldRecovery: 30, frame.FieldPowerLimit: 30}
	r := newJudge("").reading(f)
	if g := only(t, r); g.RecoveryHint != "reset the GPU" || g.PowerLimit.Known || dropped(r, dropStale) != 1 {
		t.Errorf("got %s", shown(t, r))
	}
}

func TestALostCardIsStillWhoItWas(t *testing.T) {
	j := newJudge("")
	j.reading(tick(h100(0), h100(1)))
	blank := h100(1)
	for i := range blank.Values {
		blank.Values[i] = frame.Value{Field: blank.Values[i].Field, Status: statusLost}
	}
	said := h100(1)
	said.State = "lost"
	for sentence, e := range map[string]frame.Entity{"by the status of its values": blank, "by its state, over values from before": said} {
		r := j.reading(tick(h100(0), e))
		if len(r.GPUs) != 2 || !r.GPUs[1].Lost || r.GPUs[1].UUID != "GPU-00000001" || r.GPUs[1].Bus == "" || r.GPUs[1].Power.Known || r.GPUs[0].Lost || !r.GPUs[0].Power.Known {
			t.Errorf("%s: got %s", sentence, shown(t, r))
		}
	}
	if r := j.reading(tick(blank)); len(r.GPUs) != 1 || r.Reason != "" {
		t.Errorf("all are lost: %s", shown(t, r))
	}
	j.begin()
	if r := j.reading(tick(h100(0), blank)); len(r.GPUs) != 1 || dropped(r, dropUnidentified) != 1 {
		t.Errorf("another child cannot know who it was: %s", shown(t, r))
	}
}

func TestIdentityIsNoIndex(t *testing.T) {
	none := h100(1, frame.String(frame.FieldUUID, 0, nowUS, "<<<NOT_FOUND>>>"))
	twin := h100(2, frame.String(frame.FieldUUID, 0, nowUS, "GPU-00000000"))
	mig := func(card, instance int, uuid string) frame.Entity {
		return frame.Entity{Kind: frame.Instance, ID: 5, Card: card, Instance: instance, Values: []frame.Value{frame.String(frame.FieldUUID, 0, 1, uuid)}}
	}
	r := newJudge("").reading(tick(h100(0), none, twin, mig(8, 1, ""), mig(0, 3, "MIG-a"), mig(0, 3, "MIG-b"), mig(0, 4, "MIG-a"), mig(0, 5, "<<<NULL>>>"), mig(0, 6, "GPU-00000000")))
	var names []string
	for _, g := range r.GPUs {
		names = append(names, g.UUID)
	}
	if want := []string{"GPU-00000000", "MIG-a", "GPU-00000000/5"}; !reflect.DeepEqual(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
	if dropped(r, dropUnidentified) != 6 || len(r.Warnings) != 2 {
		t.Errorf("got %s", shown(t, r))
	}
}

func TestXIDsAreCountedOnceOverAllChildren(t *testing.T) {
	j := newJudge("")
	event := func(us int64, xid int64) frame.Event {
		return frame.Event{Kind: frame.Card, ID: 0, Field: frame.FieldXID, Time: nowUS + us, Int: xid}
	}
	count := func(events ...frame.Event) []fact.XIDCount {
		f := tick(h100(0))
		f.Events = events
		g := only(t, j.reading(f))
		if !g.XIDsCounted {
			t.Error("not counted")
		}
		return g.XIDs
	}
	if got := count(); got != nil {
		t.Errorf("the last one, from before, was counted: %v", got)
	}
	count(event(1, 31), event(1, 31), event(2, 79))
	j.begin() // another child, which tells of the last one again
	count(event(2, 79), event(3, 31), event(4, 0), event(5, 4294967295))
	got := count(event(-3600e6, 31)) // the clock was set back
	if want := []fact.XIDCount{{XID: 31, Count: 4}, {XID: 79, Count: 1}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	mig := tick(h100(0), frame.Entity{Kind: frame.Instance, ID: 9, Card: 0, Instance: 7})
	mig.Events = []frame.Event{{Kind: frame.Instance, ID: 9, Field: frame.FieldXID, Time: nowUS, Int: 94}, {Kind: frame.Instance, ID: 8, Field: frame.FieldXID, Time: nowUS, Int: 94}}
	if r := j.reading(mig); len(r.GPUs[0].XIDs) != 3 || r.GPUs[1].XIDs != nil || dropped(r, dropUnidentified) != 1 {
		t.Errorf("of an instance: %s", shown(t, r))
	}
	f := tick(h100(0))
	f.EventsLost, f.Unavailable = true, []frame.Unavailable{{Field: frame.FieldXID, Why: "x"}}
	if r := j.reading(f); only(t, r).XIDsCounted || len(r.Warnings) != 1 {
		t.Errorf("got %s", shown(t, r))
	}
}

func TestFramesThatBringNothing(t *testing.T) {
	at := func(us int64) *frame.Frame {
		e := h100(0)
		for i := range e.Values {
			e.Values[i].Time = us
		}
		return tick(e)
	}
	blank := h100(0)
	for i := range blank.Values[4:] {
		blank.Values[4+i] = frame.Integer(blank.Values[4+i].Field, 0, 0, 0x7ffffffffffffff0)
	}
	noTime, noPace := tick(h100(0)), tick(h100(0))
	noTime.At, noPace.Interval = 0, math.NaN()
	for sentence, c := range map[string]struct {
		f      *frame.Frame
		reason fact.Reason
		says   string
	}{
		"no card":                      {tick(), fact.ReasonDialect, "no GPU"},
		"a sampler that is stuck":      {at(nowUS - 60e6), fact.ReasonStale, "3 intervals old"},
		"a clock that is ahead":        {at(nowUS + 60e6), fact.ReasonStale, "NTP"},
		"nothing but blanks":           {tick(blank), fact.ReasonStale, "no value"},
		"a frame without its time":     {noTime, fact.ReasonParse, "one release"},
		"a frame without its interval": {noPace, fact.ReasonParse, "one release"},
	} {
		r := newJudge("").reading(c.f)
		if r.GPUs != nil || r.Reason != c.reason || !strings.Contains(r.Detail, c.says) {
			t.Errorf("%s: got %s", sentence, shown(t, r))
		}
	}
}

func TestProfilingThatIsPausedOrMissing(t *testing.T) {
	e := h100(0)
	for i := range e.Values {
		if v := &e.Values[i]; v.Field > 1000 && v.Field < 1013 {
			*v = frame.Value{Field: v.Field, Status: statusPaused}
		}
	}
	f := tick(e)
	f.Unavailable = []frame.Unavailable{{Field: frame.FieldTensor, Why: "the profiling module is not loaded"}, {Field: frame.FieldPCIeTx, Why: "neither"}}
	r := newJudge("").reading(f)
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "--resume") {
		t.Errorf("warned %q", r.Warnings)
	}
	var lines []string
	for _, m := range r.Missing {
		lines = append(lines, m.Field+": "+m.Cost)
	}
	if got := strings.Join(lines, "\n"); !strings.Contains(got, "tensor: whether the load is bound by computing; the profiling module is not loaded") || !strings.Contains(got, "pcie_tx: neither") {
		t.Errorf("missing:\n%s", got)
	}
}

func TestMoreEntitiesThanANodeHas(t *testing.T) {
	f := tick()
	for id := range maxEntities + 1 {
		f.Entities = append(f.Entities, h100(id))
	}
	if r := newJudge("").reading(f); len(r.GPUs) != maxEntities || dropped(r, dropTooMany) != 1 {
		t.Errorf("%d GPUs, dropped %+v", len(r.GPUs), r.Dropped)
	}
}
