package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
	"github.com/goodput-exporter/goodput-exporter/exporter/sim"
)

// knownDifferences are the series that one way has and the other has not, or has otherwise, and why that is right. Each is needed.
var knownDifferences = []struct {
	family, part, why string
}{
	{catalog.GPUSourceUp, "", "it names its source"},
	{catalog.GPUSourceInfo, "", "it names its source, and a page does not say of which version it is"},
	{catalog.GPULastSample, "", "it names its source"},
	{catalog.GPUDropped, "reason=blank", "DCGM answers with a blank where a page has no row"},
	{catalog.GPUErrors, "", "DCGM's errors are counted, so that there is a 0 before the first; a page shows the last one only, from when there is one"},
	{catalog.GPUMemoryTotal, "/", "a page does not tell what the driver keeps of an instance's memory, so that the parts are not known to be the whole"},
	{catalog.GPUXIDErrors, "xid=31", "the second error of a number is an error to DCGM, and the same last one on a page"},
	{catalog.GPUXIDErrors, "xid=79", "a card that fell off the bus is on no page, and neither is why"},
}

// finer is how far a value may be from DCGM's, by the way and the family: what its regime rounds off. The rest differs by the
// sixth digit of a page's numbers at most.
var finer = map[string]map[string]float64{
	"a page of 4.8": {catalog.GPUMemoryTotal: 2 << 20}, // it is the sum of three whole numbers of MiB
	"a page of 4.9": {
		catalog.GPUMemoryTotal: 1 << 20, catalog.GPUMemoryUsed: 1 << 20, catalog.GPUMemoryFree: 1 << 20, catalog.GPUMemoryReserved: 1 << 20, // DCGM's are whole MiB
		catalog.GPUSMClock: 1e6, catalog.GPUMemoryClock: 1e6, // whole MHz
		catalog.GPUBusy: 0.01, // whole percents
		// Whole joules, of up to two cards, each with a new start.
		catalog.GPUEnergy: 2, catalog.EngineEnergy: 4, catalog.EngineCost: 4 * 0.25 / 3.6e6,
	},
}

// difference is a series that two ways do not tell alike.
type difference struct{ series, text string }

// differences compares what another way says with what DCGM says.
func differences(dcgm, other map[string]float64, within map[string]float64) (all []difference) {
	both := map[string]bool{}
	for name := range dcgm {
		both[name] = true
	}
	for name := range other {
		both[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(both)) {
		a, inDCGM := dcgm[name]
		b, inOther := other[name]
		family, _, _ := strings.Cut(name, "{")
		most := within[family] + 1e-6*math.Max(1, math.Abs(a)*1e-6)
		switch {
		case !inOther:
			all = append(all, difference{name, fmt.Sprintf("%v in DCGM only", a)})
		case !inDCGM:
			all = append(all, difference{name, fmt.Sprintf("%v in the page only", b)})
		case math.Abs(a-b) > most:
			all = append(all, difference{name, fmt.Sprintf("%v in DCGM, %v in the page", a, b)})
		}
	}
	return all
}

// whichKnown is the row of knownDifferences that a difference is about, -1 for none.
func whichKnown(d difference) int {
	for i, k := range knownDifferences {
		if strings.HasPrefix(d.series, k.family+"{") && strings.Contains(d.series, k.part) {
			return i
		}
	}
	return -1
}

// TestTheSameGPUsByEachWay: a world's GPUs through a dcgm-exporter's page of either regime and through the child, on a double
// of libdcgm, give the same joined series at every moment, but for what is listed. Whatever the way, what engines used is the truth.
func TestTheSameGPUsByEachWay(t *testing.T) {
	computes(t)
	t.Parallel()
	world, err := sim.New(gpuNode())
	if err != nil {
		t.Fatal(err)
	}
	ways := gpuWays(t, world)
	dcgm, pages, byDefault := ways[0], ways[1:3], ways[3]
	needed, compared, families, shown := map[int]bool{}, 0, map[string]bool{}, map[string]bool{}
	ledger := newGPULedger(world)
	watchGPUs(t, world, ways, func(at float64) {
		ledger.note(at)
		told := dcgm.series(t, world)
		addFamilies(families, told)
		addFamilies(shown, byDefault.series(t, world))
		for _, w := range pages {
			other := w.series(t, world)
			compared += len(other)
			for _, d := range differences(told, other, finer[w.name]) {
				i := whichKnown(d)
				if needed[i] = true; i < 0 {
					t.Errorf("%s at %.0f s: %s: %s", w.name, at-simStart, d.series, d.text)
				}
			}
		}
	})
	for i, k := range knownDifferences {
		if !needed[i] {
			t.Errorf("the known difference of %s (%s) is not needed", k.family, k.why)
		}
	}
	if steps := int(wayLength / wayStep); compared < 2*100*steps {
		t.Errorf("only %d series were compared in %d steps", compared, steps)
	}
	holdFamilies(t, families, shown)
	for _, w := range ways {
		ledger.hold(t, w, w.series(t, world))
	}
}

func addFamilies(to map[string]bool, series map[string]float64) {
	for name := range series {
		family, _, _ := strings.Cut(name, "{")
		to[family] = true
	}
}

// holdFamilies holds the series that DCGM gave to all that there are but those of which a world knows nothing, and those of a page
// by default to these but those that its counters leave out.
func holdFamilies(t *testing.T, dcgm, byDefault map[string]bool) {
	t.Helper()
	unknown := []string{
		catalog.GPUPCIeTx, catalog.GPUPCIeRx, catalog.GPUNVLinkTx, catalog.GPUNVLinkRx, catalog.GPUECCErrors, catalog.GPUPCIeReplays, catalog.GPURemapFailed,
		catalog.GPUClaimsUp, catalog.GPUClaimsUnresolved, catalog.GPUClaimConflicts, // no kubelet is asked
	}
	leftOut := []string{catalog.GPUSMActive, catalog.GPUSMOccupancy, catalog.GPUThrottle, catalog.GPUPowerLimit}
	for family := range gpuFamilies {
		if dcgm[family] == slices.Contains(unknown, family) {
			t.Errorf("through DCGM %s was there: %v", family, dcgm[family])
		}
		if dcgm[family] && byDefault[family] == slices.Contains(leftOut, family) {
			t.Errorf("on a page by default %s was there: %v", family, byDefault[family])
		}
	}
}

// TestDifferencesAreSeen is the control of what compares: a missing series, one too many, and a value of another card.
func TestDifferencesAreSeen(t *testing.T) {
	page := map[string]float64{"a{gpu=1}": 5, "a{gpu=2}": 7, "b{}": 1}
	for name, c := range map[string]struct {
		dcgm map[string]float64
		want int
	}{
		"the same":              {maps.Clone(page), 0},
		"within what is lost":   {map[string]float64{"a{gpu=1}": 5.9, "a{gpu=2}": 6.1, "b{}": 1}, 0},
		"another card's":        {map[string]float64{"a{gpu=1}": 7, "a{gpu=2}": 5, "b{}": 1}, 2},
		"not there":             {map[string]float64{"a{gpu=1}": 5, "a{gpu=2}": 7}, 1},
		"one too many":          {map[string]float64{"a{gpu=1}": 5, "a{gpu=2}": 7, "b{}": 1, "c{}": 0}, 1},
		"exact where it has to": {map[string]float64{"a{gpu=1}": 5, "a{gpu=2}": 7, "b{}": 1.1}, 1},
	} {
		if got := differences(c.dcgm, page, map[string]float64{"a": 1}); len(got) != c.want {
			t.Errorf("%s: %v, want %d", name, got, c.want)
		}
	}
}
