package gpu

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/internal/golden"
)

const (
	page48 = "testdata/samples/dcgm-exporter-4.8.prom"
	page49 = "testdata/samples/dcgm-exporter-4.9-synthetic.prom"
)

func read(t testing.TB, path string) []byte {
	t.Helper()
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// shown is a reading as JSON, with unknown values as null.
func shown(t testing.TB, r fact.GPUReading) []byte {
	t.Helper()
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return append(b, '\n')
}

// only is the reading's one GPU.
func only(t testing.TB, r fact.GPUReading) fact.GPU {
	t.Helper()
	if len(r.GPUs) != 1 {
		t.Fatalf("%d GPUs, want one: %s", len(r.GPUs), shown(t, r))
	}
	return r.GPUs[0]
}

func dropped(r fact.GPUReading, why string) uint64 {
	for _, d := range r.Dropped {
		if d.Reason == why {
			return d.Count
		}
	}
	return 0
}

func TestSamplePages(t *testing.T) {
	for path, want := range map[string]string{page48: "testdata/dcgm-exporter-4.8.json", page49: "testdata/dcgm-exporter-4.9-synthetic.json"} {
		golden.Compare(t, want, shown(t, decodePage(read(t, path), "")))
	}
}

// TestBothRegimesAgree holds the pages of both name regimes against each other: the same cards, the same base units.
func TestBothRegimesAgree(t *testing.T) {
	before, after := decodePage(read(t, page48), ""), decodePage(read(t, page49), "")
	if len(before.GPUs) != 2 {
		t.Fatalf("%d GPUs", len(before.GPUs))
	}
	for i := range before.GPUs {
		// Joules are whole numbers from 4.9 on, so that less than one of them is lost.
		if e := &before.GPUs[i].Energy; e.Known {
			e.V = math.Floor(e.V)
		}
	}
	if !reflect.DeepEqual(before, after) {
		t.Errorf("4.8 %s\n4.9 %s", shown(t, before), shown(t, after))
	}
	if g := before.GPUs[0]; g.Busy != fact.Known(0.99) || g.SMClock != fact.Known(1.755e9) || g.MemoryUsed != fact.Known(71234<<20) || g.Power != fact.Known(612.437) {
		t.Errorf("not in base units: %s", shown(t, before))
	}
}

// both prints each line for both regimes of memory names, to decide what a ratio is.
const (
	oldMemory = "DCGM_FI_DEV_FB_USED{UUID=\"GPU-m\"} 3\n"
	newMemory = "DCGM_FI_DEV_FB_USED_BYTES{UUID=\"GPU-m\"} 3145728\n"
)

func TestOneNameWithTwoScales(t *testing.T) {
	const name = `DCGM_FI_DEV_GPU_UTIL_RATIO{UUID="GPU-a"} `
	for sentence, c := range map[string]struct {
		page string
		want fact.Number
	}{
		"percent beside mebibytes":                  {oldMemory + name + "40\n", fact.Known(0.4)},
		"1 beside mebibytes is a percent":           {oldMemory + name + "1\n", fact.Known(0.01)},
		"the memory may stand after it":             {name + "1\n" + oldMemory, fact.Known(0.01)},
		"a share beside bytes":                      {newMemory + name + "0.4\n", fact.Known(0.4)},
		"1 beside bytes is the whole":               {newMemory + name + "1\n", fact.Known(1)},
		"a percent beside bytes cannot be":          {newMemory + name + "40\n", fact.Number{}},
		"alone, above 1 is a percent":               {name + "40\n", fact.Known(0.4)},
		"alone, a fraction is a share":              {name + "0.375\n", fact.Known(0.375)},
		"alone, another card's value decides":       {name + "1\n" + `DCGM_FI_DEV_GPU_UTIL_RATIO{UUID="GPU-m"} 77` + "\n", fact.Known(0.01)},
		"alone, 1 could be either":                  {name + "1\n", fact.Number{}},
		"alone, 0 is 0 on both":                     {name + "0\n", fact.Known(0)},
		"the old name beside it is sure":            {newMemory + name + "0.5\nDCGM_FI_DEV_GPU_UTIL{UUID=\"GPU-a\"} 50\n", fact.Known(0.5)},
		"corrupt counts decide nothing and go away": {name + "4294967295\n" + name + "1\n", fact.Number{}},
	} {
		r := decodePage([]byte(c.page), "")
		if got := r.GPUs[0].Busy; got != c.want {
			t.Errorf("%s: got %+v, want %+v", sentence, got, c.want)
		}
	}
}

func TestValuesThatCannotBe(t *testing.T) {
	for sentence, c := range map[string]struct{ line, why string }{
		"a blank double":                      {"DCGM_FI_DEV_POWER_USAGE 140737488355328", dropBlank},
		"not supported":                       {"DCGM_FI_DEV_POWER_USAGE 1.4073748835533e+14", dropBlank},
		"a blank integer":                     {"DCGM_FI_DEV_MEMORY_TEMP 9223372036854775794", dropBlank},
		"a blank counter of millijoules":      {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION 9.223372036854775794e+18", dropBlank},
		"a blank 32-bit integer":              {"DCGM_FI_DEV_PCIE_REPLAY_COUNTER 2147483634", dropRange},
		"memory without a sensor":             {"DCGM_FI_DEV_MEMORY_TEMP 0", dropBlank},
		"NaN":                                 {"DCGM_FI_PROF_SM_ACTIVE NaN", dropNotANumber},
		"infinity":                            {"DCGM_FI_PROF_SM_ACTIVE +Inf", dropNotANumber},
		"more than all of the time":           {"DCGM_FI_DEV_GPU_UTIL 101", dropRange},
		"more cycles than there were":         {"DCGM_FI_PROF_SM_ACTIVE 1.02", dropRange},
		"negative power":                      {"DCGM_FI_DEV_POWER_USAGE -1", dropRange},
		"2.1 kW":                              {"DCGM_FI_DEV_POWER_USAGE 2100", dropRange},
		"a melting card":                      {"DCGM_FI_DEV_GPU_TEMP 151", dropRange},
		"a memory clock of 21 GHz":            {"DCGM_FI_DEV_MEM_CLOCK 21000", dropRange},
		"5 TiB of memory":                     {"DCGM_FI_DEV_FB_USED 5242880", dropRange},
		"half a bit of throttling":            {"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS 0.5", dropRange},
		"negative throttling":                 {"DCGM_FI_DEV_POWER_VIOLATION -1", dropRange},
		"an XID beyond all that are known":    {"DCGM_FI_DEV_XID_ERRORS 4294967295", dropRange},
		"a recovery action that is not known": {"DCGM_FI_DEV_GPU_RECOVERY_ACTION 9", dropRange},
		"no line of the format":               {"DCGM_FI_DEV_GPU_TEMP sixty", dropUnreadable},
	} {
		name, value, _ := strings.Cut(c.line, " ")
		r := decodePage([]byte(fmt.Sprintf("DCGM_FI_DEV_SM_CLOCK{UUID=\"GPU-a\"} 1000\n%s{UUID=\"GPU-a\"} %s\n", name, value)), "")
		want := fact.GPU{UUID: "GPU-a", SMClock: fact.Known(1e9)}
		if got := only(t, r); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got out as %+v", sentence, got)
		}
		if !reflect.DeepEqual(r.Dropped, []fact.ReasonCount{{Reason: c.why, Count: 1}}) {
			t.Errorf("%s: dropped %+v, want one %s", sentence, r.Dropped, c.why)
		}
	}
}

func TestCountersPassTheBlankOfADouble(t *testing.T) {
	// 1.5e14 ns are 42 hours under the power cap; 1.5e14 mJ are 7 years at 700 W.
	g := only(t, decodePage([]byte(`DCGM_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP_NS{UUID="GPU-a"} 150000000000000
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{UUID="GPU-a"} 150000000000000
`), ""))
	if g.Energy != fact.Known(1.5e11) || len(g.Throttled) != 1 || g.Throttled[0].Seconds != fact.Known(1.5e5) {
		t.Errorf("got %+v", g)
	}
}

func TestThrottling(t *testing.T) {
	g := only(t, decodePage([]byte(`DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{UUID="GPU-a"} 37
DCGM_FI_DEV_POWER_VIOLATION{UUID="GPU-a"} 9000000000
DCGM_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP_NS{UUID="GPU-a"} 2500000000
DCGM_FI_DEV_THERMAL_VIOLATION{UUID="GPU-a"} 4000000000
`), ""))
	on, off := fact.Known(1), fact.Known(0)
	want := []fact.Throttle{ // 37 is idle, software power cap and software thermal
		{Reason: fact.ThrottlePowerBrake, Now: off}, {Reason: fact.ThrottleHWSlowdown, Now: off}, {Reason: fact.ThrottleHWThermal, Now: off},
		{Reason: fact.ThrottleSWPower, Now: on, Seconds: fact.Known(2.5)}, {Reason: fact.ThrottleSWThermal, Now: on},
		{Reason: fact.ThrottleSyncBoost, Now: off}, {Reason: fact.ThrottleThermal, Seconds: fact.Known(4)},
	}
	if !reflect.DeepEqual(g.Throttled, want) {
		t.Errorf("got  %+v\nwant %+v", g.Throttled, want)
	}
	fine := only(t, decodePage([]byte(`DCGM_FI_DEV_THERMAL_VIOLATION{UUID="GPU-a"} 4000000000
DCGM_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN_NS{UUID="GPU-a"} 1000000000
`), ""))
	if want := []fact.Throttle{{Reason: fact.ThrottleSWThermal, Seconds: fact.Known(1)}}; !reflect.DeepEqual(fine.Throttled, want) {
		t.Errorf("the sum beside its parts: %+v", fine.Throttled)
	}
}

func TestXIDs(t *testing.T) {
	const last, window, total = "DCGM_FI_DEV_XID_ERRORS{UUID=\"GPU-a\",err_code=\"31\"} 31\n",
		"DCGM_EXP_XID_ERRORS_COUNT{UUID=\"GPU-a\",window_size_in_ms=\"300000\",xid=\"79\"} 4\n", "DCGM_EXP_XID_ERRORS_TOTAL{UUID=\"GPU-a\",xid=\"31\"} 7\n"
	for sentence, c := range map[string]struct {
		page    string
		want    []fact.XIDCount
		counted bool
	}{
		"the last one only":                             {last, []fact.XIDCount{{XID: 31, Count: 1}}, false},
		"0 is none":                                     {"DCGM_FI_DEV_XID_ERROR{UUID=\"GPU-a\"} 0\n", nil, false},
		"a window says which, not how many":             {last + window, []fact.XIDCount{{XID: 31, Count: 1}, {XID: 79, Count: 1}}, false},
		"an empty window has a row without xid":         {"DCGM_EXP_XID_ERRORS_COUNT{UUID=\"GPU-a\"} 0\n", nil, false},
		"counts since the start are all that is needed": {last + window + total, []fact.XIDCount{{XID: 31, Count: 7}}, true},
		"pods that share a card do not multiply them":   {strings.Replace(total, "xid=", `pod="a",xid=`, 1) + strings.Replace(total, "xid=", `pod="b",xid=`, 1), []fact.XIDCount{{XID: 31, Count: 7}}, true},
		"a label is no place for other numbers":         {last + strings.Replace(total, `xid="31"`, `xid="123456"`, 1), nil, true},
	} {
		g := only(t, decodePage([]byte(c.page), ""))
		if !reflect.DeepEqual(g.XIDs, c.want) || g.XIDsCounted != c.counted {
			t.Errorf("%s: got %+v, counted %v", sentence, g.XIDs, g.XIDsCounted)
		}
	}
}

func TestPagesWithoutGPUs(t *testing.T) {
	for sentence, c := range map[string]struct {
		page   string
		reason fact.Reason
		says   string
	}{
		"empty while it reloads": {"\n", fact.ReasonNotMetrics, "reloads"},
		"a web page":             {"<html>", fact.ReasonNotMetrics, "no page of metrics"},
		"another exporter":       {"node_load1 0.5\n", fact.ReasonDialect, "DCGM_FI_"},
		"counters of 1.x":        {"dcgm_sm_clock{gpu=\"0\",uuid=\"GPU-a\"} 139\n", fact.ReasonDialect, "2.0 or later"},
		"switches and no card":   {"DCGM_FI_DEV_NVSWITCH_TEMPERATURE_CURRENT{nvswitch=\"nvswitch0\"} 44\n", fact.ReasonDialect, "no GPU by its UUID"},
		"indices only":           {"DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 44\n", fact.ReasonDialect, "no GPU by its UUID"},
	} {
		r := decodePage([]byte(c.page), "")
		if r.GPUs != nil || r.Reason != c.reason || !strings.Contains(r.Detail, c.says) {
			t.Errorf("%s: got %s", sentence, shown(t, r))
		}
	}
}

func TestRowsThatCostOnlyThemselves(t *testing.T) {
	const good = "DCGM_FI_DEV_GPU_TEMP{UUID=\"GPU-a\"} 61\n"
	for sentence, line := range map[string]string{
		"no UUID":                   `DCGM_FI_DEV_GPU_TEMP{gpu="1"} 44`,
		"a UUID that is none":       `DCGM_FI_DEV_GPU_TEMP{UUID="GPU-a b"} 44`,
		"a UUID that is too long":   `DCGM_FI_DEV_GPU_TEMP{UUID="GPU-` + strings.Repeat("a", 61) + `"} 44`,
		"an instance that is none":  `DCGM_FI_DEV_FB_USED{UUID="GPU-a",GPU_I_ID="x"} 44`,
		"a label that stands twice": `DCGM_FI_DEV_GPU_TEMP{UUID="GPU-b",UUID="GPU-a"} 44`,
		"labels that do not end":    `DCGM_FI_DEV_GPU_TEMP{UUID="GPU-b" 44`,
		"a family of ours only":     `DCGM_FI_DEV_GPU_TEMP`,
		"too many labels":           `DCGM_FI_DEV_GPU_TEMP{UUID="GPU-b"` + strings.Repeat(`,a="b"`, 200) + `} 44`,
		"many quotes and commas":    `DCGM_FI_DEV_GPU_TEMP{UUID="` + strings.Repeat(`",`, 2_000_000) + `} 44`,
	} {
		r := decodePage([]byte(line+"\n"+good), "")
		if g := only(t, r); g.Temperature != fact.Known(61) || g.UUID != "GPU-a" || len(r.Dropped) != 1 || len(r.Warnings) != 1 {
			t.Errorf("%s: got %s", sentence, shown(t, r))
		}
	}
}

func TestQuotesInLabels(t *testing.T) {
	for sentence, c := range map[string]struct{ label, want string }{
		"as dcgm-exporter prints them":        {`NVIDIA H100 "X" HBM3`, `NVIDIA H100 "X" HBM3`},
		"escaped as they should be":           {`NVIDIA H100 \"X\" HBM3`, `NVIDIA H100 "X" HBM3`},
		"a quote before a comma":              {`NVIDIA "X", HBM3`, `NVIDIA "X", HBM3`},
		"a backslash at the end":              {`NVIDIA \\`, `NVIDIA \`},
		"a new line, which no label may hold": {`NVIDIA\nH100`, `NVIDIAH100`},
	} {
		r := decodePage([]byte(`DCGM_FI_DEV_GPU_TEMP{UUID="GPU-a",modelName="`+c.label+`",hostname="n" } 61 1790000000000`+"\r\n"), "")
		if g := only(t, r); g.Model != c.want || g.Node != "n" || g.Temperature != fact.Known(61) {
			t.Errorf("%s: got %+v", sentence, g)
		}
	}
}

func TestACardsOwnRowHoldsBesideThoseOfItsInstances(t *testing.T) {
	const own, first, second = "DCGM_FI_DEV_POWER_USAGE{UUID=\"GPU-a\"} 300\n", "DCGM_FI_DEV_POWER_USAGE{UUID=\"GPU-a\",GPU_I_ID=\"1\"} 299\n", "DCGM_FI_DEV_POWER_USAGE{UUID=\"GPU-a\",GPU_I_ID=\"2\"} 298\n"
	for page, want := range map[string]float64{own + first: 300, first + own: 300, first + own + second: 300, first + second: 299} {
		// Rows are read one after the other, so that a sample may come between them.
		if r := decodePage([]byte(page), ""); r.GPUs[0].Power != fact.Known(want) || r.Dropped != nil {
			t.Errorf("%s: got %+v, dropped %+v", page, r.GPUs[0].Power, r.Dropped)
		}
	}
}

func TestTheUUIDOfAnInstanceWhereThePageHasIt(t *testing.T) {
	const row = "DCGM_FI_DEV_FB_USED{UUID=\"GPU-a\",GPU_I_ID=\"%d\",dra_mig_profile=\"1g.10gb\",dra_mig_device_uuid=\"%s\"} 5\n"
	page := fmt.Sprintf(row+row+row, 1, "MIG-b", 2, "MIG-b", 11, "MIG b")
	var names []string
	for _, g := range decodePage([]byte(page), "").GPUs {
		names = append(names, g.UUID+" "+g.Profile)
	}
	if want := []string{"GPU-a ", "MIG-b 1g.10gb", "GPU-a/2 1g.10gb", "GPU-a/11 1g.10gb"}; !reflect.DeepEqual(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
}

func TestMoreCardsThanANodeHas(t *testing.T) {
	var page strings.Builder
	for i := range maxEntities + 5 {
		fmt.Fprintf(&page, "DCGM_FI_DEV_GPU_TEMP{UUID=\"GPU-%d\"} 61\n", i)
	}
	r := decodePage([]byte(page.String()), "")
	if len(r.GPUs) != maxEntities || dropped(r, dropTooMany) != 5 {
		t.Errorf("%d GPUs, dropped %+v", len(r.GPUs), r.Dropped)
	}
}

func TestMemoryIsAddedUpWhereItsPartsAreKnown(t *testing.T) {
	const used, free, reserved = "DCGM_FI_DEV_FB_USED{UUID=\"GPU-a\"} 70000\n", "DCGM_FI_DEV_FB_FREE{UUID=\"GPU-a\"} 11000\n", "DCGM_FI_DEV_FB_RESERVED{UUID=\"GPU-a\"} 559\n"
	if g := only(t, decodePage([]byte(used+free+reserved), "")); g.MemoryTotal != fact.Known(81559<<20) {
		t.Errorf("total %+v", g.MemoryTotal)
	}
	if g := only(t, decodePage([]byte(used+free), "")); g.MemoryTotal.Known {
		t.Errorf("a total without the reserved part: %+v", g.MemoryTotal)
	}
}

func TestMissingSaysWhatItCosts(t *testing.T) {
	r := decodePage(read(t, page48), "")
	var names []string
	for _, m := range r.Missing {
		names = append(names, m.Field)
	}
	if want := []string{"sm_active", "tensor", "dram", "memory_total", "power_limit"}; !reflect.DeepEqual(names, want) {
		t.Errorf("missing %v, want %v", names, want)
	}
}
