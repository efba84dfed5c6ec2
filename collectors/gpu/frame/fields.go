package frame

// The fields that a reader of frames understands: numbers of DCGM, from go-dcgm v1.4611.0, pkg/dcgm/dcgm_fields.h. Field
// numbers stay what they are between releases; names do not.
const (
	FieldDriver = 1  // text
	FieldName   = 50 // text; of an instance its MIG profile
	FieldUUID   = 54 // text
	FieldMinor  = 55 // number of the device's file
	FieldBus    = 57 // text

	FieldSMClock           = 100 // MHz
	FieldMemoryClock       = 101 // MHz
	FieldThrottleReasons   = 112 // bits, see dcgm_fields.h DCGM_CLOCKS_EVENT_REASON_*
	FieldMemoryTemperature = 140 // degrees Celsius
	FieldTemperature       = 150 // degrees Celsius
	FieldPower             = 155 // watts, double
	FieldEnergy            = 156 // millijoules since the driver was loaded
	FieldPowerLimit        = 164 // watts, double: the enforced one
	FieldPCIeReplays       = 202
	FieldBusy              = 203 // percent of time in which a kernel ran, 0 to 100 whatever its name says
	FieldXID               = 230 // the last one; each sample is an event

	FieldPowerViolation     = 240 // nanoseconds
	FieldThermalViolation   = 241 // nanoseconds
	FieldSyncBoostViolation = 242 // nanoseconds

	FieldMemoryTotal    = 250 // MiB
	FieldMemoryFree     = 251 // MiB
	FieldMemoryUsed     = 252 // MiB
	FieldMemoryReserved = 253 // MiB
	FieldECCDouble      = 311 // volatile, uncorrectable
	FieldRemapFailed    = 395 // 1 when a row could not be remapped

	FieldEngine    = 1001 // ratio, profiling
	FieldSMActive  = 1002 // ratio, profiling
	FieldOccupancy = 1003 // ratio, profiling
	FieldTensor    = 1004 // ratio, profiling
	FieldDRAM      = 1005 // ratio, profiling
	FieldPCIeTx    = 1009 // bytes per second, profiling
	FieldPCIeRx    = 1010 // bytes per second, profiling
	FieldNVLinkTx  = 1011 // bytes per second, profiling
	FieldNVLinkRx  = 1012 // bytes per second, profiling

	FieldThrottledSWPower    = 1420 // nanoseconds
	FieldThrottledSyncBoost  = 1421 // nanoseconds
	FieldThrottledSWThermal  = 1422 // nanoseconds
	FieldThrottledHWThermal  = 1423 // nanoseconds
	FieldThrottledPowerBrake = 1424 // nanoseconds
	FieldRecovery            = 1523 // nvmlDeviceGpuRecoveryAction_t
)

// CardFields are what a card is asked for beside Profiling, in ascending order. FieldXID is there for what the last one was;
// events are counted from Event.
func CardFields() []int {
	return []int{
		FieldDriver, FieldName, FieldUUID, FieldMinor, FieldBus,
		FieldSMClock, FieldMemoryClock, FieldThrottleReasons, FieldMemoryTemperature, FieldTemperature, FieldPower, FieldEnergy, FieldPowerLimit,
		FieldPCIeReplays, FieldBusy, FieldXID, FieldPowerViolation, FieldThermalViolation, FieldSyncBoostViolation,
		FieldMemoryTotal, FieldMemoryFree, FieldMemoryUsed, FieldMemoryReserved, FieldECCDouble, FieldRemapFailed,
		FieldThrottledSWPower, FieldThrottledSyncBoost, FieldThrottledSWThermal, FieldThrottledHWThermal, FieldThrottledPowerBrake,
		FieldRecovery,
	}
}

// InstanceFields are what a MIG instance is asked for beside Profiling: its profile's name and its memory. The rest
// belongs to the card, and DCGM would repeat the card's value.
func InstanceFields() []int {
	return []int{FieldName, FieldMemoryTotal, FieldMemoryFree, FieldMemoryUsed, FieldMemoryReserved}
}

// Profiling are the fields that need the profiling module or a Hopper card, in ascending order. PCIe and NVLink traffic
// is the card's: an instance is asked for those up to FieldDRAM.
func Profiling() []int {
	return []int{
		FieldEngine, FieldSMActive, FieldOccupancy, FieldTensor, FieldDRAM, FieldPCIeTx, FieldPCIeRx, FieldNVLinkTx, FieldNVLinkRx,
	}
}
