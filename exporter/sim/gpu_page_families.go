package sim

// gpuFamily is a family of dcgm-exporter's page, in the order of its default counters, with both names, and both units
// where they differ. Help texts are those of the sample collectors/gpu/testdata/samples/dcgm-exporter-4.8.prom where it has the family.
type gpuFamily struct {
	field      int // DCGM's number of the field of the old name; the field of a new one holds the same in base units
	old, new   gpuStyle
	kind       string
	from       GPUCounters // PlainCounters: always shown; DefaultCounters: with the profiling module; AllCounters: if asked for
	cards      bool        // has no row for an instance
	own        bool        // an instance has a value of its own; otherwise it repeats the card's
	eventsOnly bool        // has a row where something happened only
	value      func(*gpuRow) float64
}

// gpuStyle is how one regime of names shows a family: a value in base units times scale, whole or with six digits.
type gpuStyle struct {
	name, help string
	scale      float64
	whole      bool
}

// whole is the style of DCGM's integers, and real6 that of its doubles, which are in base units already.
func whole(name, help string, scale float64) gpuStyle { return gpuStyle{name, help, scale, true} }
func real6(name, help string) gpuStyle                { return gpuStyle{name, help, 1, false} }

const mebibyte = 1 << 20

// The names from 4.9 on are those of DCGM's field list and of the release note; no page of it was at hand.
var gpuFamilies = []gpuFamily{
	{
		old: whole("DCGM_FI_DEV_SM_CLOCK", "SM clock frequency (in MHz).", 1e-6), new: whole("DCGM_FI_DEV_SM_CLOCK_HERTZ", "SM clock frequency (in Hz).", 1),
		field: 100, kind: "gauge", from: PlainCounters, value: func(r *gpuRow) float64 { return r.smClock },
	},
	{
		old: whole("DCGM_FI_DEV_MEM_CLOCK", "Memory clock frequency (in MHz).", 1e-6), new: whole("DCGM_FI_DEV_MEMORY_CLOCK_HERTZ", "Memory clock frequency (in Hz).", 1),
		field: 101, kind: "gauge", from: PlainCounters, value: func(r *gpuRow) float64 { return r.memoryClock },
	},
	{
		old: whole("DCGM_FI_DEV_MEMORY_TEMP", "Memory temperature (in C).", 1), new: whole("DCGM_FI_DEV_MEMORY_TEMP_CELSIUS", "Memory temperature (in C).", 1),
		field: 140, kind: "gauge", from: PlainCounters, value: func(r *gpuRow) float64 { return r.memoryTemperature },
	},
	{
		old: whole("DCGM_FI_DEV_GPU_TEMP", "GPU temperature (in C).", 1), new: whole("DCGM_FI_DEV_GPU_TEMP_CELSIUS", "GPU temperature (in C).", 1),
		field: 150, kind: "gauge", from: PlainCounters, value: func(r *gpuRow) float64 { return r.temperature },
	},
	{
		old: real6("DCGM_FI_DEV_POWER_USAGE", "Power draw (in W)."), new: real6("DCGM_FI_DEV_BOARD_POWER_WATTS", "Power draw (in W)."),
		field: 155, kind: "gauge", from: PlainCounters, value: func(r *gpuRow) float64 { return r.power },
	},
	{
		old:   whole("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "Total energy consumption since boot (in mJ).", 1e3),
		new:   whole("DCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL", "Total energy consumption since boot (in J).", 1),
		field: 156, kind: "counter", from: PlainCounters, value: func(r *gpuRow) float64 { return r.energy },
	},
	{
		old: real6("DCGM_FI_DEV_ENFORCED_POWER_LIMIT", "Power limit that is enforced (in W)."), new: real6("DCGM_FI_DEV_BOARD_POWER_LIMIT_ENFORCED_WATTS", "Power limit that is enforced (in W)."),
		field: 164, kind: "gauge", from: AllCounters, value: func(r *gpuRow) float64 { return r.limit },
	},
	{
		old: whole("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "Reasons for clocks below their most (bits).", 1), new: whole("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "Reasons for clocks below their most (bits).", 1),
		field: 112, kind: "gauge", from: AllCounters, value: func(r *gpuRow) float64 { return float64(r.reasons) },
	},
	{
		old: whole("DCGM_FI_DEV_GPU_UTIL", "GPU utilization (in %).", 100), new: real6("DCGM_FI_DEV_GPU_UTIL_RATIO", "GPU utilization (0 to 1)."),
		field: 203, kind: "gauge", from: PlainCounters, cards: true, value: func(r *gpuRow) float64 { return r.active },
	},
	{
		old: whole("DCGM_FI_DEV_XID_ERRORS", "Value of the last XID error encountered.", 1), new: whole("DCGM_FI_DEV_XID_ERROR", "Value of the last XID error encountered.", 1),
		field: 230, kind: "gauge", from: PlainCounters, eventsOnly: true, value: func(r *gpuRow) float64 { return float64(r.xid) },
	},
	{
		old:   whole("DCGM_FI_DEV_POWER_VIOLATION", "Throttling duration due to power constraints (in ns).", 1e9),
		new:   real6("DCGM_FI_DEV_GPU_POWER_THROTTLE_SECONDS_TOTAL", "Throttling duration due to power constraints (in s)."),
		field: 240, kind: "counter", from: AllCounters, value: func(r *gpuRow) float64 { return r.powerThrottled },
	},
	{
		old:   whole("DCGM_FI_DEV_THERMAL_VIOLATION", "Throttling duration due to thermal constraints (in ns).", 1e9),
		new:   real6("DCGM_FI_DEV_GPU_THERMAL_THROTTLE_SECONDS_TOTAL", "Throttling duration due to thermal constraints (in s)."),
		field: 241, kind: "counter", from: AllCounters, value: func(r *gpuRow) float64 { return r.thermalThrottled },
	},
	{
		old: whole("DCGM_FI_DEV_FB_FREE", "Framebuffer memory free (in MiB).", 1./mebibyte), new: whole("DCGM_FI_DEV_FB_FREE_BYTES", "Framebuffer memory free (in bytes).", 1),
		field: 251, kind: "gauge", own: true, from: PlainCounters, value: func(r *gpuRow) float64 { return r.capacity - r.used },
	},
	{
		old: whole("DCGM_FI_DEV_FB_USED", "Framebuffer memory used (in MiB).", 1./mebibyte), new: whole("DCGM_FI_DEV_FB_USED_BYTES", "Framebuffer memory used (in bytes).", 1),
		field: 252, kind: "gauge", own: true, from: PlainCounters, value: func(r *gpuRow) float64 { return r.used },
	},
	{
		old: whole("DCGM_FI_DEV_FB_RESERVED", "Framebuffer memory reserved (in MiB).", 1./mebibyte), new: whole("DCGM_FI_DEV_FB_RESERVED_BYTES", "Framebuffer memory reserved (in bytes).", 1),
		field: 253, kind: "gauge", from: PlainCounters, cards: true, value: func(*gpuRow) float64 { return reserved },
	},
	{
		old: real6("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "Ratio of time the graphics engine is active."), new: real6("DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO", "Ratio of time the graphics engine is active."),
		field: 1001, kind: "gauge", own: true, value: func(r *gpuRow) float64 { return r.active },
	},
	{
		old: real6("DCGM_FI_PROF_SM_ACTIVE", "The ratio of cycles an SM has at least 1 warp assigned."), new: real6("DCGM_FI_PROF_SM_UTIL_RATIO", "The ratio of cycles an SM has at least 1 warp assigned."),
		field: 1002, kind: "gauge", own: true, from: AllCounters, value: smActive,
	},
	{
		old: real6("DCGM_FI_PROF_SM_OCCUPANCY", "The ratio of number of warps resident on an SM."), new: real6("DCGM_FI_PROF_SM_OCCUPANCY_RATIO", "The ratio of number of warps resident on an SM."),
		field: 1003, kind: "gauge", own: true, from: AllCounters, value: func(r *gpuRow) float64 { return 0.3 * smActive(r) },
	},
	{
		old: real6("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "Ratio of cycles the tensor cores are active."), new: real6("DCGM_FI_PROF_TENSOR_UTIL_RATIO", "Ratio of cycles the tensor cores are active."),
		field: 1004, kind: "gauge", own: true, value: func(r *gpuRow) float64 { return r.tensor },
	},
	{
		old: real6("DCGM_FI_PROF_DRAM_ACTIVE", "Ratio of cycles the device memory interface is active."), new: real6("DCGM_FI_PROF_DRAM_UTIL_RATIO", "Ratio of cycles the device memory interface is active."),
		field: 1005, kind: "gauge", own: true, value: func(r *gpuRow) float64 { return r.dram },
	},
}

// smActive: while something runs, most of the SMs have work. The share is an assumption.
func smActive(r *gpuRow) float64 { return 0.9 * r.active }
