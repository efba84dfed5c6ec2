package gpu

import (
	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// field is one field of DCGM: its number, the names under which dcgm-exporter prints it, and how it becomes a quantity,
// as v * mul / div. The names are those of DCGM up to 4.5 and of 4.6 on (go-dcgm v1.4611.0, pkg/dcgm/dcgm_fields.h, alias
// table); numbers from 1603 on are the base-unit twins that dcgm-exporter prints from 4.9 on (of 1619 the name is inferred
// from those of 1617 and 1618).
type field struct {
	id       int
	names    []string
	of       *quantity // nil: see held, or a case of its own
	mul, div float64   // 0 is 1
	// wide fields are 64-bit integers that count so finely that they can truly pass the blank of a double.
	wide bool

	held fact.ThrottleReason // of is nil: seconds for which this held the clocks down
}

// fields in order of preference: of several that a source has for one quantity, the first is taken.
var fields = []field{
	{id: frame.FieldBusy, names: []string{"DCGM_FI_DEV_GPU_UTIL"}, of: busy, div: 100},
	// Up to 4.8 the name is an alias of field 203 and counts percent; see ratioScale.
	{id: 1613, names: []string{nameBusyRatio}, of: busy},

	{id: frame.FieldEngine, names: []string{"DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO"}, of: engine},
	{id: frame.FieldSMActive, names: []string{"DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_PROF_SM_UTIL_RATIO"}, of: smActive},
	{id: frame.FieldOccupancy, names: []string{"DCGM_FI_PROF_SM_OCCUPANCY", "DCGM_FI_PROF_SM_OCCUPANCY_RATIO"}, of: occupancy},
	{id: frame.FieldTensor, names: []string{"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "DCGM_FI_PROF_TENSOR_UTIL_RATIO"}, of: tensor},
	{id: frame.FieldDRAM, names: []string{"DCGM_FI_PROF_DRAM_ACTIVE", "DCGM_FI_PROF_DRAM_UTIL_RATIO"}, of: dram},
	{id: frame.FieldPCIeTx, names: []string{"DCGM_FI_PROF_PCIE_TX_BYTES"}, of: pcieTx},
	{id: frame.FieldPCIeRx, names: []string{"DCGM_FI_PROF_PCIE_RX_BYTES"}, of: pcieRx},
	{id: frame.FieldNVLinkTx, names: []string{"DCGM_FI_PROF_NVLINK_TX_BYTES"}, of: nvlinkTx},
	{id: frame.FieldNVLinkRx, names: []string{"DCGM_FI_PROF_NVLINK_RX_BYTES"}, of: nvlinkRx},

	{id: 1625, names: []string{"DCGM_FI_DEV_FB_CAPACITY_BYTES"}, of: memoryTotal},
	{id: 1626, names: []string{"DCGM_FI_DEV_FB_FREE_BYTES"}, of: memoryFree},
	{id: 1627, names: []string{"DCGM_FI_DEV_FB_USED_BYTES"}, of: memoryUsed},
	{id: 1628, names: []string{"DCGM_FI_DEV_FB_RESERVED_BYTES"}, of: memoryReserved},
	{id: frame.FieldMemoryTotal, names: []string{"DCGM_FI_DEV_FB_TOTAL"}, of: memoryTotal, mul: 1 << 20},
	{id: frame.FieldMemoryFree, names: []string{"DCGM_FI_DEV_FB_FREE"}, of: memoryFree, mul: 1 << 20},
	{id: frame.FieldMemoryUsed, names: []string{"DCGM_FI_DEV_FB_USED"}, of: memoryUsed, mul: 1 << 20},
	{id: frame.FieldMemoryReserved, names: []string{"DCGM_FI_DEV_FB_RESERVED"}, of: memoryReserved, mul: 1 << 20},

	{id: frame.FieldPower, names: []string{"DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_BOARD_POWER_WATTS"}, of: power},
	{id: frame.FieldPowerLimit, names: []string{"DCGM_FI_DEV_ENFORCED_POWER_LIMIT", "DCGM_FI_DEV_BOARD_POWER_LIMIT_ENFORCED_WATTS"}, of: powerLimit},
	{id: 160, names: []string{"DCGM_FI_DEV_POWER_MGMT_LIMIT", "DCGM_FI_DEV_BOARD_POWER_LIMIT_REQUESTED_WATTS"}, of: powerLimit},
	{id: frame.FieldEnergy, names: []string{"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"}, of: energy, div: 1000, wide: true},
	{id: 1611, names: []string{"DCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL"}, of: energy},
	{id: frame.FieldTemperature, names: []string{"DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_GPU_TEMP_CELSIUS"}, of: temperature},
	{id: frame.FieldMemoryTemperature, names: []string{"DCGM_FI_DEV_MEMORY_TEMP", "DCGM_FI_DEV_MEMORY_TEMP_CELSIUS"}, of: memoryTemperature},
	{id: frame.FieldSMClock, names: []string{"DCGM_FI_DEV_SM_CLOCK"}, of: smClock, mul: 1e6},
	{id: 1603, names: []string{"DCGM_FI_DEV_SM_CLOCK_HERTZ"}, of: smClock},
	{id: frame.FieldMemoryClock, names: []string{"DCGM_FI_DEV_MEM_CLOCK"}, of: memoryClock, mul: 1e6},
	{id: 1604, names: []string{"DCGM_FI_DEV_MEMORY_CLOCK_HERTZ"}, of: memoryClock},

	{id: frame.FieldECCDouble, names: []string{"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL"}, of: eccDouble},
	{id: frame.FieldRemapFailed, names: []string{"DCGM_FI_DEV_ROW_REMAP_FAILURE", "DCGM_FI_DEV_ROW_REMAP_FAILED"}, of: remapFailed},
	{id: frame.FieldPCIeReplays, names: []string{"DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "DCGM_FI_DEV_PCIE_REPLAY_TOTAL"}, of: pcieReplays},

	// Drivers that count each reason for itself; the violations after them are older and coarser.
	{id: frame.FieldThrottledSWPower, names: []string{"DCGM_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP_NS"}, held: fact.ThrottleSWPower, div: 1e9, wide: true},
	{id: frame.FieldThrottledSyncBoost, names: []string{"DCGM_FI_DEV_CLOCKS_EVENT_REASON_SYNC_BOOST_NS"}, held: fact.ThrottleSyncBoost, div: 1e9, wide: true},
	{id: frame.FieldThrottledSWThermal, names: []string{"DCGM_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN_NS"}, held: fact.ThrottleSWThermal, div: 1e9, wide: true},
	{id: frame.FieldThrottledHWThermal, names: []string{"DCGM_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN_NS"}, held: fact.ThrottleHWThermal, div: 1e9, wide: true},
	{id: frame.FieldThrottledPowerBrake, names: []string{"DCGM_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN_NS"}, held: fact.ThrottlePowerBrake, div: 1e9, wide: true},
	{id: frame.FieldPowerViolation, names: []string{"DCGM_FI_DEV_POWER_VIOLATION"}, held: fact.ThrottleSWPower, div: 1e9, wide: true},
	{id: 1617, names: []string{"DCGM_FI_DEV_GPU_POWER_THROTTLE_SECONDS_TOTAL"}, held: fact.ThrottleSWPower},
	{id: frame.FieldThermalViolation, names: []string{"DCGM_FI_DEV_THERMAL_VIOLATION"}, held: fact.ThrottleThermal, div: 1e9, wide: true},
	{id: 1618, names: []string{"DCGM_FI_DEV_GPU_THERMAL_THROTTLE_SECONDS_TOTAL"}, held: fact.ThrottleThermal},
	{id: frame.FieldSyncBoostViolation, names: []string{"DCGM_FI_DEV_SYNC_BOOST_VIOLATION"}, held: fact.ThrottleSyncBoost, div: 1e9, wide: true},
	{id: 1619, names: []string{"DCGM_FI_DEV_GPU_SYNC_BOOST_THROTTLE_SECONDS_TOTAL"}, held: fact.ThrottleSyncBoost},

	{id: frame.FieldThrottleReasons, names: []string{"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS"}},
	{id: frame.FieldXID, names: []string{"DCGM_FI_DEV_XID_ERRORS", "DCGM_FI_DEV_XID_ERROR"}},
	{id: frame.FieldRecovery, names: []string{"DCGM_FI_DEV_GET_GPU_RECOVERY_ACTION", "DCGM_FI_DEV_GPU_RECOVERY_ACTION"}},
}

const nameBusyRatio = "DCGM_FI_DEV_GPU_UTIL_RATIO"

// base converts a value of the field to the base unit. It multiplies or divides once, so that the result is the double
// nearest to the truth, as a page in base units would have it.
func (f *field) base(v float64) float64 {
	switch {
	case f.mul != 0:
		return v * f.mul
	case f.div != 0:
		return v / f.div
	}
	return v
}

// blank reports whether a number is one of DCGM's blanks (dcgm_structs.h, DCGM_INT64_BLANK and DCGM_FP64_BLANK and the
// three after each). The blanks of 32-bit integers are out of every quantity's range.
func (f *field) blank(v float64) bool {
	const blankDouble, blankInt = 1 << 47, 0x7ffffffffffffff0
	if f.wide {
		return v >= blankInt
	}
	return v >= blankDouble
}

// fieldsByName and fieldsByID find a field's place in fields.
var fieldsByName, fieldsByID = indexFields()

func indexFields() (names map[string]int, ids map[int]int) {
	names, ids = map[string]int{}, map[int]int{}
	for i, f := range fields {
		ids[f.id] = i
		for _, n := range f.names {
			names[n] = i
		}
	}
	return names, ids
}
