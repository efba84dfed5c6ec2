package catalog

const (
	// Of every value of a GPU.
	whileTold = "Absent where the source does not tell it or the value was not believed, while the GPU does not answer, and while the source is down"
	perGPU    = "one card or MIG instance; values of a card are never repeated on its instances"

	onceRead     = "Absent until GPUs have been read"
	sinceGPU     = "cumulative since the exporter first saw the GPU"
	sinceJoined  = "cumulative since the exporter first saw the engine, over the time in which its GPUs were its own"
	attributable = "Absent while the engine's GPUs are not known, while another holds one of them too, and for MIG instances, whose energy is only known of the card: nothing is divided"
)

// gpuSeries is what is said of GPUs, of what joins them to engines, and of their source.
func gpuSeries() []Series {
	rows := []Series{
		{
			Name: GPUInfo, Kind: Info, Labels: []string{LabelGPU, LabelJoin}, Maybe: []string{LabelEngine, LabelModel, LabelGPUModel, LabelCard, LabelProfile, LabelShared, LabelBasis},
			What: "One for each GPU and each engine that it belongs to, and one without an engine for a GPU that belongs to none. Join it by gpu to put an engine beside what is said of a GPU; a GPU that several engines share is there several times, so never sum through it without shared=\"\". Absent while the source is down.",
		},
		{
			Name: GPUUp, Kind: Gauge, Unit: "boolean",
			What: "1 when the newest reading has the GPU and it answers, else 0. A GPU that is gone stays at 0 until it comes back, for 24 hours, or until the exporter restarts. Absent while the source is down.",
		},
	}
	rows = append(rows, gpuGauges()...)
	rows = append(rows, gpuCounters()...)
	for i := range rows {
		if rows[i].Labels == nil {
			rows[i].Labels = []string{LabelGPU}
		}
	}
	rows = append(rows, engineGPUSeries()...)
	rows = append(rows, gpuSourceSeries()...)
	for i := range rows {
		rows[i].Stability = Experimental
	}
	return in(GroupGPU, rows...)
}

// gpuGauges are what a GPU does at this moment.
func gpuGauges() []Series {
	row := func(name, unit, what, source string) Series {
		return Series{Name: name, Kind: Gauge, Unit: unit, What: what + ". " + whileTold + ".", Source: source}
	}
	return []Series{
		row(GPUBusy, "ratio from 0 to 1", "Share of the last moment (a sixth of a second to a second) in which any kernel ran: 1 does not mean that the GPU has no room. Not on MIG instances", "DCGM field 203"),
		row(GPUSMActive, "ratio from 0 to 1", "Share of time in which a multiprocessor had a warp, mean over the multiprocessors", "DCGM field 1002"),
		row(GPUSMOccupancy, "ratio from 0 to 1", "Resident warps as a share of those that multiprocessors have room for", "DCGM field 1003"),
		row(GPUTensor, "ratio from 0 to 1", "Share of cycles in which tensor cores were busy", "DCGM field 1004"),
		row(GPUDRAM, "ratio from 0 to 1", "Share of cycles in which the memory's interface was busy", "DCGM field 1005"),
		row(GPUGraphics, "ratio from 0 to 1", "Share of time in which the graphics or compute engine was active", "DCGM field 1001"),
		row(GPUMemoryUsed, "bytes", "Memory that is in use. Of a card, that of its instances is in it: sum cards or instances, never both", "DCGM field 252"),
		row(GPUMemoryFree, "bytes", "Memory that is free", "DCGM field 251"),
		row(GPUMemoryTotal, "bytes", "Memory that there is", "DCGM field 250"),
		row(GPUMemoryReserved, "bytes", "Memory that the driver keeps for itself", "DCGM field 253"),
		row(GPUPower, "watts", "Power that the card draws", "DCGM field 155"),
		row(GPUPowerLimit, "watts", "Power from which on the card slows itself down", "DCGM field 164"),
		row(GPUTemperature, "degrees Celsius", "Temperature of the chip", "DCGM field 150"),
		row(GPUMemoryTemperature, "degrees Celsius", "Temperature of the memory", "DCGM field 140"),
		row(GPUSMClock, "hertz", "Clock of the multiprocessors", "DCGM field 100"),
		row(GPUMemoryClock, "hertz", "Clock of the memory", "DCGM field 101"),
		row(GPUPCIeTx, "bytes per second", "Sent over PCIe, by the source's own mean over the time between its samples", "DCGM field 1009"),
		row(GPUPCIeRx, "bytes per second", "Received over PCIe, by the source's own mean over the time between its samples", "DCGM field 1010"),
		row(GPUNVLinkTx, "bytes per second", "Sent over all NVLinks, by the source's own mean over the time between its samples", "DCGM field 1011"),
		row(GPUNVLinkRx, "bytes per second", "Received over all NVLinks, by the source's own mean over the time between its samples", "DCGM field 1012"),
		row(GPUECCErrors, "errors", "Errors of the memory that could not be corrected, by the driver's own count, which begins anew with the driver", "DCGM field 311"),
		row(GPUPCIeReplays, "retries", "Times that something had to be sent again over PCIe, by the driver's own count, which begins anew with the driver", "DCGM field 202"),
		row(GPURemapFailed, "boolean", "1 when a row of the memory could not be remapped: the card is to be replaced", "DCGM field 395"),
	}
}

// gpuCounters are what has happened to a GPU.
//
// How long clocks were held down is a counter of seconds and no ratio: its rate is the share of time over whatever window
// is asked for, seconds add up over GPUs, and no moment between two readings is lost. Reasons overlap, so they do not add
// up to a share of time.
func gpuCounters() []Series {
	return []Series{
		{
			Name: GPUEnergy, Kind: Counter, Unit: "joules", Population: perGPU, Window: sinceGPU, Source: "DCGM field 156",
			What: "Energy that the card used. It goes on where it stopped when the driver's own counter begins anew, and has no jump that no card could make. " + whileTold + ".",
		},
		{
			Name: GPUThrottle, Kind: Counter, Unit: "seconds", Labels: []string{LabelGPU, LabelReason}, Population: perGPU, Window: sinceGPU,
			Source: "the driver's own count of time where the source has it, else readings in which the reason held, each for the time since the one before",
			What: "For how long clocks were held down by a reason: sw_power_cap (the power limit), hw_slowdown, sync_boost (another GPU of its group), sw_thermal, hw_thermal, hw_power_brake (the power supply) or thermal (sources that do not tell which). " +
				"Its rate is the share of time; reasons overlap, so do not add them up. Idle clocks are not among them. " + whileTold + ".",
		},
		{
			Name: GPUXIDErrors, Kind: Counter, Unit: "errors", Labels: []string{LabelGPU, LabelXID}, Population: perGPU, Window: sinceGPU, Source: "DCGM field 230",
			What: "Errors that the driver reported, by their XID number. Absent until there is one, and while the source is down; at 0 for one that had come before the exporter looked. Where the source only shows the last one, one that comes twice in a row counts once.",
		},
		{
			Name: GPUErrors, Kind: Counter, Unit: "errors", Population: perGPU, Window: sinceGPU, Source: "DCGM field 230",
			What: "Sum of " + GPUXIDErrors + ". Where the source counts errors it is there at 0 before the first, so that its increase misses none; else it is absent until there is one. Absent while the source is down.",
		},
	}
}

// engineGPUSeries are what an engine has and uses of GPUs.
func engineGPUSeries() []Series {
	engine, model := []string{LabelEngine}, []string{LabelModel}
	return []Series{
		{
			Name: EngineGPUs, Kind: Gauge, Unit: "GPUs", Labels: []string{LabelEngine, LabelJoin}, Maybe: []string{LabelModel, LabelPartial},
			What: "How many GPUs or MIG instances of this node belong to the engine, by how that is known. 0 with join unmatched or ambiguous is an engine whose GPUs are not known. Absent while the source is down, and where there is none.",
		},
		{
			Name: EngineEnergy, Kind: Counter, Unit: "joules", Labels: engine, Maybe: model, Population: "the engine's GPUs on this node", Window: sinceJoined,
			What: "Energy that the GPUs of the engine used. " + attributable + ".", Failures: "work that failed used energy too", Source: GPUEnergy,
		},
		{
			Name: EngineCost, Kind: Counter, Unit: "units of the currency", Labels: []string{LabelEngine, LabelCurrency}, Maybe: model, Population: "the engine's GPUs on this node", Window: sinceJoined,
			What: "Money for the GPUs of the engine: for the time that it held them, for their energy, or both, by " + GPUHourPrice + " and " + EnergyPrice + ". " + attributable + ", and without a price.", Failures: "work that failed cost money too",
		},
		{
			Name: GPUHourPrice, Kind: Gauge, Unit: "units of the currency per hour", Labels: []string{LabelCurrency},
			What: "What holding one GPU for an hour costs: gpu.cost.per_gpu_hour. Absent without it.",
		},
		{
			Name: EnergyPrice, Kind: Gauge, Unit: "units of the currency per kilowatt hour", Labels: []string{LabelCurrency},
			What: "What a kilowatt hour costs: gpu.cost.per_kwh. Absent without it.",
		},
	}
}

// gpuSourceSeries are how what is said of GPUs is known.
func gpuSourceSeries() []Series {
	source := []string{LabelSource}
	return []Series{
		{
			Name: GPUSourceUp, Kind: Gauge, Unit: "boolean", Labels: source,
			What: "1 while the newest reading of the GPUs is young enough to be true now, else 0: then everything else about GPUs is absent. Absent where no GPUs are asked for, and with gpu.source auto where none have been found since the exporter started.",
		},
		{
			Name: GPUSourceInfo, Kind: Info, Labels: source, Maybe: []string{LabelDriver, LabelVersion},
			What: "Where what is said of GPUs comes from. " + onceRead + ".",
		},
		{
			Name: GPULastSample, Kind: Gauge, Unit: "seconds since 1970", Labels: source,
			What: "When the newest good reading of the GPUs was taken. A dcgm-exporter shows values that are up to 30 s older, and does not say when they were sampled. " + onceRead + ".",
		},
		{
			Name: GPUDropped, Kind: Counter, Unit: "values", Labels: []string{LabelReason}, Population: "values of all GPUs in all readings", Window: "cumulative since the exporter started",
			What: "Values that the source had and that were not believed. The reason is blank (DCGM's way to say that there is none), status (DCGM reports an error), stale, future (sampled later than it was read), out_of_range (no such card exists), not_a_number, " +
				"conflict (two fields cannot both be true), disagree (rows of one card differ), unidentified (no UUID), unreadable (no line of the format), too_many, energy (of a counter that rose by more than the card can have used, or fell), throttle (likewise of the time for which a reason held) or other. Absent until there is one.",
		},
		{
			Name: GPUClaimsUp, Kind: Gauge, Unit: "boolean",
			What: "1 when the kubelet's newest answer says which container holds which GPU, else 0: then its last good answer is used for up to an hour. Absent where it is not asked.",
		},
		{
			Name: GPUClaimsUnresolved, Kind: Gauge, Unit: "devices", Labels: []string{LabelReason},
			What: "Devices of which the kubelet says who holds them, under a name that is no UUID, so that they cannot be joined: name (the name of a device's file, as on GKE), dra (a device of a resource claim), form (no form that is known) or other. Absent where there is none.",
		},
		{
			Name: GPUClaimConflicts, Kind: Counter, Unit: "conflicts", Population: "devices in answers of the kubelet", Window: "cumulative since the exporter started",
			What: "Times that the kubelet came to say of several running pods that they hold a device which is not shared. Absent where it is not asked.",
		},
	}
}
